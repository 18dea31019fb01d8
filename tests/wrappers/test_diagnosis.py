import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

import dorax
from dorax.wrappers.history import History


class Paying(gymnasium.Env):
    """One state, one action, a reward as given; every step ends an episode."""

    observation_space, action_space = spaces.Discrete(1), spaces.Discrete(1)

    def __init__(self, reward):
        self.reward = reward

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, self.reward, True, False, {}


def after(steps, reward, **options):
    env = dorax.EValueBonus(Paying(reward), **options)
    for _ in range(steps):
        env.reset()
        env.step(0)
    return dorax.diagnose(env)


def test_the_share_of_the_bonus_is_what_was_paid_of_it():
    diagnosis = after(1000, 0.25, scale=lambda step: np.sqrt(step + 1))  # times 1 / sqrt(c): a bonus of 1 for ever
    np.testing.assert_allclose(diagnosis.bonus_share, 0.8)
    assert diagnosis.late_share == pytest.approx(0.8)
    assert diagnosis.warnings == []


def test_costs_are_what_is_paid_too():
    assert after(1000, -0.25, scale=lambda step: np.sqrt(step + 1)).late_share == pytest.approx(0.8)


def test_visits_and_counts_stand_side_by_side():
    diagnosis = after(300, 0.0)
    assert diagnosis.visits is not None
    assert diagnosis.counts is not None
    assert diagnosis.visits.tolist() == [300]
    assert diagnosis.counts.tolist() == [300]  # every step is terminal: a plain visit


@pytest.mark.parametrize(
    ("reward", "scale", "words"),
    [(1e-4, 1.0, "swamps the reward"), (1.0, 1e-3, "has vanished"), (0.0, 1.0, "there was no reward")],
)
def test_a_bonus_of_the_wrong_size_is_warned_of(reward, scale, words):
    diagnosis = after(1000, reward, scale=scale)
    assert len(diagnosis.warnings) == 1
    assert words in diagnosis.warnings[0]
    assert f"Warning: {diagnosis.warnings[0]}" in str(diagnosis)


def test_a_bonus_that_has_gone_before_the_first_reward_is_warned_of():
    (warning,) = after(4000, 0.0, scale=dorax.LinearSchedule(0.1, 1e-9, 200)).warnings
    assert "the bonus has vanished" in warning
    assert "as it should until" not in warning


@pytest.mark.parametrize("name", ["FrozenLake-v1", "MountainCar-v0"])
def test_there_is_a_picture(name, tmp_path):
    env = gymnasium.wrappers.TimeLimit(dorax.EValueBonus(gymnasium.make(name)), 20)
    env.reset(seed=0)
    for _ in range(20):
        env.step(0)
    figure = dorax.diagnose(env).figure()
    figure.savefig(tmp_path / "bonus.png")
    assert len(figure.axes) == (3 if name.startswith("Frozen") else 2)


def test_after_the_first_step_nothing_is_counted_for_good_yet():
    env = dorax.EValueBonus(gymnasium.make("FrozenLake-v1"))
    env.reset(seed=0)
    env.step(0)
    diagnosis = dorax.diagnose(env)
    assert diagnosis.visits is None
    assert "1 steps" in str(diagnosis)


def test_a_history_is_short_however_long_the_run():
    history = History()
    for step in range(200_000):
        history.add(1.0, float(step), 1.0, 1.0)
    rows = np.array(history.rows())
    assert len(rows) <= 512
    assert rows[:, 0].sum() == 200_000
    assert len(set(rows[:-1, 0])) == 1
    assert rows[:, 3].sum() == 200_000 * 199_999 / 2


def test_without_a_bonus_or_a_step_there_is_nothing_to_diagnose(refused):
    with refused("no bonus to diagnose"):
        dorax.diagnose(gymnasium.make("FrozenLake-v1"))
    with refused("no step yet"):
        dorax.diagnose(dorax.EValueBonus(gymnasium.make("FrozenLake-v1")))


def test_a_bonus_is_found_inside_what_holds_several_environments():
    envs = SyncVectorEnv([lambda: dorax.EValueBonus(gymnasium.make("FrozenLake-v1"))])
    envs.reset(seed=0)
    envs.step(np.array([1]))
    assert dorax.diagnose(envs).step[-1] == 1


def test_several_bonuses_with_counts_of_their_own_are_diagnosed_one_at_a_time(refused):
    envs = SyncVectorEnv([lambda: dorax.EValueBonus(gymnasium.make("FrozenLake-v1"))] * 2)
    with refused("2 bonuses"):
        dorax.diagnose(envs)


def test_a_notebook_shows_the_text_and_the_figure():
    page = after(50, 1.0)._repr_html_()
    assert page.startswith("<pre>50 steps;")
    assert "|reward|" in page
    assert page.rstrip().endswith("</svg>")
