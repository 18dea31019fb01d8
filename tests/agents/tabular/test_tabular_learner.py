"""A learner in a user's own loop: what it takes, what it refuses, and that it survives a break."""

import errno

import gymnasium
import numpy as np
import pytest

import dorax

AGENT = dorax.TabularAgent(
    rule=dorax.LLL(dorax.Softmax(temperature=0.1)), counter=dorax.EValues(discount=0.9), update=dorax.QLearning(0.5)
)
OTHER = dorax.TabularAgent(rule=dorax.LLL(dorax.Softmax(temperature=0.2)), counter=dorax.EValues(discount=0.9))


def walk(learner, steps, seed=0):
    """So many steps on FrozenLake; the actions taken."""
    env, actions = gymnasium.make("FrozenLake-v1"), []
    state, _ = env.reset(seed=seed)
    for _ in range(steps):
        actions.append(learner.act(state))
        reached, reward, terminated, truncated, _ = env.step(actions[-1])
        learner.observe(state, actions[-1], reward, reached, terminated, truncated)
        state = env.reset()[0] if terminated or truncated else reached
    return actions


def new_learner(agent=AGENT, **keywords):
    return dorax.TabularLearner(agent, states=16, actions=4, **keywords)


def test_the_action_announced_is_the_action_that_e_values_were_learned_from():
    learner = new_learner()
    learner.observe(0, 2, 0.0, 5, terminated=False)
    announced = learner.act(5)
    assert [learner.act(5) for _ in range(20)] == [announced] * 20


def test_learning_is_worked_out_by_hand():
    """Rate 0.5, discounts 0.9, Q from 0.5: one step to a fresh pair, then one to the end."""
    learner = new_learner()
    learner.observe(0, 2, 1.0, 1, terminated=False)
    learner.observe(1, 3, 1.0, 5, terminated=True)
    assert learner.q_table[0, 2] == pytest.approx(0.5 + 0.5 * (1 + 0.9 * 0.5 - 0.5))
    assert learner.q_table[1, 3] == pytest.approx(0.5 + 0.5 * (1 - 0.5))
    assert learner.count_table[0, 2] == pytest.approx(np.log(0.95) / np.log(0.5))
    assert learner.count_table[1, 3] == 1
    assert learner.steps == 2


def test_evaluation_is_greedy_and_leaves_the_learner_as_it_is():
    learner = new_learner()
    walk(learner, 200)
    before, state = learner.q_table.copy(), learner.random.bit_generator.state
    assert [learner.greedy_action(s) for s in range(16)] == learner.q_table.argmax(axis=1).tolist()
    np.testing.assert_array_equal(learner.q_table, before)
    assert learner.random.bit_generator.state == state


def test_the_same_seed_takes_the_same_walk():
    assert walk(new_learner(seed=3), 200) == walk(new_learner(seed=3), 200)
    assert walk(new_learner(seed=3), 200) != walk(new_learner(seed=4), 200)


def test_missing_actions_are_never_taken():
    available = np.array([[True, False, False, True]] * 16)
    learner = dorax.TabularLearner(dorax.TabularAgent(dorax.UCB(1.0)), 16, 4, available=available)
    assert set(walk(learner, 300)) == {0, 3}
    assert (learner.q_table[:, [1, 2]] == -np.inf).all()


@pytest.mark.parametrize("rule", [dorax.LLL(dorax.Softmax(1.0)), dorax.Deficit(dorax.EpsilonGreedy(0.0))])
def test_no_rule_makes_numpy_warn_where_actions_are_missing(rule):
    available = np.array([[True, False, False, True]] * 16)
    learner = dorax.TabularLearner(dorax.TabularAgent(rule), 16, 4, available=available)
    assert set(walk(learner, 300)) <= {0, 3}


@pytest.mark.parametrize(
    "update",
    [dorax.QLearning(0.5), dorax.DelayedQLearning(3, 0.01), dorax.NoveltyQLearning(), dorax.HoeffdingQLearning()],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_saved_learner_goes_on_as_if_it_had_never_stopped(tmp_path, update, dtype):
    agent = dorax.TabularAgent(AGENT.rule, AGENT.counter, dorax.InverseRootCount(0.1), update)
    unbroken = new_learner(agent, seed=1, dtype=dtype)
    walk(unbroken, 150)
    unbroken.observe(0, 1, 0.0, 4, terminated=False)  # leaves an action chosen but not taken
    unbroken.save(tmp_path / "learner.npz")
    resumed = dorax.load(tmp_path / "learner.npz")
    assert isinstance(resumed, dorax.TabularLearner)
    assert resumed.act(4) == unbroken.act(4)
    assert walk(resumed, 150, seed=9) == walk(unbroken, 150, seed=9)
    np.testing.assert_array_equal(resumed.q_table, unbroken.q_table)
    np.testing.assert_array_equal(resumed.count_table, unbroken.count_table)
    assert resumed.q_table.dtype == dtype
    assert resumed.steps == unbroken.steps == 301


def test_a_learner_saved_by_another_agent_is_refused(tmp_path, refused):
    new_learner().save(tmp_path / "learner.npz")
    with refused("learner.npz", "temperature=0.1", "temperature=0.2"):
        dorax.load(tmp_path / "learner.npz", OTHER)


def test_agents_with_different_arrays_for_numbers_are_different(tmp_path, refused):
    one, two = (dorax.TabularAgent(dorax.UCB(np.array(scale))) for scale in (1.0, 2.0))
    new_learner(one).save(tmp_path / "learner.npz")
    with refused("learner.npz"):
        dorax.load(tmp_path / "learner.npz", two)


def array_alone(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path, saved: path.write_bytes(saved[: len(saved) // 2]),
        lambda path, saved: path.write_bytes(saved[:300] + bytes([saved[300] ^ 255]) + saved[301:]),
        lambda path, saved: path.write_bytes(b""),
        lambda path, saved: path.write_bytes(b"not an archive at all"),
        lambda path, saved: path.unlink(),
        lambda path, saved: np.savez(path, count=np.ones(3)),
        lambda path, saved: np.savez(path, facts="{}"),
        lambda path, saved: np.savez(path, facts="{"),
        lambda path, saved: np.savez(path, facts=np.array([{"agent": "any"}], object)),
        lambda path, saved: array_alone(path),
    ],
    ids=["half", "flipped", "empty", "text", "missing", "no facts", "no content", "bad JSON", "pickled", "one array"],
)
def test_a_damaged_or_foreign_file_is_refused(tmp_path, damage, refused):
    path = tmp_path / "learner.npz"
    new_learner().save(path)
    damage(path, path.read_bytes())
    with refused("learner.npz"):
        dorax.load(path)


def test_a_failed_save_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch, refused):
    path, learner = tmp_path / "learner.npz", new_learner()
    learner.save(path)
    before = path.read_bytes()
    walk(learner, 10)

    def full(file, **arrays):
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with refused("learner.npz", "No space left on device"):
        learner.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_save_leaves_no_other_file_either(tmp_path, monkeypatch):
    def interrupted(file, **arrays):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        new_learner().save(tmp_path / "learner.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/learner.npz", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path, place, refused):
    (tmp_path / "file").write_text("in the way")
    with refused(str(tmp_path)):
        new_learner().save(tmp_path / place)


@pytest.mark.parametrize(
    ("misuse", "words"),
    [
        (lambda learner: learner.act(16), ["state is 16", "0 to 15"]),
        (lambda learner: learner.act(-1), ["state is -1"]),
        (lambda learner: learner.act(1.5), ["state is 1.5"]),
        (lambda learner: learner.greedy_action(99), ["state is 99"]),
        (lambda learner: learner.observe(0, 4, 0.0, 1, False), ["action is 4", "0 to 3"]),
        (lambda learner: learner.observe(0, 1.5, 0.0, 1, False), ["action is 1.5"]),
        (lambda learner: learner.observe(0, 2, 0.0, 1, False), ["action is 2"]),  # state 0 lacks it
        (lambda learner: learner.observe(16, 0, 0.0, 1, False), ["state is 16"]),
        (lambda learner: learner.observe(0, 0, 0.0, 16, False), ["next_state is 16"]),
        (lambda learner: learner.observe(0, 0, float("nan"), 1, False), ["reward is nan"]),
        (lambda learner: learner.observe(0, 0, float("inf"), 1, True), ["reward is inf"]),
    ],
)
def test_what_cannot_be_learned_from_is_named_and_changes_nothing(misuse, words, refused):
    available = np.ones((16, 4), bool)
    available[0, 2] = False
    learner = new_learner(available=available)
    with refused(*words):
        misuse(learner)
    assert learner.steps == 0
    assert (learner.count_table == 0).all()
    assert (learner.q_table[available] == 0.5).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"states": 0}, ["states is 0"]),
        ({"actions": -1}, ["actions is -1"]),
        ({"available": np.ones((4, 16), bool)}, ["available", "(4, 16)", "(16, 4)"]),
        ({"available": np.zeros((16, 4), bool)}, ["available", "state 0"]),
    ],
)
def test_tables_that_cannot_be_made_are_refused(arguments, words, refused):
    with refused(*words):
        dorax.TabularLearner(**{"agent": AGENT, "states": 16, "actions": 4} | arguments)
