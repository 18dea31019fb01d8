"""DQN in a single file, with exploration by LLL on Q-values and generalized counts.

The lines that use dorax are marked by a comment; the rest is an ordinary DQN.

python examples/single_file_dqn.py
"""

# PyTorch need not be installed where types are checked.
# pyright: reportMissingImports=false

import argparse

import gymnasium
import numpy as np
import torch

import dorax


def main(steps: int = 40_000, size: int = 10, num_envs: int = 4, seed: int = 0) -> float:
    """Train, and return the mean return of the last hundred episodes; 0.99 is the best."""
    torch.set_num_threads(1)  # for networks this small, extra threads only add overhead
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    envs = gymnasium.make_vec("dorax/DeepSea-v0", num_envs, vectorization_mode="sync", size=size)
    # dorax: counts visits; with a scale above 0 it also adds a bonus
    envs = dorax.VectorEValueBonus(envs, counter=dorax.EValues(0.9), scale=0.0)
    rule = dorax.LLL(dorax.Softmax(temperature=0.1))  # dorax: chooses actions by Q and counts

    assert isinstance(envs.single_observation_space, gymnasium.spaces.Discrete)
    assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete)
    states = int(envs.single_observation_space.n)
    q_network, target = (torch.nn.Linear(states, int(envs.single_action_space.n)) for _ in range(2))
    for weights in q_network.parameters():
        torch.nn.init.zeros_(weights)
    target.load_state_dict(q_network.state_dict())
    optimiser = torch.optim.Adam(q_network.parameters(), lr=3e-3)
    one_hot = torch.eye(states)
    replay, returns, running = [], [], np.zeros(num_envs)

    observations, _ = envs.reset(seed=seed)
    is_over = np.zeros(num_envs, bool)
    for step in range(steps // num_envs):
        with torch.no_grad():
            values = q_network(one_hot[observations]).numpy()
        actions = envs.exploration.act(rule, values, observations)  # dorax: instead of ε-greedy
        next_observations, rewards, terminated, truncated, infos = envs.step(actions)
        running += infos["true_reward"]
        for i in range(num_envs):
            if not is_over[i]:  # a step that only resets the environment is no transition
                replay.append((observations[i], actions[i], rewards[i], next_observations[i], terminated[i]))
        is_over = terminated | truncated
        returns += running[is_over].tolist()
        running[is_over] = 0.0
        observations = next_observations

        batch = [replay[i] for i in random.integers(max(0, len(replay) - 20_000), len(replay), 64)]
        s, a, r, s2, ends = (torch.as_tensor(np.array(column)) for column in zip(*batch, strict=True))
        with torch.no_grad():
            goal = r.float() + 0.99 * target(one_hot[s2]).max(dim=1).values * ~ends
        error = q_network(one_hot[s]).gather(1, a[:, None].long())[:, 0] - goal
        optimiser.zero_grad()
        (error**2).mean().backward()
        optimiser.step()
        if step % 100 == 0:
            target.load_state_dict(q_network.state_dict())
    envs.close()
    return float(np.mean(returns[-100:]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40_000)
    print(f"mean return of the last hundred episodes: {main(parser.parse_args().steps):.2f}")
