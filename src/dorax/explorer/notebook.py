"""`dorax.explore`: the page inside a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dorax.agents.tabular import TabularAgent
from dorax.core.checks import InvalidInput, check_whole
from dorax.envs import words
from dorax.explorer.page import page_of
from dorax.explorer.presets import agents
from dorax.explorer.recording import record
from dorax.files import replacing
from dorax.mdps import MDP


@dataclass(frozen=True)
class Explored:
    """A page on which to watch agents learn. A notebook shows it as the value of a cell.

    Attributes:
        page: the page, as HTML that needs no other file.
        height: height of its frame in a notebook, in pixels.
    """

    page: str = field(repr=False)
    height: int = 900

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Args:
            path: the file.
        """
        with replacing(Path(path)) as unfinished:
            unfinished.write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return a frame with the page, which cannot reach the notebook around it."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" title="dorax explore" sandbox="allow-scripts allow-popups" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def explore(
    mdp: MDP | str,
    agent: str | Sequence[str] | Mapping[str, TabularAgent] = ("e-values", "visits"),
    episodes: int = 100,
    seed: int = 0,
    *,
    discount: float = 0.99,
    e_discount: float = 0.9,
    height: int = 900,
) -> Explored:
    """Train one or two agents on a finite MDP and show what they know after each episode.

    Args:
        mdp: the MDP; or a word for one, as for `dorax explore`, such as `"bridge:20"`.
        agent: one or two of `e-values`, `visits`, `softmax`, `epsilon-greedy` and `e-values-bonus`; or agents of your
            own by name.
        episodes: number of training episodes. At most 200 are shown, mostly early ones.
        seed: seed of the runs.
        discount: the paper's gamma, for agents given by a word.
        e_discount: the paper's gamma_E, for agents given by a word.
        height: height of the page in a notebook, in pixels.

    Returns:
        The page, which a notebook shows; `save` writes it to a file.
    """
    check_whole("height", height)
    world = words.mdp(mdp) if isinstance(mdp, str) else mdp
    if isinstance(agent, Mapping):
        if not 1 <= len(agent) <= 2:
            raise InvalidInput(f"{len(agent)} agents are given; allowed: one or two")
        chosen = dict(agent)
    else:
        chosen = agents([agent] if isinstance(agent, str) else agent, world, discount, e_discount)
    recordings = {name: record(world, each, episodes, seed) for name, each in chosen.items()}
    return Explored(page_of(world, recordings), height)
