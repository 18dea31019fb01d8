"""PPO of Stable-Baselines3 on the deep sea, with a bonus from E-values: one more line than without.

python examples/sb3_ppo_bonus.py            # with the bonus: the treasure is found
python examples/sb3_ppo_bonus.py --plain    # without: it is not
"""

# Stable-Baselines3 and PyTorch need not be installed where types are checked.
# pyright: reportMissingImports=false

import argparse

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import dorax
from dorax.wrappers.sb3 import VecEValueBonus


def main(steps: int = 40_000, size: int = 16, seed: int = 0, plain: bool = False) -> float:
    """Train, and return the mean true return of the trained policy; 0.99 is the best."""
    torch.set_num_threads(1)  # for networks this small, extra threads only add overhead
    env = make_vec_env("dorax/DeepSea-v0", n_envs=8, seed=seed, env_kwargs={"size": size})
    if not plain:
        env = VecEValueBonus(env, scale=0.03)  # the one line
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=256, ent_coef=0.01, seed=seed, device="cpu")
    model.learn(steps)
    if not plain:
        print(dorax.diagnose(env))
    test_env = make_vec_env("dorax/DeepSea-v0", n_envs=1, seed=seed, env_kwargs={"size": size})
    mean, _ = evaluate_policy(model, test_env, n_eval_episodes=20)
    assert isinstance(mean, float)  # rather than a list with every episode's
    return float(mean)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--plain", action="store_true", help="no bonus")
    options = parser.parse_args()
    print(f"mean return of the trained policy: {main(options.steps, plain=options.plain):.2f}")
