"""A game as a trained network plays it, with what it thinks of each action beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dorax.deep.pixels.keeping import Kept
from dorax.deep.pixels.learning import chosen, with_frames
from dorax.deep.pixels.network import PIXELS, STACK, in_blocks, outputs
from dorax.deep.pixels.testing import EPSILON
from dorax.envs.atari import AtariGames, Screen, check_seed
from dorax.files import replacing
from dorax.lanes.running import check_whole

FRAMES_A_SECOND = 15  # as the game is played: 60 frames, of which an agent sees every fourth


class Moment(NamedTuple):
    """The screen in colours, the value and the generalized count of every action, the one taken, the score so far."""

    picture: np.ndarray
    values: np.ndarray
    counts: np.ndarray | None
    action: int
    score: float


def play(kept: Kept, steps: int, seed: int = 0, epsilon: float = EPSILON) -> Iterator[Moment]:
    """The moments of a game, one a step, until it ends or so many are played."""
    check_whole("steps", steps)
    check_seed(seed)
    training, agent = kept.training, kept.training.agent
    games = AtariGames(training.game, 1, training.sticky)
    screen = Screen(training.game, training.sticky)
    arrival = games.begin([seed])
    picture = screen.begin(seed)
    stacks, score = jnp.zeros((1, STACK, PIXELS), jnp.uint8), 0.0
    look = jax.jit(outputs)
    for step in range(steps):
        stacks = with_frames(stacks, in_blocks(jnp.asarray(arrival.frame)), jnp.asarray(arrival.is_first))
        out = look(kept.network, stacks)
        key = jax.random.fold_in(jax.random.key(seed), step)
        action = int(chosen(agent, out, jnp.asarray(epsilon), key)[0])
        counts = None if agent.e_values is None else np.asarray(agent.e_values.count(out.e))[0]
        yield Moment(picture, np.asarray(out.values)[0], counts, action, score)
        games.act(np.asarray([action]))
        arrival = games.arrive()
        picture = screen.step(action)
        score += float(arrival.reward[0])
        if arrival.is_terminal[0] or arrival.is_truncated[0]:
            break
    games.close()


def write_gif(path: Path, moments: Iterator[Moment], names: list[str]) -> float:
    """The game beside bars for the values and, where there are any, the counts of its actions; the score shown last."""
    from PIL import Image

    pictures, score = [], 0.0
    for moment in moments:
        pictures.append(Image.fromarray(drawn(moment, names)))
        score = moment.score
    with replacing(path) as unfinished:
        pictures[0].save(
            unfinished,
            format="GIF",
            save_all=True,
            append_images=pictures[1:],
            duration=round(1000 / FRAMES_A_SECOND),
            loop=0,
        )
    return score


def drawn(moment: Moment, names: list[str]) -> np.ndarray:
    """One picture. Bars of values are measured from the least of them, since only differences matter."""
    from PIL import Image, ImageDraw

    height, width = 420, 320
    blocks = [("Q, above the least", moment.values - moment.values.min(), moment.values, "#0072B2")]
    if moment.counts is not None:
        blocks.append(("generalized count", moment.counts, moment.counts, "#D55E00"))
    top = 36
    room = top + len(blocks) * (40 + 16 * len(names))
    canvas = Image.new("RGB", (width + 260, max(height, room)), "white")
    canvas.paste(Image.fromarray(moment.picture).resize((width, height), Image.Resampling.NEAREST), (0, 0))
    draw = ImageDraw.Draw(canvas)
    draw.text((width + 12, 8), f"score {moment.score:g}", fill="black")
    for title, bars, numbers, colour in blocks:
        draw.text((width + 12, top), title, fill="black")
        longest = max(float(bars.max()), 1e-9)
        for action, (bar, number) in enumerate(zip(bars, numbers, strict=True)):
            y = top + 18 + action * 16
            is_taken = action == moment.action
            draw.text((width + 12, y), names[action].lower(), fill="black" if is_taken else "#888888")
            end = width + 92 + 100 * float(bar) / longest
            draw.rectangle((width + 92, y + 2, max(end, width + 93), y + 11), fill=colour if is_taken else "#bbbbbb")
            draw.text((width + 200, y), f"{float(number):.3f}", fill="black" if is_taken else "#888888")
        top += 40 + 16 * len(bars)
    return np.asarray(canvas)
