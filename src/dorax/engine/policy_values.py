"""A probe that records how good a learner's greedy policy is in a finite MDP, computed exactly."""

# JAX: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dorax.core.checks import check_whole
from dorax.engine.protocols import Change, Step, View
from dorax.mdps import MDP
from dorax.mdps.solve import greedy_policy, start_values


class Task:
    """What `GreedyValue` evaluates. All tasks are equal: only the host uses them, so probes share a compiled program.

    Args:
        mdps: the MDP of all lanes, or those of the seeds.
        settings: number of settings, which vary faster than seeds from lane to lane.
        discount: discount of the values.
        marks: steps or episodes after which a snapshot is taken.
    """

    def __init__(self, mdps: Sequence[MDP], settings: int, discount: float, marks: Sequence[int]) -> None:
        self.mdps, self.settings, self.discount, self.marks = mdps, settings, discount, marks

    def values(self, policies: np.ndarray) -> np.ndarray:
        """Compute the value of every lane's policy.

        Args:
            policies: probabilities, lanes x states x actions; lanes beyond the last seed are padding.

        Returns:
            The values.
        """
        if len(self.mdps) == 1:
            return start_values(self.mdps[0], policies, self.discount)
        first = range(0, len(policies), self.settings)
        of_lane = [self.mdps[min(i, len(self.mdps) - 1)] for i in range(len(first))]
        found = [
            start_values(mdp, policies[start : start + self.settings], self.discount)
            for mdp, start in zip(of_lane, first, strict=True)
        ]
        return np.concatenate(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task)

    def __hash__(self) -> int:
        return hash(Task)


class GreedyValue(eqx.Module):
    """Probe that records the exact value of the greedy policy at regular intervals.

    The value is that of the first state of an episode: the expected discounted return of the policy that is greedy in
    the learner's values, without a time limit, as for `MDP.optimal_q`; with a discount of 1, the expected return of an
    episode. Neither the noise of rewards nor exploration
    affects it. The dataset gets `greedy_value` and `snapshot_step`, the number of steps so far, over the dimension
    snapshot.

    Attributes:
        task: the MDP, the discount and the marks.
        clock: whether intervals are counted in steps or in episodes.
        columns: empty, because the probe adds nothing to the record of an episode.
    """

    task: Task = eqx.field(static=True)
    clock: Literal["episode", "step"] = eqx.field(default="step", static=True)
    columns: tuple[str, ...] = eqx.field(default=(), static=True)

    @classmethod
    def of(
        cls,
        mdp: MDP | Sequence[MDP],
        discount: float,
        every: int,
        length: int,
        clock: Literal["episode", "step"] = "step",
        settings: int = 1,
    ) -> GreedyValue:
        """Make the probe of an MDP.

        Args:
            mdp: the MDP, or a list with one for each seed.
            discount: the agent's discount, or 1 for returns of episodes with their time limit.
            every: steps or episodes between snapshots; there is also one before the first step.
            length: number of steps or episodes of the run.
            clock: whether to count steps or episodes.
            settings: number of settings of the run; only needed with a list of MDPs.

        Returns:
            The probe.
        """
        check_whole("every", every)
        check_whole("length", length)
        mdps = [mdp] if isinstance(mdp, MDP) else list(mdp)
        return cls(Task(mdps, settings, discount, range(0, length + 1, every)), clock)

    @property
    def marks(self) -> Sequence[int]:
        """Steps or episodes after which a snapshot is taken."""
        return self.task.marks

    def init(self, algorithm: Any, memory: Any) -> Int[Array, ""]:
        return jnp.zeros((), jnp.int32)

    def watch(self, state: Int[Array, ""], step: Step, change: Change | None, observation: Any) -> Int[Array, ""]:
        """Count the steps."""
        return state + jnp.sum(step.learns, dtype=jnp.int32)

    def record(self, state: Any) -> tuple[Float[Array, ""], ...]:
        return ()

    def enough(self, state: Any) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    def summary(self, state: Any) -> Mapping[str, Any]:
        return {}

    def dims(self, name: str) -> tuple[str, ...]:
        del name
        return ()

    def snapshot(self, state: Any, views: Callable[[Any], View]) -> Mapping[str, np.ndarray]:
        """Return the value of every lane's greedy policy, and its number of steps."""
        mdp = self.task.mdps[0]
        values = np.asarray(views(jnp.arange(mdp.states)).values, np.float64)
        policies = greedy_policy(values.reshape(-1, mdp.actions)).reshape(values.shape)
        return {
            "greedy_value": self.task.values(policies),
            "snapshot_step": np.asarray(state),
        }
