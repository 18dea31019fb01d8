"""Games that take their turn together, and what has come of their episodes so far."""

from __future__ import annotations

import numpy as np

from dorax.agents.atari.learning import Seen
from dorax.agents.atari.replay import Outcome
from dorax.envs.atari import AtariGames


class ActorBatch:
    def __init__(self, games: AtariGames) -> None:
        self.games = games
        self.is_acting = False

    def begin(self, seeds: np.ndarray) -> None:
        self.now = self.games.begin(seeds)
        self.returns, self.lengths = np.zeros(self.games.number), np.zeros(self.games.number, int)

    def act(self, actions: np.ndarray) -> None:
        self.games.act(actions)
        self.is_acting = True

    def arrive(self) -> list[tuple[float, int]]:
        """Wait for what came of the last actions; return and length of the episodes that ended.

        Returns are those of the game: no bonus, nothing clipped.
        """
        if not self.is_acting:
            return []
        self.now = now = self.games.arrive()
        self.returns += now.reward
        self.lengths += ~now.is_first
        is_over = now.is_terminal | now.is_truncated
        ended = [(float(self.returns[i]), int(self.lengths[i])) for i in np.flatnonzero(is_over)]
        self.returns[is_over] = self.lengths[is_over] = 0
        return ended

    def seen(self) -> Seen:
        now = self.now
        return Seen(now.frame, now.is_first, Outcome(now.reward, now.is_terminal, ~now.is_first))
