"""Under real Stable-Baselines3: run by `make test-sb3`."""

# Stable-Baselines3 need not be installed where types are checked.
# pyright: reportMissingImports=false

import importlib.util
import inspect
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import dorax
from dorax import cli
from dorax.experiments import sb3_sparse
from dorax.study import fingerprints, repository
from dorax.study.results import load
from dorax.study.store import Store
from dorax.wrappers import GeneralizedCounts

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make test-sb3")

import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from dorax.wrappers.sb3 import DirectedDQN, VecCountBonus, VecEValueBonus, VecNovelDBonus, VecRNDBonus

pytestmark = [pytest.mark.sb3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


class Walk(gymnasium.Env[Any, Any]):
    """States 0, 1, 2, ...; ends as told after so many steps. The reward is the action."""

    action_space = spaces.Discrete(2)

    def __init__(self, length, ending, is_dict=False):
        self.length, self.ending, self.is_dict, self.at = length, ending, is_dict, 0
        where = spaces.Discrete(8)
        self.observation_space = spaces.Dict({"where": where}) if is_dict else where

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self._seen(), {}

    def step(self, action) -> Any:
        self.at += 1
        is_over = self.at == self.length
        ends = {
            "terminated": is_over and self.ending == "terminated",
            "truncated": is_over and self.ending == "truncated",
        }
        return self._seen(), float(action), *ends.values(), {}

    def _seen(self):
        return {"where": self.at} if self.is_dict else self.at


@pytest.mark.parametrize("is_dict", [False, True])
@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_a_vec_env_counts_as_its_episodes_would_one_by_one(ending, is_dict):
    lengths = (2, 3)
    env = VecEValueBonus(
        DummyVecEnv([lambda n=n: Walk(n, ending, is_dict) for n in lengths]), counter=dorax.EValues(0.9), scale=0.5
    )
    oracle = GeneralizedCounts(spaces.Discrete(8), spaces.Discrete(2), num_envs=2, counter=dorax.EValues(0.9))
    env.reset()
    at, random = [0, 0], np.random.default_rng(0)
    for i in (0, 1):
        oracle.begin(0, i)
    for _ in range(25):
        actions = random.integers(2, size=2)
        _, rewards, dones, infos = env.step(actions)
        for i in (0, 1):
            at[i] += 1
            ends = at[i] == lengths[i]
            count = oracle.visit(actions[i], at[i], ends and ending == "terminated", ends and ending == "truncated", i)
            assert dones[i] == ends
            assert infos[i]["generalized_count"] == count
            assert infos[i]["true_reward"] == actions[i]
            assert infos[i]["bonus"] == pytest.approx(0.5 / np.sqrt(count))
            assert rewards[i] == pytest.approx(actions[i] + 0.5 / np.sqrt(count))
            if ends:
                at[i] = 0
                oracle.begin(0, i)
    states = [{"where": i} for i in range(8)] if is_dict else range(8)
    np.testing.assert_array_equal(env.exploration.counts.of(states), oracle.of(range(8)))


def test_tuples_of_batches_are_split_into_observations():
    env = VecEValueBonus(make_vec_env("Blackjack-v1", 3, seed=0, vec_env_cls=DummyVecEnv), counter=dorax.Visits())
    seen = env.reset()
    env.step(np.zeros(3, int))  # all stick, and all episodes end
    first = list(zip(*seen, strict=True))
    assert (env.exploration.counts.of(first)[:, 0] >= 1).all()


def test_infos_are_not_written_into():
    class Thrifty(DummyVecEnv):
        told = {}  # noqa: RUF012

        def step_wait(self):
            return *super().step_wait()[:3], [self.told] * self.num_envs

    env = VecEValueBonus(Thrifty([lambda: Walk(9, "terminated")] * 2))
    env.reset()
    for _ in range(2):
        *_, infos = env.step(np.array([0, 1]))
        assert [info["true_reward"] for info in infos] == [0, 1]
    assert not Thrifty.told


def test_a_bonus_is_paid_on_top_of_whole_numbers():
    class Whole(Walk):
        def step(self, action):
            seen, reward, *rest = super().step(action)
            return seen, int(reward), *rest

    env = VecEValueBonus(SubprocVecEnv([lambda: Whole(3, "terminated")]), scale=0.5, counter=dorax.Visits())
    env.reset()
    assert env.step(np.array([1]))[1][0] == 1.5
    env.close()


def test_what_monitor_reports_is_the_true_return():
    env = VecEValueBonus(make_vec_env(lambda: Walk(3, "terminated"), 1), scale=100.0)
    env.reset()
    infos = [env.step(np.array([1]))[3][0] for _ in range(3)]
    assert infos[-1]["episode"]["r"] == 3


def test_a_second_bonus_or_no_vec_env_is_refused(refused):
    env = VecEValueBonus(make_vec_env("FrozenLake-v1", 2))
    with refused("has a bonus already"):
        VecEValueBonus(VecNormalize(env, norm_obs=False))
    with refused("has a bonus already"):
        VecEValueBonus(DummyVecEnv([lambda: dorax.EValueBonus(gymnasium.make("FrozenLake-v1"))]))
    with refused("a VecEnv"):
        VecEValueBonus(gymnasium.make("FrozenLake-v1"))  # pyright: ignore[reportArgumentType]  # what is refused


def test_a_bonus_is_diagnosed_through_what_stable_baselines3_puts_around_it():
    model = PPO("MlpPolicy", dorax.EValueBonus(Walk(5, "terminated")), n_steps=16, batch_size=16, device="cpu")
    model.learn(16)
    assert dorax.diagnose(model.get_env()).step[-1] == 16


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_algorithms_train_inside_the_bonus_and_can_be_diagnosed(algorithm):
    env = VecEValueBonus(make_vec_env("FrozenLake-v1", 2, seed=0))
    algorithm("MlpPolicy", env, seed=0, device="cpu").learn(512)
    assert env.exploration.steps >= 512
    visits = dorax.diagnose(env).visits
    assert visits is not None
    assert visits.sum() == pytest.approx(env.exploration.steps, abs=2)  # two wait for an action


@pytest.mark.parametrize("outer", ["vec", "gymnasium"])
def test_directed_dqn_acts_by_its_rule_on_its_own_values_and_our_counts(outer):
    """With Q of zero everywhere LLL takes the least known action; visits of a state never differ by more than one.

    In the deep sea no step leads back to where it came from: none waits to be counted there.
    """
    if outer == "vec":
        env = VecEValueBonus(make_vec_env("dorax/DeepSea-v0", 1, seed=0), scale=0.0, counter=dorax.Visits())
    else:
        env = dorax.EValueBonus(gymnasium.make("dorax/DeepSea-v0"), scale=0.0, counter=dorax.Visits())
    model = DirectedDQN("MlpPolicy", env, learning_starts=0, learning_rate=0.0, seed=0, device="cpu")
    with torch.no_grad():
        for parameter in model.q_net.parameters():
            parameter.zero_()
    model.learn(400)
    counts, _ = env.exploration.counts.table()
    assert counts.sum() >= 399
    assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()


def test_directed_dqn_is_greedy_when_told_and_survives_saving(tmp_path):
    env = VecEValueBonus(make_vec_env("FrozenLake-v1", 1, seed=0))
    model = DirectedDQN("MlpPolicy", env, rule=dorax.UCB(0.5), seed=0, device="cpu")
    values = model.q_net(torch.arange(16)).argmax(dim=1).numpy()
    actions, _ = model.predict(np.arange(16), deterministic=True)
    np.testing.assert_array_equal(actions, values)
    model.save(tmp_path / "model.zip")
    again = DirectedDQN.load(tmp_path / "model.zip", env=env)
    assert again.rule == dorax.UCB(0.5)
    np.testing.assert_array_equal(again.predict(np.arange(16), deterministic=True)[0], actions)
    alone = DirectedDQN.load(tmp_path / "model.zip")
    assert alone.predict(3)[0] == actions[3]


def test_directed_dqn_has_the_parameters_of_dqn_and_a_rule():
    ours, theirs = (list(inspect.signature(each, eval_str=True).parameters.values()) for each in (DirectedDQN, DQN))
    assert ours[:-1] == theirs
    assert (ours[-1].name, ours[-1].kind) == ("rule", inspect.Parameter.KEYWORD_ONLY)


def test_directed_dqn_passes_every_argument_on(monkeypatch):
    passed = {}
    monkeypatch.setattr(DQN, "__init__", lambda self, policy, env, **options: passed.update(options))
    monkeypatch.setattr(DirectedDQN, "env", None, raising=False)
    given: dict[str, Any] = {name: [name] for name in list(inspect.signature(DirectedDQN).parameters)[2:-1]}
    no_env: Any = None
    DirectedDQN("MlpPolicy", no_env, **given)
    assert passed == given


def test_vec_e_value_bonus_has_the_options_of_exploration():
    ours, theirs = (inspect.signature(each).parameters for each in (VecEValueBonus, dorax.Exploration))
    assert list(ours.values())[1:-1] == [each for each in theirs.values() if each.kind is each.KEYWORD_ONLY]


def test_directed_dqn_sees_what_is_counted_and_nothing_else(refused):
    env = VecEValueBonus(make_vec_env("MountainCar-v0", 1))
    with refused("around all other wrappers"):
        DirectedDQN("MlpPolicy", VecNormalize(env))
    model = DirectedDQN("MlpPolicy", env)
    with refused("does not count the agent's observations"):
        model.set_env(make_vec_env("MountainCar-v0", 1))


def test_directed_dqn_needs_counts(refused):
    with refused("does not count the agent's observations"):
        DirectedDQN("MlpPolicy", make_vec_env("FrozenLake-v1", 1))
    with refused("rule is 3"):
        DirectedDQN("MlpPolicy", VecEValueBonus(make_vec_env("FrozenLake-v1", 1)), rule=3)  # pyright: ignore[reportArgumentType]


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ppo_finds_the_treasure_with_the_bonus_and_not_without():
    ppo = example("sb3_ppo_bonus")
    assert ppo.main() > 0.9
    assert ppo.main(plain=True) < 0.1


def test_dqn_finds_it_by_lll():
    assert example("sb3_dqn_lll").main(steps=12_000, size=8) > 0.9


def test_so_does_a_dqn_in_a_single_file():
    assert example("single_file_dqn").main(steps=16_000, size=8) > 0.9


def test_the_study_runs_at_its_quick_size_from_the_agents_to_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path / "nothing recorded")
    cli.main(["run", "sb3_sparse", "--quick", "--out", str(tmp_path)])
    cli.main(["report", "--out", str(tmp_path)])
    assert "quick run with few episodes and agents" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "figures" / "sb3_sparse.png").stat().st_size > 5_000


def test_rnd_pays_less_for_what_it_has_often_seen(monkeypatch):
    class Nothing(Walk):
        """One step, always to the same place, for no reward."""

        def __init__(self):
            super().__init__(1, "terminated")

        def step(self, action):
            return super().step(0)

    make: Any = Nothing  # which Gymnasium makes as well as an id
    problem = sb3_sparse.Problem("DQN", sb3_sparse.DQN, make, {}, steps=800)
    monkeypatch.setitem(sb3_sparse.PROBLEMS, "nothing", problem)
    paid = sb3_sparse.fingerprint("nothing", sb3_sparse.RND, {"scale": 1.0})["paid"]  # in ten parts
    assert 0 <= paid[-1] < 0.2 * paid[1]  # the first part is inflated, while bonuses have no deviation yet
    assert not any(sb3_sparse.fingerprint("nothing", sb3_sparse.NONE, {})["paid"])


def test_acting_by_counts_pays_nothing_and_at_a_high_temperature_takes_the_rarer_action():
    found = sb3_sparse.fingerprint("DQN, deep sea of 20", sb3_sparse.ACTING_BY_VISITS, {"temperature": 1e9})
    actions = [int(action) for action in found["actions"]]
    without = sb3_sparse.fingerprint("DQN, deep sea of 20", sb3_sparse.NONE, {})
    assert found["paid"][:6] == without["paid"][:6], "nothing but the reward, while both act at random"
    assert -0.01 * 40 < sum(found["paid"]) < 0, "nor later: each of 40 episodes costs at most 0.01"
    at_start = actions[::20]
    for episode in range(25, 40):  # actions of the first 500 steps are random
        is_right = at_start[:episode].count(1)
        is_left = episode - is_right
        if is_left != is_right:
            assert at_start[episode] == (1 if is_right < is_left else 0)


@pytest.mark.parametrize("kind", [sb3_sparse.E_VALUES, sb3_sparse.ACTING_BY_E])
def test_todays_code_acts_as_recorded(kind, tmp_path):
    recorded = json.loads((repository.results() / "sb3_sparse" / "fingerprints.json").read_text())
    name = "DQN, deep sea of 20"
    result = load("sb3_sparse", sb3_sparse.EXPERIMENT, Store(tmp_path))[sb3_sparse.agent_name(name, kind)]
    today = sb3_sparse.fingerprint(name, kind, result.choices["step"].setting)
    assert fingerprints.same(today, recorded[sb3_sparse.agent_name(name, kind)])


NETWORKS: dict[str, Any] = {"warm_up": 4, "batch_size": 8, "width": 8, "outputs": 4}
BONUSES = [(VecEValueBonus, {}), (VecCountBonus, {}), (VecRNDBonus, NETWORKS), (VecNovelDBonus, NETWORKS)]


@pytest.mark.parametrize(("bonus", "options"), BONUSES)
@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_a_vec_env_pays_what_a_vector_environment_does_that_resets_in_the_same_step(bonus, options, ending):
    lengths = (2, 3)
    makers = [lambda n=n: Walk(n, ending) for n in lengths]
    env = bonus(DummyVecEnv([lambda n=n: Monitor(Walk(n, ending)) for n in lengths]), **options)
    vector = getattr(dorax, bonus.__name__.replace("Vec", "Vector"))(
        SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP), **options
    )
    env.reset()
    vector.reset()
    random = np.random.default_rng(0)
    for _ in range(20):
        actions = random.integers(2, size=2)
        _, rewards, _, infos = env.step(actions)
        _, theirs, _, _, expected = vector.step(actions)
        for name in ("true_reward", "bonus", env.exploration.basis):
            np.testing.assert_array_equal([info[name] for info in infos], expected[name])
        np.testing.assert_allclose(rewards, theirs, rtol=1e-6)
    assert vector.exploration.history.rows()[-1][3] > 0


@pytest.mark.parametrize(("bonus", "options"), BONUSES)
def test_a_vec_env_may_pay_the_bonus_alone_and_is_saved(bonus, options, tmp_path):
    env, again = (bonus(DummyVecEnv([lambda: Walk(3, "truncated")]), **options, reward="intrinsic") for _ in range(2))

    def walk(env):
        env.reset()
        infos, rewards = [], []
        for step in range(12):
            _, reward, _, info = env.step(np.array([step % 2]))
            infos.append(info[0]["bonus"])
            rewards.append(reward[0])
        return infos, rewards

    bonuses, rewards = walk(env)
    np.testing.assert_allclose(rewards, bonuses, rtol=1e-6)
    assert dorax.diagnose(env).step[-1] == 12
    env.exploration.save(tmp_path / "bonus.npz")
    again.exploration.load(tmp_path / "bonus.npz")
    assert walk(env) == walk(again)
    with env.exploration.off():
        assert walk(env) == ([0.0] * 12, [0.0, 1.0] * 6)


def test_predictors_do_not_choose_actions(refused):
    with refused("does not count"):
        DirectedDQN("MlpPolicy", VecRNDBonus(make_vec_env("FrozenLake-v1", 1)))
