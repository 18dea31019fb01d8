"""With real bsuite: run by `make test-bsuite`, and by `make test` where it is installed."""

# bsuite need not be installed where types are checked.
# pyright: reportMissingImports=false

import json
import warnings
from typing import Any

import matplotlib
import numpy as np
import pytest

from dorax import cli
from dorax.agents.tabular import TabularLearner
from dorax.experiments import bsuite_deep_sea as study
from dorax.study import fingerprints, repository
from dorax.study.results import load
from dorax.study.store import Store

pytest.importorskip("bsuite", reason="bsuite is not installed: make test-bsuite")
pytestmark = pytest.mark.bsuite

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of modules that it imports
    import bsuite
    import pandas as pd
    from bsuite import sweep
    from bsuite.logging import csv_load

    from dorax.experiments import _bsuite_runs as runs

SETTING = {"temperature": 0.03, "learning_rate": 0.3}


def learner_for(size, seed=0):
    return TabularLearner(study.agent_of(study.E_VALUES, SETTING), size**2, 2, seed=seed)


class Diver:
    """In place of a learner: goes right from the given episode on, and left before."""

    steps = 0

    def __init__(self, env, since):
        self.env, self.since, self.episode = env, since, 0

    def act(self, state):
        size = self.env.observation_spec().shape[0]
        self.episode += state == 0
        right = self.env._action_mapping[divmod(state, size)]
        return right if self.episode >= self.since else 1 - right

    def observe(self, state, action, reward, arrived, terminated, truncated):
        assert not truncated
        assert terminated == (arrived == 0)  # all zeros: the only observation after the start without a later row


def dive(size, since, episodes):
    env = runs.sea("deep_sea", size, study.MAPPING_SEED, seed=0)
    diver: Any = Diver(env, since)
    return runs.run("deep_sea", env, diver, episodes)


def test_the_number_of_a_state_is_that_of_its_cell_in_reading_order():
    for cell in np.ndindex(7, 7):
        observation = np.zeros((7, 7), np.float32)
        observation[cell] = 1
        assert runs.state_of(observation) == 7 * cell[0] + cell[1]


@pytest.mark.parametrize("family", study.FAMILIES)
def test_reported_problems_are_those_of_bsuites_ids(family):
    ids = [name for name in sweep.SWEEP if name.split("/")[0] == family]
    assert len(ids) == len(study.SIZES)
    for number, name in enumerate(ids):
        problem = study.problem_of(study.FIRST_SEEDS[family] + number)
        assert {"size": problem.size, "mapping_seed": problem.mapping_seed} == sweep.SETTINGS[name]
        assert problem.episodes == sweep.EPISODES[name]
    theirs: Any = bsuite.load_from_id(ids[3])
    ours: Any = runs.sea(family, 16, study.MAPPING_SEED, seed=5)
    np.testing.assert_array_equal(ours._action_mapping, theirs._action_mapping)
    assert ours._deterministic == theirs._deterministic


def test_who_dives_from_episode_91_on_is_at_ninety_per_cent_bad_episodes_in_episode_100_and_below_in_the_next_record():
    data = dive(size=10, since=91, episodes=10_000)
    assert data.found_at == 91
    assert data.solved_at == 120  # 90 / 100 is not below 0.9, and the next record is of episode 120
    assert data.record_episode.max() == 120  # 90 / 120 is below the limit of 2019, too, so the run is over
    assert data.score == data.score_2019 == 1


def test_who_dives_too_late_to_be_solved_is_stopped_once_that_is_certain():
    data = dive(size=10, since=950, episodes=1000)
    assert data.found_at.isnull()
    assert data.solved_at.isnull()
    assert data.score == 0
    assert data.record_episode.max() == 900


def test_a_problem_that_is_solved_no_sooner_than_by_chance_does_not_score():
    data = dive(size=4, since=150, episodes=10_000)
    assert data.solved_at == 170  # 149 / 170 is below 0.9
    assert data.score == 0  # later than 2 ** 4 + 100


@pytest.mark.parametrize("family", study.FAMILIES)
def test_a_run_that_ends_early_scores_like_one_of_full_length_by_bsuites_own_files(family, tmp_path):
    name, seed, episodes = f"{family}/0", 3, 500
    env: Any = bsuite.load_and_record_to_csv(name, str(tmp_path))
    env.raw_env._rng = np.random.RandomState(seed)  # which ids leave to chance
    learner = learner_for(10, seed)
    for _ in range(episodes):
        runs.play_episode(env, learner)
    env.flush()
    frame = csv_load.load_one_result_set(str(tmp_path))
    with runs.bsuite_analysis(family) as analysis:
        score, solution = analysis.score(frame), analysis.find_solution(frame)
    data = runs.run(family, runs.sea(family, 10, study.MAPPING_SEED, seed), learner_for(10, seed), 10_000)
    assert data.record_episode.max() < episodes
    assert (data.score, data.solved_at) == (score, solution.episode[0])
    np.testing.assert_array_equal(
        data.record_episode.dropna("record"), frame.episode[: int(data.record_episode.count())]
    )
    assert list(frame.episode) == runs.episodes_logged(episodes)


def test_the_mean_score_of_runs_is_bsuites_score_of_all():
    rows = {  # by size, the bad episodes after 100, 1000 and 10 000
        10: (50, 60, 70),
        12: (100, 1000, 10_000),
        20: (100, 850, 900),
        30: (100, 1000, 8500),
    }
    logs = {
        size: [{"episode": e, "total_bad_episodes": bad} for e, bad in zip((100, 1000, 10_000), counts, strict=True)]
        for size, counts in rows.items()
    }
    together = pd.concat([pd.DataFrame(log).assign(size=size) for size, log in logs.items()])
    for family, expected in (("deep_sea", 3 / 4), ("deep_sea_stochastic", 2 / 4)):
        assert np.mean([runs.scored(family, size, log)[0] for size, log in logs.items()]) == expected
        with runs.bsuite_analysis(family) as analysis:
            assert analysis.score(together) == expected
    assert [runs.scored("deep_sea", size, log)[2] for size, log in logs.items()] == [1, 0, 1, 0]


def test_scoring_leaves_pandas_and_the_style_of_figures_as_they_were():
    before = dict(matplotlib.rcParams)
    with runs.bsuite_analysis("deep_sea"):
        pass
    assert dict(matplotlib.rcParams) == before
    assert hasattr(pd.Series, "append") == (int(pd.__version__.split(".")[0]) < 2)


def test_the_study_runs_at_its_quick_size_from_the_agents_to_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path / "nothing recorded")
    cli.main(["run", "bsuite_deep_sea", "--quick", "--out", str(tmp_path)])
    cli.main(["report", "--out", str(tmp_path)])
    assert "quick run with few episodes and agents" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "figures" / "bsuite_deep_sea.png").stat().st_size > 5_000


def test_todays_code_acts_as_recorded(tmp_path):
    recorded = json.loads((repository.results() / "bsuite_deep_sea" / "fingerprints.json").read_text())
    for result in load("bsuite_deep_sea", study.EXPERIMENT, Store(tmp_path)):
        today = study.fingerprint(result.name, result.choices["step"].setting)
        assert fingerprints.same(today, recorded[result.name]), result.name
