"""The page: an HTML template with the recordings embedded as JSON."""

# jinja2: typed in part only.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dorax.core.checks import InvalidInput
from dorax.core.extras import needing
from dorax.explorer.layouts import Drawing, drawing_of
from dorax.explorer.presets import AGENTS
from dorax.explorer.recording import WINDOW, Frame, Recording
from dorax.explorer.story import story
from dorax.files import replacing
from dorax.mdps import MDP

_COMPASS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
_TEMPLATE = "page.html.jinja"
_HOME = "https://github.com/dorax/dorax"


def write_page(path: Path, mdp: MDP, recordings: Mapping[str, Recording]) -> None:
    """Write a self-contained HTML page that shows the agents side by side.

    Args:
        path: the file.
        mdp: the MDP.
        recordings: recordings by name of the agent; all of the same episodes.
    """
    page = page_of(mdp, recordings)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def page_of(mdp: MDP, recordings: Mapping[str, Recording]) -> str:
    """Make a self-contained HTML page that shows the agents side by side.

    Args:
        mdp: the MDP.
        recordings: recordings by name of the agent; all of the same episodes.

    Returns:
        The HTML.
    """
    with needing("paper"):
        import jinja2
    episodes = {tuple(frame.episode for frame in recording.frames) for recording in recordings.values()}
    if len(episodes) != 1:
        raise InvalidInput(f"{len(episodes)} different lists of episodes are recorded; allowed: one for all agents")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    drawing = drawing_of(mdp)
    data = {
        "world": _world(mdp, drawing),
        "episodes": episodes.pop(),
        "window": WINDOW,
        "agents": [_shown_frames(mdp, recording.frames) for recording in recordings.values()],
        "returns": [[_rounded(mean) for mean in recording.mean_returns] for recording in recordings.values()],
        "reached": [recording.first_reached and recording.first_reached[0] for recording in recordings.values()],
    }
    return environment.get_template(_TEMPLATE).render(
        name=mdp.name,
        home=_HOME,
        data=data,
        drawing=drawing,
        story=story(mdp, recordings),
        about={name: _about(name, recording) for name, recording in recordings.items()},
    )


def _about(name: str, recording: Recording) -> str:
    agent = recording.agent
    e_discount = getattr(agent.counter, "discount", 0)
    numbers = f"γ = {agent.discount:g}, γ_E = {e_discount:g}, α = {agent.learning_rate:g}, seed {recording.seed}"
    return f"{AGENTS[name]}; {numbers}" if name in AGENTS else numbers


def _world(mdp: MDP, drawing: Drawing) -> dict[str, Any]:
    layout, distances = drawing.layout, drawing.distances
    return {
        "rows": layout.rows,
        "cells": layout.cells,
        "reachable": mdp.reachable.astype(int).tolist(),
        "start": np.flatnonzero(mdp.start).tolist(),
        "actions": mdp.action_names or [str(action) for action in range(mdp.actions)],
        "directions": _directions(mdp, drawing),
        "distances": None if distances is None else distances.tolist(),
        "from": drawing.what,
        "available": mdp.available.astype(int).tolist(),
    }


def _directions(mdp: MDP, drawing: Drawing) -> list[list[tuple[int, int]]]:
    """Return the rows and columns by which each pair moves; (0, 0) if an action has no direction.

    Compass names define the directions. Otherwise they point to the likeliest successor or, in a drawing by distance,
    to the side on which it is.
    """
    if mdp.action_names is not None and set(mdp.action_names) <= set(_COMPASS):
        return [[_COMPASS[name] for name in mdp.action_names]] * mdp.states
    cells = np.asarray(drawing.layout.cells)
    likeliest = mdp.probability.argmax(axis=2)[..., None]
    successor = np.take_along_axis(mdp.successor, likeliest, axis=2)[..., 0]
    moves = cells[successor] - cells[:, None]
    if drawing.distances is not None:
        is_other = drawing.distances[successor] != drawing.distances[:, None]
        moves = np.stack([np.zeros_like(is_other, int), np.sign(moves[..., 1]) * is_other], axis=2)
    return moves.tolist()


def _shown_frames(mdp: MDP, frames: list[Frame]) -> list[dict[str, Any]]:
    """Return each frame with the pairs that were visited since the previous one; only those have changed."""
    before = np.zeros_like(frames[0].visits)
    shown: list[dict[str, Any]] = []
    for frame in frames:
        pairs = np.flatnonzero(frame.visits != before)
        before = frame.visits
        shown.append(
            {
                "steps": frame.steps,
                "return": _rounded(frame.total_reward),
                "path": frame.path.tolist(),
                "exit": _exit(mdp, frame),
                "pairs": pairs.tolist(),
                "visits": frame.visits.flat[pairs].tolist(),
                "counts": [_rounded(count) for count in frame.counts.flat[pairs]],
                "q": [_rounded(value) for value in frame.q.flat[pairs]],
            }
        )
    return shown


def _exit(mdp: MDP, frame: Frame) -> int | None:
    """Return the action that ended the episode, unless its outcome is random."""
    if not frame.is_terminal or np.count_nonzero(mdp.probability[frame.path[-1], frame.last_action]) > 1:
        return None
    return frame.last_action


def _rounded(number: float) -> float | int:
    """Round to seven digits, the precision of float32."""
    short = float(f"{number:.7g}")
    return int(short) if short.is_integer() else short
