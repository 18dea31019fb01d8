"""Training: returns a labelled dataset and trained learners for an agent, an environment and seeds."""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dorax.core.checks import InvalidInput, check_probability, check_whole, in_brief
from dorax.engine.compiled import UNLIMITED, CompiledRun, Snapshots
from dorax.engine.describing import digest, plain, words_of
from dorax.engine.driver import Program
from dorax.engine.host import HostOptions
from dorax.engine.host_training import train_on_host
from dorax.engine.lanes import Lane, Limits, Recording
from dorax.engine.probes import MapProbe, Maps
from dorax.engine.result import Result, Trained, dataset, with_words
from dorax.engine.resuming import Checkpoints, SharedFolder
from dorax.engine.running import Progress, by_seed_and_setting, lay_out, seed_list
from dorax.engine.settings import Setting, labels, setting_list, stacked, with_setting
from dorax.envs.host import HostEnv
from dorax.envs.simulation import Environments, environments

if TYPE_CHECKING:
    import xarray as xr

_MOST_LOGGED = 2**16  # maximum number of logged episodes if only steps are limited


class Job(Protocol):
    """Protocol of progress callbacks that come with a folder.

    Attributes:
        scratch: folder for checkpoints, which is deleted once the result is stored.
    """

    @property
    def scratch(self) -> Path: ...
    def __call__(self, share: float, steps: int, /) -> None: ...


@dataclass(frozen=True)
class Training:
    """A call of `train` as data: call it with settings and seeds to get the dataset.

    Attributes:
        agent: as for `train`.
        env: as for `train`.
        episodes: as for `train`.
        steps: as for `train`.
        until: as for `train`.
        test_every: as for `train`.
        maps: as for `train`.
        lanes: as for `train`.
        states: as for `train`.
    """

    agent: Any
    env: Any
    episodes: int | None = None
    steps: int | None = None
    until: float | None = None
    test_every: int | None = None
    maps: Maps | None = None
    lanes: int = 1
    states: int = 1

    def __call__(
        self, settings: Sequence[Setting], seeds: Sequence[int], progress: Progress | Job | None = None
    ) -> xr.Dataset:
        """Train.

        Args:
            settings: as for `train`.
            seeds: as for `train`.
            progress: as for `train`; if it has a folder, an interrupted run goes on from its checkpoint there.

        Returns:
            The dataset.
        """
        scratch: Path | None = None if isinstance(self.env, HostEnv) else getattr(progress, "scratch", None)
        folder = None if scratch is None else SharedFolder(scratch)
        return train(**vars(self), settings=settings, seeds=seeds, progress=progress, learners=[], folder=folder).data


def train(
    agent: Any,
    env: Any,
    episodes: int | None = None,
    seeds: int | Sequence[int] = 1,
    *,
    steps: int | None = None,
    settings: Sequence[Setting] | None = None,
    params: Any = None,
    until: float | None = None,
    test_every: int | None = None,
    maps: Maps | None = None,
    probes: Sequence[Any] = (),
    learners: int | Sequence[int] = 1,
    lanes: int = 1,
    states: int = 1,
    host: HostOptions | None = None,
    progress: Progress | None = None,
    folder: Path | str | SharedFolder | None = None,
) -> Result:
    """Train one learner for every seed and, in a sweep, for every setting, all in parallel.

    On a CPU, results are bitwise reproducible: the same seed gives the same numbers, whatever runs in parallel, on any
    number of devices, and with or without tests, maps and other probes. For a `ParallelAgent` this needs the same
    number of learners on each device.

    Args:
        agent: a `TabularAgent` (on finite MDPs), a `LinearAgent` or a `DeepAgent` (in functional environments), a
            `ParallelAgent` (on both), an `AtariAgent`; or a trained learner, to train it further.
        env: a finite MDP (`dorax.mdps`) or a functional environment (`dorax.envs`, or any with gymnax's
            interface), or a list with one for each seed, which differ in numbers only; or an environment that
            runs outside JAX: `dorax.envs.Atari("freeway")`, `dorax.envs.GymnasiumEnv("CartPole-v1")`.
        episodes: number of training episodes of each learner.
        seeds: number of seeds (0, 1, ...), or a list of seeds.
        steps: maximum number of steps of each learner; give this, `episodes` or both.
        settings: numbers to replace in the agent, such as `dorax.grid(temperature=(1, 3, 10))`.
        params: parameters of a functional environment; by default its own.
        until: on finite MDPs, end a run after an episode with `q_error` at or below this fraction of its initial value,
            and of that of Q = 0.
        test_every: number of episodes between greedy test episodes, from which nothing is learned.
        maps: record visits and counts over the observation space; see `Maps`.
        probes: further probes of the run (`dorax.engine.protocols.Probe`).
        learners: seeds whose trained learners are kept: a number (the first seeds) or a list. Learners may be large.
        lanes: minimum number of lanes, padding included, so that calls of different sizes share a compiled program.
        states: minimum number of states that a finite MDP is padded to, for the same reason.
        host: how runs outside JAX are recorded, tested and saved; see `HostOptions`.
        progress: called with the fraction done and the number of steps that this call has made.
        folder: folder for checkpoints, one about every minute and one at Ctrl-C, so that the same call goes on from
            there. It may then run on another number of devices. A run that is done removes its checkpoints: save the
            result. (For runs outside JAX, this is the folder of `host`.)

    Returns:
        A `Result` with the dataset (`data`) and the trained learners (`learner`).
    """
    agent, start = _agent_and_start(agent)
    chosen, variants = seed_list(seeds), setting_list(settings)
    kept = _kept_seeds(learners, chosen)
    _check_counts(episodes=episodes, steps=steps, test_every=test_every, lanes=lanes, states=states)
    agent.check_env(env)
    if progress is not None and not callable(progress):  # pyright: ignore[reportUnnecessaryComparison]
        raise InvalidInput(
            f"progress is {in_brief(progress)}; allowed: a function of the fraction done and the number of steps"
        )
    if isinstance(env, HostEnv):
        _refuse_on_host(
            params=params, until=until, test_every=test_every, maps=maps, probes=probes or None,
            lanes=None if lanes == 1 else lanes, states=None if states == 1 else states,
        )  # fmt: skip
        return train_on_host(
            agent, env, start, episodes=episodes, steps=steps, seeds=chosen, settings=variants,
            is_sweep=settings is not None, kept=kept, options=_host_options(host, folder), progress=progress,
        )  # fmt: skip
    if host is not None:
        raise InvalidInput(
            f"host is given with {in_brief(env)}; host supports environments outside JAX, such as envs.Atari"
        )
    is_padded = not getattr(agent, "is_heavy", False)
    world = environments(env, params, len(chosen), states, is_padded)
    algorithm = agent.algorithm(world.spec)  # raises on invalid combinations before anything is compiled
    agents = stacked(agent, variants)
    watching = _probes(agents, world, episodes, steps, until, maps, probes)
    weights = getattr(algorithm, "parameters", 0)
    layout = lay_out(agents, world.own, len(variants), chosen, lanes, is_padded, weights)
    limits = _limits(episodes, steps, 0 if start is None else start.steps)
    program = Program(layout.agents, world.shared, layout.own_env, watching, limits, layout.keys)
    pauses = test_every is not None or any(probe.marks is not None for probe in watching)
    recording = _recording(episodes, steps, test_every)._replace(pauses=pauses)
    _check_start(start, world)

    def memory() -> Any:
        return None if start is None else _repeated(start, world, agent, len(layout.is_wanted))

    def described() -> dict[str, Any]:
        return {
            **_described(agent, world, start, watching, chosen, variants),
            "episodes": episodes,
            "steps": steps,
            "test_every": test_every,
            "states": states,
        }

    with Checkpoints(_path(folder), described) as saved:
        ended, snapshots = CompiledRun(program, recording, layout, memory, saved).to_the_end(progress)
    shape = len(chosen), len(variants)
    recorded = by_seed_and_setting(_recorded(ended), *shape)
    data = dataset(recorded, watching, recording, episodes, variants, chosen, world.spec.name)
    data = _with_snapshots(data, watching, snapshots, shape).transpose("setting", "seed", ...)
    data = with_words(data if settings is not None else data.isel(setting=0, drop=True))
    if weights:
        data.attrs["parameters"] = weights
    return Result(data, world.spec, variants, _trained(agent, ended, limits, variants, chosen, kept))


def _host_options(options: HostOptions | None, folder: Path | str | SharedFolder | None) -> HostOptions:
    options = options or HostOptions()
    if folder is None:
        return options
    if options.folder is not None or isinstance(folder, SharedFolder):
        raise InvalidInput(f"folder is {folder} beside host={in_brief(options)}; allowed: one folder")
    return replace(options, folder=Path(folder))


def _path(folder: Path | str | SharedFolder | None) -> Path | SharedFolder | None:
    return Path(folder) if isinstance(folder, str) else folder


def _described(
    agent: Any, world: Environments, start: Any, probes: Sequence[Any], seeds: list[int], settings: Sequence[Setting]
) -> dict[str, Any]:
    """Describe what a checkpoint and the run that goes on from it must share, as JSON data."""
    learned = None if start is None else {"steps": start.steps, "digest": digest(start.memory)}
    return {
        "agent": plain(agent) or words_of(agent),
        "environment": {"name": world.spec.name, "digest": digest((world.shared, world.own))},
        "learner": learned,
        "probes": [f"{type(probe).__name__} {digest(probe)}" for probe in probes],
        "seeds": seeds,
        "settings": labels(settings),
        "backend": jax.default_backend(),
    }


def _refuse_on_host(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidInput(
                f"{name} is given with an environment outside JAX; it supports episodes, steps, seeds, settings, "
                "learners, progress and host=HostOptions(...)"
            )


def _recorded(lanes: Lane) -> Lane:
    """Return the part of the lanes that the dataset is made of. Memories may be large, so they stay on the device."""
    nothing: Any = None
    return lanes._replace(memory=nothing, game=nothing, clock=nothing, fault=nothing)


def _with_snapshots(
    data: xr.Dataset, probes: Sequence[Any], snapshots: Snapshots, shape: tuple[int, int]
) -> xr.Dataset:
    """Add the snapshots of probes to the dataset, over the dimension snapshot."""
    for i, taken in snapshots.items():
        for name in taken[0]:
            values = by_seed_and_setting(np.stack([each[name] for each in taken], axis=1), *shape)
            dims = ("seed", "setting", "snapshot", *probes[i].dims(name))
            data = data.assign({name: (dims, values)}).assign_coords(snapshot=list(probes[i].marks))
    return data


def _trained(
    agent: Any, lanes: Lane, limits: Limits, settings: Sequence[Setting], seeds: Sequence[int], kept: Sequence[int]
) -> dict[tuple[int, int], Trained]:
    wanted = [(seed, i) for seed in kept for i in range(len(settings))]
    at = np.asarray([list(seeds).index(seed) * len(settings) + i for seed, i in wanted], int)
    memories = jax.tree.map(lambda leaf: np.asarray(leaf[at]), lanes.memory) if wanted else None
    steps = np.asarray(lanes.steps)[at] + int(limits.steps_before)
    return {
        (seed, i): Trained(
            with_setting(agent, settings[i]), jax.tree.map(lambda leaf, n=n: leaf[n], memories), int(steps[n])
        )
        for n, (seed, i) in enumerate(wanted)
    }


def _agent_and_start(agent: Any) -> tuple[Any, Any]:
    """Return the agent, and the learner to start from if one was given."""
    if hasattr(agent, "memory") and hasattr(agent, "agent"):
        return agent.agent, agent
    if isinstance(agent, type) or not hasattr(agent, "algorithm"):
        raise InvalidInput(
            f"agent is {in_brief(agent)}; allowed: a TabularAgent, LinearAgent, DeepAgent, "
            "ParallelAgent or AtariAgent, or a learner"
        )
    return agent, None


def _check_start(learner: Any, world: Environments) -> None:
    if learner is not None and learner.spec.size != world.spec.size:
        name = learner.spec.name
        raise InvalidInput(f"the learner was trained on {name}; allowed: environments of the same kind and size")


def _repeated(learner: Any, world: Environments, agent: Any, lanes: int) -> Any:
    """Repeat a learner's memory for every lane, padded to the engine's number of states."""
    env = eqx.combine(world.shared, jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), world.own))
    like = jax.eval_shape(agent.algorithm(env).init, jax.random.key(0))

    def fitted(leaf: Any, like: Any) -> np.ndarray:
        room = np.zeros((lanes, *like.shape), like.dtype)
        room[(slice(None), *(slice(size) for size in np.shape(leaf)))] = leaf
        return room

    return jax.tree.map(fitted, learner.memory, like)


def _kept_seeds(learners: int | Sequence[int], seeds: list[int]) -> list[int]:
    if isinstance(learners, int | np.integer):
        return seeds[: int(learners)]
    unknown = [seed for seed in learners if seed not in seeds]
    if unknown:
        raise InvalidInput(f"learners names the seed {unknown[0]}; allowed: some of the seeds that are trained")
    return [int(seed) for seed in learners]


def _check_counts(*, episodes: int | None, steps: int | None, test_every: int | None, lanes: int, states: int) -> None:
    if episodes is None and steps is None:
        raise InvalidInput("neither episodes nor steps is given; allowed: one of them, or both")
    given = {"episodes": episodes, "steps": steps, "test_every": test_every, "lanes": lanes, "states": states}
    for name, number in given.items():
        if number is not None:
            check_whole(name, number)
    if test_every is not None and episodes is not None and test_every > episodes:
        raise InvalidInput(f"test_every is {test_every}; allowed: up to the {episodes} episodes")


def _limits(episodes: int | None, steps: int | None, steps_before: int) -> Limits:
    most = (UNLIMITED if number is None else number for number in (episodes, steps))
    return Limits(*(jnp.asarray(number, jnp.int32) for number in (*most, UNLIMITED, UNLIMITED, steps_before)))


def _recording(episodes: int | None, steps: int | None, test_every: int | None) -> Recording:
    """Allocate the episode log. Sizes are rounded up, so that runs of similar length share a compiled program."""
    episodes = min(steps or 1, _MOST_LOGGED) if episodes is None else episodes
    return Recording(max(1024, 1 << (episodes - 1).bit_length()), test_every)


def _probes(
    agents: Any, world: Environments, episodes: int | None, steps: int | None, until: float | None, maps: Maps | None,
    more: Sequence[Any],
) -> tuple[Any, ...]:  # fmt: skip
    found: list[Any] = []
    if until is not None:
        check_probability("until", until)
    if world.mdp is not None and hasattr(agents, "error_probe"):
        found.append(agents.error_probe(world.mdp, world.shared, until))
    elif until is not None:
        raise InvalidInput("until is given where the error of Q is not known; until supports tables on one finite MDP")
    if maps is not None:
        if not isinstance(maps, Maps):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"maps is {maps!r}; allowed: Maps(bins, every)")
        if episodes is None:
            raise InvalidInput("maps is given without episodes; maps supports runs with a number of episodes")
        found.append(MapProbe.of(maps, world.spec, episodes))
    if steps is not None and hasattr(agents, "return_probe"):
        found.append(agents.return_probe(steps))
    return (*found, *more)
