"""A run that was interrupted goes on from its checkpoint, and nobody can tell from its bits."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import dorax
from dorax.engine import resuming, running
from dorax.engine.policy_values import GreedyValue
from dorax.engine.training import Training
from dorax.files import claiming

LLL = dorax.LLL(dorax.Softmax(0.5))
TABLES = dorax.TabularAgent(LLL, dorax.EValues(0.9))
CLIFF = dorax.mdps.cliff()
SHORT = dorax.envs.SparseMountainCar().default_params._replace(max_steps_in_episode=60)


def parallel(**options):
    counter = dorax.EValues(0.99, learning_rate=0.5)
    return dorax.ParallelAgent(dorax.LLL(dorax.Softmax(0.05)), counter, games=16, width=16, rollout=16, **options)


def tables(**options):
    """A sweep with a log of episodes, greedy tests and snapshots of a probe."""
    probe = GreedyValue.of(CLIFF, 0.9, 1000, 4000)
    settings = dorax.grid(temperature=(0.1, 0.5, 2.0))
    return dorax.train(
        TABLES, CLIFF, 300, 3, steps=4000, settings=settings, probes=[probe], test_every=5, learners=3, **options
    )


def tiles(**options):
    agent, maps = dorax.LinearAgent(LLL, dorax.EValues(0.9)), dorax.Maps((5, 5), 4)
    return dorax.train(agent, dorax.envs.SparseMountainCar(), 60, 3, maps=maps, params=SHORT, learners=3, **options)


def networks(**options):
    agent = dorax.DeepAgent(LLL, dorax.EValues(0.9), dorax.RND(0.1, width=8), width=8, capacity=300)
    return dorax.train(agent, dorax.envs.SparseMountainCar(), 60, 2, test_every=4, params=SHORT, learners=2, **options)


def many_games(**options):
    return dorax.train(parallel(), dorax.mdps.deep_sea(10, 3), steps=20_000, seeds=3, learners=3, **options)


def many_games_with_replay(**options):
    agent = parallel(replay=4096, bonus=dorax.InverseRootCount(0.1), novelty_discount=0.9)
    return dorax.train(agent, dorax.mdps.deep_sea(10, 3), steps=20_000, seeds=3, learners=3, **options)


RUNS = {run.__name__: run for run in (tables, tiles, networks, many_games, many_games_with_replay)}


class Killed(Exception):
    """What a test raises in the middle of a run."""


@pytest.fixture
def in_small_steps(monkeypatch):
    """A checkpoint after each chunk, and chunks of one block."""
    monkeypatch.setattr(resuming, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(resuming, "MOST_WRITING", np.inf)
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(running, "FIRST_BLOCKS", 2)


def after(chunks, end):
    """Make a progress callback that ends the run after some chunks."""
    calls = []

    def progress(share, steps):
        calls.append(share)
        if len(calls) == chunks:
            end()

    return progress


def killed():
    raise Killed


def assert_same(one, other):
    assert one.data.identical(other.data)
    assert one.trained.keys() == other.trained.keys()
    for key, learned in one.trained.items():
        assert learned.steps == other.trained[key].steps
        leaves = zip(jax.tree.leaves(learned.memory), jax.tree.leaves(other.trained[key].memory), strict=True)
        for first, second in leaves:
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["tables", *(pytest.param(name, marks=pytest.mark.slow) for name in [*RUNS][1:])])
def test_an_interrupted_run_that_goes_on_gives_the_bits_of_an_undisturbed_one(name, in_small_steps, tmp_path):
    run, folder = RUNS[name], tmp_path / "run"
    for chunks in (4, 3):  # interrupted twice
        with pytest.raises(Killed):
            run(folder=folder, progress=after(chunks, killed))
    assert len([*folder.glob("checkpoint-*.npz")]) == 2
    made = []
    again = run(folder=folder, progress=lambda share, steps: made.append(steps))
    assert 0 < made[-1] < int(again.data.total_steps.sum()), "not from the start"
    assert not folder.exists()
    assert_same(again, run())


CODE = """
import sys
from pathlib import Path
import jax
jax.config.update("jax_num_cpu_devices", int(sys.argv[3]))
jax.config.update("jax_compilation_cache_dir", sys.argv[5])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
sys.path.insert(0, sys.argv[4])
from dorax.engine import resuming, running
resuming.CHECKPOINT_SECONDS, resuming.MOST_WRITING = 0.0, float("inf")
running.CHUNK_SECONDS, running.FIRST_BLOCKS = 0.0, 1
import test_interrupted_runs
test_interrupted_runs.RUNS[sys.argv[1]](folder=Path(sys.argv[2]))
"""


def run_until_it_has_checkpoints(name, folder, number, end, devices=2):
    """Run in another process and send it a signal when it has written so many checkpoints."""
    cache = Path(__file__).parents[2] / ".pytest_cache" / "jax"
    words = [name, str(folder), str(devices), str(Path(__file__).parent), str(cache)]
    process = subprocess.Popen([sys.executable, "-c", CODE, *words], stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and not [*folder.glob(f"checkpoint-*{number:02d}.npz")]:
            time.sleep(0.005)
        process.send_signal(end)
        process.wait(timeout=100)
    finally:
        process.kill()
    assert process.returncode == -end
    assert [*folder.glob("checkpoint-*.npz")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tables", "tiles", "many_games", "many_games_with_replay"])
def test_a_run_that_was_killed_goes_on_with_the_same_bits(name, tmp_path):
    run_until_it_has_checkpoints(name, tmp_path / "run", 3, signal.SIGKILL)
    assert_same(RUNS[name](folder=tmp_path / "run"), RUNS[name]())


@pytest.mark.slow
def test_tables_go_on_with_the_same_bits_on_another_number_of_devices(tmp_path):
    run_until_it_has_checkpoints("tables", tmp_path / "run", 3, signal.SIGKILL, devices=1)
    assert_same(tables(folder=tmp_path / "run"), tables())


@pytest.mark.slow
def test_many_games_go_on_on_another_number_of_devices(tmp_path):
    """With three lanes, one device has none to pad and two have one. Sums are rounded otherwise."""
    run_until_it_has_checkpoints("many_games", tmp_path / "run", 3, signal.SIGKILL, devices=1)
    again, undisturbed = many_games(folder=tmp_path / "run"), many_games()
    assert again.data.sizes == undisturbed.data.sizes
    np.testing.assert_array_equal(again.data.total_steps, undisturbed.data.total_steps)


@pytest.mark.slow
def test_ctrl_c_in_another_process_leaves_a_checkpoint_and_ends_it(tmp_path):
    run_until_it_has_checkpoints("tables", tmp_path / "run", 3, signal.SIGINT)
    assert_same(tables(folder=tmp_path / "run"), tables())


def test_ctrl_c_leaves_a_checkpoint_of_the_chunk_that_it_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        tables(folder=tmp_path / "run", progress=after(2, lambda: signal.raise_signal(signal.SIGINT)))
    assert signal.getsignal(signal.SIGINT) is before
    assert len([*(tmp_path / "run").iterdir()]) == 1
    assert_same(tables(folder=tmp_path / "run"), tables())


def test_the_second_ctrl_c_does_not_wait():
    with resuming.postponed_interrupt(True) as was_pressed:
        signal.raise_signal(signal.SIGINT)
        assert was_pressed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_damaged_checkpoint_gives_way_to_the_one_before(in_small_steps, tmp_path):
    with pytest.raises(Killed):
        tables(folder=tmp_path, progress=after(5, killed))
    older, newest = sorted(tmp_path.glob("checkpoint-*.npz"))
    newest.write_bytes(newest.read_bytes()[:-1000])
    assert_same(tables(folder=tmp_path), tables())
    assert not older.exists()


@pytest.mark.parametrize(("changed", "words"), [
    ({"agent": dorax.TabularAgent(LLL, dorax.EValues(0.8))}, "agent.counter.discount = 0.9, not 0.8"),
    ({"env": dorax.mdps.bridge(5)}, "environment.digest"),
    ({"seeds": [0, 2]}, "seeds = [0, 1], not [0, 2]"),
    ({"settings": dorax.grid(temperature=(0.1,))}, "settings = [''], not ['temperature=0.1']"),
    ({"steps": 3000}, "steps = 4000, not 3000"),
    ({"test_every": 2}, "test_every = None, not 2"),
    ({"until": 0.1}, "probes"),
    ({"states": 50}, "states = 1, not 50"),
])  # fmt: skip
def test_a_checkpoint_of_another_run_is_refused(changed, words, in_small_steps, tmp_path, refused):
    options = {"agent": TABLES, "env": CLIFF, "episodes": 900, "seeds": 2, "steps": 4000, "folder": tmp_path}
    with pytest.raises(Killed):
        dorax.train(**options, progress=after(3, killed))
    with refused(words, "removing this one"):
        dorax.train(**options | changed)


def test_a_learner_that_is_trained_further_goes_on_too(in_small_steps, tmp_path, refused):
    first, other = (dorax.train(TABLES, CLIFF, steps=500, seeds=[seed]).learner() for seed in (0, 1))

    def further(learner, **options):
        return dorax.train(learner, CLIFF, steps=4000, seeds=[5], **options)

    with pytest.raises(Killed):
        further(first, folder=tmp_path, progress=after(3, killed))
    with refused("learner.digest"):
        further(other, folder=tmp_path)
    assert_same(further(first, folder=tmp_path), further(first))


def test_a_short_run_writes_nothing(tmp_path):
    tables(folder=tmp_path / "a" / "run")
    assert [*tmp_path.iterdir()] == []


def test_two_processes_do_not_train_in_one_folder(in_small_steps, tmp_path, refused):
    with claiming(tmp_path / "run"), refused("another process is training in"):
        tables(folder=tmp_path / "run")


class Job:
    def __init__(self, scratch, progress):
        self.scratch, self.progress = scratch, progress

    def __call__(self, share, steps):
        self.progress(share, steps)


def test_trainings_of_one_job_do_not_disturb_each_other(in_small_steps, tmp_path):
    """Of a condition that trains twice, the second training was interrupted."""
    scratch = tmp_path / "scratch"
    first, second = Training(TABLES, CLIFF, steps=4000), Training(TABLES, CLIFF, steps=5000)
    settings = dorax.grid(temperature=(0.1, 0.5))
    with pytest.raises(Killed):
        second(settings, [0, 1], Job(scratch, after(3, killed)))
    (folder,) = scratch.iterdir()
    assert len([*folder.iterdir()]) == 2
    for training in (first, second):
        made = []
        data = training(settings, [0, 1], Job(scratch, lambda share, steps, made=made: made.append(steps)))
        assert data.identical(training(settings, [0, 1]))
        assert (made[-1] == data.total_steps.sum()) == (training is first)
    assert not scratch.exists()


def test_a_job_that_another_process_does_too_is_done_without_checkpoints(in_small_steps, tmp_path):
    training, scratch = Training(TABLES, CLIFF, steps=4000), tmp_path / "scratch"
    with pytest.raises(Killed):
        training([{}], [0], Job(scratch, after(3, killed)))
    (folder,) = scratch.iterdir()
    with claiming(folder):
        made = []
        data = training([{}], [0], Job(scratch, lambda share, steps: made.append(steps)))
    assert made[-1] == data.total_steps.sum()
    assert data.identical(training([{}], [0]))
