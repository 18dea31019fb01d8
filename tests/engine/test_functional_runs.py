"""Lanes in simulated environments: alone and in company, what a run records, and what breaks it."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import dorax
from dorax.engine import compiled, running
from dorax.engine.training import Training
from dorax.envs.simulation import environments
from dorax.features.tiles import TileCoder


class Point(NamedTuple):
    x: Any
    y: Any
    time: Any


class DriftParams(NamedTuple):
    push: float = 0.2
    noise: float = 0.3
    scatter: float = 0.3
    fault_at: int = -1
    fault_of_observation: float = 0.0
    fault_of_reward: float = 0.0
    max_steps_in_episode: int = 25


@dataclass(frozen=True)
class Drift:
    """A point on a square that is pushed west (0) or east (1) and drifts as it likes; 1 is paid far in the east.

    It has gymnax's interface and is no class of ours: what an environment is matters to nobody, what it has does.
    """

    reach: float = 1.0
    is_continuous: bool = False
    name: str = "Drift"

    @property
    def default_params(self):
        return DriftParams()

    def reset_env(self, key, params):
        x, y = jax.random.uniform(key, (2,), minval=-params.scatter, maxval=params.scatter)
        return jnp.stack([x, y]), Point(x, y, jnp.int32(0))

    def step_env(self, key, state, action, params):
        dx, dy = jax.random.uniform(key, (2,), minval=-params.noise, maxval=params.noise)
        x = jnp.clip(state.x + (2 * action - 1) * params.push + dx, -1, 1)
        state = Point(x, jnp.clip(state.y + dy, -1, 1), state.time + 1)
        ends, is_faulty = x > 0.75, state.time == params.fault_at
        observation = jnp.stack([x, state.y]) + jnp.where(is_faulty, params.fault_of_observation, 0.0)
        return observation, state, ends + jnp.where(is_faulty, params.fault_of_reward, 0.0), ends, {}

    def is_truncated(self, state, params):
        return state.time >= params.max_steps_in_episode

    def observation_space(self, params):
        return gymnasium.spaces.Box(-self.reach, self.reach, (2,))

    def action_space(self, params):
        return gymnasium.spaces.Box(0.0, 1.0, (1,)) if self.is_continuous else gymnasium.spaces.Discrete(2)


DRIFT, EPISODES, TEST_EVERY, MARKS = Drift(), 20, 4, [8, 16, 20]
DICE = dorax.LinearAgent(  # to whom every random number matters
    rule=dorax.Softmax(1.0),
    counter=dorax.EValues(0.9),
    bonus=dorax.InverseCount(0.1),
    features=dorax.Tiles(5, 4),
    learning_rate=0.5,
    discount=0.9,
)
LONG = DriftParams(push=0.0, noise=0.04, max_steps_in_episode=1000)  # episodes of all lengths
RECORDS: dict[str, Any] = {"test_every": TEST_EVERY, "maps": dorax.Maps((8, 4), every=8)}


def run(seeds: int | list[int] = 4, **options: Any) -> xr.Dataset:
    """Everywhere the same structure, with pauses for maps and with tests: a compilation takes seconds."""
    return dorax.train(DICE, DRIFT, EPISODES, seeds, **RECORDS | options).data


def run_and_weights(seeds: int = 4, **options: Any):
    """A run, and what its learners ended with."""
    result = dorax.train(DICE, DRIFT, EPISODES, seeds, learners=seeds, **RECORDS | options)
    return result.data, np.stack([result.learner(seed).memory for seed in result.data.seed.values])


@pytest.fixture(scope="module")
def usual():
    """The usual run and its weights: many tests look at the same one."""
    return run_and_weights()


@pytest.fixture(scope="module")
def long():
    """Learners whose episodes differ in length, so that some wait for others at snapshots."""
    return run_and_weights(params=LONG)


def assert_same_training(one, other):
    """What was learned and what training recorded of it: the same bit for bit."""
    names = ["return", "length", "steps", "total_steps"]
    assert one[0][names].identical(other[0][names])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.fixture(scope="module")
def tested_only():
    return run_and_weights(params=LONG, maps=None)


@pytest.mark.slow
def test_training_is_the_same_bit_for_bit_with_tests_and_without(tested_only):
    assert (tested_only[0]["test_length"] > 0).all()
    assert_same_training(tested_only, run_and_weights(params=LONG, maps=None, test_every=None))


@pytest.mark.slow
def test_training_is_the_same_bit_for_bit_with_maps_and_without(tested_only, long):
    assert_same_training(long, tested_only)
    tests = ["test_return", "test_length"]
    assert long[0][tests].identical(tested_only[0][tests])


def test_a_second_run_is_the_same_bit_for_bit_and_other_seeds_are_others():
    data, weights = run_and_weights(10)
    again, weights_again = run_and_weights(10)
    assert data.identical(again)
    np.testing.assert_array_equal(weights, weights_again)
    assert len(np.unique(data["length"], axis=0)) == 10
    assert len(np.unique(data["visits"].values.reshape(10, -1), axis=0)) == 10


@pytest.mark.slow
def test_a_seed_alone_is_the_same_bit_for_bit_as_among_forty():
    among_forty = run(40, params=LONG)
    # They wait for one another at snapshots, for several blocks of random numbers.
    steps = among_forty["steps"].sel(episode=8).values
    assert steps.max() - steps.min() > 2 * environments(DRIFT, LONG, 1).spec.block
    for seeds in ([0], [39], [3, 9, 11], [int(steps.argmin())], [int(steps.argmax())]):
        assert run(seeds, params=LONG).identical(among_forty.sel(seed=seeds))
    assert run(2, params=LONG, lanes=40).identical(among_forty.sel(seed=[0, 1]))


def test_a_setting_alone_is_the_same_bit_for_bit_as_among_several():
    settings = dorax.grid(temperature=(0.3, 1.0), learning_rate=(0.1, 0.5))
    among_four = run(2, settings=settings)
    assert among_four["return"].dims == ("setting", "seed", "episode")
    for i, setting in enumerate(settings):
        assert run(2, settings=[setting]).identical(among_four.isel(setting=[i]))
    assert run(2).identical(among_four.isel(setting=3, drop=True))


def test_the_length_of_a_chunk_changes_nothing(monkeypatch):
    monkeypatch.setattr(running, "CHUNK_SECONDS", 1e9)
    few, many = [], []
    at_once = run(params=LONG, progress=lambda *report: few.append(report))
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    assert run(params=LONG, progress=lambda *report: many.append(report)).identical(at_once)
    assert len(many) > len(few)
    assert many == sorted(many)
    assert many[-1] == few[-1] == (1.0, at_once.total_steps.sum())
    assert len(np.unique(at_once["length"])) > 10


def test_training_as_data_does_what_train_does():
    settings = [{}, {"temperature": 0.1}]
    as_data = Training(DICE, DRIFT, EPISODES, steps=200, **RECORDS)(settings, [3, 5])
    assert as_data.identical(run([3, 5], steps=200, settings=settings))


def test_steps_are_those_of_training_and_end_with_the_episodes(usual):
    data, _ = usual
    np.testing.assert_array_equal(data["steps"], data["length"].cumsum("episode"))
    np.testing.assert_array_equal(data["total_steps"], data["length"].sum("episode"))
    assert ((data["length"] >= 1) & (data["length"] <= 25)).all()
    # 1 is paid at the end of those that arrive, and only they end before time.
    assert set(np.unique(data["return"])) == {0, 1}
    assert (data["return"].values[data["length"] < 25] == 1).all()
    assert (data["length"].values[data["return"] == 0] == 25).all()
    assert data.attrs["environment"] == "Drift"
    assert data.attrs["parameters"] == 4 * 6 * 6 * 2


def test_maps_tell_how_often_each_bin_was_met_in_training(usual):
    data, _ = usual
    assert data["visits"].dims == data["count"].dims == ("seed", "snapshot", "bin_0", "bin_1")
    assert data["visits"].shape == (4, 3, 8, 4)
    assert data.snapshot.values.tolist() == MARKS
    met = data["visits"].sum(["bin_0", "bin_1"])
    starts = xr.DataArray(MARKS, {"episode": MARKS}, "episode")
    np.testing.assert_array_equal(met, data["steps"].sel(episode=MARKS) + starts)
    assert (data["visits"].diff("snapshot") >= 0).all()


def test_a_point_that_never_moves_is_met_in_one_bin_alone():
    # The middle lies on edges, and belongs to the bins above them.
    data = run(params=DriftParams(push=0.0, noise=0.0, scatter=0.0, max_steps_in_episode=7))
    expected = np.zeros((3, 8, 4))
    expected[:, 4, 2] = (1 + 7) * np.array(MARKS)
    np.testing.assert_array_equal(data["visits"], np.broadcast_to(expected, (4, 3, 8, 4)))


def test_visits_are_of_the_start_and_of_every_state_that_a_step_led_to():
    data = run(params=DriftParams(push=0.5, noise=0.0, scatter=0.0, max_steps_in_episode=1))
    visits = data["visits"].sum("bin_1").transpose("bin_0", "seed", "snapshot").values
    starts = np.broadcast_to(MARKS, (4, 3))
    np.testing.assert_array_equal(visits[4], starts)
    np.testing.assert_array_equal(visits[2] + visits[6], starts)  # half a unit to either side, where the episode ends
    np.testing.assert_array_equal(visits.sum(axis=0), 2 * starts)


def test_the_terminal_state_is_visited_once_an_episode():
    data = run(params=DriftParams(noise=0.0, scatter=0.0, max_steps_in_episode=1000))
    np.testing.assert_array_equal(data["return"], 1)  # all episodes end beyond 0.75, in the last bin
    np.testing.assert_array_equal(data["visits"].isel(bin_0=-1).sum("bin_1"), np.broadcast_to(MARKS, (4, 3)))


def test_the_map_of_counts_is_what_the_learner_counts_at_the_centres_of_the_bins(usual):
    data, weights = usual
    coder = TileCoder([-1.0, -1.0], [1.0, 1.0], 5, 4)
    for (i, j), _ in np.ndenumerate(np.zeros((8, 4))):
        centre = np.array([-1 + (i + 0.5) / 4, -1 + (j + 0.5) / 2], np.float32)
        counts = np.maximum(weights[..., 1][:, coder.active(centre)].sum(axis=1), 0).sum(axis=-1)
        np.testing.assert_allclose(data["count"].isel(snapshot=-1, bin_0=i, bin_1=j), counts, rtol=1e-5, atol=1e-6)


def test_nothing_is_counted_in_tests():
    """Without propagation a visit adds 1 to an output, a quarter to each of four tiles: in all, 1 to the weights."""
    data, weights = run_and_weights(settings=[{"counter.discount": 0.0}])
    assert (data["test_length"] > 0).all()
    np.testing.assert_allclose(weights[..., 1].sum(axis=(1, 2)), data["total_steps"].squeeze("setting"), rtol=1e-5)


def test_tests_are_made_after_every_so_many_episodes(usual):
    data, _ = usual
    assert data.test.values.tolist() == [4, 8, 12, 16, 20]
    assert data["test_return"].dims == ("seed", "test")
    assert np.isin(data["test_return"], [0, 1]).all()
    assert ((data["test_length"] >= 1) & (data["test_length"] <= 25)).all()


def test_tests_are_greedy_and_arrive_by_the_shortest_way_where_training_wanders():
    """Without noise the goal is four pushes from the middle; values fall by the discount a step away from it."""
    still = DriftParams(noise=0.0, scatter=0.0)
    hot = {"temperature": 1e3, "scale": 0.0, "initial_scale": 0.0}
    data = run(8, params=still, settings=[hot])
    np.testing.assert_array_equal(data["test_return"].isel(test=-1), 1)
    np.testing.assert_array_equal(data["test_length"].isel(test=-1), 4)
    assert data["length"].mean() > 12


def test_a_test_without_learning_is_the_same_every_time_where_chance_has_no_part():
    still = DriftParams(noise=0.0, scatter=0.0)
    data = run(8, params=still, settings=[{"learning_rate": 0.0}])
    for lengths in data["test_length"].values.reshape(8, 5):
        assert len(set(lengths)) == 1
    assert len(np.unique(data["length"])) > 5


def test_a_run_of_so_many_steps_records_the_episodes_that_it_finished(usual):
    (whole, _), part = usual, run(steps=101)
    assert (part.total_steps == 101).all()
    assert part["steps"].equals(whole["steps"].where(whole["steps"] <= 101))
    for name in ("return", "length"):
        assert part[name].equals(whole[name].where(whole["steps"] <= 101))
    finished = part["steps"].notnull().sum("episode")
    assert (finished < EPISODES).all()
    assert (part["test_return"].notnull() == (part.test <= finished)).all()
    met = part["visits"].isel(snapshot=-1).sum(["bin_0", "bin_1"])
    has_begun_another = 1 * (part["steps"].max("episode") < 101)
    np.testing.assert_array_equal(met, 101 + finished + has_begun_another)


def test_parameters_of_the_environment_may_be_replaced():
    data = run(params=DriftParams(push=0.0, noise=0.0, max_steps_in_episode=3))
    np.testing.assert_array_equal(data["length"], 3)
    np.testing.assert_array_equal(data["test_length"], 3)
    np.testing.assert_array_equal(data["return"], 0)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"fault_of_observation": 5.0}, ["observation is [5.0, 5.0]", "the reward 0;"]),
        ({"fault_of_observation": -1.5}, ["observation is [-1.5, -1.5]", "the reward 0;"]),
        ({"fault_of_observation": math.nan}, ["observation is [nan, nan]", "the reward 0;"]),
        ({"fault_of_observation": math.inf}, ["observation is [inf, inf]", "the reward 0;"]),
        ({"fault_of_reward": math.nan}, ["observation is [0.0, 0.0]", "the reward nan;"]),
        ({"fault_of_reward": -math.inf}, ["observation is [0.0, 0.0]", "the reward -inf;"]),
    ],
    ids=str,
)
def test_what_nothing_can_be_learned_from_ends_the_run_with_the_step_and_the_value(fault, words, refused):
    params = DriftParams(push=0.0, noise=0.0, scatter=0.0, fault_at=6, **fault)
    with refused("after 6 steps", *words):
        run(params=params)


STILL = DriftParams(push=0.0, noise=0.0, scatter=0.0, fault_at=6)


def test_rounding_does_not_lead_out_of_the_bounds(refused):
    for x in (-1.0, 1.0, np.nextafter(np.float32(1), np.float32(2)), 1 + 1e-6, -1 - 1e-6):
        run(params=STILL._replace(fault_of_observation=float(x)))
    for x in (1.001, -1.001):
        with refused("after 6 steps", f"observation is [{x}, {x}]"):
            run(params=STILL._replace(fault_of_observation=x))


@pytest.mark.slow
def test_an_infinite_observation_is_no_observation_even_where_there_is_no_bound(refused):
    boundless = dorax.LinearAgent(dorax.Softmax(1.0), features=dorax.Tiles(5, 4, low=(-1, -1), high=(1, 1)))
    for x in (5.0, 1e30):
        result = dorax.train(boundless, Drift(math.inf), 2, params=STILL._replace(fault_of_observation=x))
        assert np.isfinite(result.learner().memory).all()
    for x in (math.inf, -math.inf, math.nan):
        with refused("after 6 steps", f"observation is [{x}, {x}]"):
            dorax.train(boundless, Drift(math.inf), 2, params=STILL._replace(fault_of_observation=x))


def untrained(agent: Any, env: Any, **options: Any):
    """A run whose refusal, if there is one, comes before any lane is made."""
    given: dict[str, Any] = {"episodes": EPISODES} | options
    with mock.patch.object(compiled, "new_lanes", side_effect=AssertionError("training began")):
        return dorax.train(agent, env, **given)


@pytest.mark.parametrize(
    ("env", "options", "words"),
    [
        (Drift(math.inf), {}, ["bounds", "-inf"]),
        (Drift(is_continuous=True), {}, ["the action space of Drift is Box"]),
        (DRIFT, {"maps": dorax.Maps((6,), 8)}, ["maps.bins is (6,)", "2 dimensions"]),
        (DRIFT, {"maps": dorax.Maps((6, 5, 4), 8)}, ["maps.bins is (6, 5, 4)"]),
        (DRIFT, {"episodes": 0}, ["episodes is 0"]),
        (DRIFT, {"episodes": 2.5}, ["episodes is 2.5"]),
        (DRIFT, {"seeds": 0}, ["seeds is 0"]),
        (DRIFT, {"seeds": [-1]}, ["seeds is [-1]"]),
        (DRIFT, {"steps": 0}, ["steps is 0"]),
        (DRIFT, {"steps": 2**31}, ["steps is 2147483648"]),
        (DRIFT, {"test_every": 0}, ["test_every is 0"]),
        (DRIFT, {"test_every": 1.5}, ["test_every is 1.5"]),
        (DRIFT, {"settings": []}, ["settings is []"]),
        (DRIFT, {"settings": [{"heat": 1.0}]}, ["'heat'", "rule.policy.temperature"]),
        (DRIFT, {"settings": [{"temperature": -1.0}]}, ["temperature is -1.0"]),
    ],
    ids=str,
)
def test_a_run_that_cannot_be_made_is_refused_before_any_training(env, options, words, refused):
    with refused(*words):
        untrained(DICE, env, **options)


@pytest.mark.parametrize("bins", [(0, 5), (6, -1), (2.5, 5)], ids=str)
def test_maps_have_one_bin_or_more_in_every_dimension(bins, refused):
    with refused("maps.bins"):
        dorax.Maps(bins, 8)


@pytest.mark.parametrize("every", [0, -1, 2.5])
def test_there_is_an_episode_or_more_between_two_maps(every, refused):
    with refused(f"maps.every is {every}"):
        dorax.Maps((6, 5), every)


def test_there_are_no_maps_of_a_space_without_bounds(refused):
    with refused("maps"):
        untrained(dorax.DeepAgent(dorax.UCB(), dorax.EValues()), Drift(math.inf), maps=dorax.Maps((6, 5), 8))


def test_there_are_no_maps_of_a_run_without_a_number_of_episodes():
    with pytest.raises(dorax.InvalidInput, match="maps supports runs with a number of episodes"):
        untrained(DICE, DRIFT, episodes=None, steps=100, maps=dorax.Maps((6, 5), 8))


def test_a_run_shorter_than_the_way_to_its_first_test_is_refused(refused):
    with refused(f"test_every is {EPISODES + 1}"):
        untrained(DICE, DRIFT, test_every=EPISODES + 1)


def test_an_environment_that_does_not_tell_truncation_is_refused(refused):
    with refused("is_truncated"):
        dorax.train(DICE, SimpleNamespace(step_env=None), 3)


AGENT = dorax.LinearAgent(dorax.LLL(dorax.Softmax(1.0)), dorax.EValues(0.99))


@pytest.mark.slow
def test_gymnax_s_mountain_car_is_trained_in_like_ours():
    gymnax = pytest.importorskip("gymnax")
    env, params = gymnax.make("MountainCar-v0")
    data = dorax.train(AGENT, env, 10, 2, params=params).data
    assert data.attrs["environment"] == "MountainCar-v0"
    # -1 a step for at most 200 of them.
    np.testing.assert_array_equal(data["return"], -data["length"])
    assert (data["length"] <= 200).all()
    short = dorax.train(AGENT, env, 10, 2, params=params.replace(max_steps_in_episode=30)).data
    np.testing.assert_array_equal(short["length"], 30)


def test_tiles_are_refused_for_gymnax_s_cart_pole_whose_velocities_have_no_bound(refused):
    gymnax = pytest.importorskip("gymnax")
    env, params = gymnax.make("CartPole-v1")  # they are declared to end at the largest number, where no tile is left
    with refused("bounds"):
        dorax.train(AGENT, env, 10, 2, params=params)
