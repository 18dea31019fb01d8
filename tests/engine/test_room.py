"""A run that does not fit into memory is refused before it is compiled, with a size that fits."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import dorax
from dorax.engine import compiled, footprint, room
from dorax.engine.room import Need, check_fits, lanes_that_fit

GB = 10**9
NEED = Need(lanes=60 * GB, temporary=4 * GB, replay=48 * GB, number=64, multiple=1, devices=2)
AGENT = dorax.ParallelAgent(
    dorax.LLL(dorax.Softmax(0.05)), dorax.EValues(0.99), games=16, width=16, rollout=16, replay=10**6
)


def temporaries(function, *arguments, reusable=()):
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in arguments]
    return footprint.temporary_bytes(jax.make_jaxpr(function)(*shapes).jaxpr, reusable)


def test_a_product_of_matrices_needs_its_result():
    assert temporaries(jnp.dot, (10, 20), (20, 30)) == 4 * 10 * 30


def test_of_a_chain_of_products_two_neighbours_are_stored_at_a_time():
    def chain(x, w):
        return x @ w @ w @ w @ w

    assert temporaries(chain, (10, 20), (20, 20)) == 2 * 4 * 10 * 20


def test_elementwise_operations_store_their_last_result_alone():
    assert temporaries(lambda x: jnp.sum(jnp.exp(2 * x) + 1), (1000,)) == 4
    assert temporaries(lambda x: jnp.exp(2 * x) + 1, (1000,)) == 4000


def test_what_is_replayed_is_not_copied():
    """A replay dominates the memory of an agent, so it is not to be counted twice."""

    def learned(replay, weights):
        rows = replay[jnp.arange(5)]
        return replay.at[0].set(1.0), weights + jnp.sum(rows)

    assert temporaries(learned, (1000, 10), (3,), reusable=[0, 1]) < 1000


def test_what_may_be_overwritten_takes_no_further_memory():
    def stored(room, row):
        return room.at[3].set(row)

    assert temporaries(stored, (1000, 10), (10,)) >= 4 * 1000 * 10
    assert temporaries(stored, (1000, 10), (10,), reusable=[0]) < 1000


def test_a_loop_updates_its_memory_in_place():
    def run(room, row):
        return jax.lax.fori_loop(0, 5, lambda i, room: room.at[i].set(row), room)

    assert temporaries(run, (1000, 10), (10,), reusable=[0]) < 1000
    assert 4 * 1000 * 10 <= temporaries(run, (1000, 10), (10,)) < 4 * 1000 * 10 + 1000


@pytest.mark.parametrize("free", [63 * GB, 40 * GB, 3 * GB])
def test_as_many_lanes_fit_as_are_suggested(free, refused):
    with refused("about 64 GB on each device", f"{free // GB} GB", f"at most {2 * free // GB} learners"):
        check_fits(NEED, free)
    lanes = lanes_that_fit(NEED, free)
    for number in (lanes, lanes + 1):
        size = NEED.total * number / NEED.number
        assert (size <= free) == (number == lanes)


def test_a_run_that_fits_is_not_refused():
    check_fits(NEED, 64 * GB)


def test_numbers_of_lanes_that_are_padded_anyway_are_not_suggested():
    assert lanes_that_fit(NEED._replace(multiple=16), 40 * GB) == 32


def test_a_smaller_replay_is_suggested_where_it_helps(refused):
    with refused("at most 80 learners at a time", "replay = 500000 or less"):
        check_fits(NEED, 40 * GB, "replay", 10**6)
    with refused("capacity = 500000 or less"):
        check_fits(NEED._replace(multiple=64), 40 * GB, "capacity", 10**6)
    with refused("allowed: at most 20 learners at a time"):
        check_fits(NEED, 10 * GB, "replay", 10**6)
    with refused("a smaller agent"):
        check_fits(NEED._replace(number=1), 1 * GB, "replay", 10**6)


def refused_run(agent, env, monkeypatch, free, **options):
    monkeypatch.setattr(compiled, "free_bytes", lambda devices: free)
    monkeypatch.setattr(compiled, "run_blocks", lambda *_, **__: pytest.fail("a program was compiled"))
    return dorax.train(agent, env, **options)


def test_a_replay_that_is_too_large_is_refused_before_compilation(monkeypatch, refused):
    """10 learners × 10⁶ steps × 19 bytes and more, on two devices."""
    words = "the memory of 10 learners", "MB on each device, which has 50 MB", "replay = 5"
    with refused(*words):
        refused_run(AGENT, dorax.mdps.deep_sea(10, 3), monkeypatch, GB // 20, steps=1000, seeds=10)


def test_the_replay_of_a_deep_agent_is_called_capacity(monkeypatch, refused):
    agent = dorax.DeepAgent(dorax.Softmax(1.0), capacity=10**6)
    with refused("the memory of 32 learners", "capacity = "):
        refused_run(agent, dorax.envs.SparseMountainCar(), monkeypatch, GB // 4, episodes=10)


class Compiled(Exception):
    """What ends a run that was not refused."""


def test_many_games_with_small_networks_are_refused_with_a_number_that_fits(monkeypatch, refused):
    """All games at once compare their states and actions, which the size of the learner does not show."""
    agent = replace(AGENT, games=16_384, replay=None)
    with refused("the memory of", "games = 4096 or less"):
        refused_run(agent, dorax.mdps.deep_sea(10, 3), monkeypatch, 2 * GB, steps=1000)

    def run(*_, **__):
        raise Compiled

    monkeypatch.setattr(compiled, "run_blocks", run)
    with pytest.raises(Compiled):
        dorax.train(replace(agent, games=4096), dorax.mdps.deep_sea(10, 3), steps=1000)


@dataclass(frozen=True)
class Sized:
    """An agent by its sizes."""

    games: int = 64
    width: int = 1024
    counter: Any = None

    def __post_init__(self):
        if self.games < 4:
            raise dorax.InvalidInput("too few games")


def needing(bytes_of):
    return lambda agent: NEED._replace(lanes=bytes_of(agent), temporary=0)


@pytest.mark.parametrize(
    ("bytes_of", "expected"),
    [
        (lambda agent: agent.games**2, "games = 32 or less"),
        (lambda agent: agent.games * 2**6, "games = 16 or less"),
        (lambda agent: agent.width**2, "width = 32 or less"),
        (lambda agent: agent.games + 3 * agent.width, "width = 256 or less"),
        (lambda agent: 4 * agent.counter.features.size, "size of the features of the counter = 256 or less"),
        (lambda agent: 2000 * agent.games, None),
        (lambda agent: 10_000, None),
    ],
)
def test_a_smaller_size_is_the_largest_half_of_one_that_fits(bytes_of, expected):
    agent, need_of = Sized(counter=dorax.Visits(features=dorax.Prototypes(1024))), needing(bytes_of)
    assert room.size_that_fits(agent, need_of(agent), need_of, 1024) == expected


def test_a_table_of_hashed_codes_has_half_the_entries_with_one_bit_less():
    agent, need_of = (
        Sized(counter=dorax.Visits(features=dorax.HashedCodes(bits=14))),
        needing(lambda agent: 4 << agent.counter.features.bits),
    )
    found = room.size_that_fits(agent, need_of(agent), need_of, 2**14)
    assert found == "bits of the features of the counter = 12 or less"


def test_the_machine_says_how_much_memory_it_has():
    free = room.free_bytes(jax.devices())
    assert free is None or 10**7 < free < 10**14


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "env", "options"),
    [
        (dorax.TabularAgent(dorax.Softmax(1.0)), dorax.mdps.deep_sea(30, 1), {"episodes": 1000, "seeds": 100}),
        (AGENT, dorax.mdps.deep_sea(10, 3), {"steps": 10_000, "seeds": 2}),
        (dorax.DeepAgent(dorax.Softmax(1.0)), dorax.envs.SparseMountainCar(), {"episodes": 100, "seeds": 4}),
    ],
    ids=["tables", "many games", "networks"],
)
def test_the_estimate_is_close_to_what_the_compiler_says(agent, env, options, monkeypatch):
    class Measured(Exception):
        """What ends the run before its first step."""

    found = {}

    def noted(program, lanes, recording, layout, free):
        found["estimate"] = Need.of(program, lanes, recording, layout).total

    original: Any = compiled.run_blocks

    def measured(*args, **options):
        sizes = original.lower(*args, **options).compile().compiled.memory_analysis()
        in_place = sizes.argument_size_in_bytes + sizes.output_size_in_bytes - sizes.alias_size_in_bytes
        found["need"] = in_place + sizes.temp_size_in_bytes
        raise Measured

    monkeypatch.setattr(compiled, "check_room", noted)
    monkeypatch.setattr(compiled, "run_blocks", measured)
    with pytest.raises(Measured):
        dorax.train(agent, env, **options)
    assert 0.9 < found["estimate"] / found["need"] < 1.6
