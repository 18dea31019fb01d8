"""Replay of frames against a list that remembers everything."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax.agents.atari import replay
from dorax.agents.atari.replay import Outcome, ReplayBuffer
from dorax.envs.atari import PIXELS

pytestmark = pytest.mark.slow  # nearly all of it is compiling

ROWS, GROUPS, GROUP = 12, 2, 3
GAMES = GROUPS * GROUP


class History:
    """What happened, game by game, in plain lists."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.rows = replay.empty(ROWS, GAMES, GROUPS)
        self.seen: list[list[dict[str, Any]]] = [[] for _ in range(GAMES)]  # of each game: dicts in order
        self.over = np.zeros(GAMES, bool)

    def turn(self, group: int) -> None:
        """One turn of a group: what came of its last row, and a new one."""
        games = np.arange(group * GROUP, (group + 1) * GROUP)
        is_begin = not self.seen[games[0]]
        is_first = np.full(GROUP, True) if is_begin else self.over[games]
        reward = np.where(is_first, 0, self.random.integers(0, 5, GROUP)).astype(np.float32)
        terminated = ~is_first & (self.random.random(GROUP) < 0.25)
        if not is_begin:
            for i, game in enumerate(games):
                is_step = not is_first[i]
                self.seen[game][-1] |= {"reward": reward[i], "terminated": terminated[i], "is_step": is_step}
        self.over[games] = terminated
        outcome = Outcome(*map(jnp.asarray, (reward, terminated, ~is_first)))
        self.rows = replay.with_outcome(self.rows, jnp.asarray(group), outcome)
        tones = self.random.integers(1, 256, GROUP)
        actions, bonuses = self.random.integers(0, 18, GROUP), self.random.random(GROUP).astype(np.float32)
        for i, game in enumerate(games):
            self.seen[game].append({"tone": tones[i], "first": is_first[i], "action": actions[i], "bonus": bonuses[i]})
        frames = np.broadcast_to(tones[:, None], (GROUP, PIXELS)).astype(np.uint8)
        arguments = frames, jnp.asarray(is_first), jnp.asarray(actions), jnp.asarray(bonuses)
        self.rows = replay.with_row(self.rows, jnp.asarray(group), *map(jnp.asarray, arguments))

    def steps(self) -> set[tuple[Any, ...]]:
        """Every step that may be drawn, as a tuple of all that is to be known of it."""
        found: set[tuple[Any, ...]] = set()
        newest = min(len(game) for game in self.seen)
        most = max(len(game) for game in self.seen)
        oldest = most - ROWS + 3 if most > ROWS else 0
        for game in self.seen:
            for t in range(oldest, newest - 1):
                row, after = game[t], game[t + 1]
                found.add(
                    (
                        *self.state(game, t),
                        *(self.state(game, t + 1) if row["is_step"] else ()),
                        row["action"],
                        after["action"],
                        float(row["bonus"]),
                        float(row["reward"]),
                        bool(row["terminated"]),
                        bool(row["is_step"]),
                    )
                )
        return found

    @staticmethod
    def state(game: list[dict[str, Any]], t: int) -> tuple[int, ...]:
        tones: list[int] = []
        for back in range(4):
            tones.append(int(game[t - back]["tone"]) if t - back >= 0 else 0)
            if t - back < 0 or game[t - back]["first"]:
                break
        return tuple([0] * (4 - len(tones)) + tones[::-1])


def drawn(rows: ReplayBuffer, number: int = 4000) -> Iterator[tuple[Any, ...]]:
    batch = replay.sample(rows, jax.random.bits(jax.random.key(5), (1, 2, number)))
    tones = [np.asarray(stacks[:, :, 0]) for stacks in (batch.stacks, batch.next_stacks)]
    assert np.all(np.asarray(batch.stacks) == np.asarray(batch.stacks)[:, :, :1])
    columns = batch.actions, batch.next_actions, batch.bonuses, *batch.outcome
    for i, row in enumerate(zip(*(np.asarray(column) for column in columns), strict=True)):
        action, after, bonus, reward, terminal, is_step = row
        following = tuple(map(int, tones[1][i])) if is_step else ()
        yield (
            *map(int, tones[0][i]),
            *following,
            action,
            after,
            float(bonus),
            float(reward),
            bool(terminal),
            bool(is_step),
        )


@pytest.mark.parametrize("turns", [4, 5, 15, 24, 25, 40, 61])
def test_what_is_drawn_is_what_happened_and_everything_may_be_drawn(turns: int) -> None:
    history = History(turns)
    for turn in range(turns):
        history.turn(turn % GROUPS)
    assert set(drawn(history.rows)) == history.steps()


def test_steps_are_drawn_evenly() -> None:
    history = History(1)
    for turn in range(2 * ROWS):
        history.turn(turn % GROUPS)
    found = list(drawn(history.rows, 20_000))
    _, counts = np.unique([hash(step) for step in found], return_counts=True)
    expected = 20_000 / len(history.steps())
    assert np.all(np.abs(counts - expected) < 6 * expected**0.5)


def test_draws_depend_on_their_own_bits_and_not_on_how_many_updates_are_drawn_at_once() -> None:
    history = History(2)
    for turn in range(2 * ROWS):
        history.turn(turn % GROUPS)
    bits = jax.random.bits(jax.random.key(7), (3, 2, 8))
    together = replay.sample(history.rows, bits)
    alone = [replay.sample(history.rows, bits[i : i + 1]) for i in range(3)]
    jax.tree.map(lambda one, *parts: np.testing.assert_array_equal(one, np.concatenate(parts)), together, *alone)
