"""Replay of frames against a list that remembers everything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dorax.agents.atari import replay
from dorax.agents.atari.network import PIXELS
from dorax.agents.atari.replay import Outcome

ROWS, GROUPS, GROUP = 12, 2, 3
GAMES = GROUPS * GROUP


class History:
    """What happened, game by game, in plain lists."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.rows = replay.empty(ROWS, GAMES, GROUPS)
        self.seen = [[] for _ in range(GAMES)]  # of each game: dicts in order
        self.over = np.zeros(GAMES, bool)

    def turn(self, group):
        """One look of a group: what came of its last row, and a new one."""
        games = np.arange(group * GROUP, (group + 1) * GROUP)
        is_begin = not self.seen[games[0]]
        is_first = np.full(GROUP, True) if is_begin else self.over[games]
        reward = np.where(is_first, 0, self.random.integers(0, 5, GROUP)).astype(np.float32)
        is_terminal = ~is_first & (self.random.random(GROUP) < 0.25)
        if not is_begin:
            for i, game in enumerate(games):
                is_step = not is_first[i]
                self.seen[game][-1] |= {"reward": reward[i], "terminal": is_terminal[i], "is_step": is_step}
        self.over[games] = is_terminal
        self.rows = replay.with_outcome(self.rows, jnp.asarray(group), Outcome(reward, is_terminal, ~is_first))
        tones = self.random.integers(1, 256, GROUP)
        actions, bonuses = self.random.integers(0, 18, GROUP), self.random.random(GROUP).astype(np.float32)
        for i, game in enumerate(games):
            self.seen[game].append(
                {"tone": tones[i], "first": is_first[i], "action": actions[i], "bonus": bonuses[i], "number": tones[i]}
            )
        frames = np.broadcast_to(tones[:, None], (GROUP, PIXELS)).astype(np.uint8)
        arguments = frames, jnp.asarray(is_first), jnp.asarray(actions), jnp.asarray(bonuses)
        self.rows = replay.with_row(self.rows, jnp.asarray(group), *map(jnp.asarray, arguments))

    def steps(self):
        """Every step that may be drawn, as a tuple of all that is to be known of it."""
        found = set()
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
                        bool(row["terminal"]),
                        bool(row["is_step"]),
                    )
                )
        return found

    @staticmethod
    def state(game, t):
        tones = []
        for back in range(4):
            tones.append(int(game[t - back]["tone"]) if t - back >= 0 else 0)
            if t - back < 0 or game[t - back]["first"]:
                break
        return tuple([0] * (4 - len(tones)) + tones[::-1])


def drawn(rows, batch=4000):
    batch = replay.sample(rows, jax.random.key(5), batch)
    tones = [np.asarray(stacks[:, :, 0]) for stacks in (batch.stacks, batch.next_stacks)]
    assert all(np.all(np.asarray(stacks) == np.asarray(stacks)[:, :, :1]) for stacks in (batch.stacks,))
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
def test_what_is_drawn_is_what_happened_and_everything_may_be_drawn(turns):
    history = History(turns)
    for turn in range(turns):
        history.turn(turn % GROUPS)
    assert set(drawn(history.rows)) == history.steps()


def test_steps_are_drawn_evenly():
    history = History(1)
    for turn in range(2 * ROWS):
        history.turn(turn % GROUPS)
    found = list(drawn(history.rows, 20_000))
    _, counts = np.unique([hash(step) for step in found], return_counts=True)
    expected = 20_000 / len(history.steps())
    assert np.all(np.abs(counts - expected) < 6 * expected**0.5)
