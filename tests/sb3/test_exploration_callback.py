"""The callback that logs a bonus, under real Stable-Baselines3: run by `make test-sb3`."""

# Stable-Baselines3 need not be installed where types are checked.
# pyright: reportMissingImports=false

import warnings

import gymnasium
import pytest

import dorax

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make test-sb3")

from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.vec_env import VecNormalize

from dorax.wrappers.sb3 import ExplorationCallback, VecEValueBonus

pytestmark = [pytest.mark.sb3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


class Lines(KVWriter):
    """Keeps what would be written."""

    def __init__(self):
        self.lines = []

    def write(self, key_values, key_excluded, step=0):
        self.lines.append(dict(key_values))

    def close(self):
        pass


class Paid(BaseCallback):
    """Adds up what the environments paid, by itself."""

    reward = bonus = 0.0

    def _on_step(self):
        self.reward += sum(abs(info["true_reward"]) for info in self.locals["infos"])
        self.bonus += sum(info["bonus"] for info in self.locals["infos"])
        return True


def logged(model, steps, **options):
    writer, paid = Lines(), Paid()
    model.set_logger(Logger(None, [writer]))
    model.learn(steps, callback=[paid, ExplorationCallback()], **options)
    return [line for line in writer.lines if "exploration/bonus" in line], paid


def ppo(env):
    return PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, device="cpu")


def test_an_on_policy_algorithm_logs_share_and_coverage():
    env = VecEValueBonus(make_vec_env("FrozenLake-v1", 2), scale=0.5)
    lines, paid = logged(ppo(env), 256, log_interval=1)
    assert len(lines) == 2
    shares = [line["exploration/bonus_share"] for line in lines]
    assert min(shares) <= paid.bonus / (paid.bonus + paid.reward) <= max(shares)
    means = [line["exploration/bonus"] for line in lines]
    assert sum(means) / 2 == pytest.approx(paid.bonus / 256)
    visited = env.exploration.counts.table()[1] > 0
    assert lines[-1]["exploration/pairs"] == visited.sum()
    assert lines[-1]["exploration/states"] == visited.any(axis=1).sum()
    assert lines[-1]["exploration/generalized_count"] > 0


def test_an_off_policy_algorithm_logs_them_too_with_a_bonus_in_a_single_environment():
    env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), scale=0.5)
    lines, _ = logged(DQN("MlpPolicy", env, device="cpu", learning_starts=1_000), 300, log_interval=4)
    assert len(lines) > 2
    assert all(0 < line["exploration/bonus_share"] <= 1 for line in lines)
    assert 0 < lines[-1]["exploration/pairs"] <= 64


@pytest.mark.parametrize("is_around", [True, False])
def test_rewards_that_are_normalised_are_warned_of_in_either_order(is_around):
    games = make_vec_env("FrozenLake-v1", 2)
    env = VecNormalize(VecEValueBonus(games), norm_obs=False) if is_around else None
    env = env or VecEValueBonus(VecNormalize(games, norm_obs=False))
    with pytest.warns(UserWarning, match="VecNormalize around" if is_around else "VecNormalize inside"):
        ppo(env).learn(128, callback=ExplorationCallback())


def test_without_normalised_rewards_nothing_is_warned_of():
    env = VecNormalize(VecEValueBonus(make_vec_env("FrozenLake-v1", 2)), norm_obs=False, norm_reward=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ppo(env).learn(128, callback=ExplorationCallback())


def test_an_environment_without_a_bonus_is_refused(refused):
    with refused("the environment adds no bonus; allowed: one in a bonus wrapper"):
        ppo(make_vec_env("FrozenLake-v1", 2)).learn(128, callback=ExplorationCallback())
