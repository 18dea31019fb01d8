"""`dorax atari` and `dorax play`: train on an Atari game, and show what was learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

import dorax
from dorax.cli.console import CONSOLE, say
from dorax.cli.naming import run_name
from dorax.core import LLL, EpsilonGreedy, EValues, InvalidInput, InverseRootCount, InverseRootLogE, LinearSchedule

if TYPE_CHECKING:
    from dorax.agents.atari import AtariAgent


@dataclass(frozen=True)
class AtariWords:
    """Options of an agent for Atari games."""

    bonus: Literal["none", "density", "e-values"] = "none"
    """Bonus that is added to the reward."""
    bonus_scale: float = 0.05
    """Scale of the bonus."""
    bonus_at: Literal["visit", "replay"] = "visit"
    """When the bonus is computed: when the step is collected, or whenever it is replayed."""
    e_form: Literal["logistic", "count"] = "logistic"
    """What the counter's head predicts: E through a logistic function, as in the paper, or counts."""
    e_discount: float = 0.99
    """Exploration discount, the paper's gamma_E: how far generalized counts look ahead."""
    acts_by: Literal["epsilon-greedy", "lll"] = "epsilon-greedy"
    """How actions are chosen: sampled from the ε-greedy policy, or by counts (LLL)."""
    epsilon_first: float = 1.0
    """Initial ε."""
    epsilon_last: float = 0.1
    """Final ε."""
    epsilon_steps: int = 500_000
    """Steps over which ε decreases."""
    discount: float = 0.99
    """Discount of rewards, the paper's gamma."""
    learning_rate: float = 6.25e-5
    """Learning rate of Adam."""
    adam_epsilon: float = 1.5e-4
    """Epsilon of Adam."""
    batch: int = 32
    """Transitions per update."""
    update_every: int = 4
    """Steps between updates."""
    target_every: int = 2_000
    """Updates between copies to the target network."""
    actor_every: int = 2_500
    """Updates between copies to the network that chooses actions."""
    capacity: int = 1_000_000
    """Steps in the replay."""
    learning_starts: int = 50_000
    """Steps before the first update."""

    def agent(self, games: int) -> AtariAgent:
        """Create the agent.

        Args:
            games: number of games played in parallel.

        Returns:
            The agent.
        """
        from dorax.agents.atari import AtariAgent, DensityModel

        policy = EpsilonGreedy(LinearSchedule(self.epsilon_first, self.epsilon_last, self.epsilon_steps))
        acts_by_counts = self.acts_by == "lll"
        if self.bonus == "density" and acts_by_counts:
            raise InvalidInput("bonus is 'density' with acts_by 'lll'; a density model supports 'epsilon-greedy'")
        counters = {"e-values": EValues(self.e_discount, form=self.e_form), "density": DensityModel(), "none": None}
        floor = 0.01  # as in Bellemare et al. (2016) and the authors' code
        bonuses = {
            "e-values": InverseRootLogE(self.bonus_scale, floor),
            "density": InverseRootCount(self.bonus_scale, floor),
            "none": None,
        }
        return AtariAgent(
            rule=LLL(policy) if acts_by_counts else policy,
            counter=counters["e-values" if acts_by_counts else self.bonus],
            bonus=bonuses[self.bonus],
            bonus_at=self.bonus_at,
            learning_rate=self.learning_rate,
            adam_epsilon=self.adam_epsilon,
            discount=self.discount,
            batch=self.batch,
            update_every=self.update_every,
            target_every=self.target_every,
            actor_every=self.actor_every,
            capacity=self.capacity,
            learning_starts=self.learning_starts,
            games=games,
        )


@dataclass(frozen=True)
class Atari:
    """Train an agent on an Atari game. After an interruption, the same command resumes."""

    is_resumable: ClassVar[bool] = True

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """Game of the Arcade Learning Environment, such as freeway or MsPacman."""
    agent: AtariWords = field(default_factory=AtariWords)
    """Options of the agent."""
    steps: int = 3_000_000
    """Number of agent steps, all games together."""
    seed: int = 0
    """Seed of all random numbers."""
    games: int = 128
    """Number of games played in parallel."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out/atari")
    """Folder for checkpoints, event files and the learner; each run has its own subfolder."""
    keep_replay: bool = False
    """Include the replay buffer in checkpoints. It takes gigabytes, but a resumed run need not refill it."""
    gpu: bool = False
    """Fail if there is no GPU."""
    fresh: bool = False
    """Remove an earlier run and start over."""

    def __call__(self) -> None:
        import jax

        from dorax.study.progress import watching

        if self.gpu and jax.default_backend() == "cpu":
            raise InvalidInput("--gpu is given, and JAX finds no GPU; allowed: without --gpu, or with jax[cuda12]")
        env, agent = dorax.envs.Atari(self.game), self.agent.agent(self.games)
        name = self.name(env.game)
        folder = self.out / name
        options = dorax.HostOptions(folder=folder, keep_replay=self.keep_replay, fresh=self.fresh)
        with watching(CONSOLE, 1.0) as watcher:
            progress = watcher(name)
            result = dorax.train(agent, env, steps=self.steps, seeds=[self.seed], host=options, progress=progress)
        result.learner().save(folder / "learner.npz")
        tests = result.data.test_return.mean("game").values.ravel()
        say(f"{folder}: the last test returned {tests[-1]:.1f}; dorax play {folder / 'learner.npz'}")

    def name(self, game: str) -> str:
        """Name the run: game, bonus, seed, and every option that is not the default and changes the run.

        A run with more steps goes on from the same folder.

        Args:
            game: the game, as its environment spells it.

        Returns:
            The name.
        """
        words = [game, self.agent.bonus, *(["lll"] if self.agent.acts_by == "lll" else []), str(self.seed)]
        shown = ("game", "agent", "bonus", "acts_by", "seed", "steps", "out", "keep_replay", "gpu", "fresh")
        return run_name(words, [self.agent, self], without=shown)


@dataclass(frozen=True)
class Play:
    """Write a GIF of a trained Atari learner, with Q and the generalized counts of its actions beside the screen."""

    learner: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="LEARNER")]
    """File learner.npz of a training run."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")] = Path("play.gif")
    """GIF file to write."""
    steps: int = 450
    """Maximum number of steps to show, at fifteen per second."""
    seed: int = 0
    """Seed of the game."""

    def __call__(self) -> None:
        learner = dorax.load(self.learner)
        env = dorax.envs.Atari(learner.spec.name)
        score = dorax.play(learner, env, self.out, steps=self.steps, seed=self.seed)
        print(f"wrote {self.out}: score {score:g}")
