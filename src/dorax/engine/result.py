"""Results of training: a labelled dataset and the trained learners."""

# xarray: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.engine.lanes import Lane, Recording
from dorax.engine.protocols import Agent
from dorax.engine.settings import Setting, labels
from dorax.envs.simulation import EnvSpec

if TYPE_CHECKING:
    import xarray as xr

_WORDS = {
    "seed": ("seed", ""),
    "setting": ("setting", ""),
    "episode": ("episode", ""),
    "return": ("return of the episode", "reward"),
    "length": ("length of the episode", "steps"),
    "steps": ("steps since the start", "steps"),
    "total_steps": ("steps of the whole run", "steps"),
    "test": ("training episodes before the test", "episodes"),
    "test_return": ("return of the greedy test", "reward"),
    "test_length": ("length of the greedy test", "steps"),
    "q_error": ("error of Q", "reward²"),
    "q_error_at_start": ("error of Q at the start", "reward²"),
    "q_error_of_zero": ("error of Q = 0", "reward²"),
    "episode_seconds": ("training time until the episode ended", "s"),
    "record_step": ("steps since the start", "steps"),
    "record_seconds": ("training time", "s"),
    "record_updates": ("updates", "updates"),
    "record_reward": ("mean reward of a step", "reward"),
    "record_bonus": ("mean bonus of a step", "reward"),
    "record_bonus_spread": ("spread of the bonus over the games of a turn", "reward"),
    "record_count": ("mean generalized count", "visits"),
    "record_epsilon": ("ε", ""),
    "record_q_loss": ("mean squared error of Q", "reward²"),
    "record_e_loss": ("mean squared error of the counter", ""),
    "test_step": ("steps before the test", "steps"),
    "greedy_return": ("mean return of games that play greedily", "reward"),
    "exploring_return": ("mean return of games that explore", "reward"),
    "snapshot": ("training episodes before the snapshot", "episodes"),
    "visits": ("visits", "steps"),
    "count": ("generalized count, summed over actions", "visits"),
}


class Trained(NamedTuple):
    """A learner at the end of its run.

    Attributes:
        agent: the agent.
        memory: what it learned.
        steps: number of steps learned from.
    """

    agent: Agent
    memory: Any
    steps: int


@dataclass(frozen=True, repr=False)
class Result:
    """The result of `dorax.train`.

    Attributes:
        data: an `xarray.Dataset` with the dimensions seed and episode, preceded by setting in a sweep.
            Its variables are `return`, `length` and `steps` (since the start of the run);
            `total_steps`; on finite MDPs `q_error` (after the episode), `q_error_at_start` and
            `q_error_of_zero`; with tests, `test_return` and `test_length` over the dimension test; with maps,
            `visits` and `count` over the dimension snapshot; on the host, `test_return` by game, and means since
            the last record over the dimension record (`record_reward`, `record_bonus`, ...). Values that a run did
            not reach are NaN. So is a test that became due between two updates together with a later one.
        spec: description of the environment.
        settings: the settings, in the order of the dimension setting.
        trained: the learners that were kept, by seed and index of the setting.
    """

    data: xr.Dataset
    spec: EnvSpec
    settings: Sequence[Setting]
    trained: Mapping[tuple[int, int], Trained]

    def learner(self, seed: int | None = None, setting: int | Setting | None = None) -> Any:
        """Return a trained learner, to act, inspect, save or train further.

        Args:
            seed: a seed whose learner was kept (see `learners` of `dorax.train`); by default the first.
            setting: index of a setting, or the setting itself; required if there are several.

        Returns:
            The learner.
        """
        kept = list(dict.fromkeys(seed for seed, _ in self.trained))
        if not kept:
            raise InvalidInput("no learner was kept; ask for some with train(..., learners=1)")
        seed = kept[0] if seed is None else seed
        if seed not in kept:
            raise InvalidInput(
                f"the learner of seed {seed} was not kept; allowed: {', '.join(map(str, kept))} "
                "(train(..., learners=...) says which are)"
            )
        trained = self.trained[seed, self._index(setting)]
        return trained.agent.learner(self.spec, trained.memory, steps=trained.steps, seed=seed)

    def _index(self, setting: int | Setting | None) -> int:
        if setting is None and len(self.settings) == 1:
            return 0
        if isinstance(setting, Mapping) and dict(setting) in [dict(known) for known in self.settings]:
            return [dict(known) for known in self.settings].index(dict(setting))
        if isinstance(setting, int) and 0 <= setting < len(self.settings):
            return setting
        known = "; ".join(labels(self.settings))
        raise InvalidInput(f"setting is {setting!r}; allowed: 0 to {len(self.settings) - 1}, or one of {known}")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.data.variables:
            raise AttributeError(f"a Result has no {name!r}; it is in its dataset: result.data[{name!r}]")
        raise AttributeError(f"a Result has no {name!r}; it has data (an xarray.Dataset) and learner(seed, setting)")

    def __repr__(self) -> str:
        sizes = dict(self.data.sizes)
        seeds, settings = sizes.pop("seed", 1), sizes.pop("setting", 1)
        runs = f"{seeds} seed{'s' * (seeds > 1)}" + (f" × {settings} settings" if settings > 1 else "")
        agents = [trained.agent for trained in self.trained.values()]
        agent = "" if not agents else f" of {agents[0] if len(self.settings) == 1 else type(agents[0]).__name__}"
        data = ", ".join(f"{name} {size}" for name, size in sizes.items())
        kept = ", ".join(map(str, sorted({seed for seed, _ in self.trained}))) or "none"
        return f"Result: {runs}{agent} in {self.spec.name}; data: {data}; learners of seeds: {kept}"


def dataset(
    lanes: Lane,
    probes: Sequence[Any],
    recording: Recording,
    episodes: int | None,
    settings: Sequence[Setting],
    seeds: Sequence[int],
    name: str,
) -> xr.Dataset:
    """Make the dataset of a run.

    Args:
        lanes: final lanes, whose arrays have leading axes over seeds and settings.
        probes: probes of the run.
        recording: what was recorded.
        episodes: number of episodes, or None if the run was limited by steps alone.
        settings: the settings.
        seeds: the seeds.
        name: name of the environment.

    Returns:
        The dataset.
    """
    import xarray as xr

    rows = int(np.max(lanes.episode, initial=1)) if episodes is None else episodes
    episode = np.arange(1, min(rows, recording.episodes) + 1)
    # Episodes that did not end are NaN in the log already.
    columns = ("return", "length", *(column for probe in probes for column in probe.columns))
    log = {column: lanes.log[:, :, : len(episode), i].copy() for i, column in enumerate(columns)}
    dims = ("seed", "setting", "episode")
    data = xr.Dataset(
        {column: (dims, values) for column, values in log.items()},
        coords={"seed": list(seeds), "setting": labels(settings), "episode": episode},
        attrs={"environment": name},
    )
    data["steps"] = (dims, np.cumsum(log["length"], axis=-1, dtype=np.float64))
    data["total_steps"] = (dims[:2], lanes.steps)
    for probe, state in zip(probes, lanes.probes, strict=True):
        for variable, values in probe.summary(state).items():
            further = () if np.ndim(values) <= 2 else probe.dims(variable)
            data[variable] = ((*dims[: min(np.ndim(values), 2)], *further), values)
    if recording.test_every is not None and lanes.tests is not None:
        test = recording.test_every * np.arange(1, len(episode) // recording.test_every + 1)
        is_tested = test <= lanes.episode[..., None]
        tests = np.where(is_tested[..., None], lanes.tests.log[:, :, : len(test)], np.nan)
        data = data.assign_coords(test=test)
        for i, variable in enumerate(("test_return", "test_length")):
            data[variable] = ((*dims[:2], "test"), tests[..., i])
    return data


def with_words(data: xr.Dataset) -> xr.Dataset:
    """Add long names and units to a dataset, so that plots label their axes.

    Args:
        data: the dataset, which is modified.

    Returns:
        The same dataset.
    """
    for name, (long_name, units) in _WORDS.items():
        if name in data.variables:
            data[name].attrs |= {"long_name": long_name} | ({"units": units} if units else {})
    return data
