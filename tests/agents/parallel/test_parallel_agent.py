"""Agents that play many games in parallel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax import (
    LLL,
    UCB,
    EpsilonGreedy,
    EValues,
    InverseRootCount,
    LinearSchedule,
    ParallelAgent,
    Sample,
    Softmax,
    Spread,
    Visits,
)  # fmt: skip
from dorax.core.spreads import for_games
from dorax.core.turns import actions_in_turns, greedy_actions
from dorax.engine import running
from dorax.envs.simulation import EnvSpec, environments

E_VALUES = EValues(0.99, learning_rate=0.5)


def small(**changed):
    """Make an agent that compiles and runs quickly."""
    options = {"rule": LLL(Softmax(0.05)), "counter": E_VALUES, "games": 16, "width": 32, "rollout": 16}
    return ParallelAgent(**(options | changed))


def sea(size=6, seed=3):
    return dorax.mdps.deep_sea(size, seed)


def train_two(agent, env, steps, **options):
    """Train two learners with room for 36 states, so that the tests share a compiled program."""
    return dorax.train(agent, env, steps=steps, states=36, **options)


@pytest.fixture(scope="module")
def trained():
    return dorax.train(small(), sea(), steps=12_000, seeds=2)


def test_acting_by_e_values_finds_the_treasure_of_a_small_sea_and_keeps_it(trained):
    greedy = trained.data.greedy_return.values[:, -20:]
    assert np.nanmean(greedy) > 0.9
    assert np.nanmean(trained.data.greedy_return.values[:, :5]) < 0.5


def test_greedy_and_exploring_games_are_recorded_by_steps(trained):
    data = trained.data
    assert data.greedy_return.dims == data.exploring_return.dims == ("seed", "record")
    assert data.record_step.values[:, 0].tolist() == [120, 120]
    assert data.record_step.values[:, -1].tolist() == [12_000, 12_000]
    assert data.record_step.attrs["units"] == "steps"
    assert (data.total_steps >= 12_000).all()
    assert (data.total_steps < 12_000 + 16).all()


def test_a_lane_alone_plays_as_in_company():
    """Products of matrices are rounded otherwise where there are more of them; the games are the same."""
    agent, env = small(), sea()
    together = dorax.train(agent, env, steps=4000, seeds=[4, 7, 9], learners=[7])
    alone = dorax.train(agent, env, steps=4000, seeds=[7])
    np.testing.assert_array_equal(together.data["return"].sel(seed=7), alone.data["return"].sel(seed=7))
    theirs, own = (jax.tree.leaves(result.trained[7, 0].memory) for result in (together, alone))
    for one, other in zip(theirs, own, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_lanes_that_wait_for_room_in_the_cache_play_as_those_that_do_not(monkeypatch):
    agent, env, cores = small(), sea(), len(jax.devices())
    monkeypatch.setattr(running, "CACHE", 1)  # two lanes of a core at a time
    pair, more = 2 * cores, 6 * cores
    in_turns = dorax.train(agent, env, steps=2000, seeds=more, learners=more)
    for first in range(0, more, pair):
        seeds = range(first, first + pair)
        at_once = dorax.train(agent, env, steps=2000, seeds=seeds, learners=pair)
        np.testing.assert_array_equal(in_turns.data["return"].sel(seed=seeds), at_once.data["return"])
        for one, other in zip(
            *(jax.tree.leaves(each.trained[seeds[0], 0].memory) for each in (in_turns, at_once)), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_numbers_of_the_agent_can_be_swept():
    settings = dorax.grid(temperature=(0.05, 5.0), learning_rate=(5e-4,))
    swept = train_two(small(), sea(4), 2000, settings=settings)
    hot = train_two(small(rule=LLL(Softmax(5.0))), sea(4), 2000, seeds=2)
    np.testing.assert_array_equal(swept.data["return"].isel(setting=1, seed=0), hot.data["return"].isel(seed=0))


def test_every_seed_can_have_an_environment_of_its_own():
    seas = [sea(5, seed) for seed in (0, 1)]
    both = train_two(small(), seas, 2000, seeds=2)
    second = train_two(small(), seas[1], 2000, seeds=[1, 2])
    np.testing.assert_array_equal(both.data["return"].sel(seed=1), second.data["return"].sel(seed=1))


@pytest.mark.parametrize("changed", [
    {"rule": EpsilonGreedy(LinearSchedule(1.0, 0.1, 1000)), "counter": None},
    {"rule": UCB(0.1), "counter": Visits()},
    {"takes_turns": False, "counter": Visits(features=dorax.HashedCodes(tables=3, bits=8))},
    {"rule": EpsilonGreedy(0.1), "bonus": InverseRootCount(0.1), "novelty_discount": 0.9},
    {"rule": EpsilonGreedy(0.1), "bonus": InverseRootCount(0.1), "learning_rate": LinearSchedule(1e-3, 0.0, 1000)},
    {"greedy_share": 0.0, "epochs": 1, "minibatches": 1},
])  # fmt: skip
def test_all_its_parts_work_together(changed):
    result = dorax.train(small(**changed), sea(4), steps=1500)
    assert np.isfinite(result.data["return"].values[:, :50]).all()
    learner = result.learner()
    assert np.isfinite(learner.q(0)).all()
    assert learner.counts(0).sum() > 0 or changed.get("counter", 0) is None


def test_counts_are_those_of_all_visits():
    """With plain visits in a table, the counts of all pairs sum up to the steps."""
    result = dorax.train(small(counter=Visits()), sea(5), steps=3000)
    memory = result.trained[0, 0].memory
    assert memory.explorers[0].counts.sum() == float(result.data.total_steps[0])


@pytest.mark.parametrize(("features", "most"), [(None, 1024), (dorax.Prototypes(size=64), 64)])
def test_vectors_are_told_apart_by_prototypes_that_become_coarser_as_they_fill(features, most):
    counter = EValues(0.99, learning_rate=0.5, features=features)
    result = dorax.train(small(counter=counter), dorax.envs.SparseMountainCar(), steps=2000)
    book = result.trained[0, 0].memory.explorers[0].book
    assert 10 < int(book.size) <= most
    assert int(book.edition) > 0
    assert book.threshold > 0
    learner = result.learner()
    here = np.asarray([-0.5, 0.0], np.float32)
    assert learner.q(here).shape == learner.counts(here).shape == (3,)


def own_loop(learner, env, steps):
    actions = []
    observation, _ = env.reset(seed=0)
    for _ in range(steps):
        action = learner.act(observation)
        arrived, reward, terminated, truncated, _ = env.step(action)
        learner.observe(observation, action, reward, arrived, terminated, truncated)
        observation = env.reset()[0] if terminated or truncated else arrived
        actions.append(action)
    return actions


@pytest.mark.parametrize(("id", "counter"), [("dorax/DeepSea-v0", E_VALUES), ("CartPole-v1", Visits())])
def test_a_learner_goes_on_in_ones_own_loop_and_from_its_file(id, counter, tmp_path):
    import gymnasium

    env = gymnasium.make(id)
    if id == "CartPole-v1":
        space = env.observation_space
        assert isinstance(space, gymnasium.spaces.Box)
        spec = dorax.engine.learner.EnvSpec(id, 2, low=tuple(space.low.tolist()), high=tuple(space.high.tolist()))
        learner = small(counter=counter).learner(spec)
    else:
        learner = dorax.train(small(counter=counter), sea(10, 0), steps=1000).learner()
    first = own_loop(learner, env, 24)
    learner.save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    assert own_loop(learner, env, 40) == own_loop(again, env, 40)
    for one, other in zip(jax.tree.leaves(learner.memory), jax.tree.leaves(again.memory), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(first) == 24
    assert learner.steps == again.steps


def test_in_ones_own_loop_a_time_limit_is_no_end_and_the_next_start_is_not_what_followed():
    """Three episodes of one step each, in turn: from 0 to 1, cut off there; from 2, worth 0; from 1, worth 1."""
    available = np.ones((3, 2), bool)
    agent = small(rule=EpsilonGreedy(0.5), counter=None, rollout=8, minibatches=1, learning_rate=3e-3, discount=0.9)
    learner = agent.learner(EnvSpec("three", 2, available=available))
    for _ in range(600):
        for state, reward, following, terminated in ((0, 0.0, 1, False), (2, 0.0, 2, True), (1, 1.0, 1, True)):
            learner.observe(state, 0, reward, following, terminated, not terminated)
    np.testing.assert_allclose([learner.q(state)[0] for state in range(3)], [0.9, 1.0, 0.0], atol=0.05)


def test_training_can_go_on(trained):
    learner = trained.learner()
    more = train_two(learner, sea(), 1000, seeds=[5, 6])
    assert more.learner(5).steps == learner.steps + int(more.data.total_steps.sel(seed=5))
    scores = dorax.evaluate(more.learner(), sea(), 3)
    np.testing.assert_allclose(scores, 0.99, atol=1e-6)


@pytest.mark.parametrize("changed", [
    {"replay": 1024},
    pytest.param({"bonus": dorax.NovelD(), "rule": EpsilonGreedy(0.1), "counter": None, "novelty_discount": 0.9},
                 marks=pytest.mark.slow),
    pytest.param({"heads": 4, "bonus": InverseRootCount(0.1)}, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_learner_from_its_file_goes_on_with_the_same_bits(changed, tmp_path):
    learner = dorax.train(small(**changed), sea(4), steps=2000).learner()
    learner.save(tmp_path / "learner.npz")
    results = [
        dorax.train(each, sea(4), steps=2000, seeds=[5]) for each in (learner, dorax.load(tmp_path / "learner.npz"))
    ]
    assert results[0].data.identical(results[1].data)
    memories = [jax.tree.leaves(result.learner().memory) for result in results]
    for one, other, before in zip(*memories, jax.tree.leaves(learner.memory), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.shape == before.shape
    assert results[0].learner().steps == results[1].learner().steps > learner.steps


@pytest.mark.parametrize("steps", [1000, 1003])
def test_a_learner_goes_on_alone_with_its_replay_and_then_with_many_games_again(steps, tmp_path):
    """Whatever number of steps its games had made together, it learns alone after every rollout."""
    import gymnasium

    env = gymnasium.make("dorax/DeepSea-v0")
    learner = dorax.train(small(replay=512), dorax.mdps.deep_sea(10, 0), steps=1000).learner()
    learner.steps += steps - 1000
    own_loop(learner, env, 24)
    learner.save(tmp_path / "learner.npz")
    again = dorax.load(tmp_path / "learner.npz")
    assert own_loop(learner, env, 40) == own_loop(again, env, 40)
    more = [dorax.train(each, dorax.mdps.deep_sea(10, 0), steps=1000) for each in (learner, again)]
    assert more[0].data.identical(more[1].data)


def test_only_states_of_the_mdp_are_accepted(trained):
    for state in (-1, 36, 0.5, [0]):
        with pytest.raises(dorax.InvalidInput, match="allowed: a state, 0 to 35"):
            trained.learner().q(state)


@pytest.mark.parametrize(("changed", "message"), [
    ({"greedy_share": 0.01}, "at least one game that plays greedily"),
    ({"greedy_share": 1.0}, "at least one game that plays greedily"),
    ({"minibatches": 5}, "a divisor of the 16 steps"),
    ({"counter": None}, "LLL without a counter"),
    ({"counter": EValues(0.9, form="logistic")}, "with a CountNetwork also 'logistic'"),
    ({"counter": 3}, "counter is 3"),
    ({"counter": Visits(features=dorax.KWinners())}, "features of the counter are KWinners.*supports Table, Hashed"),
    ({"counter": Visits(features=dorax.Tiles())}, "features of the counter are Tiles"),
    ({"bonus": InverseRootCount(), "counter": None, "rule": EpsilonGreedy(0.1)}, "bonus is given without a counter"),
    ({"novelty_discount": 0.9}, "novelty_discount is given without a bonus"),
    ({"games": 0}, "games is 0"),
    ({"trace": 1.5}, "trace is 1.5"),
    ({"learning_rate": Spread(1e-4, 1e-3)}, "learning_rate is Spread.* allowed: a Spread in the rule of a Parallel"),
    ({"bonus": InverseRootCount(Spread(0.1, 1.0))}, "bonus is InverseRootCount.* allowed: a Spread in the rule"),
])  # fmt: skip
def test_bad_input_is_refused_in_one_line(changed, message):
    with pytest.raises(dorax.InvalidInput, match=message) as error:
        small(**changed)
    assert "\n" not in str(error.value)


def test_environments_that_it_cannot_play_are_refused():
    with pytest.raises(dorax.InvalidInput, match="allowed: a finite MDP"):
        dorax.train(small(), "CartPole-v1", steps=100)
    with pytest.raises(dorax.InvalidInput, match="allowed: a finite MDP"):
        dorax.train(small(), dorax.envs.GymnasiumEnv("CartPole-v1"), steps=100)
    with pytest.raises(dorax.InvalidInput, match="rollout is 24; allowed: a divisor of 64"):
        dorax.train(small(rollout=24), sea(4), steps=100)
    agent = small(counter=Visits(features=dorax.Table()))
    with pytest.raises(dorax.InvalidInput, match="counts of many games support HashedCodes, Prototypes"):
        dorax.train(agent, dorax.envs.SparseMountainCar(), steps=100)


def at_the_start(agent):
    """Return the algorithm of an agent in a small sea, and its view of all games at the start."""
    algorithm = agent.algorithm(environments(sea(4), None, 1, 1, False).shared)
    return algorithm, algorithm.view(algorithm.init(jax.random.key(0)), jnp.zeros(agent.games, jnp.int32))


def test_games_in_the_same_state_part():
    """At the start all games are in the same state; those that explore share the actions out."""
    algorithm, view = at_the_start(small(games=8, greedy_share=0.0))
    actions = algorithm.act(view, jnp.asarray(0), jnp.linspace(0, 0.9, 8))
    assert np.bincount(actions).tolist() == [4, 4]


def test_games_with_temperatures_of_their_own_choose_by_them():
    """The cold one takes the best action, the hot one that which was tried less; by mean probabilities both differ."""
    algorithm, view = at_the_start(small(rule=LLL(Softmax(Spread(0.01, 100.0))), games=2, greedy_share=0.0))
    view = view._replace(
        values=jnp.tile(jnp.asarray([0.0, 1.0]), (2, 1)), counts=jnp.tile(jnp.asarray([1.0, 9]), (2, 1))
    )
    np.testing.assert_array_equal(algorithm.act(view, jnp.asarray(0), jnp.zeros(2)), [1, 0])


def test_games_with_heads_of_their_own_choose_by_them():
    algorithm, view = at_the_start(small(heads=2, games=2, greedy_share=0.0))
    seen = view.features._replace(own_values=jnp.asarray([[0.0, 1.0], [1.0, 0.0]]))
    view = view._replace(features=seen, counts=jnp.tile(jnp.asarray([1.0, 1.5]), (2, 1)))
    np.testing.assert_array_equal(algorithm.act(view, jnp.asarray(0), jnp.zeros(2)), [1, 0])


def test_games_that_sample_their_actions_take_no_turns_which_would_change_nothing():
    rule = Sample(EpsilonGreedy(Spread(0.1, 0.9)))
    algorithm, view = at_the_start(small(rule=rule, games=16))
    uniform = jax.random.uniform(jax.random.key(1), (16,))
    assert "scan" not in str(jax.make_jaxpr(algorithm.act)(view, jnp.asarray(0), uniform))
    fixed = jnp.where(jnp.arange(16) < 4, greedy_actions(view.values, uniform), -1)
    turns = actions_in_turns(
        for_games(rule, 16, 4), view.values, view.counts, jnp.asarray(0), uniform, jnp.ones((16, 16), bool), fixed
    )
    np.testing.assert_array_equal(algorithm.act(view, jnp.asarray(0), uniform), turns)
