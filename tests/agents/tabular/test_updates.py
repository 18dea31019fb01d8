"""What tables learn: against the papers' pseudo-code, closed forms and exact answers."""

import itertools
import math
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
import pytest

import dorax
from dorax.agents.tabular.agent import Outcome
from dorax.core import next_count
from dorax.mdps.mdp import deterministic

COUNTERS = [
    dorax.Visits(),
    dorax.EValues(0.9),
    dorax.EValues(0.8, learning_rate=0.2),
    dorax.EValues(0.9, successor_rule="max"),
]
BONUSES = [None, dorax.InverseCount(0.1), dorax.InverseRootCount(0.1), dorax.InverseRootLogE(0.1)]
UPDATES = [dorax.QLearning(), dorax.DelayedQLearning(patience=2)]


@dataclass
class PseudoCode:
    """Delayed Q-learning, line by line as algorithm 1 of Strehl et al. (2006) has it."""

    m: int
    slack: float
    discount: float
    pairs: list
    q: dict = field(init=False)

    def __post_init__(self):
        self.q, self.learn = dict.fromkeys(self.pairs, 1 / (1 - self.discount)), dict.fromkeys(self.pairs, True)
        self.u, self.l, self.t = (dict.fromkeys(self.pairs, 0.0) for _ in range(3))
        self.t_star = 0

    def observe(self, time, pair, target):
        if self.learn[pair]:
            self.u[pair] += target
            self.l[pair] += 1
            if self.l[pair] == self.m:
                if self.q[pair] - self.u[pair] / self.m >= 2 * self.slack:
                    self.q[pair] = self.u[pair] / self.m + self.slack
                    self.t_star = time
                elif self.t[pair] >= self.t_star:
                    self.learn[pair] = False
                self.t[pair], self.u[pair], self.l[pair] = time, 0.0, 0
        elif self.t[pair] < self.t_star:
            self.learn[pair] = True


@pytest.mark.parametrize("m", [1, 3, 10])
@pytest.mark.parametrize("slack", [0.0, 0.01, 0.3])
def test_delayed_q_learning_is_its_pseudo_code(m, slack):
    states, actions, discount, random = 3, 2, 0.5, np.random.default_rng(m)
    agent = dorax.TabularAgent(
        dorax.Sample(dorax.EpsilonGreedy(0.3)), update=dorax.DelayedQLearning(m, slack), discount=discount
    )
    learner = dorax.TabularLearner(agent, states, actions, seed=m)
    plain = PseudoCode(m, slack, discount, list(itertools.product(range(states), range(actions))))
    rested, state = 0, 0
    for time in range(1, 700):
        action, arrives, reward = learner.act(state), int(random.integers(states)), float(random.random() < 0.3)
        ends = bool(random.random() < 0.1)
        target = reward + (0 if ends else discount * max(plain.q[arrives, a] for a in range(actions)))
        plain.observe(time, (state, action), target)
        learner.observe(state, action, reward, arrives, ends)
        assert learner.q_table.ravel().tolist() == pytest.approx(list(plain.q.values()), rel=1e-12)
        rested += not plain.learn[state, action]
        state = 0 if ends else arrives
    assert plain.t_star > 0
    assert rested > 0 or slack == 0


def test_delayed_values_start_at_the_largest_return_and_never_rise():
    agent = dorax.TabularAgent(dorax.Sample(dorax.EpsilonGreedy(0.5)), update=dorax.DelayedQLearning(2, 0.01))
    learner, random = dorax.TabularLearner(agent, 2, 2), np.random.default_rng(0)
    np.testing.assert_allclose(learner.q_table, 1 / (1 - 0.9))
    before = learner.q_table.copy()
    for _ in range(300):
        state, action, arrives = (int(i) for i in random.integers(0, 2, 3))
        learner.observe(state, action, random.random(), arrives, terminated=random.random() < 0.2)
        assert (learner.q_table <= before).all()
        before = learner.q_table.copy()


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("update", UPDATES)
def test_every_counter_bonus_and_update_learns_the_same_in_both_array_libraries(counter, bonus, update):
    agent = dorax.TabularAgent(dorax.UCB(), counter, bonus, update, learning_rate=0.3)
    learned = {}
    for xp in (np, jnp):
        number = lambda value, xp=xp: xp.asarray(value, dtype=xp.float32)  # noqa: E731
        entry = {name: number(value) for name, value in update.initial_entry(0.9).items()}
        shared = {name: number(value) for name, value in update.initial_shared().items()}
        count, history = number(0.0), []
        for step, (reward, ends) in enumerate([(0.2, False), (0.7, True), (0.1, False), (0.4, False)], start=1):
            successor = agent.successor_count(number([0.5, 2.0]), number([3.0, 1.5]), xp.asarray(0))
            outcome = Outcome(number(reward), xp.asarray(ends), number(2.0), successor)
            entry, shared, count = agent.learned(entry, shared, count, outcome, number(step))
            history += [*map(float, entry.values()), *map(float, shared.values()), float(count)]
        learned[xp] = history
    np.testing.assert_allclose(learned[np], learned[jnp], rtol=1e-5)


def probe():
    """Two states that lead to each other or back to themselves; the best loop pays 3 every second step."""
    reward = np.array([[1.0, 0.0], [3.0, 0.5]])
    return deterministic("probe", np.array([[0, 1], [0, 1]]), reward, np.zeros((2, 2), bool), 0, max_steps=50)


def test_q_learning_finds_the_optimal_values_of_a_probe(train_tables):
    mdp, discount = probe(), 0.5
    agent = dorax.TabularAgent(dorax.LLL(dorax.Softmax(1.0)), dorax.EValues(0.9), discount=discount)
    q = train_tables(agent, mdp, episodes=100, seeds=4)["q"]
    best = np.array([1.5, 3.0]) / (1 - discount**2)  # 0 + g 3 + g^2 0 + ... and 3 + g 0 + g^2 3 + ...
    by_hand = np.array([[1 + best[0] / 2, best[1] / 2], [3 + best[0] / 2, 0.5 + best[1] / 2]])
    np.testing.assert_allclose(mdp.optimal_q(discount), by_hand)
    np.testing.assert_allclose(q, np.broadcast_to(by_hand, q.shape), rtol=1e-5)


def test_a_bonus_is_added_to_the_target_from_the_count_after_the_visit():
    agent = dorax.TabularAgent(dorax.UCB(), dorax.EValues(0.99), dorax.InverseCount(2.0), learning_rate=0.5)
    learner = dorax.TabularLearner(agent, 2, 1)
    learner.observe(0, 0, 1.0, 1, terminated=False)
    assert learner.q_table[0, 0] == pytest.approx(0.5 * (1 + 2 * math.log(0.5) / math.log(0.995)))


def test_the_deep_bonus_uses_the_learning_rate_of_the_e_values():
    counter = dorax.EValues(0.0, learning_rate=0.2)
    agent = dorax.TabularAgent(dorax.UCB(), counter, dorax.InverseRootLogE(1.0), learning_rate=0.5)
    learner = dorax.TabularLearner(agent, 2, 1)
    learner.observe(0, 0, 0.0, 1, terminated=True)
    assert learner.q_table[0, 0] == pytest.approx(0.5 / math.sqrt(-math.log(0.8)))


def count_of_root(leaves, cycles, rate, discount):
    """c of (root, start) after each cycle through all leaves, in closed form.

    A leaf is worth (1 - a)^(n - 1) in cycle n and D = (1 - a)^k is what k visits leave of E, so
    E_n = D E_{n-1} + g (1 - D) (1 - a)^(n - 1), whose solution is (1 - K) D^n + K (1 - a)^n.
    """
    decay, n = (1 - rate) ** leaves, np.arange(1, cycles + 1)
    share = discount * (1 - decay) / (1 - rate - decay)
    return np.log((1 - share) * decay**n + share * (1 - rate) ** n) / np.log(1 - rate)


@pytest.mark.parametrize("leaves", [2, 3, 5, 10])
@pytest.mark.parametrize(("rate", "discount"), [(0.1, 0.9), (0.5, 0.99), (0.3, 0.5)])
def test_each_cycle_through_the_leaves_of_a_tree_adds_about_one_generalized_visit(leaves, rate, discount):
    cycles, root, hub, history = 60, 0.0, np.zeros(leaves), []
    for _ in range(cycles):
        for leaf in range(leaves):
            root = next_count(root, hub[leaf], rate, discount)
            hub[leaf] = next_count(hub[leaf], None, rate, discount)
        history.append(root)
    np.testing.assert_allclose(history, count_of_root(leaves, cycles, rate, discount), rtol=1e-9)
    assert np.diff(history)[-1] == pytest.approx(1, abs=0.01)


def evenly(values):
    """A user's own policy: all actions alike."""
    return jnp.where(values > -jnp.inf, -jnp.log(5.0), -jnp.inf)


def test_a_user_s_own_policy_takes_the_leaves_of_a_tree_in_turn(train_tables):
    leaves, cycles = 5, 40
    agent = dorax.TabularAgent(dorax.LLL(evenly), dorax.EValues(0.9), learning_rate=0.1)
    data = train_tables(agent, dorax.mdps.tree(leaves), episodes=leaves * cycles)
    count = data["count"].isel(seed=0).values
    np.testing.assert_array_equal(count[1], cycles)
    np.testing.assert_array_equal(count[0, 1:], 0)
    assert count[0, 0] == pytest.approx(count_of_root(leaves, cycles, 0.1, 0.9)[-1], rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_states_have_one_action_e_by_max_is_e_by_sarsa(dtype):
    available = np.array([[False, True], [True, False], [False, True]])
    counts = []
    for successor_rule in ("sarsa", "max"):
        agent = dorax.TabularAgent(dorax.Sample(dorax.Softmax(1.0)), dorax.EValues(0.9, successor_rule=successor_rule))
        learner = dorax.TabularLearner(agent, 3, 2, available=available, dtype=dtype)
        for _ in range(30):
            for state in range(3):
                learner.observe(state, learner.act(state), 0.0, (state + 1) % 3, terminated=state == 2)
        counts.append(learner.count_table)
    np.testing.assert_array_equal(*counts)
