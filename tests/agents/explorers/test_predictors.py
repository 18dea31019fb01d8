"""Bonuses from prediction errors: random network distillation and NovelD."""

from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax import RND, EpsilonGreedy, NovelD, ParallelAgent
from dorax.agents.explorers.making import explorers_of
from dorax.agents.explorers.moments import Moments, with_values
from dorax.agents.explorers.training import trained
from dorax.agents.value_network import Inputs
from dorax.features.specs import HashedCodes, Prototypes

KEY = jax.random.key(0)
WARM_UP, SCALE, GAMES = 6, 0.5, 3
SPEC = RND(SCALE, learning_rate=0.01, width=8, outputs=5, warm_up=WARM_UP)
LEARNS = jnp.ones((), bool)
STATES = Inputs(2)


def explorer(bonus, inputs=STATES, games=GAMES):
    return explorers_of(None, bonus, inputs, 2, games)[0]


def stacked(rows):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)


def normalised(sums, gain, bias):
    mean, variance = sums.mean(axis=1, keepdims=True), sums.var(axis=1, keepdims=True)
    return np.maximum((sums - mean) / np.sqrt(variance + 1e-5) * gain + bias, 0)


def outputs(layers, x):
    """Outputs of a network with layer norm, in float64."""
    whole: Any = [[None if part is None else np.asarray(part, float) for part in layer] for layer in layers]
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    for weight, bias, gain in whole[:-1]:
        x = normalised(x @ weight, gain, bias)
    return x @ whole[-1][0] + whole[-1][1]


def test_running_statistics_are_those_of_all_values_so_far():
    random = np.random.default_rng(0)
    moments, number, kept = Moments(jnp.zeros(2), jnp.zeros(2)), 0, []
    for _ in range(9):
        values, is_new = random.normal(3, 2, (4, 2)).astype(np.float32), random.random(4) < 0.6
        moments = with_values(moments, jnp.asarray(number), jnp.asarray(values), jnp.asarray(is_new))
        kept.extend(values[is_new])
        number = len(kept)
        np.testing.assert_allclose(moments.mean, np.mean(kept, axis=0) if kept else [0, 0], rtol=1e-4)
        np.testing.assert_allclose(moments.variance, np.var(kept, axis=0) if kept else [0, 0], rtol=1e-3, atol=1e-6)


def test_weights_learn_from_every_row_by_adam():
    """Rows that are all the same have the same gradient in every part, whatever their order."""
    weight, rate, moments = 3.0, 0.1, (0.0, 0.0)
    for n in range(1, 5):
        grad = weight - 1.0
        moments = 0.9 * moments[0] + 0.1 * grad, 0.999 * moments[1] + 0.001 * grad**2
        weight -= rate * (moments[0] / (1 - 0.9**n)) / (np.sqrt(moments[1] / (1 - 0.999**n)) + 1e-8)
    from dorax.agents.adam import adam_state

    def loss(weight, rows):
        return 0.5 * jnp.mean((weight - rows) ** 2)

    start = jnp.asarray(3.0)
    ours, _ = trained(loss, (start, adam_state(start)), jnp.ones((3, 3)), rate, KEY, LEARNS)
    np.testing.assert_allclose(ours, weight, rtol=1e-5)
    same, _ = trained(loss, (start, adam_state(start)), jnp.ones((3, 3)), rate, KEY, ~LEARNS)
    assert same == start


def test_the_bonus_of_rnd_is_that_of_a_plain_loop(shown):
    rnd = explorer(SPEC)
    state = rnd.init(KEY)
    random = np.random.default_rng(0)
    seen, sums, steps = np.zeros((0, 2)), np.zeros(GAMES), 0
    all_sums, bonuses = [], []
    for _ in range(30):
        x = random.normal([5, -1], [3, 0.1], (GAMES, 2)).astype(np.float32)
        is_visit = random.random(GAMES) < 0.8
        deviation = np.sqrt((seen.var(axis=0) if len(seen) else 0) + 1e-8)
        z = np.clip((x - (seen.mean(axis=0) if len(seen) else 0)) / deviation, -5, 5)
        error = np.mean((outputs(state.predictor, z) - outputs(state.target, z)) ** 2, axis=1)
        sums = np.where(is_visit, 0.99 * sums + error, sums)
        all_sums.extend(sums[is_visit])
        expected = np.where(is_visit & (steps >= WARM_UP), SCALE * error / np.sqrt(np.var(all_sums) + 1e-8), 0)
        seen, steps = np.concatenate([seen, x[is_visit]]), steps + is_visit.sum()
        state, bonus, row = shown(rnd, state, x, x, is_visit=is_visit)
        np.testing.assert_allclose(bonus, expected, rtol=2e-3)
        np.testing.assert_array_equal(row.is_used, expected > 0)
        bonuses.extend(bonus[is_visit])
    assert np.sum(np.asarray(bonuses) == 0) in range(WARM_UP, WARM_UP + GAMES)
    assert int(state.steps) == steps


def test_what_the_predictor_was_trained_on_has_a_smaller_bonus(shown):
    rnd = explorer(SPEC, Inputs(20, is_finite=True))
    state = rnd.init(KEY)
    fresh = rnd.look(state, jnp.arange(20)).features
    update = jax.jit(rnd.update)
    for _ in range(40):
        rows = []
        for _ in range(4):
            state, _, row = shown(rnd, state, [0, 1, 2], [1, 2, 3])
            rows.append(row)
        state = update(state, stacked(rows), KEY, LEARNS)
    left = rnd.look(state, jnp.arange(20)).features / fresh
    assert max(left[1:4]) < 0.3 * min(left[5:])
    assert state.observations is None


def test_only_a_share_of_the_observations_trains_the_predictor(shown):
    """With a share of next to nothing there is nothing to learn, and Adam takes no step from its start."""
    for share, changes in ((1e-9, False), (1.0, True)):
        rnd = explorer(RND(width=8, warm_up=2, share=share))
        state = rnd.init(KEY)
        rows = []
        for _ in range(4):
            state, _, row = shown(rnd, state, np.ones((GAMES, 2)), np.ones((GAMES, 2)))
            rows.append(row)
        after = rnd.update(state, stacked(rows), KEY, LEARNS)
        pairs = zip(jax.tree.leaves(state.predictor), jax.tree.leaves(after.predictor), strict=True)
        assert any(np.any(old != new) for old, new in pairs) == changes


def test_a_learner_of_many_games_goes_on_with_one(shown):
    rnd = explorer(SPEC)
    state = rnd.init(KEY)
    after, bonus, _ = shown(rnd, state, np.ones((1, 2)), np.ones((1, 2)))
    assert bonus.shape == (1,)
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, state)
    np.testing.assert_array_equal(np.asarray(after.discounted_sum) > 0, [True, False, False])


@pytest.mark.parametrize("features", [None, HashedCodes(tables=2, bits=8)])
def test_noveld_pays_for_a_rise_of_novelty_at_the_first_visit_of_an_episode(features, shown):
    spec = NovelD(RND(SCALE, width=8, warm_up=2), discount=0.3, features=features)
    one = explorer(spec, Inputs(6, is_finite=True), games=1)
    state = one.init(KEY)
    novelty = np.asarray(one.look(state, jnp.arange(6)).features.novelty)
    visited, sums, total = {0}, [], 0.0
    random = np.random.default_rng(1)
    place = 0
    for i in range(60):
        there = int(random.integers(6))
        is_over = i % 9 == 8
        raw = max(novelty[there] - 0.3 * novelty[place], 0) * (there not in visited | {place})
        total = 0.99 * total + raw
        sums.append(total)
        state, bonus, _ = shown(one, state, [place], [there], is_over=is_over)
        expected = SCALE * raw / np.sqrt(np.var(sums) + 1e-8) if i >= 2 else 0
        np.testing.assert_allclose(bonus, [expected], rtol=1e-3)
        visited = {0} if is_over else visited | {there, place}
        place = 0 if is_over else there
    assert int(state.episode[0]) == 1 + 60 // 9


def test_games_have_episodes_of_their_own(shown):
    one = explorer(NovelD(RND(width=8, warm_up=2), discount=0.0), Inputs(6, is_finite=True), games=2)
    state = one.init(KEY)
    for _ in range(2):
        state, *_ = shown(one, state, [0, 0], [0, 0])
    state, first, _ = shown(one, state, [0, 0], [1, 1], is_visit=[True, False])
    np.testing.assert_array_equal(first > 0, [True, False])
    state, second, _ = shown(one, state, [0, 0], [1, 1])
    np.testing.assert_array_equal(second > 0, [False, True])


def test_first_visits_survive_a_merge_of_prototypes(shown):
    one = explorer(NovelD(RND(width=8, warm_up=2), features=Prototypes(size=4)), Inputs(1), games=1)
    state = one.init(KEY)
    rows = []
    for place in (0.0, 1.0, 5.0, 6.0):
        state, _, row = shown(one, state, [[0.0]], [[place]])
        rows.append(row)
    state = one.update(state, stacked(rows), KEY, LEARNS)
    assert int(state.book.size) == 2
    np.testing.assert_array_equal(state.last_visit[0, :, 0], [1, 1, 0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("bonus", [RND(0.1, width=16, warm_up=100), NovelD(RND(0.1, width=16, warm_up=100))])
def test_agents_learn_with_them_and_go_on_from_a_file(bonus, tmp_path):
    agent = ParallelAgent(
        EpsilonGreedy(0.1), bonus=bonus, novelty_discount=0.9, games=16, width=32, rollout=16
    )  # fmt: skip
    settings = dorax.grid(scale=(0.1, 1.0), share=(0.5,))
    result = dorax.train(agent, dorax.mdps.deep_sea(4, 3), steps=1500, settings=settings)
    assert np.isfinite(result.data["return"].values[..., :50]).all()
    learner = result.learner(setting=1)
    learner.observe(0, 1, 0.0, 5, False)
    learner.save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    jax.tree.map(np.testing.assert_array_equal, learner.memory, again.memory)


@pytest.mark.parametrize(("make", "message"), [
    (partial(RND, share=0.0), "the share of the bonus is 0.0"),
    (partial(RND, share=1.5), "the share of the bonus is 1.5"),
    (partial(NovelD, discount=2.0), "the discount of NovelD is 2.0"),
    (partial(NovelD, cast("Any", 0.1)), "rnd is 0.1"),
    (partial(ParallelAgent, EpsilonGreedy(0.1), bonus=RND(dorax.LinearSchedule(1.0, 0.0, 100))), "with a schedule"),
    (partial(dorax.DeepAgent, EpsilonGreedy(0.1), bonus=cast("Any", NovelD())), "bonus is NovelD"),
])  # fmt: skip
def test_bad_input_is_refused(make, message, refused):
    with refused(message):
        make()
