"""Small runs of every family of agents, whose numbers are kept in golden.npz.

`python tests/golden/golden_runs.py` writes them anew; do that only when a number is meant to change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np

import dorax
from dorax import mdps

PATH = Path(__file__).with_name("golden.npz")
Numbers = dict[str, np.ndarray]

SEEDS = [0, 1, 7]


def from_anywhere(mdp: mdps.MDP) -> mdps.MDP:
    return replace(mdp, start=np.full(mdp.states, 1 / mdp.states))


def tables() -> Numbers:
    lll = dorax.LLL(dorax.Softmax(1.0))
    runs: dict[str, tuple[Any, Any, int, dict[str, Any]]] = {
        "lll e-values": (dorax.TabularAgent(lll, dorax.EValues(0.9)), mdps.bridge(5), 80, {}),
        "lll e-values from anywhere": (
            dorax.TabularAgent(lll, dorax.EValues(0.9), discount=0.8),
            from_anywhere(mdps.bridge(7)),
            60,
            {},
        ),
        "deficit, bonus, slippery": (
            dorax.TabularAgent(
                dorax.Deficit(dorax.EpsilonGreedy(0.3)),
                dorax.EValues(0.9, learning_rate=0.2),
                dorax.InverseCount(0.5),
                learning_rate=0.3,
                discount=0.95,
            ),
            mdps.from_gymnasium(gymnasium.make("FrozenLake-v1")),
            40,
            {},
        ),
        "ucb visits": (dorax.TabularAgent(dorax.UCB(3.0)), mdps.cliff(), 30, {"steps": 2500}),
        "sample, root bonus": (
            dorax.TabularAgent(dorax.Sample(dorax.Softmax(0.5)), dorax.EValues(0.95), dorax.InverseRootLogE(0.1)),
            mdps.deep_sea(5, seed=3),
            60,
            {},
        ),
        "delayed": (
            dorax.TabularAgent(
                dorax.Sample(dorax.EpsilonGreedy(0.0)), update=dorax.DelayedQLearning(patience=3.0, slack=0.02)
            ),
            mdps.bridge(4, normalised=True),
            80,
            {},
        ),
        "max": (
            dorax.TabularAgent(lll, dorax.EValues(0.9, successor_rule="max"), dorax.InverseRootCount(0.2)),
            mdps.tree(4),
            50,
            {},
        ),
        "sweep until": (
            dorax.TabularAgent(lll, dorax.EValues(0.9)),
            mdps.bridge(4),
            100,
            {"settings": dorax.grid(temperature=(0.3, 3.0), learning_rate=(0.2, 0.5)), "until": 0.3},
        ),
    }
    found: Numbers = {}
    for name, (agent, mdp, episodes, options) in runs.items():
        data = train_table(agent, mdp, episodes, SEEDS, **options)
        for variable in ("return", "length", "q_error", "total_steps", "q_error_at_start", "q", "count"):
            found[f"tables/{name}/{variable}"] = data[variable].values
    return found


def functional() -> Numbers:
    """Tiles and networks in functional environments, with all that the first lane has learned."""
    lll = dorax.LLL(dorax.Softmax(0.2))
    car, acrobot = dorax.envs.SparseMountainCar(), dorax.envs.SparseAcrobot("angles")
    short_car = car.default_params._replace(max_steps_in_episode=150)
    short_acrobot = acrobot.default_params._replace(max_steps_in_episode=120)
    runs: dict[str, tuple[Any, Any, int, dict[str, Any]]] = {
        "tiles, count": (dorax.LinearAgent(lll, count_form(0.99)), car, 6, {"steps": 4000}),
        "tiles, logistic, bonus": (
            dorax.LinearAgent(lll, logistic_form(0.9, step_size=2.0), dorax.InverseRootLogE(0.05), dorax.Tiles((6, 7))),
            car,
            8,
            {"params": short_car},
        ),
        "tiles, none": (dorax.LinearAgent(dorax.Sample(dorax.EpsilonGreedy(0.3))), acrobot, 6, {}),
        "tiles, ucb, sweep": (
            dorax.LinearAgent(
                dorax.UCB(0.1), count_form(0.9, step_size=0.5, learning_rate=0.2), dorax.InverseCount(0.1)
            ),
            acrobot,
            6,
            {"params": short_acrobot, "settings": dorax.grid(learning_rate=(0.1, 0.3))},
        ),
        "networks, count at visits": (
            dorax.DeepAgent(lll, count_form(0.99), dorax.InverseRootCount(0.1), width=16, capacity=300),
            car,
            6,
            {"params": short_car},
        ),
        "networks, logistic from replay": (
            dorax.DeepAgent(
                lll,
                logistic_form(0.99),
                width=16,
                capacity=300,
                batch=8,
                update_every=2,
                target_every=20,
                counts_from="replay",
            ),
            car,
            5,
            {"params": short_car, "steps": 500},
        ),
        "networks, none": (
            dorax.DeepAgent(dorax.Sample(dorax.Softmax(0.1)), width=8, depth=1, capacity=300, learning_rate=0.01),
            acrobot,
            4,
            {"params": short_acrobot},
        ),
    }
    found: Numbers = {}
    for name, (agent, env, episodes, options) in runs.items():
        data, memory = train_functional(agent, env, episodes, SEEDS, **options)
        for variable in ("return", "length", "total_steps", "test_return", "test_length"):
            if variable in data:
                found[f"functional/{name}/{variable}"] = data[variable].values
        for i, leaf in enumerate(memory):
            found[f"functional/{name}/memory {i}"] = leaf
    return found


def own_loop() -> Numbers:
    """The learner of a table in a Python loop, and the wrappers, one visit at a time."""
    env = gymnasium.make("FrozenLake-v1")
    agent = dorax.TabularAgent(
        dorax.LLL(dorax.Softmax(0.1)), dorax.EValues(0.9, learning_rate=0.3), dorax.InverseRootCount(0.05)
    )
    learner = dorax.TabularLearner(agent, 16, 4, seed=3)
    actions: list[int] = []
    for episode in range(60):
        state, _ = env.reset(seed=episode)
        is_over = False
        while not is_over:
            action = learner.act(state)
            actions.append(action)
            arrived, reward, terminated, truncated, _ = env.step(action)
            learner.observe(state, action, float(reward), arrived, terminated, truncated)
            state, is_over = arrived, terminated or truncated
    found = {"loop/actions": np.asarray(actions), "loop/q": learner.q_table, "loop/count": learner.count_table}
    wrapped: dict[str, Any] = {
        "table": lambda: dorax.EValueBonus(gymnasium.make("FrozenLake-v1"), counter=dorax.EValues(0.9)),
        "tiles": lambda: dorax.EValueBonus(gymnasium.make("MountainCar-v0"), scale=0.1),
        "network": lambda: dorax.EValueBonus(gymnasium.make("CartPole-v1"), seed=2),
    }
    for name, make in wrapped.items():
        wrapper = make()
        random, paid = np.random.default_rng(0), []
        wrapper.reset(seed=0)
        for _ in range(300):
            _, _, terminated, truncated, info = wrapper.step(int(random.integers(wrapper.action_space.n)))
            paid.append((info["bonus"], info["generalized_count"]))
            if terminated or truncated:
                wrapper.reset()
        found[f"wrappers/{name}"] = np.asarray(paid)
    return found


def explorer() -> Numbers:
    agent = dorax.TabularAgent(dorax.LLL(dorax.Softmax(1.0)), dorax.EValues(0.9), discount=0.99)
    frames = recorded_frames(mdps.bridge(6), agent, 40, 5, 12)
    found: Numbers = {}
    for name in ("episode", "steps", "total_reward", "last_action", "is_terminal", "visits", "counts", "q"):
        found[f"explorer/{name}"] = np.stack([np.asarray(getattr(frame, name)) for frame in frames])
    found["explorer/path"] = np.concatenate([frame.path for frame in frames])
    return found


def count_form(discount: float, **options: Any) -> Any:
    """With all numbers given: a default is a constant, and the compiler rounds what it folds differently."""
    numbers: dict[str, Any] = {"learning_rate": 0.5, "step_size": 1.0}
    return dorax.EValues(discount, **numbers | options)


def logistic_form(discount: float, **options: Any) -> Any:
    numbers: dict[str, Any] = {"learning_rate": 0.5, "step_size": 0.5}
    return dorax.EValues(discount, form="logistic", **numbers | options)


def train_table(agent: Any, mdp: Any, episodes: int, seeds: Any, **options: Any) -> Any:
    """The dataset with the tables of all seeds and settings."""
    result = dorax.train(agent, mdp, episodes, seeds, learners=seeds, **options)
    settings = range(len(options["settings"])) if "settings" in options else [None]
    tables = {"q": "q_table", "count": "count_table"}
    data = result.data
    for name, table in tables.items():
        found = np.stack([[getattr(result.learner(seed, i), table) for seed in seeds] for i in settings])
        dims = ("setting", "seed", "state", "action")
        data[name] = (dims, found) if "settings" in options else (dims[1:], found[0])
    return data


def train_functional(agent: Any, env: Any, episodes: int, seeds: Any, **options: Any) -> Any:
    result = dorax.train(agent, env, episodes, seeds, **options)
    memory = result.learner(setting=0 if "settings" in options else None).memory
    weights = memory if isinstance(memory, jax.Array) else (memory.networks.q, memory.networks.counter, memory.replay)
    return result.data, [np.asarray(leaf) for leaf in jax.tree.leaves(weights)]


def recorded_frames(mdp: Any, agent: Any, episodes: int, seed: int, most: int) -> Any:
    from dorax.explorer import record

    return record(mdp, agent, episodes, seed, most).frames


FAMILIES: dict[str, Callable[[], Numbers]] = {
    "tables": tables, "functional": functional, "own loop": own_loop, "explorer": explorer,
}  # fmt: skip


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", 2)
    arrays: dict[str, Any] = {name: array for family in FAMILIES.values() for name, array in family().items()}
    np.savez_compressed(PATH, **arrays)
    sys.stdout.write(f"wrote {PATH}: {PATH.stat().st_size} bytes\n")
