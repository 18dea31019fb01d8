"""Pseudo-counts of frames by a density model: context tree switching, one tree a pixel.

A frame is shrunk to 42 x 42 pixels of 8 grey levels. Each pixel is predicted from four
of its neighbours to the left and above by a tree of contexts, the nearest neighbour
first (Veness et al., 2012; Bellemare et al., 2016). How much likelier the frame becomes
by being counted, its prediction gain, tells how often it was seen: the pseudo-count.

Every pixel position has a tree of its own, as in Bellemare et al. The authors' released
code shares one among all pixels.

A node holds how often each level followed its context, and how much to trust itself
rather than its child. With 8 levels and 4 neighbours a tree has 4681 nodes: so few that
all trees stand in one array, and a frame updates one path in each of them at once.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SIDE, LEVELS, DEPTH = 42, 8, 4
NODES = sum(LEVELS**depth for depth in range(DEPTH + 1))
FIRST_OF_DEPTH = np.cumsum([0, *(LEVELS**depth for depth in range(DEPTH))])


class Density(NamedTuple):
    """Trees of all pixels: counts of levels, pixels x nodes x levels; log-weights of a node itself and of its child."""

    counts: jax.Array
    log_weights: jax.Array
    frames: jax.Array


def new_density() -> Density:
    pixels = SIDE * SIDE
    return Density(
        counts=jnp.full((pixels, NODES, LEVELS), 1 / LEVELS),
        log_weights=jnp.full((pixels, NODES, 2), jnp.log(0.5)),
        frames=jnp.zeros(()),
    )


def seen(model: Density, frames: jax.Array) -> tuple[Density, jax.Array]:
    """The model after these frames, 84 x 84 bytes each and counted one after the other; and their pseudo-counts."""
    model, gains = prediction_gains(model, frames)
    return model, pseudo_count(gains)


def prediction_gains(model: Density, frames: jax.Array) -> tuple[Density, jax.Array]:
    """The model after these frames, and by how much each made itself likelier, as a logarithm."""
    return jax.lax.scan(_counted, model, _levels(frames))


def _levels(frames: jax.Array) -> jax.Array:
    pooled = frames.reshape(-1, SIDE, 2, SIDE, 2).astype(jnp.float32).mean(axis=(2, 4))
    return jnp.minimum((pooled * (LEVELS / 256)).astype(jnp.int32), LEVELS - 1)


def _counted(model: Density, levels: jax.Array) -> tuple[Density, jax.Array]:
    at = (jnp.arange(SIDE * SIDE)[:, None], _path(levels))
    level = levels.reshape(-1)
    counts, log_weights = model.counts[at], model.log_weights[at]
    time = model.frames + 1
    log_switch, log_keep = -jnp.log(time + 1), jnp.log1p(-1 / (time + 1))

    before = _log_estimate(counts, level)
    mixed = _mixed(before, log_weights)
    # Each node learns whether itself or its child foretold the level; the leaves have no child.
    words = jnp.stack([before[:, :-1], mixed[:, 1:]], axis=-1)
    posterior = log_weights[:, :-1] + words - mixed[:, :-1, None]
    posterior = jnp.logaddexp(log_keep + posterior, log_switch + posterior[..., ::-1])
    new_weights = log_weights.at[:, :-1].set(posterior)
    new_counts = counts + jax.nn.one_hot(level, LEVELS)[:, None]
    after = _mixed(_log_estimate(new_counts, level), new_weights)

    updated = Density(model.counts.at[at].set(new_counts), model.log_weights.at[at].set(new_weights), time)
    return updated, jnp.sum(after[:, 0] - mixed[:, 0])


def pseudo_count(gain: jax.Array) -> jax.Array:
    """How often a frame was seen whose log-probability grew by `gain` by being seen once more; at most 10^8 times."""
    return 1 / jnp.expm1(jnp.maximum(gain, 1e-8))


def _path(levels: jax.Array) -> jax.Array:
    """The nodes of each pixel's contexts, from the root down, pixels x 5: left, above, above left, above right."""
    padded = jnp.pad(levels, ((1, 0), (1, 1)))
    left, above = padded[1:, :-2], padded[:-1, 1:-1]
    above_left, above_right = padded[:-1, :-2], padded[:-1, 2:]
    within, nodes = jnp.zeros_like(levels), [jnp.zeros_like(levels)]
    for depth, neighbour in enumerate((left, above, above_left, above_right), start=1):
        within = within * LEVELS + neighbour
        nodes.append(FIRST_OF_DEPTH[depth] + within)
    return jnp.stack(nodes, axis=-1).reshape(-1, DEPTH + 1)


def _log_estimate(counts: jax.Array, level: jax.Array) -> jax.Array:
    of_level = jnp.take_along_axis(counts, level[:, None, None], axis=2)[..., 0]
    # One logarithm: the rounding of two is the same in all pixels of a background, and adds up.
    return jnp.log(of_level / jnp.sum(counts, axis=2))


def _mixed(log_estimate: jax.Array, log_weights: jax.Array) -> jax.Array:
    """What each node of a path says of the level: its own estimate and its child's word, weighed."""
    said = [log_estimate[:, -1]]
    for depth in reversed(range(DEPTH)):
        own, childs = log_weights[:, depth, 0], log_weights[:, depth, 1]
        said.append(jnp.logaddexp(own + log_estimate[:, depth], childs + said[-1]))
    return jnp.stack(said[::-1], axis=1)
