"""`dorax explore`: a page that shows what agents know after each episode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dorax.cli.console import CONSOLE
from dorax.envs import words

_AGENTS = "{e-values,visits,softmax,epsilon-greedy,e-values-bonus}"


@dataclass(frozen=True)
class Explore:
    """Train agents on a finite MDP and write a page that shows what they know after each episode."""

    mdp: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WORLD")]
    """bridge, tree, cliff, deep_sea, stochastic_deep_sea, river_swim, chain or key_and_door, with or without a size
    (bridge:20); a text file with a maze (.txt), or one of four_rooms, ledge and spiral; or a Gymnasium id such as
    FrozenLake-v1."""
    agent: Annotated[tuple[str, ...], tyro.conf.arg(metavar=_AGENTS)] = ("e-values", "visits")
    """One or two agents."""
    episodes: int = 100
    """Number of training episodes. At most 200 are shown, mostly early ones."""
    seed: int = 0
    """Seed of the run."""
    discount: float = 0.99
    """Discount of rewards."""
    e_discount: float = 0.9
    """Exploration discount, the paper's gamma_E; 0 counts plain visits."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")] = Path("out/explore.html")
    """HTML file to write."""

    def __call__(self) -> None:
        from dorax import explorer
        from dorax.study.progress import watching

        mdp = words.mdp(self.mdp)
        agents = explorer.agents(self.agent, mdp, self.discount, self.e_discount)
        with watching(CONSOLE, 1.0) as watcher:
            recordings = {
                name: explorer.record(mdp, agent, self.episodes, self.seed, progress=watcher(name))
                for name, agent in agents.items()
            }
        explorer.write_page(self.out, mdp, recordings)
        print(f"wrote {self.out}: open it in a browser")
