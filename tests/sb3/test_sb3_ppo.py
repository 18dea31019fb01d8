"""PPO with values of its own for the bonus: run by `make test-sb3`."""

# Stable-Baselines3 need not be installed where types are checked.
# pyright: reportMissingImports=false

import inspect
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import dorax

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: make test-sb3")

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dorax.wrappers.sb3 import VecEValueBonus
from dorax.wrappers.sb3_ppo import NoveltyPPO

pytestmark = [pytest.mark.sb3, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
SMALL: dict[str, Any] = {"n_steps": 16, "batch_size": 32, "n_epochs": 2, "seed": 0}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


class Corridor(gymnasium.Env[Any, Any]):
    """Ends after a few steps, by termination or by truncation; every step pays 1."""

    action_space = spaces.Discrete(2)

    def __init__(self, length=5, truncates=False, is_dict=False):
        self.length, self.truncates, self.is_dict, self.at = length, truncates, is_dict, 0
        where = spaces.Discrete(length + 1)
        self.observation_space = spaces.Dict({"where": where}) if is_dict else spaces.Box(0, 1, (length + 1,))

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self._seen(), {}

    def step(self, action) -> Any:
        self.at += 1
        is_over = self.at == self.length
        return self._seen(), 1.0, is_over and not self.truncates, is_over and self.truncates, {}

    def _seen(self) -> Any:
        return {"where": self.at} if self.is_dict else np.eye(self.length + 1, dtype=np.float32)[self.at]


def envs(number=2, **options):
    return DummyVecEnv([lambda: Corridor(**options) for _ in range(number)])


def bonus(venv, **options):
    return VecEValueBonus(venv, features=dorax.HashedCodes(), **options)


def with_a_rollout(venv, **options):
    model = NoveltyPPO("MlpPolicy", venv, **(SMALL | options))
    seen: dict[str, np.ndarray] = {}
    train = model.train

    def train_on() -> None:
        buffer = model.rollout_buffer
        for name in ("rewards", "bonuses", "values", "novelty_values", "novelty_returns", "returns", "advantages"):
            seen[name] = np.copy(getattr(buffer, name))
        with torch.no_grad():
            last = torch.as_tensor(model._last_obs)
            seen["last"] = model.policy.predict_novelty(last).numpy()  # type: ignore[operator]
        train()

    model.train = train_on  # type: ignore[method-assign]
    model.learn(32)
    return model, seen


def test_rewards_and_bonuses_are_kept_apart():
    _, seen = with_a_rollout(bonus(envs(), scale=0.5))
    np.testing.assert_allclose(seen["rewards"], 1.0, atol=1e-6)
    assert (seen["bonuses"] > 0).all()
    assert seen["bonuses"][0, 0] > seen["bonuses"][-1, 0], "it decreases"


def test_bonuses_are_worth_something_across_the_ends_of_episodes():
    """The returns of bonuses by their definition: λ-returns without any end."""
    _, seen = with_a_rollout(bonus(envs(), scale=0.5), novelty_discount=0.9, gae_lambda=0.8)
    following, expected = seen["last"], np.zeros_like(seen["bonuses"])
    values = np.concatenate([seen["novelty_values"], seen["last"][None]])
    for step in reversed(range(16)):
        following = seen["bonuses"][step] + 0.9 * (0.2 * values[step + 1] + 0.8 * following)
        expected[step] = following
    np.testing.assert_allclose(seen["novelty_returns"], expected, rtol=1e-4, atol=1e-5)
    both = seen["returns"] - seen["values"] + expected - seen["novelty_values"]
    np.testing.assert_allclose(seen["advantages"], both, rtol=1e-3, atol=1e-4)


def test_a_bonus_of_0_adds_to_the_advantages_only_what_its_values_expect_in_vain():
    """Without a bonus and with a discount of 0, the advantage of the bonus is minus its value."""
    _, seen = with_a_rollout(bonus(envs(), scale=0.0), novelty_discount=0.0)
    np.testing.assert_allclose(
        seen["advantages"], seen["returns"] - seen["values"] - seen["novelty_values"], rtol=1e-4, atol=1e-5
    )


def test_both_values_are_learned():
    """On a constant reward of 1 in episodes of 5 steps, and a constant bonus of 0.1 for ever, at known discounts."""
    venv = VecEValueBonus(envs(4), features=dorax.HashedCodes(), bonus=_constant, scale=1.0)
    model = NoveltyPPO(
        "MlpPolicy", venv, n_steps=32, batch_size=128, learning_rate=3e-3, gamma=0.5, novelty_discount=0.9, seed=0
    ).learn(12_000)
    start = torch.eye(6)[:1]
    with torch.no_grad():
        value, novelty = model.policy.predict_values(start), model.policy.predict_novelty(start)  # type: ignore[operator]
    assert float(value) == pytest.approx(1 + 0.5 + 0.25 + 0.125 + 0.0625, abs=0.1)
    assert float(novelty) == pytest.approx(0.1 / (1 - 0.9), abs=0.1)


def _constant(count, learning_rate):
    return np.full_like(count, 0.1)


def test_dictionaries_truncation_and_clipped_values_work():
    venv = VecEValueBonus(envs(truncates=True, is_dict=True), scale=0.1)
    model = NoveltyPPO("MultiInputPolicy", venv, clip_range_vf=0.2, **SMALL).learn(64)
    assert np.isfinite(model.rollout_buffer.advantages).all()


def test_a_saved_model_is_loaded_with_its_discount_and_goes_on(tmp_path):
    venv = bonus(envs(), scale=0.1)
    model = NoveltyPPO("MlpPolicy", venv, novelty_discount=0.9, **SMALL).learn(32)
    model.save(tmp_path / "model")
    loaded = NoveltyPPO.load(tmp_path / "model", env=venv)
    assert loaded.novelty_discount == 0.9
    observation = venv.reset()
    np.testing.assert_array_equal(
        model.predict(observation, deterministic=True)[0], loaded.predict(observation, deterministic=True)[0]
    )
    loaded.learn(32)


def test_its_arguments_are_those_of_ppo():
    ours, theirs = (dict(inspect.signature(each, eval_str=True).parameters) for each in (NoveltyPPO, PPO))
    own = ours.pop("novelty_discount")
    assert own.kind is inspect.Parameter.KEYWORD_ONLY
    assert list(ours) == [name for name in theirs if name not in ("rollout_buffer_class", "rollout_buffer_kwargs")]
    for name, parameter in ours.items():
        assert parameter.default == theirs[name].default, name


def test_what_cannot_be_kept_apart_is_refused(refused):
    with refused("VecNormalize", "norm_reward=False"):
        NoveltyPPO("MlpPolicy", VecNormalize(bonus(envs())), **SMALL)
    with refused("no bonus", "VecEValueBonus"):
        NoveltyPPO("MlpPolicy", envs(), **SMALL).learn(32)
    with refused("policy is 'MlpLstmPolicy'", "'MlpPolicy'"):
        NoveltyPPO("MlpLstmPolicy", bonus(envs()), **SMALL)
    with refused("novelty_discount"):
        NoveltyPPO("MlpPolicy", bonus(envs()), novelty_discount=1.5, **SMALL)


def test_it_explores_a_deep_sea():
    env = VecEValueBonus(make_vec_env("dorax/DeepSea-v0", n_envs=8, seed=0, env_kwargs={"size": 8}), scale=0.03)
    NoveltyPPO("MlpPolicy", env, n_steps=64, batch_size=128, ent_coef=0.01, seed=0).learn(8_000)
    assert len(dorax.diagnose(env).visits) > 60  # type: ignore[arg-type]
