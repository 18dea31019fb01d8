"""The compiled engine beside plain loops, alone and in company, and what a run records."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dorax
from dorax import mdps
from dorax.bench.numpy_loop import LoopAgent, run_loop
from dorax.engine import running
from dorax.engine.training import Training
from dorax.envs.simulation import FiniteState, environments
from dorax.mdps.mdp import deterministic

EPISODES = 400  # everywhere the same, as are the shapes: a compilation is a second and a half
BRIDGE = mdps.bridge(5)
DICE = dorax.TabularAgent(  # to whom every random number matters
    rule=dorax.Sample(dorax.Softmax(temperature=1.0)),
    counter=dorax.EValues(discount=0.9),
    bonus=dorax.InverseCount(0.1),
)


def uniforms(seed):
    """The two random numbers of every step of one lane: the first moves the environment, the second chooses."""
    key, env = jax.random.key(seed), simulated(BRIDGE)
    for block in itertools.count():
        yield from np.stack(env.draws(key, jnp.asarray(block))[:2], axis=1)


def simulated(mdp):
    return environments(mdp, None, 1).shared


def noisy_lake():
    """FrozenLake with rewards everywhere, scattered starts and episodes that are often truncated."""
    random, lake = np.random.default_rng(0), mdps.from_gymnasium("FrozenLake-v1")
    start, reward = random.dirichlet(np.ones(16)), random.random(lake.reward.shape)
    return replace(lake, reward=reward, start=start, max_steps=8)


def learn_step_by_step(agent, mdp, seed, episodes):
    """What a user's own loop does, fed with the engine's random numbers: the learner and the episodes' lengths."""
    learner, chance = dorax.TabularLearner(agent, mdp.states, mdp.actions), SimpleNamespace()
    learner.random, chance.random = chance, lambda: chance.number
    start, cumulative = eqx.filter_jit(simulated(mdp).reset), np.cumsum(mdp.probability, axis=2)
    ticks, lengths = uniforms(seed), []
    for _ in range(episodes):
        move, chance.number = next(ticks)
        state, length, is_over = int(start(move)[0]), 0, False
        while not is_over:
            pair = state, learner.act(state)
            move, chance.number = next(ticks)
            k = np.searchsorted(cumulative[pair][:-1], move, side="right")
            state, length, ends = int(mdp.successor[pair][k]), length + 1, bool(mdp.terminal[pair][k])
            is_over = ends or length >= mdp.max_steps
            learner.observe(*pair, mdp.reward[pair][k], state, terminated=ends, truncated=is_over and not ends)
        lengths.append(length)
    return learner, lengths


@pytest.mark.parametrize(
    ("mdp", "loop"),
    [
        (mdps.bridge(15), LoopAgent()),
        (mdps.bridge(5), LoopAgent(temperature=0.3, learning_rate=0.35, discount=0.8, e_discount=0.0)),
        (replace(mdps.bridge(15), max_steps=4), LoopAgent(temperature=3.0, learning_rate=0.2)),
        (replace(mdps.cliff(), max_steps=20), LoopAgent(temperature=3.0, learning_rate=0.1, e_discount=0.99)),
    ],
    ids=["bridge", "without propagation", "bridge truncated", "cliff truncated"],
)
def test_the_engine_does_what_a_plain_loop_does(mdp, loop, train_tables):
    agent = dorax.TabularAgent(
        rule=dorax.LLL(dorax.Softmax(loop.temperature)),
        counter=dorax.EValues(loop.e_discount),
        learning_rate=loop.learning_rate,
        discount=loop.discount,
    )
    with jax.enable_x64(True):
        data = train_tables(agent, mdp, EPISODES, seeds=[0, 3, 11])
        for seed in (0, 3, 11):
            ours, plain = data.sel(seed=seed), run_loop(loop, mdp, EPISODES, uniforms(seed))
            np.testing.assert_array_equal(ours["length"], plain.lengths)
            np.testing.assert_array_equal(ours["return"], plain.returns)
            np.testing.assert_array_equal(ours["steps"], np.cumsum(plain.lengths))
            np.testing.assert_allclose(ours["q_error"], plain.q_errors, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(ours["q"], plain.q, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(ours["count"], plain.counts, rtol=1e-10)


RULES = [
    dorax.Sample(dorax.EpsilonGreedy(0.3)),
    dorax.LLL(dorax.Softmax(0.5)),
    dorax.Deficit(dorax.EpsilonGreedy(0.3)),
    dorax.UCB(0.5),
]
COUNTERS = [
    dorax.Visits(),
    dorax.EValues(0.9),
    dorax.EValues(0.8, learning_rate=0.2),
    dorax.EValues(0.9, successor_rule="max"),
]
BONUSES = [dorax.InverseCount(0.1), None, dorax.InverseRootLogE(0.1), dorax.InverseRootCount(0.1)]
UPDATES = [
    dorax.NoveltyQLearning(0.8),
    dorax.DelayedQLearning(patience=2, slack=0.01),
    dorax.QLearning(),
    dorax.HoeffdingQLearning(10.0, 5.0, 0.01),
]


@pytest.mark.parametrize("i", range(4), ids=lambda i: type(RULES[i]).__name__)
def test_the_engine_does_what_a_learner_does_step_by_step(i, train_tables):
    # Rules and learning meet only here; test_updates.py has every counter with every bonus and learner.
    agent = dorax.TabularAgent(RULES[i], COUNTERS[i], BONUSES[i], UPDATES[i], learning_rate=0.3, discount=0.9)
    mdp, episodes = noisy_lake(), 50
    with jax.enable_x64(True):
        data = train_tables(agent, mdp, episodes, seeds=[7]).isel(seed=0)
        learner, lengths = learn_step_by_step(agent, mdp, 7, episodes)
    assert set(lengths) > {mdp.max_steps}  # some episodes are truncated, some are not
    np.testing.assert_array_equal(data["length"], lengths)
    assert int(data.total_steps) == learner.steps
    np.testing.assert_allclose(data["q"], learner.q_table, rtol=1e-9)
    np.testing.assert_allclose(data["count"], learner.count_table, rtol=1e-9)


def test_lanes_are_laid_out_over_all_devices():
    layout = running.lay_out(DICE, None, 1, [0], 1)
    assert layout.mesh.size == len(jax.devices()) == 2
    assert len(layout.keys) == 2 * running.LANES_PER_DEVICE


def test_a_second_run_is_the_same_bit_for_bit(train_tables):
    assert train_tables(DICE, BRIDGE, EPISODES, 10).identical(train_tables(DICE, BRIDGE, EPISODES, 10))


def test_other_seeds_give_other_runs():
    lengths = dorax.train(DICE, BRIDGE, EPISODES, 10).data["length"].values
    assert len(np.unique(lengths, axis=0)) == 10


def test_a_seed_alone_is_the_same_bit_for_bit_as_among_fifty(train_tables):
    among_fifty = train_tables(DICE, BRIDGE, EPISODES, 50)
    for seeds in ([0], [49], [3, 9, 11], list(range(5, 18))):
        assert train_tables(DICE, BRIDGE, EPISODES, seeds).identical(among_fifty.sel(seed=seeds))


@pytest.mark.parametrize("room", [{"lanes": 50}, {"states": 40}], ids=str)
def test_room_for_more_lanes_and_states_changes_nothing(room):
    assert dorax.train(DICE, BRIDGE, EPISODES, 2, **room).data.identical(dorax.train(DICE, BRIDGE, EPISODES, 2).data)


def test_a_setting_alone_is_the_same_bit_for_bit_as_among_several():
    settings = dorax.grid(temperature=(0.3, 1.0, 3.0), learning_rate=(0.1, 0.5))
    among_six = dorax.train(DICE, BRIDGE, EPISODES, 2, settings=settings).data
    assert dict(among_six.sizes) == {"setting": 6, "seed": 2, "episode": EPISODES}
    for i, setting in enumerate(settings):
        assert dorax.train(DICE, BRIDGE, EPISODES, 2, settings=[setting]).data.identical(among_six.isel(setting=[i]))
    assert dorax.train(DICE, BRIDGE, EPISODES, 2).data.identical(among_six.isel(setting=3, drop=True))


def test_the_length_of_a_chunk_changes_nothing(monkeypatch):
    run = Training(DICE, BRIDGE, EPISODES)
    monkeypatch.setattr(running, "CHUNK_SECONDS", 1e9)
    few, many = [], []
    at_once = run([{}], range(10), progress=lambda *report: few.append(report))
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    assert run([{}], range(10), progress=lambda *report: many.append(report)).identical(at_once)
    assert len(many) > len(few)
    assert many == sorted(many)
    assert many[-1] == few[-1] == (1.0, at_once.total_steps.sum())


@pytest.mark.parametrize("until", [0.7, 0.3, None])
def test_q_error_kept_step_by_step_is_the_full_sum(until, train_tables):
    data = train_tables(DICE, BRIDGE, EPISODES, 10, until=until)
    weight, optimum = BRIDGE.optimal_occupancy(0.9), BRIDGE.optimal_q(0.9)
    full_sum = (weight * (data["q"] - optimum) ** 2).sum(["state", "action"])
    at_start = float(np.mean((10 * 0.9 ** np.arange(5)) ** 2))
    np.testing.assert_allclose(data.q_error_at_start, at_start, rtol=1e-6)
    last = [errors[np.isfinite(errors)][-1] for errors in data.q_error.values]
    np.testing.assert_allclose(last, full_sum, rtol=1e-5, atol=1e-6 * at_start)


def test_q_error_is_a_number_even_where_the_first_action_of_the_first_state_is_missing():
    available = BRIDGE.available.copy()
    available[0, 0] = False
    data = dorax.train(DICE, replace(BRIDGE, available=available), EPISODES).data
    assert np.isfinite(data.q_error).all()


def test_a_world_that_is_solved_from_the_start_is_still_run_to_the_end():
    data = dorax.train(DICE, replace(BRIDGE, reward=0 * BRIDGE.reward), EPISODES, settings=[{"scale": 0.0}]).data
    np.testing.assert_array_equal(data.q_error, 0)
    np.testing.assert_array_equal(data["return"], 0)


def test_a_bonus_never_enters_the_return(train_tables):
    data = train_tables(DICE, BRIDGE, EPISODES, 2, settings=dorax.grid(scale=(0.0, 1000.0)))
    assert set(np.unique(data["return"])) <= {-100, 0, 1, 10}
    best = BRIDGE.optimal_q(0.9).max()
    assert (data["q"].isel(setting=0) <= best).all()
    assert (data["q"].isel(setting=1) > best).any()


def test_a_run_until_its_error_is_small_ends_with_the_first_episode_that_leaves_it_so():
    whole = dorax.train(DICE, BRIDGE, EPISODES, 10).data
    part = dorax.train(DICE, BRIDGE, EPISODES, 10, until=0.3).data
    for seed in range(10):
        solved = np.flatnonzero(whole.q_error[seed] <= 0.3 * whole.q_error_at_start[seed])
        reached = solved[0] + 1 if len(solved) else EPISODES
        assert len(solved) > 0
        for name in ("return", "length", "q_error", "steps"):
            np.testing.assert_array_equal(part[name][seed, :reached], whole[name][seed, :reached])
            assert part[name][seed, reached:].isnull().all()
        assert part.total_steps[seed] == whole.steps[seed, reached - 1]


def test_a_run_of_so_many_steps_records_the_episodes_that_it_finished():
    whole = dorax.train(DICE, BRIDGE, EPISODES, 10).data
    part = dorax.train(DICE, BRIDGE, EPISODES, 10, steps=101).data
    assert (part.total_steps == 101).all()
    assert part.steps.equals(whole.steps.where(whole.steps <= 101))
    assert part["return"].equals(whole["return"].where(whole.steps <= 101))


def first_action(values, counts, steps, uniform):
    return jnp.argmax(values)


def test_a_truncated_end_bootstraps_in_q_and_in_e_and_a_terminal_one_does_not(train_tables):
    """One state, one action, reward 1, a step an episode: Q and c after n steps in closed form."""
    a, g, n = 0.5, 0.9, 20
    one, agent = np.ones((1, 1)), dorax.TabularAgent(first_action, dorax.EValues(g), learning_rate=a, discount=g)
    learned = {}
    for ends in (False, True):
        mdp = deterministic("clock", 0 * one, one, np.array([[ends]]), 0, max_steps=1)
        data = train_tables(agent, mdp, EPISODES, steps=n).squeeze()
        assert (data["length"][:n] == 1).all()
        learned[ends] = float(data["q"]), float(data["count"])
    decay = 1 - a + a * g
    assert learned[False] == pytest.approx((10 * (1 - decay**n), n * np.log(decay) / np.log(1 - a)), rel=1e-5)
    assert learned[True] == pytest.approx((1 - (1 - a) ** n, n), rel=1e-6)


def test_runs_start_as_often_in_each_state_as_the_start_distribution_says(train_tables):
    mdp = replace(mdps.from_gymnasium("Taxi-v4"), max_steps=1)
    agent = dorax.TabularAgent(dorax.Sample(dorax.EpsilonGreedy(1.0)))
    visits = train_tables(agent, mdp, EPISODES, 16)["count"].sum(["seed", "action"]).values
    assert visits[mdp.start == 0].sum() == 0
    assert visits.sum() == 16 * EPISODES
    assert stats.chisquare(visits[mdp.start > 0]).pvalue > 0.001


def test_uniform_numbers_become_starts_and_moves_with_the_right_probabilities():
    mdp, points = noisy_lake(), 60_000
    grid = (np.arange(points) + 0.5) / points
    with jax.enable_x64(True):
        env, here = simulated(mdp), FiniteState(jnp.int32(9), jnp.int32(0))
        starts = np.asarray(jax.vmap(env.reset)(grid)[0])
        moves = np.asarray(jax.vmap(lambda draw: env.step(draw, here, 1)[0])(grid))
    np.testing.assert_allclose(np.bincount(starts, minlength=16) / points, mdp.start, atol=16 * 2 / points)
    targets = np.bincount(mdp.successor[9, 1], mdp.probability[9, 1], minlength=16)
    np.testing.assert_allclose(np.bincount(moves, minlength=16) / points, targets, atol=2 / points)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"episodes": 0}, ["episodes is 0"]),
        ({"episodes": 2.5}, ["episodes is 2.5"]),
        ({"seeds": 0}, ["seeds is 0"]),
        ({"seeds": []}, ["seeds is []"]),
        ({"seeds": [3, -1]}, ["seeds", "-1"]),
        ({"seeds": [2**32]}, ["seeds", "4294967296"]),
        ({"seeds": 1.5}, ["seeds is 1.5"]),
        ({"steps": 0}, ["steps is 0"]),
        ({"steps": 2**31}, ["steps is 2147483648"]),
        ({"until": float("nan")}, ["until is nan"]),
        ({"until": -0.5}, ["until is -0.5"]),
        ({"settings": []}, ["settings is []"]),
        ({"settings": [{"agent.discount": 0.5}]}, ["agent.discount"]),
        ({"settings": dorax.grid(discount=(0.5, 0.9))}, ["discount", "0.5", "0.9"]),
    ],
    ids=str,
)
def test_a_run_that_cannot_be_made_is_refused(arguments, words, refused):
    with refused(*words):
        dorax.train(**{"agent": DICE, "env": BRIDGE, "episodes": 3} | arguments)
