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
UPDATES = [
    dorax.QLearning(),
    dorax.DelayedQLearning(patience=2),
    dorax.NoveltyQLearning(0.8),
    dorax.HoeffdingQLearning(10.0, 3.0, 0.1),
]
GREEDY = dorax.Sample(dorax.EpsilonGreedy(0.0))


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
@pytest.mark.parametrize(
    ("update", "bonus"),
    [pair for pair in itertools.product(UPDATES, BONUSES) if pair != (UPDATES[2], None)],  # which needs a bonus
)
def test_every_counter_bonus_and_update_learns_the_same_in_both_array_libraries(counter, bonus, update):
    agent = dorax.TabularAgent(dorax.UCB(), counter, bonus, update, learning_rate=0.3)
    learned = {}
    for xp in (np, jnp):
        number = lambda value, xp=xp: xp.asarray(value, dtype=xp.float32)  # noqa: E731
        entry = {name: number(value) for name, value in agent.initial_entry().items()}
        shared = {name: number(value) for name, value in update.initial_shared().items()}
        count, history = number(0.0), []
        for step, (reward, ends) in enumerate([(0.2, False), (0.7, True), (0.1, False), (0.4, False)], start=1):
            successor = agent.successor_count(number([0.5, 2.0]), number([3.0, 1.5]), xp.asarray(0))
            outcome = Outcome(number(reward), xp.asarray(ends), number(2.0), successor, number(1.5))
            entry, shared, count = agent.learned(entry, shared, count, outcome, number(step))
            history += [*map(float, entry.values()), *map(float, shared.values()), float(count)]
        learned[xp] = history
    np.testing.assert_allclose(learned[np], learned[jnp], rtol=1e-5)


def steps_of(learner, states, number):
    """So many steps of a learner through a world of pure chance: state, action, reward, next state and action, end.

    The next action is chosen before a step is learned from, so a greedy one is greedy only in another state.
    """
    random, state = np.random.default_rng(1), 0
    for _ in range(number):
        action, arrives = learner.act(state), (state + int(random.integers(1, states))) % states
        reward, ends = float(random.normal()), bool(random.random() < 0.2)
        learner.observe(state, action, reward, arrives, ends)
        yield state, action, reward, arrives, None if ends else learner.act(arrives)
        state = 0 if ends else arrives


@pytest.mark.parametrize("rule", [GREEDY, dorax.Sample(dorax.Softmax(1.0))])
def test_novelty_is_sarsa_of_the_bonus_and_q_is_q_learning_of_the_reward(rule):
    states, scale, discount, novelty_discount, rate = 4, 0.7, 0.9, 0.6, 0.3
    bonus, update = dorax.InverseRootCount(scale), dorax.NoveltyQLearning(novelty_discount)
    learner = dorax.TabularLearner(dorax.TabularAgent(rule, dorax.Visits(), bonus, update, rate, discount), states, 2)
    q, visits = np.zeros((states, 2)), np.zeros((states, 2))
    novelty = np.full((states, 2), scale / (1 - novelty_discount))
    for state, action, reward, arrives, next_action in steps_of(learner, states, 500):
        if rule is GREEDY:
            assert (q + novelty)[state, action] == pytest.approx((q + novelty)[state].max())
        visits[state, action] += 1
        q_target, novelty_target = reward, scale / visits[state, action] ** 0.5
        if next_action is not None:
            q_target += discount * q[arrives].max()
            novelty_target += novelty_discount * novelty[arrives, next_action]
        q[state, action] += rate * (q_target - q[state, action])
        novelty[state, action] += rate * (novelty_target - novelty[state, action])
    np.testing.assert_allclose(learner.q_table, q, rtol=1e-9)
    np.testing.assert_allclose(learner.novelty_table, novelty, rtol=1e-9)
    np.testing.assert_array_equal(learner.q(0), learner.q_table[0])  # what it acts on is not what it reports


def test_novelty_never_exceeds_its_initial_value_and_ignores_the_reward():
    agents = [
        dorax.TabularAgent(
            dorax.Sample(dorax.Softmax(1e30)), bonus=dorax.InverseRootCount(2.0), update=dorax.NoveltyQLearning(0.8)
        )
        for _ in range(2)
    ]
    learners = [dorax.TabularLearner(agent, 3, 2, seed=3) for agent in agents]
    random = np.random.default_rng(0)
    for _ in range(300):
        state, action, arrives = (int(i) for i in random.integers(0, (3, 2, 3)))
        for learner, reward in zip(learners, (0.0, float(random.normal())), strict=True):
            learner.observe(state, action, reward, arrives, terminated=False)
        np.testing.assert_array_equal(learners[0].novelty_table, learners[1].novelty_table)
        assert (learners[0].novelty_table <= 2 / (1 - 0.8) * (1 + 1e-12)).all()
    assert (learners[0].q_table == 0).all()


def test_novelty_without_a_bonus_is_refused(refused):
    with refused("NoveltyQLearning without a bonus"):
        dorax.TabularAgent(GREEDY, update=dorax.NoveltyQLearning())


def test_ucb_h_makes_q_the_weighted_mean_of_its_optimistic_targets():
    """The weights of Jin et al. (2018), eq. 4.2: a_i times the product of 1 - a_j over later visits j."""
    horizon, largest, scale, discount, states = 5.0, 2.0, 0.05, 0.8, 3
    update = dorax.HoeffdingQLearning(horizon, largest, scale)
    learner = dorax.TabularLearner(dorax.TabularAgent(GREEDY, update=update, discount=discount), states, 2)
    assert (learner.q_table == largest).all()
    targets = {pair: [] for pair in itertools.product(range(states), range(2))}
    is_clipped, q = 0, learner.q_table.copy()
    for state, action, reward, arrives, next_action in steps_of(learner, states, 400):
        assert q[state, action] == q[state].max()
        mine, best = targets[state, action], 0 if next_action is None else q[arrives].max()
        is_clipped += best > largest
        mine.append(reward + scale * math.sqrt(horizon**3 / (len(mine) + 1)) + discount * min(largest, best))
        q = learner.q_table.copy()
    assert is_clipped > 0
    for pair, found in targets.items():
        rates = (horizon + 1) / (horizon + np.arange(1, len(found) + 1))
        weights = [rate * np.prod(1 - rates[i + 1 :]) for i, rate in enumerate(rates)]
        assert sum(weights) == pytest.approx(1)
        assert learner.q_table[pair] == pytest.approx(np.dot(weights, found), rel=1e-9)


@pytest.mark.parametrize("update", [dorax.NoveltyQLearning(0.9), dorax.HoeffdingQLearning(10.0, 10.0, 1e-4)])
def test_rivals_find_the_far_end_of_a_bridge_and_its_values(update, train_tables):
    bonus = dorax.InverseRootCount(3.0) if isinstance(update, dorax.NoveltyQLearning) else None
    agent, mdp = dorax.TabularAgent(GREEDY, bonus=bonus, update=update), dorax.mdps.bridge(5)
    data = train_tables(agent, mdp, episodes=400, seeds=4)
    best = mdp.optimal_q(0.9)
    east = np.argmax(best, axis=1)
    q = data["q"].values[:, np.arange(5), east]
    np.testing.assert_allclose(q, np.broadcast_to(best[np.arange(5), east], q.shape), rtol=0.02)
    np.testing.assert_allclose(
        data["q_error"].values[:, -1], np.mean((q - best[np.arange(5), east]) ** 2, axis=1), rtol=1e-2, atol=1e-5
    )


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
