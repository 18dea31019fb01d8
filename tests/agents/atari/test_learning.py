"""Acting and learning from the screen, on games whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from dorax.agents.atari import AtariAgent, DensityModel, replay
from dorax.agents.atari.algorithm import Memory, ScreenAlgorithm
from dorax.agents.atari.network import Network, outputs
from dorax.agents.atari.replay import Outcome
from dorax.core import LLL, EpsilonGreedy, EValues, InverseRootCount, InverseRootLogE
from dorax.engine.protocols import Step
from dorax.envs.atari import Atari, in_blocks
from dorax.envs.host import Arrival
from dorax.envs.simulation import EnvSpec

pytestmark = pytest.mark.slow  # nearly all of it is compiling

GAMES, ACTIONS = 4, 3
SPEC, ENV = EnvSpec("one step", ACTIONS), Atari("freeway")
BONUS = InverseRootLogE(0.05, floor=0.01)
AGENT = AtariAgent(
    rule=EpsilonGreedy(1.0),
    counter=EValues(0.99, form="logistic"),
    bonus=BONUS,
    capacity=400,
    learning_starts=8,
    batch=8,
    hidden=32,
    learning_rate=3e-3,
    adam_epsilon=1e-4,
    target_every=1,
    games=GAMES,
    groups=1,
)


class OneStepGame:
    """Every action ends a game; `pays` says what each is worth. The turn after an end shows a new game."""

    def __init__(self, pays: Sequence[float] = (0, 1, 0), games: int = GAMES) -> None:
        self.pays = np.asarray(pays, np.float32)
        no = np.zeros(games, bool)
        self.frames = np.full((games, 84, 84), 50, np.uint8)
        self.now = Arrival(self.frames, np.zeros(games, np.float32), no, no, ~no)

    def step(self, actions: np.ndarray) -> None:
        begins = self.now.terminated
        reward = np.where(begins, 0, self.pays[actions]).astype(np.float32)
        self.now = Arrival(self.frames, reward, ~begins, np.zeros_like(begins), begins)


STACK = jnp.zeros((1, 4, 7056), jnp.uint8).at[:, 3].set(50)  # what a game shows: its first frame


def algorithm_of(agent: AtariAgent) -> ScreenAlgorithm:
    return agent.algorithm(SPEC)


@eqx.filter_jit
def turned(algorithm: ScreenAlgorithm, memory: Memory, observation: Any, arrival: Arrival, turn: Any) -> Any:
    """Memory, observation and actions after the games have shown what they show now."""
    now: Any = arrival  # whose arrays are JAX's here
    observation = ENV.observed(observation, now.observation, now.is_first)
    view = algorithm.view(memory, observation)
    uniform = jax.random.uniform(jax.random.fold_in(jax.random.key(1), turn), now.reward.shape)
    action = algorithm.act(view, turn, uniform)
    no_action = jnp.zeros_like(action)  # what was done before is in the replay already
    step = Step(
        view.features, no_action, now.reward, now.terminated, now.truncated, now.is_first, view, action,
        ~now.is_first, turn,
    )  # fmt: skip
    return algorithm.observe(memory, step)[0], observation, action


def played(agent: AtariAgent, turns: int, game: OneStepGame | None = None) -> Memory:
    """The memory of a new learner after some turns of random play."""
    game, algorithm = game or OneStepGame(games=agent.games), algorithm_of(agent)
    memory, observation = algorithm.init(jax.random.key(0)), ENV.blank(agent.games)
    for turn in range(turns):
        memory, observation, actions = turned(algorithm, memory, observation, game.now, np.int32(turn))
        game.step(np.asarray(actions))
    return memory


@eqx.filter_jit
def updated(agent: AtariAgent, memory: Memory) -> Memory:
    return algorithm_of(agent).update(memory, None, jax.random.key(2), jnp.ones((), bool))


def learned(agent: AtariAgent, memory: Memory, times: int) -> Memory:
    for _ in range(times):
        memory = updated(agent, memory)
    return memory


def network_of(memory: Memory) -> Network:
    assert memory.networks.network is not None
    return memory.networks.network


def buffer_of(memory: Memory) -> replay.ReplayBuffer:
    assert memory.replay is not None
    return memory.replay


def test_q_learns_what_actions_pay_and_e_that_an_ended_game_holds_nothing_new() -> None:
    agent = replace(AGENT, bonus=None)
    memory = learned(agent, played(agent, 60), 150)
    out = outputs(network_of(memory), STACK)
    np.testing.assert_allclose(out.values[0], [0, 1, 0], atol=0.15)
    assert np.all(jax.nn.sigmoid(out.counter[0]) < 0.2)  # towards 0, from 1/2
    assert int(memory.networks.updates) == 150
    assert float(memory.metrics.updates) == 150


def test_a_first_bonus_is_that_of_one_half_and_is_stored_with_the_step() -> None:
    memory = played(AGENT, 5)
    expected = 0.05 / math.sqrt(math.log(2) + 0.01)
    np.testing.assert_allclose(buffer_of(memory).bonuses[:5], expected, rtol=1e-5)
    assert float(memory.metrics.bonus) == pytest.approx(5 * GAMES * expected, rel=1e-5)
    assert float(memory.metrics.counted) == pytest.approx(5 * GAMES, rel=1e-5)  # E = 1/2 is one generalized visit


def test_without_a_counter_there_is_no_bonus_and_no_second_head() -> None:
    memory = played(replace(AGENT, counter=None, bonus=None), 5)
    assert network_of(memory).counter is None
    assert float(jnp.abs(buffer_of(memory).bonuses).max()) == 0
    assert float(memory.metrics.counted) == 0


def test_metrics_are_means_since_the_last_record() -> None:
    agent = replace(AGENT, rule=EpsilonGreedy(0.25))
    algorithm = algorithm_of(agent)
    memory = learned(agent, played(agent, 6), 2)
    bonus = 0.05 / math.sqrt(math.log(2) + 0.01)
    found = dict(zip(algorithm.columns, algorithm.metrics(memory, 24), strict=True))
    assert found["updates"] == 2
    assert found["epsilon"] == 0.25
    assert found["bonus"] == pytest.approx(bonus, rel=1e-5)
    assert found["bonus_spread"] == pytest.approx(0, abs=1e-6)
    assert found["count"] == pytest.approx(1, rel=1e-5)
    assert found["q_loss"] == pytest.approx(float(memory.metrics.q_loss) / 2, rel=1e-6)
    cleared = dict(zip(algorithm.columns, algorithm.metrics(algorithm.cleared(memory), 24), strict=True))
    assert cleared["updates"] == 2
    assert all(cleared[name] == 0 for name in ("bonus", "bonus_spread", "count", "q_loss", "e_loss"))


def test_several_updates_in_one_call_are_updates_one_by_one() -> None:
    together = replace(AGENT, games=12, update_every=4, target_every=1000, actor_every=1000)
    alone = replace(together, update_every=12)
    assert (algorithm_of(together).updates, algorithm_of(alone).updates) == (3, 1)
    memory = played(together, 12)
    one, three = learned(together, memory, 1), learned(alone, memory, 3)
    assert int(one.networks.updates) == int(three.networks.updates) == 3
    assert np.any(np.asarray(network_of(one).q.out_bias) != np.asarray(network_of(memory).q.out_bias))
    for ours, theirs in zip(jax.tree.leaves(one.networks), jax.tree.leaves(three.networks), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
    assert float(one.metrics.q_loss) == pytest.approx(float(three.metrics.q_loss), rel=1e-3)


@pytest.mark.parametrize(("name", "every"), [("target", 4), ("actor", 6)])
def test_copies_are_renewed_when_they_are_due_and_not_before(name: str, every: int) -> None:
    agent = replace(AGENT, **{"target_every": 1000, "actor_every": 1000, f"{name}_every": every})
    memory = played(agent, 12)
    first = np.asarray(network_of(memory).kernels[2])
    for _ in range(every - 1):
        memory = learned(agent, memory, 1)
        np.testing.assert_array_equal(getattr(memory.networks, name).kernels[2], first)
    memory = learned(agent, memory, 1)
    copy = np.asarray(getattr(memory.networks, name).kernels[2])
    np.testing.assert_array_equal(copy, network_of(memory).kernels[2])
    assert np.any(copy != first)


def test_an_update_that_is_not_wanted_changes_nothing() -> None:
    memory = played(AGENT, 12)
    after = algorithm_of(AGENT).update(memory, None, jax.random.key(2), jnp.zeros((), bool))
    jax.tree.map(np.testing.assert_array_equal, after, memory)


def test_the_reward_with_its_bonus_is_clipped_at_one() -> None:
    """Of a terminal step that pays 5 the value goes to 1, bonus or not."""
    memory = learned(AGENT, played(AGENT, 60, OneStepGame(pays=(5, 5, 5))), 150)
    np.testing.assert_allclose(outputs(network_of(memory), STACK).values[0], 1, atol=0.15)


@pytest.mark.parametrize("bonus_at", ["visit", "replay"])
def test_the_bonus_is_that_of_the_visit_or_is_computed_at_every_replay(bonus_at: str) -> None:
    """E falls to 0 as games end, and the bonus with it: of an old step it is still the first one, anew it is small."""
    agent = replace(AGENT, bonus_at=bonus_at, bonus=InverseRootLogE(0.5, floor=0.01))
    memory = learned(agent, played(agent, 60, OneStepGame(pays=(0, 0, 0))), 300)
    out = outputs(network_of(memory), STACK)
    first = 0.5 / math.sqrt(math.log(2) + 0.01)
    now = 0.5 / jnp.sqrt(-jax.nn.log_sigmoid(out.counter[0]) + 0.01)
    assert np.all(now < 0.7 * first)
    np.testing.assert_allclose(out.values[0], first if bonus_at == "visit" else now, atol=0.1)


def constant_network(agent: AtariAgent, values: Sequence[float], counter_outputs: Sequence[float]) -> Network:
    """A network that says the same whatever it sees: all weights 0, so that the last biases are its outputs."""
    network = jax.tree.map(jnp.zeros_like, network_of(algorithm_of(agent).without_replay(jax.random.key(0))))
    network = network._replace(q=network.q._replace(out_bias=jnp.asarray(values)))
    if network.counter is None:
        return network
    return network._replace(counter=network.counter._replace(out_bias=jnp.asarray(counter_outputs)))


def first_turn(agent: AtariAgent, network: Network, density: Any = None) -> Memory:
    """The memory after the first turn of a learner whose actor is this network."""
    memory = algorithm_of(agent).init(jax.random.key(0))
    memory = memory._replace(networks=memory.networks._replace(actor=network), density=density)
    return turned(algorithm_of(agent), memory, ENV.blank(GAMES), OneStepGame().now, np.int32(0))[0]


@pytest.mark.parametrize(
    ("change", "output", "expected"),
    [
        ({}, -100 * math.log(2), 0.05 / math.sqrt(100 * math.log(2) + 0.01)),
        # Counts start at 0, and this visit is added.
        ({"counter": EValues(0.99, form="count")}, 99.0, 0.05 / math.sqrt(100 * math.log(2) + 0.01)),
        ({"counter": EValues(0.99, form="count"), "bonus": InverseRootCount(0.5)}, 99.0, 0.5 / 10),
        ({"counter": None, "bonus": None}, 99.0, 0.0),
        ({"counter": EValues(0.99, form="count"), "bonus": None, "rule": LLL(EpsilonGreedy(1.0))}, 99.0, 0.0),
    ],
)
def test_the_bonus_of_a_hundred_visits(change: dict[str, Any], output: float, expected: float) -> None:
    """E = 2^-100 is a hundred visits."""
    agent = replace(AGENT, **change)
    memory = first_turn(agent, constant_network(agent, [0.0] * ACTIONS, [output] * ACTIONS))
    np.testing.assert_allclose(buffer_of(memory).bonuses[0], expected, rtol=1e-5)


def test_the_bonus_of_a_pseudo_count() -> None:
    model = DensityModel()
    agent = replace(AGENT, counter=model, bonus=InverseRootCount(0.05, floor=0.01))
    frames = jnp.asarray(in_blocks(OneStepGame().frames))
    often, _ = model.seen(model.init(), jnp.repeat(frames[:1], 200, axis=0))
    _, counts = model.seen(often, frames)
    assert np.min(counts) > 10
    memory = first_turn(agent, constant_network(agent, [0.0] * ACTIONS, [3.0] * ACTIONS), often)
    expected = 0.05 / np.sqrt(np.asarray(counts) + 0.01)
    np.testing.assert_allclose(buffer_of(memory).bonuses[0], expected, rtol=1e-3)
    assert float(memory.metrics.counted) == pytest.approx(float(jnp.sum(counts)), rel=1e-3)
    assert float(memory.metrics.bonus_spread) == pytest.approx(GAMES * np.std(expected), rel=1e-2)


TransitionByHand = tuple[int, int, float, float, bool, bool]


def gradient_of_one_update(
    agent: AtariAgent, network: Network, target: Network, steps: Sequence[TransitionByHand]
) -> tuple[Network, float]:
    """The gradient of one update from a replay that holds these steps, one a game, and the mean squared error of Q.

    A step is an action, the next one, reward, bonus, whether it is terminal and whether it is a step at all. Adam's
    first moment is a tenth of the first gradient.
    """
    columns = (jnp.asarray(np.asarray(column)) for column in zip(*steps, strict=True))
    actions, next_actions, reward, bonus, terminated, is_step = columns
    group, games = jnp.asarray(0), len(steps)
    nothing, no = jnp.zeros((games, 7056), jnp.uint8), jnp.zeros(games, bool)
    rows = replay.with_row(replay.empty(8, games), group, nothing, no, actions, bonus)
    rows = replay.with_outcome(rows, group, Outcome(reward, terminated, is_step))
    rows = replay.with_row(rows, group, nothing, no, next_actions, jnp.zeros(games))
    agent = replace(agent, games=games)
    memory = algorithm_of(agent).without_replay(jax.random.key(0))
    networks = memory.networks._replace(network=network, target=target)
    memory = updated(agent, memory._replace(networks=networks, replay=rows))
    first_moments: Any = optax.tree_utils.tree_get(memory.networks.opt_state, "mu")
    return jax.tree.map(lambda moment: np.asarray(moment) / 0.1, first_moments), float(memory.metrics.q_loss)


HAND = replace(
    AGENT,
    counter=EValues(0.5, form="logistic"),
    bonus=InverseRootLogE(1.0, floor=0.01),
    discount=0.9,
    clip=9.0,
    target_every=1000,
    actor_every=1000,
)
VALUES, E_OUTPUTS = [0.2, 0.4, 10.0], [0.3, -0.5, 0.1]
E_AFTER = [0.6, -0.4, 0.2]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def e_error(output: float, successor: float) -> float:
    e = sigmoid(output)
    return (0.5 * successor - e) * e * (1 - e)


@pytest.mark.parametrize(
    ("step", "after", "q_error", "error_of_e"),
    [
        # One that goes on: the best of the successors, and E of the action that was taken there.
        ((0, 2, 0.0, 0.1, False, True), [0.1, 0.7, 0.5], 0.1 + 0.9 * 0.7 - 0.2, e_error(0.3, sigmoid(0.2))),
        # A terminal one has no successor; 1 + 0.3 is clipped to 1.
        ((1, 0, 1.0, 0.3, True, True), [9.0, 9.0, 9.0], 1.0 - 0.4, e_error(-0.5, 0)),
        # A truncated one has.
        (
            (1, 1, 0.25, 0.05, False, True),
            [0.0, 0.2, 0.1],
            0.25 + 0.05 + 0.9 * 0.2 - 0.4,
            e_error(-0.5, sigmoid(-0.4)),
        ),
        # None at all.
        ((0, 0, 1.0, 0.1, False, False), [9.0, 9.0, 9.0], 0.0, 0.0),
        # A huge error, held at -3.
        ((2, 0, 0.0, 0.0, False, True), [0.0, 0.0, 0.0], -3.0, e_error(0.1, sigmoid(0.6))),
    ],
    ids=["goes on", "terminal", "truncated", "no step", "huge"],
)
def test_the_gradient_of_the_loss_is_that_of_the_errors_worked_out_by_hand(
    step: TransitionByHand, after: Sequence[float], q_error: float, error_of_e: float
) -> None:
    network, target = (constant_network(HAND, *both) for both in ((VALUES, E_OUTPUTS), (after, E_AFTER)))
    gradient, loss = gradient_of_one_update(HAND, network, target, [step])
    is_taken = np.arange(ACTIONS) == step[0]
    np.testing.assert_allclose(gradient.q.out_bias, np.where(is_taken, -2 * q_error, 0), rtol=1e-4)
    assert gradient.counter is not None
    np.testing.assert_allclose(gradient.counter.out_bias, np.where(is_taken, -2 * error_of_e, 0), rtol=1e-4)
    assert loss == pytest.approx(q_error**2, rel=1e-4)


def test_what_is_no_step_weighs_nothing_and_counts_among_the_batch() -> None:
    """However many of the batch are steps: their share is in the gradient as it is in the mean squared error."""
    network, target = (constant_network(HAND, *both) for both in ((VALUES, E_OUTPUTS), ([0.1, 0.7, 0.5], E_AFTER)))
    steps = [(0, 2, 0.0, 0.1, False, True), (1, 0, 1.0, 0.1, False, False)]
    gradient, loss = gradient_of_one_update(HAND, network, target, steps)
    q_error, error_of_e = 0.1 + 0.9 * 0.7 - 0.2, e_error(0.3, sigmoid(0.2))
    share = loss / q_error**2
    assert round(share * HAND.batch, 3) in range(1, HAND.batch)
    np.testing.assert_allclose(gradient.q.out_bias, [-2 * share * q_error, 0, 0], rtol=1e-4)
    assert gradient.counter is not None
    np.testing.assert_allclose(gradient.counter.out_bias, [-2 * share * error_of_e, 0, 0], rtol=1e-4)


def test_groups_see_their_own_frames_and_replay_shows_what_was_acted_on() -> None:
    algorithm = algorithm_of(replace(AGENT, counter=None, bonus=None, groups=2, update_every=2))
    memory, observations = algorithm.init(jax.random.key(0)), [ENV.blank(2), ENV.blank(2)]
    no, shown = np.zeros(2, bool), {0: [], 1: []}
    for turn in range(12):
        group = turn % 2
        tones = np.asarray([10 * turn + 1, 10 * turn + 2])
        shown[group].append(tones)
        frames = np.broadcast_to(tones[:, None, None], (2, 84, 84)).astype(np.uint8)
        now = Arrival(frames, np.zeros(2, np.float32), no, no, ~no if turn < 2 else no)
        memory, observations[group], _ = turned(algorithm, memory, observations[group], now, np.int32(turn))
    for group in (0, 1):
        expected = np.stack(shown[group][-4:], axis=1)  # game x frame
        np.testing.assert_array_equal(observations[group][:, :, 0], expected)
    acted_on = {tuple(np.stack(shown[g][t - 3 : t + 1])[:, i]) for g in (0, 1) for t in (3, 4) for i in (0, 1)}
    batch = replay.sample(buffer_of(memory), jax.random.bits(jax.random.key(0), (1, 2, 400)))
    replayed = {tuple(stack) for stack in np.asarray(batch.stacks[:, :, 0]) if stack[0] > 0}
    assert replayed == acted_on


def test_lll_takes_the_action_that_was_counted_least() -> None:
    agent = replace(AGENT, rule=LLL(EpsilonGreedy(1.0)))
    # The middle action has the largest E, the smallest count.
    network = constant_network(agent, [0.0] * ACTIONS, [-3.0, 2.0, -3.0])
    memory = algorithm_of(agent).without_replay(jax.random.key(0))
    memory = memory._replace(networks=memory.networks._replace(actor=network))
    view = algorithm_of(agent).view(memory, jnp.zeros((GAMES, 4, 7056), jnp.uint8))
    actions = algorithm_of(agent).act(view, jnp.asarray(0), jnp.linspace(0, 0.99, GAMES))
    np.testing.assert_array_equal(actions, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"counter": "novelty"}, "counter is 'novelty'"),
        ({"bonus": BONUS}, "without a counter"),
        ({"rule": "greed"}, "rule is 'greed'"),
        ({"rule": LLL(EpsilonGreedy(0.1))}, "LLL without a counter"),
        ({"rule": LLL(EpsilonGreedy(0.1)), "counter": DensityModel()}, "LLL without a counter"),
        ({"discount": 1.0}, "discount is 1.0"),
        ({"batch": 0}, "batch is 0"),
        ({"bonus_at": "night"}, "bonus_at is 'night'"),
        ({"capacity": 4}, "capacity is 4"),
        ({"learning_starts": 100, "capacity": 1_000}, "capacity is 1000"),
        ({"learning_rate": math.nan}, "learning_rate is nan"),
        ({"games": 7}, "games is 7"),
        ({"groups": 3}, "games is 128"),
        ({"update_every": 3}, "update_every is 3"),
    ],
)
def test_an_agent_that_cannot_be_is_refused(change: dict[str, Any], words: str, refused: Any) -> None:
    with refused(words):
        AtariAgent(**change)


def test_a_density_model_counts_when_a_frame_is_seen_and_not_at_replay() -> None:
    with pytest.raises(ValueError, match="a density model supports 'visit'"):
        AtariAgent(counter=DensityModel(), bonus=InverseRootCount(0.05, floor=0.01), bonus_at="replay")
