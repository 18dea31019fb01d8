"""The paper's worlds have the answers that the paper says they have."""

import numpy as np
import pytest

import dorax
from dorax import mdps

NORTH, EAST, SOUTH, WEST = range(4)


def optimal_return(mdp, discount=0.99):
    """The undiscounted return of following the optimal policy of a deterministic MDP, and the actions taken."""
    state, total, actions = int(np.argmax(mdp.start)), 0.0, []
    for _ in range(mdp.max_steps):
        actions.append(int(np.argmax(mdp.optimal_policy(discount)[state])))
        pair = (state, actions[-1], 0)
        total, state = total + mdp.reward[pair], int(mdp.successor[pair])
        if mdp.terminal[pair]:
            break
    return total, actions


@pytest.mark.parametrize("length", [1, 5, 15])
def test_crossing_a_bridge_is_worth_ten_discounted_by_the_cells_to_go(length):
    q = mdps.bridge(length).optimal_q(0.9)
    np.testing.assert_allclose(q[:, EAST], 10 * 0.9 ** (length - 1 - np.arange(length)), rtol=1e-12)
    np.testing.assert_array_equal(q[:, [NORTH, SOUTH]], -100)
    assert q[0, WEST] == 1


@pytest.mark.parametrize(("length", "best"), [(22, EAST), (23, WEST)])
def test_crossing_is_optimal_up_to_22_cells_at_discount_nine_tenths(length, best):
    # 10 * 0.9**21 = 1.094 is more than the 1 of going back, 10 * 0.9**22 = 0.985 is not.
    assert mdps.bridge(length).optimal_q(0.9)[0].argmax() == best


@pytest.mark.parametrize("length", [23, 50, 200])
def test_crossing_a_longer_bridge_is_optimal_when_the_discount_grows_with_it(length):
    assert mdps.bridge(length).optimal_q(1 - 1 / length)[0].argmax() == EAST


def test_an_episode_on_a_bridge_lasts_at_most_100_steps():
    assert mdps.bridge(15).max_steps == 100


def test_the_normalised_bridge_keeps_rewards_in_the_unit_interval_and_the_crossing_optimal():
    mdp = mdps.bridge(15, normalised=True)
    assert (mdp.reward.min(), mdp.reward.max()) == (0, 1)
    np.testing.assert_allclose(mdp.optimal_q(0.9)[:, EAST], 0.9 ** (14 - np.arange(15)), rtol=1e-12)
    assert (mdp.optimal_q(0.9).argmax(axis=1) == EAST).all()
    assert mdp.optimal_q(0.9)[0, WEST] == 0.1


def test_the_root_of_a_tree_has_one_action_and_every_action_of_the_hub_ends_the_episode():
    mdp = mdps.tree(4)
    assert mdp.available.tolist() == [[True, False, False, False], [True] * 4]
    assert mdp.successor[0, 0, 0] == 1
    assert not mdp.terminal[0].any()
    assert mdp.terminal[1].all()
    np.testing.assert_array_equal(mdp.optimal_q(0.9)[mdp.available], 0)


def test_the_shortest_way_along_the_cliff_takes_13_steps():
    mdp = mdps.cliff()
    assert mdp.max_steps == 500
    total, actions = optimal_return(mdp, discount=0.9)
    assert (total, actions) == (-13, [NORTH, *[EAST] * 11, SOUTH])
    assert mdp.optimal_q(0.9)[36].max() == pytest.approx(-(1 - 0.9**13) / (1 - 0.9))


@pytest.mark.parametrize("size", [2, 10, 30])
def test_the_treasure_of_the_deep_sea_costs_a_hundredth(size):
    total, actions = optimal_return(mdps.deep_sea(size, seed=3))
    assert total == pytest.approx(1 - 0.01)
    assert len(actions) == size


def test_in_the_deep_sea_every_dive_lasts_size_steps_and_only_one_cell_pays():
    mdp = mdps.deep_sea(6, seed=0)
    rows = np.arange(36) // 6
    assert (mdp.terminal[..., 0] == (rows == 5)[:, None]).all()
    assert (mdp.successor[rows < 5, :, 0] // 6 == rows[rows < 5, None] + 1).all()
    assert (mdp.reward > 0).sum() == 1
    assert mdp.reward[35].max() == pytest.approx(1 - 0.01 / 6)


def test_the_seed_of_the_deep_sea_decides_which_action_goes_right():
    same, again, other = mdps.deep_sea(8, 1), mdps.deep_sea(8, 1), mdps.deep_sea(8, 2)
    np.testing.assert_array_equal(same.successor, again.successor)
    assert (same.successor != other.successor).any()
    assert (np.sort(same.successor, axis=1) == np.sort(other.successor, axis=1)).all()


@pytest.mark.parametrize("discount", [0.9, 0.99])
@pytest.mark.parametrize("size", [2, 5, 10])
def test_in_the_stochastic_deep_sea_the_treasure_is_found_if_no_move_fails(size, discount):
    # On the diagonal a dive goes on with probability 1 - 1/size; once off it, moving left costs nothing.
    value = 1 - 0.01 / size
    for _ in range(size - 1):
        value = -0.01 / size + discount * (1 - 1 / size) * value
    q = mdps.deep_sea(size, seed=3, is_stochastic=True).optimal_q(discount)
    assert q[0].max() == pytest.approx(value, rel=1e-12)


def test_the_noise_of_the_stochastic_deep_sea_has_mean_0_and_variance_1_at_both_ends_of_the_last_row():
    size = 6
    mdp, calm = mdps.deep_sea(size, 1, is_stochastic=True), mdps.deep_sea(size, 1)
    mean = (mdp.probability * mdp.reward).sum(axis=2)
    np.testing.assert_allclose(mean, calm.reward[..., 0], atol=1e-12)
    variance = (mdp.probability * (mdp.reward - mean[..., None]) ** 2).sum(axis=2)
    expected = np.zeros((size * size, 2))
    expected[[size * (size - 1), size * size - 1]] = 1
    np.testing.assert_allclose(variance, expected, atol=1e-12)
    np.testing.assert_array_equal(mdp.terminal, np.repeat(calm.terminal, 2, axis=2))


def test_in_the_stochastic_deep_sea_a_failed_move_stays_in_its_column():
    mdp, calm = mdps.deep_sea(5, 2, is_stochastic=True), mdps.deep_sea(5, 2)
    for state in range(20):
        for action in range(2):
            moves = mdp.probability[state, action]
            assert mdp.successor[state, action, 0] == calm.successor[state, action, 0]
            if calm.reward[state, action, 0] < 0:
                assert moves == pytest.approx([0.8, 0.2])
                assert mdp.successor[state, action, 1] == state + 5
            else:
                assert moves.tolist() == [1, 0]


def outcomes(mdp, state, action):
    """The probability of each successor and reward."""
    found = {}
    for p, target, reward in zip(
        mdp.probability[state, action], mdp.successor[state, action], mdp.reward[state, action], strict=True
    ):
        if p > 0:
            found[int(target), float(reward)] = found.get((int(target), float(reward)), 0) + float(p)
    return found


def test_the_river_is_that_of_strehl_and_littman():
    mdp = mdps.river_swim()
    assert mdp.states == 6
    assert mdp.start.tolist() == [0, 0.5, 0.5, 0, 0, 0]
    assert not mdp.terminal.any()
    assert outcomes(mdp, 0, 0) == {(0, 0.0005): 1}
    assert outcomes(mdp, 0, 1) == {(0, 0): 0.7, (1, 0): 0.3}
    for state in range(1, 5):
        assert outcomes(mdp, state, 0) == {(state - 1, 0): 1}
        assert outcomes(mdp, state, 1) == pytest.approx({(state - 1, 0): 0.1, (state, 0): 0.6, (state + 1, 0): 0.3})
    assert outcomes(mdp, 5, 0) == {(4, 0): 1}
    assert outcomes(mdp, 5, 1) == {(4, 0): 0.7, (5, 1): 0.3}


def test_the_shortest_river_is_worth_what_three_equations_say():
    # Always right: v0 = g (0.7 v0 + 0.3 v1), v1 = g (0.1 v0 + 0.6 v1 + 0.3 v2), v2 = 0.3 (1 + g v2) + 0.7 g v1.
    g = 0.95
    moves = np.array([[0.7, 0.3, 0], [0.1, 0.6, 0.3], [0, 0.7, 0.3]])
    values = np.linalg.solve(np.eye(3) - g * moves, [0, 0, 0.3])
    q = mdps.river_swim(3).optimal_q(g)
    np.testing.assert_allclose(q[:, 1], values, rtol=1e-10)
    assert (q[:, 1] > q[:, 0]).all()


def test_the_best_episode_of_the_chain_is_worth_eleven():
    """From the second of n states, n - 2 steps lead to the last one, where the other 11 of n + 9 steps pay 1."""
    for length, seed in ((3, 0), (20, 1), (100, 2)):
        total, actions = optimal_return(mdps.chain(length, seed))
        assert total == pytest.approx(11)
        assert len(actions) == length + 9


@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_the_ends_of_the_chain_pay_and_nothing_else_does(discount):
    mdp = mdps.chain(8, seed=3)
    assert sorted(mdp.reward.ravel().tolist()) == [0] * 14 + [0.001, 1]
    assert not mdp.terminal.any()
    assert mdp.start.argmax() == 1
    values = mdp.optimal_q(discount).max(axis=1)
    np.testing.assert_allclose(values, discount ** np.arange(7, -1, -1) / (1 - discount), rtol=1e-9)


def test_every_state_of_the_chain_has_an_action_to_either_side_and_the_seed_decides_which():
    one, other = mdps.chain(12, 0), mdps.chain(12, 1)
    state = np.arange(12)
    sides = np.stack([np.maximum(state - 1, 0), np.minimum(state + 1, 11)], axis=1)
    for mdp in (one, other):
        np.testing.assert_array_equal(np.sort(mdp.successor[..., 0], axis=1), sides)
    assert (one.successor != other.successor).any()
    np.testing.assert_array_equal(one.successor, mdps.chain(12, 0).successor)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (mdps.chain, 2),
        (mdps.river_swim, 2),
        (mdps.bridge, 0),
        (mdps.bridge, -3),
        (mdps.bridge, 2.5),
        (mdps.tree, 0),
        (mdps.deep_sea, 1),
        (mdps.deep_sea, "9"),
    ],
)
def test_an_impossible_size_is_named(make, size, refused):
    with refused(f"is {size!r};"):
        make(size)


WORLDS = [
    mdps.bridge(4),
    mdps.tree(3),
    mdps.cliff(),
    mdps.deep_sea(4),
    mdps.deep_sea(4, is_stochastic=True),
    mdps.river_swim(3),
    mdps.river_swim(),
    mdps.chain(4),
]


@pytest.mark.parametrize("mdp", WORLDS, ids=lambda mdp: mdp.name)
def test_every_state_has_a_cell_of_its_own_in_the_drawing(mdp):
    cells = mdp.layout.cells
    assert len(set(cells)) == len(cells) == mdp.states
    assert all(mdp.layout.rows[row][column] in ".SG#" for row, column in cells)
    row, column = cells[int(np.argmax(mdp.start))]
    assert mdp.layout.rows[row][column] == "S"


def test_the_goal_behind_the_door_is_worth_the_walk_to_the_key_the_door_and_the_goal():
    """Moves are free, so the best return is 1, discounted by the shortest way, found by searching."""
    size, discount = 7, 0.9
    for seed in range(5):
        mdp = mdps.key_and_door(size, seed)
        start = int(np.argmax(mdp.start))
        # Breadth first over what the MDP says of moves, until a move pays.
        reached, edge, steps = {start}, {start}, 1
        while not mdp.reward[list(edge)].any():
            edge = {int(s) for state in edge for s in mdp.successor[state].ravel()} - reached
            reached, steps = reached | edge, steps + 1
        assert mdp.optimal_q(discount)[start].max() == pytest.approx(discount ** (steps - 1))


def test_the_door_is_shut_for_whoever_has_no_key():
    mdp = mdps.key_and_door(5, seed=2)
    start = int(np.argmax(mdp.start))
    assert mdp.layout is not None
    wall = 2
    cells = np.asarray(mdp.layout.cells)
    has_key = cells[:, 1] > wall + 1  # drawn in the picture on the right
    seen, edge = {start}, [start]
    while edge:
        state = edge.pop()
        for following in map(int, mdp.successor[state].ravel()):
            assert has_key[following] or not has_key[state], "nobody loses the key"
            if following not in seen:
                seen.add(following)
                edge.append(following)
    without = [state for state in seen if not has_key[state]]
    assert len(without) == 2 * 5 - 1, "the left room without the cell of the key"
    assert len(seen) == mdp.states == (2 * 5 - 1) + (2 * 5 + 1 + 2 * 5 - 1)
    takes = [(s, a) for s in without for a in range(4) if has_key[mdp.successor[s, a, 0]]]
    assert len({int(mdp.successor[s, a, 0]) for s, a in takes}) == 1, "there is one key"


def test_rooms_of_an_even_size_have_no_middle():
    with pytest.raises(dorax.InvalidInput, match="the size of two rooms is 8; allowed: an odd number"):
        mdps.key_and_door(8)
