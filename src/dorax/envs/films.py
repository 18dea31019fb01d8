"""GIFs of a learner that plays, with its values and counts drawn as bars beside the picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.files import replacing


class Moment(NamedTuple):
    """One frame of a GIF.

    Attributes:
        picture: picture of the environment, height x width x 3, uint8.
        values: value of every action.
        counts: count of every action, or None.
        action: the action taken.
        score: return so far.
    """

    picture: np.ndarray
    values: np.ndarray
    counts: np.ndarray | None
    action: int
    score: float


def write_gif(path: Path, moments: Iterator[Moment], names: Sequence[str], frames_a_second: int = 15) -> float:
    """Write moments as a GIF.

    Args:
        path: the file.
        moments: one for each frame.
        names: names of the actions.
        frames_a_second: frames per second.

    Returns:
        The score of the last moment.
    """
    from PIL import Image

    pictures, score = [], 0.0
    for moment in moments:
        pictures.append(Image.fromarray(drawn(moment, names)))
        score = moment.score
    if not pictures:
        raise InvalidInput("there are no moments to show; allowed: one or more")
    with replacing(Path(path)) as unfinished:
        pictures[0].save(
            unfinished,
            format="GIF",
            save_all=True,
            append_images=pictures[1:],
            duration=round(1000 / frames_a_second),
            loop=0,
        )
    return score


def drawn(moment: Moment, names: Sequence[str]) -> np.ndarray:
    """Draw one moment. Bars of values start at the lowest of them, since only differences matter.

    Args:
        moment: what to draw.
        names: names of the actions.

    Returns:
        An image, height x width x 3, uint8.
    """
    from PIL import Image, ImageDraw

    screen = Image.fromarray(moment.picture)
    scale = max(1, round(400 / max(screen.size)))
    screen = screen.resize((screen.width * scale, screen.height * scale), Image.Resampling.NEAREST)
    width, height = screen.size
    values = np.where(
        np.isfinite(moment.values), moment.values, np.min(moment.values, initial=0, where=np.isfinite(moment.values))
    )
    blocks = [("Q, above the least", values - values.min(), moment.values, "#0072B2")]
    if moment.counts is not None:
        blocks.append(("generalized count", moment.counts, moment.counts, "#D55E00"))
    top = 36
    room = top + len(blocks) * (40 + 16 * len(names))
    canvas = Image.new("RGB", (width + 260, max(height, room)), "white")
    canvas.paste(screen, (0, 0))
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
