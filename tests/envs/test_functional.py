"""The functional environments are Gymnasium's, step by step, and keep gymnax's interface."""

from types import SimpleNamespace
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from scipy import stats

from dorax.envs import FunctionalEnv, SparseAcrobot, SparseMountainCar, check_spaces
from dorax.envs.acrobot import AcrobotState

CAR, ACROBOT, ANGLES = SparseMountainCar(), SparseAcrobot(), SparseAcrobot("angles")
ENVS = [CAR, ACROBOT, ANGLES]
# Environment, Gymnasium's own, steps of an episode.
PAIRS = [(CAR, "MountainCar-v0", 1000), (ANGLES, "Acrobot-v1", 500)]


def in_float64(test):
    return jax.enable_x64(True)(test)


def random(draw, velocity):
    return draw.integers(3)


def swinging(draw, velocity):
    """Mostly along the velocity, which pumps energy in: both environments reach their goal."""
    return draw.integers(3) if draw.random() < 0.2 else 2 * (velocity > 0)


def classic(name: str) -> Any:
    """Gymnasium's own; what it makes is typed as any environment, without a `state`."""
    return gymnasium.make(name).unwrapped


def episode(name, start, policy, seed, steps):
    """Gymnasium's own from `start` to its end: actions, variables after each, whether each terminated."""
    env, draw = classic(name), np.random.default_rng(seed)
    env.reset()
    env.state = np.array(start[:-1], np.float64)
    actions, variables, ends = [], [], [False]
    while len(actions) < steps and not ends[-1]:
        actions.append(policy(draw, env.state[-1]))
        ends.append(env.step(int(actions[-1]))[2])
        variables.append(np.array(env.state))
    return np.array(actions), np.array(variables), np.array(ends[1:])


@eqx.filter_jit
def replayed(env, start, actions):
    """What ours makes of the same actions: variables, rewards and ends."""

    def step(state, action):
        _, state, reward, terminated, _ = env.step_env(jax.random.key(0), state, action, env.default_params)
        return state, (jnp.stack(state[:-1]), reward, terminated)

    return jax.lax.scan(step, start, actions)[1]


@pytest.mark.parametrize("policy", [random, swinging])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("env", "name", "steps"), PAIRS)
@in_float64
def test_a_whole_episode_is_gymnasium_s(env, name, steps, seed, policy):
    _, start = env.reset(jax.random.key(seed))
    actions, expected, expected_ends = episode(name, start, policy, seed, steps)
    # As many actions for every seed compile once; those after the end are not looked at.
    padded = np.pad(actions, (0, steps - len(actions)))
    variables, rewards, ends = (np.asarray(part)[: len(actions)] for part in replayed(env, start, padded))
    np.testing.assert_allclose(variables, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(ends, expected_ends)
    np.testing.assert_array_equal(rewards, ends)
    assert ends[-1] == (policy == swinging)


@in_float64
def test_the_car_stops_at_the_left_wall_and_reaches_the_goal_when_gymnasium_s_does():
    _, start = CAR.reset(jax.random.key(0))
    swing = iter(np.repeat([0, 2] * 5, 40))
    actions, expected, expected_ends = episode("MountainCar-v0", start, lambda *_: next(swing), 0, 400)
    variables, _, ends = replayed(CAR, start, actions)
    np.testing.assert_allclose(variables, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(ends, expected_ends)
    assert ends[-1]
    is_at_wall = variables[:, 0] == -1.2
    assert is_at_wall.any()
    assert (variables[is_at_wall, 1] == 0).all()


@in_float64
def test_one_step_of_the_acrobot_is_gymnasium_s_from_wherever_it_may_be():
    draw, theirs = np.random.default_rng(0), classic("Acrobot-v1")
    # Half the starts at the corners, where angles wrap by several turns and velocities are cut off.
    shares = np.concatenate([draw.uniform(-1, 1, (500, 4)), draw.choice([-1, 1], (500, 4))])
    starts, actions = shares * np.pi * [1, 1, 4, 9], draw.integers(3, size=1000)
    states = AcrobotState(*jnp.asarray(starts.T), time=jnp.zeros(1000, jnp.int32))
    variables, _, ends = jax.vmap(lambda state, action: replayed(ANGLES, state, action[None]))(states, actions)
    theirs.reset()
    for start, action, reached, is_end in zip(starts, actions, variables[:, 0], ends[:, 0], strict=True):
        theirs.state = start
        assert theirs.step(action)[2] == is_end
        np.testing.assert_allclose(reached, theirs.state, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("env", "name", "steps"), PAIRS)
def test_single_precision_stays_close_for_a_while(env, name, steps):
    _, start = env.reset(jax.random.key(1))
    actions, expected, expected_ends = episode(name, start, random, 1, 100)
    variables, _, ends = replayed(env, start, actions)
    assert variables.dtype == np.float32
    np.testing.assert_allclose(variables, expected, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(ends, expected_ends)


def at_rest(env, state):
    """What is observed of a state after a step of no time."""
    params = env.default_params._replace(step_seconds=0.0)
    return env.step_env(jax.random.key(0), state, 1, params)[0]


def test_the_acrobot_observes_what_gymnasium_s_does():
    theirs = classic("Acrobot-v1")
    expected, _ = theirs.reset(seed=0)
    _, start = ACROBOT.reset(jax.random.key(0))
    state = start._replace(**dict(zip(start._fields, theirs.state, strict=False)))
    np.testing.assert_allclose(at_rest(ACROBOT, state), expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(at_rest(ANGLES, state), theirs.state, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("env", "name", "steps"), PAIRS)
def test_starts_are_distributed_as_gymnasium_s(env, name, steps):
    theirs = classic(name)
    theirs.reset(seed=0)
    expected = np.array([(theirs.reset(), theirs.state)[1] for _ in range(2000)])
    _, state = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2000))
    low, high = (-0.6, -0.4) if env == CAR else (-0.1, 0.1)
    for ours, sample in zip(state[:-1], expected.T, strict=True):
        comparison: Any = stats.ks_2samp(ours, sample)
        assert comparison.pvalue > 0.01
    assert low <= float(state[0].min()) < float(state[0].max()) <= high
    assert (state.time == 0).all()


@pytest.mark.parametrize("env", ENVS)
def test_observations_stay_in_their_space(env):
    """In single precision from all over the space, its very bounds above all: nothing may round out of it."""
    draw, (_, start) = np.random.default_rng(0), env.reset(jax.random.key(0))
    lowest, highest, number = check_spaces(ANGLES if env == ACROBOT else env, env.default_params)
    shares = draw.choice([0, 0.25, 0.5, 0.75, 1], (20_000, len(lowest))) + draw.normal(0, 1e-7, (20_000, len(lowest)))
    variables = np.clip(lowest + shares * (highest - lowest), lowest, highest).astype(np.float32)
    states = type(start)(*variables.T, time=np.zeros(len(variables), np.int32))

    def observed(state, action):
        return env.step(jax.random.key(1), state, action)[-1]["final_observation"]

    space = env.observation_space(env.default_params)
    reached = np.asarray(jax.vmap(observed)(states, draw.integers(number, size=len(variables))))
    assert all(space.contains(observation) for observation in (*reached, np.asarray(env.reset(jax.random.key(0))[0])))


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 10])
def test_an_angle_next_to_half_a_turn_keeps_its_direction_and_its_bounds(turns):
    steps = np.arange(-200, 200) * np.spacing(np.float32((2 * turns + 1) * np.pi))
    angles = np.float32((2 * turns + 1) * np.pi) + steps.astype(np.float32)
    angles = np.concatenate([angles, -angles])
    still = np.zeros_like(angles)
    states = AcrobotState(*jnp.asarray([angles, angles, still, still]), time=jnp.zeros(len(angles), jnp.int32))
    wrapped = np.asarray(jax.jit(jax.vmap(lambda state: at_rest(ANGLES, state)))(states))[:, :2]
    assert (np.abs(wrapped) <= np.float32(np.pi)).all()
    expected = np.repeat(np.sin(angles.astype(np.float64))[:, None], 2, axis=1)
    np.testing.assert_allclose(np.sin(wrapped), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("env", "name", "steps"), PAIRS)
def test_an_episode_is_truncated_exactly_at_its_limit(env, name, steps):
    _, state = env.reset(jax.random.key(0))
    assert env.default_params.max_steps_in_episode == steps
    for time, is_over in ((steps - 2, False), (steps - 1, True)):
        _, after, reward, terminated, truncated, _ = env.step(jax.random.key(1), state._replace(time=time), 1)
        assert (float(reward), bool(terminated), bool(truncated)) == (0.0, False, is_over)
        assert after.time == (0 if is_over else time + 1)


@pytest.mark.parametrize(("time", "truncated"), [(0, False), (998, False), (999, True)])
def test_the_goal_terminates_and_is_paid_whether_or_not_time_is_up(time, truncated):
    _, state = CAR.reset(jax.random.key(0))
    state = state._replace(position=jnp.float32(0.49), velocity=jnp.float32(0.05), time=time)
    _, after, reward, *ends, _ = CAR.step(jax.random.key(1), state, 2)
    assert float(reward) == 1
    assert [bool(end) for end in ends] == [True, truncated]
    assert after.time == 0


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("limit", [1, 2])
def test_a_step_that_ends_hands_the_next_start_and_the_last_observation(env, limit):
    params = env.default_params._replace(max_steps_in_episode=limit)
    key = jax.random.key(2)
    step_key, reset_key = jax.random.split(key)
    _, state = env.reset(jax.random.key(0), params)
    expected, expected_state, *_ = jax.jit(env.step_env)(step_key, state, 2, params)
    fresh, fresh_state = env.reset(reset_key, params)
    observation, after, _, terminated, truncated, info = env.step(key, state, 2, params)
    np.testing.assert_allclose(info["final_observation"], expected, atol=1e-6)
    np.testing.assert_allclose(observation, fresh if limit == 1 else expected, atol=1e-6)
    np.testing.assert_allclose(after, fresh_state if limit == 1 else expected_state, atol=1e-6)
    assert bool(info["terminated"]) == bool(terminated) is False
    assert bool(info["truncated"]) == bool(truncated) is (limit == 1)


@pytest.mark.parametrize("env", ENVS)
def test_an_unsigned_action_means_the_same(env):
    _, state = env.reset(jax.random.key(0))
    reached = env.step(jax.random.key(1), state, 0)[0]
    np.testing.assert_array_equal(env.step(jax.random.key(1), state, np.uint8(0))[0], reached)


def test_equal_environments_are_one_static_argument():
    traced = []

    @jax.jit(static_argnums=0)
    def note(env):
        traced.append(env.observes)
        return 0

    for env in (SparseAcrobot("angles"), SparseAcrobot("angles"), SparseAcrobot(), SparseAcrobot("vector")):
        note(env)
    assert traced == ["angles", "vector"]
    assert CAR != ACROBOT


def test_an_unknown_way_to_observe_is_refused(refused):
    with refused("observes", "'pixels'", "vector, angles"):
        SparseAcrobot("pixels")  # pyright: ignore[reportArgumentType]  # what is refused


def test_spaces_tell_bounds_and_number_of_actions():
    np.testing.assert_array_equal(check_spaces(CAR, CAR.default_params)[0], np.array([-1.2, -0.07], np.float32))
    for env, variables in ((ACROBOT, 6), (ANGLES, 4)):
        low, high, number = check_spaces(env, env.default_params)
        assert low.shape == high.shape == (variables,)
        assert number == env.num_actions == 3
        np.testing.assert_array_equal(low, -high)
    np.testing.assert_array_equal(high, np.float32(np.pi) * np.array([1, 1, 4, 9], np.float32))


def with_spaces(observations, actions):
    return SimpleNamespace(
        name="Toy", observation_space=lambda params: observations, action_space=lambda params: actions
    )


VECTOR, ACTIONS = spaces.Box(-1, 1, (2,)), spaces.Discrete(3)
PICTURE = spaces.Box(np.arange(12.0).reshape(3, 4), np.full((3, 4), 99.0), dtype=np.float64)


@pytest.mark.parametrize(
    ("observations", "actions", "words"),
    [
        (VECTOR, VECTOR, "the action space of Toy is Box(-1.0, 1.0, (2,), float32); allowed: a Discrete space"),
        (VECTOR, spaces.MultiDiscrete([2, 3]), "MultiDiscrete([2 3])"),
        (VECTOR, spaces.MultiBinary(3), "MultiBinary(3)"),
        (VECTOR, spaces.Discrete(3, start=1), "start=1"),
        (VECTOR, spaces.Dict(a=ACTIONS), "Dict"),
        (ACTIONS, ACTIONS, "the observation space of Toy is Discrete(3); allowed: a Box of one dimension"),
        (PICTURE, ACTIONS, "(3, 4)"),
        (spaces.Box(-1, 1, ()), ACTIONS, "()"),
        (spaces.Dict(a=VECTOR), ACTIONS, "Dict"),
    ],
)
def test_spaces_that_no_agent_takes_are_refused(observations, actions, words, refused):
    with refused(words):
        check_spaces(with_spaces(observations, actions), None)


def test_bounds_may_be_single_numbers_and_infinite():
    box = SimpleNamespace(low=-np.inf, high=np.float32(2), shape=(3,))
    low, high, number = check_spaces(with_spaces(box, ACTIONS), None)
    assert (low.tolist(), high.tolist(), number) == ([-np.inf] * 3, [2.0] * 3, 3)


def test_an_environment_that_lacks_a_part_cannot_be_made():
    class Half(FunctionalEnv):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Half()  # pyright: ignore[reportAbstractUsage]  # what is refused


@in_float64
def test_the_car_is_gymnax_s_but_for_the_reward():
    gymnax = pytest.importorskip("gymnax")
    theirs, their_params = gymnax.make("MountainCar-v0")
    params = CAR.default_params._replace(max_steps_in_episode=their_params.max_steps_in_episode)

    def trajectory(env, params):
        def step(carry, key_and_action):
            key, action = key_and_action
            observation, state, _, *ends, info = env.step(key, carry, action, params)
            return state, (observation, info["final_observation"], *ends, info["terminated"], info["truncated"])

        _, start = env.reset(jax.random.key(0), params)
        moves = jnp.asarray(
            np.concatenate([np.repeat([0, 2] * 10, 40), np.random.default_rng(0).integers(3, size=1000)])
        )
        return jax.lax.scan(step, start, (jax.random.split(jax.random.key(1), len(moves)), moves))[1]

    for ours, expected in zip(trajectory(CAR, params), trajectory(theirs, their_params), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)
        assert np.any(ours)  # both kinds of end are met


def test_gymnax_s_spaces_are_understood(refused):
    gymnax = pytest.importorskip("gymnax")
    low, high, number = check_spaces(*gymnax.make("MountainCar-v0"))
    for ours, expected in zip((low, high), check_spaces(CAR, CAR.default_params), strict=False):
        np.testing.assert_array_equal(ours, expected)
    assert number == 3
    with refused("the action space of Pendulum-v1 is Box("):
        check_spaces(*gymnax.make("Pendulum-v1"))


def test_the_largest_number_is_as_good_as_no_bound():
    largest = np.finfo(np.float32).max
    space = spaces.Box(np.array([-largest, 0], np.float32), np.array([largest, 1], np.float32))
    low, high, _ = check_spaces(with_spaces(space, spaces.Discrete(2)), None)
    assert low.tolist() == [-np.inf, 0]
    assert high.tolist() == [np.inf, 1]
