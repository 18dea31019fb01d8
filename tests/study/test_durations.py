import json

from dorax.study import durations, repository


def test_what_is_expected_is_what_was_published_and_unknown_experiments_count_as_short(tmp_path, monkeypatch):
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    assert durations.expected_seconds(["tree"]) == {"tree": 1.0}, "nothing is known yet"
    (tmp_path / "results").mkdir()
    durations.path().write_text(json.dumps({"scaling": 90.0}))
    assert durations.expected_seconds(["tree", "scaling"]) == {"tree": 1.0, "scaling": 90.0}


def test_durations_are_told_in_the_unit_that_suits_them():
    assert durations.in_words(20.4) == "20 s"
    assert durations.in_words(840) == "14 min"
