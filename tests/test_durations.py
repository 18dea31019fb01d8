import json

from dorax.experiments import _durations


def test_what_is_expected_is_what_was_measured_and_other_experiments_are_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(_durations, "_PATH", tmp_path / "kept.json")
    assert _durations.expected_seconds(["tree"]) == {"tree": 1.0}, "nothing is known yet"
    for measured in ({"tree": 2.0, "scaling": 90.0}, {"tree": 3.0}):
        (tmp_path / "measured.json").write_text(json.dumps(measured))
        _durations.record(tmp_path / "measured.json")
    assert _durations.expected_seconds(["tree", "scaling"]) == {"tree": 3.0, "scaling": 90.0}


def test_durations_are_told_in_the_unit_that_suits_them():
    assert _durations.in_words(20.4) == "20 s"
    assert _durations.in_words(840) == "14 min"
