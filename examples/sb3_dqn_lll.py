"""DQN of Stable-Baselines3 that chooses actions by LLL, on its Q-values and generalized counts, not ε-greedily.

python examples/sb3_dqn_lll.py
"""

# Stable-Baselines3 and PyTorch need not be installed where types are checked.
# pyright: reportMissingImports=false

import argparse

import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import dorax
from dorax.wrappers.sb3 import DirectedDQN, VecEValueBonus


def main(steps: int = 20_000, size: int = 10, seed: int = 0) -> float:
    """Train, and return the mean true return of the trained policy; 0.99 is the best."""
    torch.set_num_threads(1)  # for networks this small, extra threads only add overhead
    env = make_vec_env("dorax/DeepSea-v0", n_envs=1, seed=seed, env_kwargs={"size": size})
    env = VecEValueBonus(env, counter=dorax.EValues(0.9), scale=0.0)  # counts, but adds no bonus
    rule = dorax.LLL(dorax.Softmax(temperature=0.1))
    model = DirectedDQN("MlpPolicy", env, rule=rule, learning_starts=500, target_update_interval=500, seed=seed)
    model.learn(steps)
    mean, _ = evaluate_policy(model, env.venv, n_eval_episodes=20)
    assert isinstance(mean, float)  # rather than a list with every episode's
    return float(mean)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    print(f"mean return of the trained policy: {main(parser.parse_args().steps):.2f}")
