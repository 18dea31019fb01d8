"""`dorax train`: train an agent with many games on a world, both given by words."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from dorax.cli.console import CONSOLE, say
from dorax.cli.naming import run_name
from dorax.core.checks import InvalidInput, check_whole
from dorax.core.spreads import Spread
from dorax.envs import words

if TYPE_CHECKING:
    from dorax.agents.parallel import ParallelAgent

_EXPLORERS = (
    "{e-values,visits,draws,ucb,random-start,count-network,e-value-bonus,count-bonus,rnd,noveld,epsilon-greedy,"
    "bootstrapped}"
)
_FEATURES = Literal["table", "hashed-codes", "prototypes"]


@dataclass(frozen=True)
class ExplorerWords:
    """Numbers of the explorer; by default those of its preset. One that the explorer does not have is refused."""

    temperature: float | None = None
    """Temperature of the softmax policy, in units of return."""
    e_discount: float | None = None
    """Exploration discount, the paper's gamma_E: how far generalized counts look ahead."""
    power: float | None = None
    """Sharpness of independent draws."""
    scale: float | None = None
    """Multiplier of a bonus or of a confidence width."""
    novelty_discount: float | None = None
    """Discount of the values of a bonus."""
    epsilon: tuple[float, float] | None = None
    """ε of the first and of the last game that explores; those of the others lie between."""
    heads: int | None = None
    """Number of heads of Q."""
    prior_scale: float | None = None
    """Scale of the random functions that are added to the heads."""
    predictor_rate: float | None = None
    """Learning rate of a predictor network."""
    share: float | None = None
    """Share of the observations that a predictor network is trained on."""
    network_rate: float | None = None
    """Learning rate of a network that predicts counts."""
    features: _FEATURES | None = None
    """How states are told apart for counting; by default a table for finite MDPs and prototypes for vectors."""

    def numbers(self) -> dict[str, Any]:
        """Return the numbers that were given, as arguments of `preset`."""
        import dorax

        kinds = {"table": dorax.Table, "hashed-codes": dorax.HashedCodes, "prototypes": dorax.Prototypes}
        given = {name: value for name, value in vars(self).items() if value is not None}
        if self.features is not None:
            given["features"] = kinds[self.features]()
        if self.epsilon is not None:
            first, last = self.epsilon
            given["epsilon"] = first if first == last else Spread(first, last)
        return given


@dataclass(frozen=True)
class LearnerWords:
    """How Q is learned."""

    games: int = 64
    """Number of games of each learner."""
    greedy_share: float = 0.25
    """Share of the games that play greedily."""
    learning_rate: float = 5e-4
    """Learning rate of Adam."""
    discount: float = 0.99
    """Discount of rewards, the paper's gamma."""
    trace: float = 0.65
    """λ of the returns that Q learns from."""
    rollout: int = 32
    """Steps of each game between updates."""
    epochs: int = 2
    """Passes over the steps of a rollout."""
    minibatches: int = 4
    """Parts of a rollout, one gradient step each."""
    replay: int | None = None
    """Number of past steps to learn from again; by default none."""
    replayed: int = 1
    """Steps that are replayed for each new one."""
    width: int = 256
    """Units per hidden layer."""
    depth: int = 2
    """Number of hidden layers."""


@dataclass(frozen=True)
class Train:
    """Train an agent that plays many games in parallel. After an interruption, the same command resumes."""

    is_resumable: ClassVar[bool] = True

    world: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WORLD")]
    """bridge, tree, cliff, deep_sea, stochastic_deep_sea, river_swim, chain or key_and_door, with or without a size
    (deep_sea:20); a text file with a maze (.txt), or one of four_rooms, ledge and spiral; mountain_car or acrobot; an
    environment of gymnax, such as Breakout-MinAtar; or a Gymnasium id with a transition table."""
    explorer: Annotated[str, tyro.conf.arg(metavar=_EXPLORERS)] = "e-values"
    """How it explores."""
    steps: int = 500_000
    """Number of steps of each seed, all games together."""
    seeds: int = 1
    """Number of seeds, which train side by side."""
    numbers: tyro.conf.OmitArgPrefixes[ExplorerWords] = field(default_factory=ExplorerWords)
    """Numbers of the explorer."""
    learner: tyro.conf.OmitArgPrefixes[LearnerWords] = field(default_factory=LearnerWords)
    """How Q is learned."""
    target: float | None = None
    """Return that counts as solved; by default 95 % of the best possible one, where that is known."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("out/train")
    """Folder for the dataset, the learner of the first seed and the curves; each run has its own subfolder."""

    def __call__(self) -> None:
        import dorax
        from dorax.study.figures import write
        from dorax.study.progress import watching
        from dorax.study.store import Store
        from dorax.study.training_curves import drawn, summary

        check_whole("seeds", self.seeds)
        env, agent = words.world(self.world), self.agent()
        target = words.target(env) if self.target is None else self.target
        folder = self.out / self.name
        with watching(CONSOLE, 1.0) as watcher:
            watch = _Stopwatch(watcher(self.name))
            result = dorax.train(agent, env, steps=self.steps, seeds=self.seeds, progress=watch, folder=folder)
        Store(folder).save(folder / "data.nc", result.data)
        result.learner().save(folder / "learner.npz")
        write(drawn(result.data, target, f"{self.explorer} on {result.spec.name}"), folder, "curve")
        for line in (*summary(result.data, target), watch.words()):
            say(line)
        say(f"{folder}: data.nc, learner.npz, curve.png, curve.svg, curve.pdf")

    def agent(self) -> ParallelAgent:
        """Create the agent."""
        from dorax.agents.explorers import preset
        from dorax.agents.parallel import ParallelAgent

        try:
            arguments = preset(self.explorer, **self.numbers.numbers())
        except InvalidInput as error:
            raise InvalidInput(str(error).replace("_", "-")) from None  # as the options are written
        return ParallelAgent(**arguments, **vars(self.learner))

    @property
    def name(self) -> str:
        """Name of the run: world, explorer, and every number that is not the default."""
        world = self.world.removesuffix(".txt").strip("./").replace("/", "_").replace(":", "-")
        shown = ("world", "explorer", "numbers", "learner", "out")
        return run_name([world, self.explorer], [self, self.numbers, self.learner], without=shown)


class _Stopwatch:
    """Passes progress on and measures the speed. The first report comes after compilation and the first chunk."""

    def __init__(self, report: Any) -> None:
        self._report, self._began = report, time.perf_counter()
        self._first: tuple[float, int] | None = None
        self._last = self._began, 0

    def __call__(self, share: float, steps: int) -> None:
        self._last = time.perf_counter(), steps
        self._first = self._first or self._last
        self._report(share, steps)

    def words(self) -> str:
        """Return the time and the speed in words; without compilation if most of the run is measured then."""
        (now, steps), (first, before) = self._last, self._first or self._last
        if 2 * before < steps and first < now:
            return f"{now - self._began:.1f} s; {(steps - before) / (now - first):.1e} steps/s after compilation"
        seconds = now - self._began
        return f"{seconds:.1f} s; {steps / seconds:.1e} steps/s with compilation"
