"""Observations with several parts: dictionaries and tuples of arrays and numbers, text left out."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import dorax
from dorax.wrappers import GeneralizedCounts
from dorax.wrappers.parts import as_box

TWO = spaces.Discrete(2)


class Missions(spaces.Space[str]):
    """Text of its own kind, whose description differs from process to process, as in MiniGrid."""

    def __init__(self):
        super().__init__(dtype=str)

    def sample(self, mask=None, probability=None):
        return "open the door"

    def __repr__(self):
        return f"Missions({object()})"


class Rooms(gymnasium.Env[Any, Any]):
    """A view of a grid, a direction and a mission, as MiniGrid has them: action 0 turns, action 1 opens a door."""

    action_space = TWO

    def __init__(self, mission=spaces.Text(30)):  # noqa: B008
        parts = {"image": spaces.Box(0, 255, (3, 3, 2), np.uint8), "direction": spaces.Discrete(4), "mission": mission}
        self.observation_space = spaces.Dict(parts)

    def reset(self, *, seed=None, options=None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.image, self.direction = np.zeros((3, 3, 2), np.uint8), 0
        return self._seen(), {}

    def step(self, action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.direction = (self.direction + 1 - int(action)) % 4
        self.image[1, 1, 0] = max(self.image[1, 1, 0], action)
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        return {"image": self.image.copy(), "direction": self.direction, "mission": f"open the door {self.direction}"}


def test_the_parts_of_an_observation_are_written_one_after_the_other():
    space = spaces.Dict(
        {
            "a": spaces.Box(-1, 1, (2, 1)),
            "b": spaces.Tuple([spaces.Discrete(3, start=1), spaces.MultiDiscrete([5, 6]), spaces.Text(4)]),
            "c": spaces.Discrete(1000),
            "d": spaces.MultiBinary(2),
            "e": spaces.Text(9),
        }
    )
    box, vector = as_box(space)
    x = vector({"a": np.array([[0.5], [-1]]), "b": (2, [4, 5], "x"), "c": 7, "d": [0, 1], "e": "words"})
    np.testing.assert_array_equal(x, [0.5, -1, 0, 1, 0, 4, 5, 7, 0, 1])
    np.testing.assert_array_equal(box.low, [-1, -1, 0, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(box.high, [1, 1, 1, 1, 1, 4, 5, 999, 1, 1])
    space.seed(0)
    assert all(box.contains(vector(space.sample()).astype(box.dtype)) for _ in range(5))


def test_small_numbers_stay_small_and_large_pictures_are_downsampled():
    picture = spaces.Box(0, 255, (96, 96, 3), np.uint8)
    box, vector = as_box(spaces.Dict({"at": spaces.Discrete(3), "picture": picture}))
    assert box.shape == (3 + 32 * 32,)
    assert vector({"at": 0, "picture": np.full(picture.shape, 9, np.uint8)})[3:].tolist() == [9] * 1024
    assert as_box(spaces.Dict({"at": spaces.Discrete(3)}))[0].dtype == np.uint8


@pytest.mark.parametrize(
    "features",
    [None, dorax.Table(), dorax.HashedCodes(), dorax.Prototypes(), dorax.KWinners(units=512)],
    ids=str,
)
@pytest.mark.parametrize("mission", [spaces.Text(30), Missions()], ids=["text", "missions"])
def test_a_dictionary_is_counted_by_its_arrays_and_numbers(features, mission, tmp_path):
    env = dorax.EValueBonus(Rooms(mission), counter=dorax.Visits(), features=features)
    closed, _ = env.reset()
    for _ in range(1201):  # codes change during the first 1000 observations, with their normalisation
        env.step(0)
    opened = env.step(1)[0]
    env.reset()
    counts = env.exploration.counts
    if features in (dorax.Table(), dorax.Prototypes()):
        assert counts.visits_of([closed]).tolist() == [[301, 0]]
        assert counts.visits_of([{**closed, "mission": "close it"}]).tolist() == [[301, 0]]
        assert counts.visits_of([opened]).tolist() == [[0, 0]]
    assert counts.of([closed])[0, 0] > 10 * counts.of([opened])[0, 1]
    env.exploration.save(tmp_path / "counts.npz")
    again = dorax.EValueBonus(Rooms(mission), counter=dorax.Visits(), features=features)
    again.exploration.load(tmp_path / "counts.npz")
    np.testing.assert_array_equal(again.exploration.counts.of([closed]), counts.of([closed]))


def test_a_finite_dictionary_with_text_is_a_table():
    space = spaces.Dict({"at": spaces.Discrete(4), "mission": spaces.Text(9)})
    counts = GeneralizedCounts(space, TWO, counter=dorax.Visits())
    assert counts.features == dorax.Table()
    counts.begin({"at": 0, "mission": "a"})
    counts.visit(1, {"at": 1, "mission": "a"}, True, False)
    assert counts.visits_of([{"at": 0, "mission": "b"}]).tolist() == [[0, 1]]


def test_predictors_see_dictionaries_too():
    env = dorax.NovelDBonus(Rooms(), warm_up=4, batch_size=8, width=8, outputs=4)
    env.reset()
    assert any(env.step(step % 3 == 2)[4]["bonus"] > 0 for step in range(12))


def test_what_is_no_element_of_a_part_is_refused(refused):
    counts = GeneralizedCounts(Rooms().observation_space, TWO)
    seen, _ = Rooms().reset()
    with refused("the observation is 4; allowed: an element of Discrete(4)"):
        counts.begin({**seen, "direction": 4})
    with refused("has the shape (2, 3)"):
        counts.begin({**seen, "image": np.zeros((2, 3))})


def test_minigrid_is_counted_as_it_comes():
    pytest.importorskip("minigrid")
    env = dorax.EValueBonus(gymnasium.make("MiniGrid-DoorKey-5x5-v0"), features=dorax.Table())
    env.reset(seed=0)
    for action in (0, 0, 0, 0, 0):  # it turns around
        info = env.step(action)[4]
    assert env.exploration.counts.table()[1].sum() == 4  # the fifth waits for its next action
    assert len(env.exploration.counts.table()[1]) == 4
    assert info["bonus"] > 0
