"""The experiment on random worlds: equal grids, a scale from random to optimal, and claims that average over worlds."""

import itertools

import numpy as np
import pytest
import xarray as xr

from dorax import mdps
from dorax.engine.settings import with_setting
from dorax.experiments import random_worlds
from dorax.experiments._random_worlds import FOUR_ROOMS, RECORDS, lost_share, worlds
from dorax.experiments._random_worlds_agents import explorers
from dorax.mdps.mazes import drawings
from dorax.study.claims import judge
from dorax.study.experiment import Size
from dorax.study.results import ConditionResult, Results

ALL = worlds()
IDS = [world.name for world in ALL]


def test_the_worlds_have_the_names_that_the_claims_use():
    assert tuple(IDS) == random_worlds.WORLDS


def test_the_four_rooms_are_those_that_come_with_dorax():
    assert FOUR_ROOMS.split() == drawings()["four_rooms"].read_text().split()


@pytest.mark.parametrize("world", ALL, ids=IDS)
def test_every_agent_has_sixteen_different_settings_that_are_numbers_of_it(world):
    for explorer in explorers(world).values():
        assert len({tuple(setting.items()) for setting in explorer.settings}) == 16
        for setting in explorer.settings:
            with_setting(explorer.agent, setting)


def test_of_three_numbers_each_two_are_crossed():
    for name, explorer in explorers(ALL[0]).items():
        if "E-values" in name:
            assert len(explorer.settings[0]) == 3
            for pair in itertools.combinations(explorer.settings[0], 2):
                assert len({tuple(setting[number] for number in pair) for setting in explorer.settings}) == 16


@pytest.mark.parametrize("world", ALL, ids=IDS)
def test_random_actions_are_worth_less_than_the_optimal_policy(world):
    worst, best = world.ends
    assert worst < best <= world.largest_value


def test_the_value_of_random_actions_is_that_of_a_plain_loop():
    world = ALL[0]
    mdp, values = world.mdp, np.zeros(world.mdp.states)
    for _ in range(2000):
        values = np.array(
            [
                np.mean([mdp.probability[s, a] @ (mdp.reward[s, a] + world.discount * values[mdp.successor[s, a]])
                         for a in range(mdp.actions)])
                for s in range(mdp.states)
            ]
        )  # fmt: skip
    assert world.ends[0] == pytest.approx(mdp.start @ values, rel=1e-9)


def test_what_is_lost_lies_between_nothing_and_everything():
    share = xr.Dataset({"share": ("record", [-2.0, 0.0, 0.25, 1.0])})
    assert lost_share(share).values.tolist() == [1, 1, 0.75, 0]


def made_up(shares):
    """Results in which the greedy policy has the same share of the optimal value in all but the first record."""
    records = np.arange(RECORDS + 1)

    def result(name, share):
        curve = np.tile(np.where(records == 0, 0.0, share), (8, 1))
        steps = np.tile(records * 10.0, (8, 1))
        data = xr.Dataset({"share": (("seed", "record"), curve), "record_step": (("seed", "record"), steps)})
        return ConditionResult(name, {"episode": data, "step": data})

    return Results({name: result(name, share) for name, share in shares.items()}, Size())


def test_a_claim_over_worlds_is_the_mean_of_the_differences():
    results = made_up(
        {
            f"{agent}, {world}": 0.9 if agent == random_worlds.BEST else share
            for world, share in zip(random_worlds.WORLDS, (0.1, 0.5, 0.9, 0.3, 0.7, 0.8), strict=True)
            for agent in (random_worlds.BEST, "ε-greedy")
        }
    )
    claim = next(claim for claim in random_worlds.EXPERIMENT.claims if claim.text.endswith("than ε-greedy"))
    row = judge("random_worlds", "", claim, results)
    mean_difference = np.mean([0.8, 0.4, 0.0, 0.6, 0.2, 0.1])
    assert row["value"] == pytest.approx(mean_difference * RECORDS / (RECORDS + 1), rel=1e-5)
    assert row["verdict"] == "holds"


def test_the_largest_value_is_that_of_a_state_that_an_episode_can_reach():
    assert mdps.deep_sea(10).optimal_q(0.99).max() == pytest.approx(1 - 0.001)
    assert next(world for world in ALL if world.name == "noisy deep sea").largest_value == pytest.approx(1 - 0.001)
