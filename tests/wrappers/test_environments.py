import inspect
import pickle
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import dorax
from dorax.wrappers import GeneralizedCounts


class Script(gymnasium.Env[Any, Any]):
    """Walks through states that are written down: 0, 1, 2, ... , and ends as told after so many steps."""

    observation_space: spaces.Space[Any] = spaces.Discrete(8)
    action_space: spaces.Space[Any] = spaces.Discrete(2)

    def __init__(self, length=3, ending="terminated"):
        self.length, self.ending, self.at = length, ending, 0

    def reset(self, *, seed=None, options=None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        is_over = self.at == self.length
        return (
            self.at,
            float(action),
            is_over and self.ending == "terminated",
            is_over and self.ending == "truncated",
            {"inner": 1},
        )


def bonus_of(count, scale=0.03):
    return scale / np.sqrt(count)


def test_the_bonus_is_added_and_the_truth_stays_in_info():
    env = dorax.EValueBonus(Script(), scale=0.5, counter=dorax.Visits())
    env.reset()
    _, reward, _, _, info = env.step(1)
    assert info == {"inner": 1, "true_reward": 1.0, "bonus": 0.5, "generalized_count": 1.0}
    assert reward == 1.5
    env.reset()
    _, reward, _, _, info = env.step(1)
    assert info["generalized_count"] == 2
    assert reward == 1 + 0.5 / np.sqrt(2)


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Blackjack-v1", "dorax/DeepSea-v0"])
def test_a_wrapped_environment_passes_gymnasiums_own_checks(name):
    """Switched off: unlike a reward, a bonus is not the same the second time."""
    env = dorax.EValueBonus(gymnasium.make(name))
    env.exploration.is_on = False
    with pytest.warns(UserWarning, match="unwrapped"):  # the checker's word on any wrapper
        check_env(env, skip_render_check=True)


def test_tuples_of_observations_are_counted():
    env = dorax.EValueBonus(gymnasium.make("Blackjack-v1"), counter=dorax.Visits())
    first, _ = env.reset(seed=1)
    env.step(0)
    again, _ = env.reset(seed=1)
    assert first == again
    assert env.step(0)[4]["generalized_count"] == 2


def test_continuous_states_are_tiled_and_those_without_bounds_too():
    env = dorax.EValueBonus(gymnasium.make("CartPole-v1"))
    env.reset(seed=0)
    counts = [env.step(0)[4]["generalized_count"] for _ in range(5)]
    assert np.isfinite(counts).all()
    assert isinstance(env.exploration.counts.features, dorax.Tiles)


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_vector_of_environments_counts_as_its_episodes_would_one_by_one(mode, ending):
    """Two environments of different lengths, in every autoreset mode, against a plain loop over their episodes."""
    lengths = (2, 3)
    vector = dorax.VectorEValueBonus(
        SyncVectorEnv([lambda n=n: Script(n, ending) for n in lengths], autoreset_mode=mode), counter=dorax.EValues(0.9)
    )
    oracle = GeneralizedCounts(Script.observation_space, Script.action_space, num_envs=2, counter=dorax.EValues(0.9))
    random, at, is_over = np.random.default_rng(0), [0, 0], [False, False]
    vector.reset(seed=0)
    for i in (0, 1):
        oracle.begin(0, i)
    for _ in range(25):
        actions = random.integers(2, size=2)
        if mode is AutoresetMode.DISABLED and any(is_over):
            vector.reset(options={"reset_mask": np.array(is_over)})
            for i in (0, 1):
                if is_over[i]:
                    at[i], is_over[i] = 0, False
                    oracle.begin(0, i)
        _, rewards, terminated, truncated, infos = vector.step(actions)
        for i in (0, 1):
            if is_over[i]:  # next-step mode: this step only began anew
                assert rewards[i] == infos["bonus"][i] == 0
                assert not infos["_bonus"][i]
                at[i], is_over[i] = 0, False
                oracle.begin(0, i)
                continue
            at[i] += 1
            ends = at[i] == lengths[i]
            count = oracle.visit(actions[i], at[i], ends and ending == "terminated", ends and ending == "truncated", i)
            assert ends == (terminated[i] or truncated[i])
            assert infos["generalized_count"][i] == count
            assert infos["true_reward"][i] == actions[i]
            assert rewards[i] == pytest.approx(actions[i] + bonus_of(count))
            is_over[i] = ends
            if ends and mode is AutoresetMode.SAME_STEP:
                at[i], is_over[i] = 0, False
                oracle.begin(0, i)
    np.testing.assert_array_equal(vector.exploration.counts.of(range(8)), oracle.of(range(8)))


def test_observations_that_are_overwritten_in_place_are_counted_where_they_were():
    vector = SyncVectorEnv([lambda: gymnasium.make("MountainCar-v0")], copy=False)
    copied = SyncVectorEnv([lambda: gymnasium.make("MountainCar-v0")])
    counts = []
    for env in (dorax.VectorEValueBonus(vector), dorax.VectorEValueBonus(copied)):
        env.reset(seed=3)
        counts.append([env.step(np.array([i % 3]))[4]["generalized_count"][0] for i in range(30)])
    assert counts[0] == counts[1]


def test_a_scale_may_follow_a_schedule():
    env = dorax.EValueBonus(Script(100), scale=dorax.LinearSchedule(1.0, 0.0, steps=2), counter=dorax.Visits())
    env.reset()
    assert [env.step(0)[1] for _ in range(4)] == [1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_a_schedule_may_not_leave_what_a_scale_may_be(bad, refused):
    env = dorax.EValueBonus(Script(), scale=lambda step: bad)
    env.reset()
    with refused("after 0 steps"):
        env.step(0)
    with refused("the end of a schedule"):
        dorax.LinearSchedule(1.0, bad, 10)


def test_what_a_schedule_returns_becomes_a_plain_number(tmp_path):
    half: Any = np.float32(0.5)
    env = dorax.EValueBonus(Script(), scale=lambda step: half, counter=dorax.Visits())
    env.reset()
    assert type(env.step(0)[1]) is float
    env.exploration.save(tmp_path / "counts.npz")


def test_switched_off_for_evaluation_nothing_is_counted_and_nothing_is_paid():
    env = dorax.EValueBonus(Script(100), counter=dorax.Visits())
    env.reset()
    env.step(0)
    env.reset()
    before = env.exploration.counts.of(range(8))
    with env.exploration.off():
        env.reset()
        _, reward, _, _, info = env.step(0)
        assert (reward, info["bonus"], info["generalized_count"]) == (0.0, 0.0, 1.0)
        env.step(1)
    np.testing.assert_array_equal(env.exploration.counts.of(range(8)), before)
    assert env.step(1)[4]["generalized_count"] == 1
    assert env.exploration.is_on


@pytest.mark.parametrize("name", ["FrozenLake-v1", "MountainCar-v0"])
def test_a_saved_exploration_goes_on_as_if_it_had_never_stopped(name, tmp_path):
    def walk(env, seed, steps=60):
        env.reset(seed=seed)
        env.action_space.seed(seed)
        bonuses = []
        for _ in range(steps):
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            bonuses.append(info["bonus"])
            if terminated or truncated:
                env.reset()
        env.reset()
        return bonuses

    first = dorax.EValueBonus(gymnasium.make(name), scale=dorax.LinearSchedule(1, 0, 1000))
    walk(first, 0)
    first.exploration.save(tmp_path / "counts.npz")
    second = dorax.EValueBonus(gymnasium.make(name), scale=dorax.LinearSchedule(1, 0, 1000))
    second.exploration.load(tmp_path / "counts.npz")
    assert walk(first, 1) == walk(second, 1)
    assert first.exploration.history.rows() == second.exploration.history.rows()


@pytest.mark.parametrize(
    "space",
    [spaces.Discrete(4), spaces.Tuple([spaces.Discrete(2), spaces.MultiDiscrete([2, 3])]), spaces.Box(0, 1, (2,))],
    ids=str,
)
def test_an_exploration_can_be_sent_to_another_process(space):
    exploration = dorax.Exploration(space, spaces.Discrete(2))
    space.seed(0)
    seen = [space.sample() for _ in range(6)]
    exploration.begin(seen[0])
    for before, after in pairwise([0, 1, 0, 1, 0]):
        exploration.visit(before, 0.0, seen[1 + after], False, False)
    sent = pickle.loads(pickle.dumps(exploration))
    np.testing.assert_array_equal(sent.counts.of(seen), exploration.counts.of(seen))
    step = (1, 0.0, seen[2], True, False)
    assert sent.visit(*step) == exploration.visit(*step)


OPTIONS = {
    "counter": dorax.EValues(0.9, learning_rate=0.3),
    "bonus": dorax.InverseCount(),
    "scale": 0.5,
    "features": dorax.Table(),
    "seed": 3,
}


@pytest.mark.parametrize("options", [{}, {"scale": 0.5}, {"counter": dorax.Visits()}, OPTIONS], ids=str)
def test_gymnasium_makes_the_same_wrapped_environment_again_from_its_spec(options):
    env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), **options)
    assert env.spec is not None
    again = gymnasium.make(env.spec)
    assert isinstance(again, dorax.EValueBonus)
    ours, theirs = env.exploration, again.exploration
    assert theirs.counts.counter == ours.counts.counter
    assert (theirs.bonus, theirs.scale) == (ours.bonus, ours.scale)
    assert theirs.counts.what == ours.counts.what
    assert again.spec == env.spec


def test_a_spec_with_options_that_are_numbers_can_be_written_as_json():
    env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), scale=0.5)
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, dorax.EValueBonus)
    assert again.exploration.scale == 0.5
    assert again.exploration.counts.counter == dorax.EValues(0.99)


@pytest.mark.parametrize(
    "thing", [dorax.EValueBonus, dorax.VectorEValueBonus, dorax.Exploration, dorax.GeneralizedCounts], ids=str
)
def test_every_option_stands_in_the_signature_with_its_type_and_the_same_default(thing):
    parameters = inspect.signature(thing).parameters
    assert not [each for each in parameters.values() if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    assert all(each.annotation is not each.empty for each in parameters.values())
    options = inspect.signature(dorax.Exploration).parameters
    for name, option in options.items():
        if option.kind is option.KEYWORD_ONLY and (thing is not dorax.GeneralizedCounts or name in parameters):
            assert parameters[name] == option


def test_a_wrapped_environment_can_be_pickled():
    env = dorax.EValueBonus(Script(), **OPTIONS)
    env.reset()
    env.step(1)
    again = pickle.loads(pickle.dumps(env))
    assert again.step(1) == env.step(1)
    assert again._saved_kwargs == OPTIONS


def test_a_saved_file_of_another_space_or_another_discount_is_refused(tmp_path, refused):
    path = tmp_path / "counts.npz"
    dorax.EValueBonus(gymnasium.make("FrozenLake-v1")).exploration.save(path)
    with refused("was saved for observations: Discrete(16)"):
        dorax.EValueBonus(gymnasium.make("CliffWalking-v1")).exploration.load(path)
    with refused("is damaged"):
        (tmp_path / "cut.npz").write_bytes(path.read_bytes()[:-200])
        dorax.EValueBonus(gymnasium.make("FrozenLake-v1")).exploration.load(tmp_path / "cut.npz")
    with refused("discount 0.99"):
        dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), counter=dorax.EValues(0.5)).exploration.load(path)


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_what_is_not_a_saved_exploration_is_refused(content, tmp_path, refused):
    path = tmp_path / "counts.npz"
    if content is None:
        np.savez(path, other=1)
    else:
        path.write_bytes(content)
    with refused("is damaged"):
        dorax.EValueBonus(Script()).exploration.load(path)


def test_a_second_bonus_is_refused_around_or_within(refused):
    wrapped = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"))
    with refused("has a bonus already"):
        dorax.EValueBonus(wrapped)
    with refused("has a bonus already"):
        dorax.EValueBonus(gymnasium.wrappers.TimeLimit(wrapped, 10))
    with refused("has a bonus already"):
        dorax.VectorEValueBonus(SyncVectorEnv([lambda: dorax.EValueBonus(Script())]))


def test_a_second_bonus_that_cannot_be_seen_is_refused_as_soon_as_it_pays(refused):
    """As of environments in other processes, which cannot be looked into."""

    class Paid(Script):
        def step(self, action):
            return *super().step(action)[:4], {"generalized_count": 1.0}

    env = dorax.VectorEValueBonus(SyncVectorEnv([Paid]))
    env.reset(seed=0)
    with refused("has a bonus already"):
        env.step(np.array([0]))


def test_an_environment_that_begins_anew_by_itself_is_refused(refused):
    with refused("Autoreset around the bonus"):
        dorax.EValueBonus(gymnasium.wrappers.Autoreset(Script()))


def test_pictures_coded_by_another_seed_are_not_loaded(tmp_path, refused):
    class Pictures(Script):
        observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)

    dorax.EValueBonus(Pictures(), seed=0).exploration.save(tmp_path / "counts.npz")
    dorax.EValueBonus(Pictures(), seed=0).exploration.load(tmp_path / "counts.npz")
    with refused("was saved for seed: 0"):
        dorax.EValueBonus(Pictures(), seed=1).exploration.load(tmp_path / "counts.npz")


def test_after_loading_in_the_middle_of_an_episode_it_goes_on(tmp_path):
    env = dorax.EValueBonus(Script())
    env.reset()
    env.step(0)
    env.exploration.save(tmp_path / "counts.npz")
    env.exploration.load(tmp_path / "counts.npz")
    assert env.step(0)[4]["generalized_count"] > 0


def test_a_visit_that_waits_for_its_next_action_is_saved_as_one_that_was_cut_off(tmp_path):
    env, cut_off = (dorax.EValueBonus(Script(length, "truncated")) for length in (3, 1))
    for each in (env, cut_off):
        each.reset()
        each.step(1)
    env.exploration.save(tmp_path / "counts.npz")
    assert env.exploration.counts.of([0])[0, 1] == 0, "saving leaves the run as it is"
    loaded = dorax.EValueBonus(Script())
    loaded.exploration.load(tmp_path / "counts.npz")
    assert cut_off.exploration.counts.of([0])[0, 1] > 0
    for counts in (loaded.exploration.counts, cut_off.exploration.counts):
        assert counts.visits_of([0]).tolist() == [[0, 1]]
    np.testing.assert_array_equal(loaded.exploration.counts.of([0]), cut_off.exploration.counts.of([0]))


def test_actions_of_a_rule_are_those_of_the_space():
    exploration = dorax.Exploration(Script.observation_space, spaces.Discrete(2, start=5))
    assert set(exploration.act(dorax.LLL(dorax.Softmax(1.0)), np.zeros((9, 2)), [0] * 9)) <= {5, 6}


def test_each_wrapper_takes_its_own_kind_of_environment(refused):
    with refused("VectorEValueBonus"):
        dorax.EValueBonus(SyncVectorEnv([Script]))  # pyright: ignore[reportArgumentType]  # what is refused
    with refused("EValueBonus around it"):
        dorax.VectorEValueBonus(Script())  # pyright: ignore[reportArgumentType]
    for bonus in (dorax.EValueBonus, dorax.VectorEValueBonus):
        with refused("FrozenLake-v1", "gymnasium.", "VecEValueBonus"):
            bonus("FrozenLake-v1")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("mode", [None, "Sometimes"])
def test_an_unknown_autoreset_mode_is_refused(mode, refused):
    vector = SyncVectorEnv([Script])
    vector.metadata = {**vector.metadata, "autoreset_mode": mode}
    with refused("autoreset mode", "AutoresetMode.SAME_STEP"):
        dorax.VectorEValueBonus(vector)


@pytest.mark.parametrize(
    "options",
    [
        {"scale": -1},
        {"scale": np.nan},
        {"counter": 0.9},
        {"counter": dorax.Visits},
        {"bonus": 3},
        {"bonus": dorax.InverseCount},
        {"seed": -1},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options, refused):
    with refused():
        dorax.EValueBonus(Script(), **options)


def test_a_reward_that_is_no_number_is_refused(refused):
    exploration = dorax.Exploration(spaces.Discrete(2), spaces.Discrete(2))
    exploration.begin(0)
    with refused("the reward is nan"):
        exploration.visit(0, np.nan, 1, False, False)


def test_a_bonus_that_is_no_number_is_refused(refused):
    env = dorax.EValueBonus(Script(), bonus=lambda count, rate: np.nan)
    env.reset()
    with refused("the bonus of a count of", "is nan"):
        env.step(0)


def test_episodes_that_end_without_a_last_word_are_refused(refused):
    class Silent(SyncVectorEnv):
        def step(self, actions):
            *rest, _ = super().step(actions)
            return *rest, {}

    envs = dorax.VectorEValueBonus(Silent([lambda: Script(1)], autoreset_mode=AutoresetMode.SAME_STEP))
    envs.reset()
    with refused("final_obs"):
        envs.step(np.array([0]))
    listed = dorax.VectorEValueBonus(gymnasium.wrappers.vector.DictInfoToList(SyncVectorEnv([Script])))
    listed.reset()
    with refused("DictInfoToList goes around"):
        listed.step(np.array([0]))


def test_an_observation_that_is_no_number_is_refused(refused):
    class Broken(Script):
        observation_space = spaces.Box(0, 1, (2,))

        def reset(self, *, seed=None, options=None):
            return np.array([0, 0], np.float32), {}

        def step(self, action):
            return np.array([0, np.nan], np.float32), 0.0, False, False, {}

    env = dorax.EValueBonus(Broken())
    env.reset()
    with refused("an observation contains nan"):
        env.step(0)


def test_other_peoples_values_and_our_counts_choose_actions_together():
    exploration = dorax.Exploration(Script.observation_space, Script.action_space, counter=dorax.Visits())
    rule = dorax.LLL(dorax.Softmax(1.0))
    values = np.log([[0.75, 0.25]])
    chosen = []
    for _ in range(40):
        exploration.begin(0)
        action = int(exploration.act(rule, values, [0])[0])
        chosen.append(action)
        exploration.visit(action, 0.0, 1, True, False)
    assert np.bincount(chosen).tolist() == [30, 10]  # determinized, they keep the frequencies of softmax


@pytest.mark.parametrize("is_dict", [False, True])
def test_a_rule_sees_the_counts_of_each_environment_where_observations_have_parts(is_dict):
    class Parts(Script):
        parts: dict[str, spaces.Space[Any]] = {"row": spaces.Discrete(2), "column": spaces.Discrete(2)}  # noqa: RUF012
        observation_space = spaces.Dict(parts) if is_dict else spaces.Tuple(parts.values())

        def __init__(self, column):
            self.column = column

        def reset(self, *, seed=None, options=None):
            return self._seen(), {}

        def step(self, action):
            return self._seen(), 0.0, False, False, {}

        def _seen(self):
            return {"row": 0, "column": self.column} if is_dict else (0, self.column)

    envs = dorax.VectorEValueBonus(SyncVectorEnv([lambda: Parts(1), lambda: Parts(0)]), counter=dorax.Visits())
    seen, _ = envs.reset()
    for _ in range(3):
        seen = envs.step(np.array([0, 1]))[0]
    assert envs.exploration.counts.of(seen).tolist() == [[2, 0], [0, 2]]  # the third waits for its next action
    assert envs.exploration.act(dorax.LLL(dorax.Softmax(1.0)), np.zeros((2, 2)), seen).tolist() == [1, 0]


def test_values_of_another_shape_are_refused(refused):
    exploration = dorax.Exploration(Script.observation_space, Script.action_space)
    with refused("values have the shape (1, 3)"):
        exploration.act(dorax.LLL(dorax.Softmax(1.0)), np.zeros((1, 3)), [0])
    with refused("values contain nan"):
        exploration.act(dorax.LLL(dorax.Softmax(1.0)), np.array([[0.0, np.nan]]), [0])
