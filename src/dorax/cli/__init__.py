"""The command line: list, run, report, reproduce, bench, train, atari, play, explore."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.table import Table

import dorax
from dorax.cli.console import CONSOLE, say
from dorax.cli.train import Train
from dorax.core import LLL, EpsilonGreedy, EValues, InvalidInput, InverseRootCount, InverseRootLogE, LinearSchedule
from dorax.engine.devices import use_all_cores
from dorax.envs import words

if TYPE_CHECKING:
    from dorax.agents.atari import AtariAgent
    from dorax.study.experiment import Experiment, Size
    from dorax.study.results import Results


@dataclass(frozen=True)
class List:
    """List the experiments with their figure, title and size."""

    def __call__(self) -> None:
        table = Table(box=None, pad_edge=False)
        for heading in ("name", "figure", "title", "size"):
            table.add_column(heading, overflow="fold", no_wrap=heading == "name")  # names are for copying
        for name, experiment in _experiments().items():
            table.add_row(name, experiment.figure, experiment.title, experiment.extent(experiment.size))
        CONSOLE.print(table)


@dataclass(frozen=True)
class Run:
    """Run experiments. Finished results are kept, and the same command resumes after an interruption."""

    names: tyro.conf.Positional[tuple[str, ...]]
    """Experiments by name; `dorax list` shows them."""
    out: Path = Path("out")
    """Folder for results."""
    seeds: int | None = None
    """Number of reported seeds, if not that of the experiment."""
    quick: bool = False
    """Run few episodes, few seeds and, where compilation takes long, fewer agents."""
    fresh: bool = False
    """Remove stored results, ignore recorded ones, and run everything again."""
    keep_replay: bool = False
    """Include replay buffers in checkpoints. They take gigabytes, but a resumed run need not refill them."""
    anywhere: bool = False
    """Run studies that are meant for a GPU without one, too. They may take days."""

    def __call__(self) -> None:
        experiments = _experiments()
        if not self.names:
            raise InvalidInput(f"no experiment was given; allowed: {', '.join(experiments)}")
        for name in self.names:
            if name not in experiments:
                raise InvalidInput(f"experiment {name!r} is unknown; allowed: {', '.join(experiments)}")
        _run({name: experiments[name] for name in self.names}, self)


@dataclass(frozen=True)
class Report:
    """Write report.html and claims.json from the results so far."""

    out: Path = Path("out")
    """Folder with results."""
    publish: bool = False
    """Also copy claims, durations and figures into results/ and docs/, and update the findings in the README."""

    def __call__(self, at_hand: dict[str, Results] | None = None) -> None:
        from dorax.study.publishing import publish
        from dorax.study.report import verdicts_by_experiment, write_report
        from dorax.study.store import Store

        experiments = _experiments()
        store = Store(self.out)
        claims = write_report(experiments, store, at_hand)
        for path in store.damaged:
            print(f"{path} is damaged; dorax run will recompute it")
        for name, verdicts in verdicts_by_experiment(claims).items():
            words = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("holds", "fails", "unclear"))
            print(f"{name:22} {words}")
        if self.publish:
            publish(experiments, claims, store)
        print(f"wrote {self.out / 'report.html'} and {self.out / 'claims.json'}")


@dataclass(frozen=True)
class Reproduce:
    """Run every experiment except the recorded ones, then write the report."""

    out: Path = Path("out")
    """Folder for results."""
    quick: bool = False
    """Run few episodes, few seeds and, where compilation takes long, fewer agents."""
    fresh: bool = False
    """Remove stored results and run everything again."""

    def __call__(self) -> None:
        experiments = {name: found for name, found in _experiments().items() if not found.is_recorded}
        results = _run(experiments, Run(tuple(experiments), self.out, quick=self.quick, fresh=self.fresh))
        Report(self.out)(results)


@dataclass(frozen=True)
class Bench:
    """Benchmark the speed, as ratios within this run."""

    json: bool = False
    """Print the numbers as JSON."""
    freeway: bool = False
    """Measure the agents that play Atari instead; needs a GPU to be meaningful."""
    wrappers: bool = False
    """Measure the overhead of wrappers per step instead, and the import time of dorax."""
    parallel: bool = False
    """Measure the agents that play many games instead; the target for their speed is for a GPU."""

    def __call__(self) -> None:
        from dorax.bench import parallel, screen, wrapping, yardsticks

        chosen = {"freeway": screen, "wrappers": wrapping, "parallel": parallel}
        given = [name for name in chosen if getattr(self, name)]
        if len(given) > 1:
            raise InvalidInput(f"--{given[0]} and --{given[1]} are given; allowed: one benchmark at a time")
        found = (chosen[given[0]] if given else yardsticks).measure()
        yardsticks.print_yardsticks(found, CONSOLE, as_json=self.json)


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

    game: tyro.conf.Positional[str]
    """Game of the Arcade Learning Environment, such as freeway or MsPacman."""
    agent: AtariWords = field(default_factory=AtariWords)
    """Options of the agent."""
    steps: int = 3_000_000
    """Number of agent steps, all games together."""
    seed: int = 0
    """Seed of all random numbers."""
    games: int = 128
    """Number of games played in parallel."""
    out: Path = Path("out/atari")
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
        name = "-".join([env.game, self.agent.bonus, *(["lll"] if self.agent.acts_by == "lll" else []), str(self.seed)])
        folder = self.out / name
        options = dorax.HostOptions(folder=folder, keep_replay=self.keep_replay, fresh=self.fresh)
        with watching(CONSOLE, 1.0) as watcher:
            progress = watcher(name)
            result = dorax.train(agent, env, steps=self.steps, seeds=[self.seed], host=options, progress=progress)
        result.learner().save(folder / "learner.npz")
        tests = result.data.test_return.mean("game").values.ravel()
        say(f"{folder}: the last test returned {tests[-1]:.1f}; dorax play {folder / 'learner.npz'}")


@dataclass(frozen=True)
class Play:
    """Write a GIF of a trained Atari learner, with Q and the generalized counts of its actions beside the screen."""

    learner: tyro.conf.Positional[Path]
    """File learner.npz of a training run."""
    gif: Path = Path("play.gif")
    """GIF file to write."""
    steps: int = 450
    """Maximum number of steps to show, at fifteen per second."""
    seed: int = 0
    """Seed of the game."""

    def __call__(self) -> None:
        learner = dorax.load(self.learner)
        env = dorax.envs.Atari(learner.spec.name)
        score = dorax.play(learner, env, self.gif, steps=self.steps, seed=self.seed)
        print(f"wrote {self.gif}: score {score:g}")


@dataclass(frozen=True)
class Explore:
    """Train agents on a finite MDP and write a page that shows what they know after each episode."""

    mdp: tyro.conf.Positional[str]
    """bridge, tree, cliff, deep_sea, stochastic_deep_sea, river_swim, chain or key_and_door, with or without a size
    (bridge:20); a text file with a maze (.txt), or one of four_rooms, ledge and spiral; or a Gymnasium id such as
    FrozenLake-v1."""
    agent: tuple[str, ...] = ("e-values", "visits")
    """One or two of e-values, visits, softmax, epsilon-greedy, e-values-bonus."""
    episodes: int = 100
    """Number of training episodes. At most 200 are shown, mostly early ones."""
    seed: int = 0
    """Seed of the run."""
    discount: float = 0.99
    """Discount of rewards."""
    e_discount: float = 0.9
    """Exploration discount, the paper's gamma_E; 0 counts plain visits."""
    page: Path = Path("out/explore.html")
    """HTML file to write."""

    def __call__(self) -> None:
        from dorax import explorer

        mdp = words.mdp(self.mdp)
        agents = explorer.agents(self.agent, mdp, self.discount, self.e_discount)
        recordings = {name: explorer.record(mdp, agent, self.episodes, self.seed) for name, agent in agents.items()}
        explorer.write_page(self.page, mdp, recordings)
        print(f"wrote {self.page}: open it in a browser")


Command = (
    Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Run, tyro.conf.subcommand("run")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
    | Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Atari, tyro.conf.subcommand("atari")]
    | Annotated[Play, tyro.conf.subcommand("play")]
    | Annotated[Explore, tyro.conf.subcommand("explore")]
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Expected errors are printed in one line, with a non-zero exit code.

    Args:
        arguments: the arguments; by default those of the process.
    """
    if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        print(f"dorax {dorax.__version__}")
        return
    command: List | Run | Report | Reproduce | Bench | Train | Atari | Play | Explore = tyro.cli(
        Command,  # type: ignore[arg-type]
        prog="dorax",
        description=f"dorax {dorax.__version__}: directed exploration with E-values.",
        args=arguments,
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
    )
    use_all_cores()
    try:
        command()
    except InvalidInput as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        resumes = isinstance(command, Run | Reproduce | Train | Atari)
        unless = " (without --fresh)" if getattr(command, "fresh", False) else ""
        _fail("interrupted" + (f"; the same command{unless} resumes" if resumes else ""), 130)


def _run(experiments: dict[str, Experiment], options: Run) -> dict[str, Results]:
    from dorax.study.durations import expected_seconds, in_words
    from dorax.study.progress import watching
    from dorax.study.results import RunOptions, run
    from dorax.study.store import Store

    sizes = {name: _size(experiment, options) for name, experiment in experiments.items()}
    store = Store(options.out)
    expected = expected_seconds(experiments)
    total, done = sum(expected.values()), 0.0
    run_options = RunOptions(options.fresh, options.keep_replay, options.anywhere)
    results: dict[str, Results] = {}
    if not options.quick and not any(experiment.is_recorded for experiment in experiments.values()):
        what = _counted(len(experiments), "experiment")
        say(f"{what}: about {in_words(total)} on two cores; finished results are not run again")
    with watching(CONSOLE, total) as watcher:
        for name, experiment in experiments.items():
            began = time.perf_counter()
            results[name] = run(name, experiment, sizes[name], store, watcher, run_options)
            for path in store.damaged:
                say(f"{path} was damaged and has been recomputed")
            store.damaged.clear()
            done += expected[name]
            watcher.finished(done)
            say(f"{name:22} {time.perf_counter() - began:6.1f} s  {experiment.title}")
    return results


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(experiment: Experiment, options: Run) -> Size:
    size = experiment.quick if options.quick else experiment.size
    if options.seeds is None:
        return size
    if options.seeds < 2:
        raise InvalidInput(f"seeds is {options.seeds}; allowed: 2 or more, since an interval needs two runs")
    return replace(size, seeds=options.seeds)


def _experiments() -> dict[str, Experiment]:
    from dorax import experiments

    return experiments.find()


def _fail(message: str, code: int) -> None:
    print(f"dorax: {message}", file=sys.stderr)
    raise SystemExit(code)
