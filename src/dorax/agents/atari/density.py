"""Pseudo-counts of frames by a density model: context tree switching, with one tree per pixel.

A frame is downsampled to 42 x 42 pixels of 8 grey levels. Each pixel is predicted from four neighbours to the left
and above by a context tree, the nearest neighbour first (Veness et al., 2012; Bellemare et al., 2016). The prediction
gain, by how much observing a frame raises its log-probability, determines its pseudo-count.

Every pixel position has its own tree, as in Bellemare et al.; the authors' released code shares one tree among all
pixels.

A node holds the counts of the levels that followed its context, and the weights of its own prediction and of its
child's. With 8 levels and 4 neighbours a tree has 4681 nodes, few enough to store all trees in one array. A frame
updates one path in every tree, all in parallel.
"""

# JAX and Equinox: typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

SIDE, LEVELS, DEPTH = 42, 8, 4
NODES = sum(LEVELS**depth for depth in range(DEPTH + 1))
FIRST_OF_DEPTH = np.cumsum([0, *(LEVELS**depth for depth in range(DEPTH))])


class DensityState(NamedTuple):
    """Trees of all pixels.

    Attributes:
        counts: counts of the levels in each node.
        log_weights: log-weights of a node's own prediction and of its child's.
        frames: number of frames so far.
    """

    counts: Float[Array, "pixels nodes levels"]
    log_weights: Float[Array, "pixels nodes 2"]
    frames: Float[Array, ""]


class DensityModel(eqx.Module):
    """Counter of frames for an `AtariAgent`: pseudo-counts by a density model, independent of the action.

    Meant for bonuses, such as `InverseRootCount(0.05, floor=0.01)`. Frames are processed one after the other, which
    takes far more time than a second head of the network.
    """

    def init(self) -> DensityState:
        """Return the model before the first frame."""
        pixels = SIDE * SIDE
        return DensityState(
            counts=jnp.full((pixels, NODES, LEVELS), 1 / LEVELS),
            log_weights=jnp.full((pixels, NODES, 2), jnp.log(0.5)),
            frames=jnp.zeros(()),
        )

    def seen(
        self, model: DensityState, frames: UInt8[Array, "frames 7056"]
    ) -> tuple[DensityState, Float[Array, " frames"]]:
        """Update the model with some frames.

        Args:
            model: the model before.
            frames: frames in blocks (`dorax.envs.atari.in_blocks`).

        Returns:
            The model after these frames, and the pseudo-count of each.
        """
        model, gains = prediction_gains(model, frames)
        return model, pseudo_count(gains)


def prediction_gains(
    model: DensityState, frames: UInt8[Array, "frames 7056"]
) -> tuple[DensityState, Float[Array, " frames"]]:
    """Update a density model with some frames.

    Args:
        model: the model before.
        frames: frames in blocks (`dorax.envs.atari.in_blocks`).

    Returns:
        The model after these frames, and the prediction gain of each: the increase of its log-probability.
    """
    return jax.lax.scan(_counted, model, _levels(frames))


def _levels(frames: UInt8[Array, "frames 7056"]) -> Int[Array, "frames rows columns"]:
    # Average over squares of 2 x 2 pixels; a block of 4 x 4 pixels consists of 2 x 2 of them.
    squares = frames.reshape(-1, SIDE // 2, SIDE // 2, 2, 2, 2, 2).astype(jnp.float32).mean(axis=(4, 6))
    pooled = squares.swapaxes(2, 3).reshape(-1, SIDE, SIDE)
    return jnp.minimum((pooled * (LEVELS / 256)).astype(jnp.int32), LEVELS - 1)


def _counted(model: DensityState, levels: Int[Array, "rows columns"]) -> tuple[DensityState, Float[Array, ""]]:
    at = (jnp.arange(SIDE * SIDE)[:, None], _path(levels))
    level = levels.reshape(-1)
    counts, log_weights = model.counts[at], model.log_weights[at]
    time = model.frames + 1
    log_switch, log_keep = -jnp.log(time + 1), jnp.log1p(-1 / (time + 1))

    before = _log_estimate(counts, level)
    mixed = _mixed(before, log_weights)
    # Update each node's weights by how well it and its child predicted the level; leaves have no child.
    words = jnp.stack([before[:, :-1], mixed[:, 1:]], axis=-1)
    posterior = log_weights[:, :-1] + words - mixed[:, :-1, None]
    posterior = jnp.logaddexp(log_keep + posterior, log_switch + posterior[..., ::-1])
    new_weights = log_weights.at[:, :-1].set(posterior)
    new_counts = counts + jax.nn.one_hot(level, LEVELS)[:, None]
    after = _mixed(_log_estimate(new_counts, level), new_weights)

    updated = DensityState(model.counts.at[at].set(new_counts), model.log_weights.at[at].set(new_weights), time)
    return updated, jnp.sum(after[:, 0] - mixed[:, 0])


def pseudo_count(gain: Float[Array, ...]) -> Float[Array, ...]:
    """Compute pseudo-counts.

    Args:
        gain: prediction gains.

    Returns:
        The pseudo-counts, at most 10^8.
    """
    return 1 / jnp.expm1(jnp.maximum(gain, 1e-8))


def _path(levels: Int[Array, "rows columns"]) -> Int[Array, "pixels depths"]:
    """Return the nodes of each pixel's contexts, root first, pixels x 5: left, above, above left, above right."""
    padded = jnp.pad(levels, ((1, 0), (1, 1)))
    left, above = padded[1:, :-2], padded[:-1, 1:-1]
    above_left, above_right = padded[:-1, :-2], padded[:-1, 2:]
    within, nodes = jnp.zeros_like(levels), [jnp.zeros_like(levels)]
    for depth, neighbour in enumerate((left, above, above_left, above_right), start=1):
        within = within * LEVELS + neighbour
        nodes.append(FIRST_OF_DEPTH[depth] + within)
    return jnp.stack(nodes, axis=-1).reshape(-1, DEPTH + 1)


def _log_estimate(
    counts: Float[Array, "pixels depths levels"], level: Int[Array, " pixels"]
) -> Float[Array, "pixels depths"]:
    of_level = jnp.take_along_axis(counts, level[:, None, None], axis=2)[..., 0]
    # One logarithm of a ratio: the rounding errors of two would be equal in all background pixels and add up.
    return jnp.log(of_level / jnp.sum(counts, axis=2))


def _mixed(
    log_estimate: Float[Array, "pixels depths"], log_weights: Float[Array, "pixels depths 2"]
) -> Float[Array, "pixels depths"]:
    """Compute the prediction of each node on a path: a weighted mean of its own estimate and its child's prediction."""
    said = [log_estimate[:, -1]]
    for depth in reversed(range(DEPTH)):
        own, childs = log_weights[:, depth, 0], log_weights[:, depth, 1]
        said.append(jnp.logaddexp(own + log_estimate[:, depth], childs + said[-1]))
    return jnp.stack(said[::-1], axis=1)
