"""Archives come back as they were written, or are refused in one line."""

import json
import pickle
import zipfile

import numpy as np
import pytest

from dorax import InvalidInput
from dorax.archive import FORMAT, read_archive, write_archive

FACTS = {"agent": {"discount": 0.9, "name": "ε-greedy"}, "steps": 12, "seeds": [1, 2], "nothing": None}
ARRAYS = {
    "q/0": np.arange(12.0).reshape(3, 4) / 7,
    "count": np.array([3, -1], np.int32),
    "is_over": np.array(True),
    "names": np.array(["east", "west"]),
    "empty": np.zeros((0, 5), np.uint8),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "learner.npz"
    write_archive(path, "learner", FACTS, ARRAYS)
    return path


def rewritten(path, *, without=(), allow_pickle=False, **changed):
    """The same file with entries changed or left out; whoever wrote it was not `write_archive`."""
    with np.load(path) as archive:
        entries = {name: archive[name] for name in archive.files if name not in without}
    np.savez(path, allow_pickle=allow_pickle, **entries | changed)


def content_of(path):
    with np.load(path) as archive:
        return json.loads(str(archive["facts"]))


def test_facts_and_arrays_come_back_as_they_were(path):
    facts, arrays = read_archive(path, "learner")
    assert facts == FACTS
    assert arrays.keys() == ARRAYS.keys()
    for name, expected in ARRAYS.items():
        assert arrays[name].dtype == expected.dtype
        np.testing.assert_array_equal(arrays[name], expected)


@pytest.mark.parametrize("kind", ["checkpoint", "network", "learner"])
def test_a_kind_is_what_it_was_written_as_and_no_other(kind, tmp_path, refused):
    path = tmp_path / "some.npz"
    write_archive(path, kind, {}, {})
    assert read_archive(str(path), kind) == ({}, {})
    with refused(str(path), f"holds a {kind}", "a saved film"):
        read_archive(path, "film")


def test_a_folder_that_is_not_there_is_made_and_nothing_is_left_beside_the_file(tmp_path):
    path = tmp_path / "deep" / "below" / "learner.npz"
    write_archive(path, "learner", FACTS, ARRAYS)
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(path, refused):
    class Broken:
        def __array__(self, *_, **__):
            raise OSError(28, "No space left")

    with refused("cannot write", "No space left"):
        write_archive(path, "learner", {}, {"q": Broken()})  # pyright: ignore[reportArgumentType]  # breaks when written
    assert list(path.parent.iterdir()) == [path]
    assert read_archive(path, "learner")[0] == FACTS


def test_arrays_of_objects_are_not_written(path):
    with pytest.raises(ValueError, match="Object arrays"):
        write_archive(path, "learner", {}, {"q": np.array([{}], object)})
    assert list(path.parent.iterdir()) == [path]
    assert read_archive(path, "learner")[0] == FACTS


def test_a_file_that_is_not_there_is_named(tmp_path, refused):
    with refused(str(tmp_path / "nowhere.npz"), "does not exist", "a saved learner"):
        read_archive(tmp_path / "nowhere.npz", "learner")


def test_a_folder_is_no_archive(tmp_path, refused):
    with refused("not an archive"):
        read_archive(tmp_path, "learner")


def test_every_truncation_is_refused(path, refused):
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with refused("damaged", "a saved learner"):
            read_archive(path, "learner")


def test_a_flipped_byte_is_refused_or_changes_nothing(path):
    """Nothing but dates and the like may be flipped unnoticed; what is read is what was written."""
    content = path.read_bytes()
    refusals = []
    for place in range(0, len(content), 3):
        for mask in (1, 0x80, 0xFF):
            flipped = bytearray(content)
            flipped[place] ^= mask
            path.write_bytes(flipped)
            try:
                facts, arrays = read_archive(path, "learner")
            except InvalidInput as error:
                refusals.append(str(error))
                continue
            assert facts == FACTS
            assert arrays.keys() == ARRAYS.keys()
            for name, expected in ARRAYS.items():
                assert arrays[name].dtype == expected.dtype
                np.testing.assert_array_equal(arrays[name], expected)
    assert len(refusals) > len(content) / 2
    assert all(str(path) in line and "allowed: " in line and "\n" not in line for line in refusals)


@pytest.mark.parametrize("missing", ARRAYS)
def test_a_missing_array_is_noticed(missing, path, refused):
    rewritten(path, without=[missing])
    with refused("damaged"):
        read_archive(path, "learner")


def test_an_array_too_many_is_noticed(path, refused):
    rewritten(path, more=np.zeros(2))
    with refused("damaged"):
        read_archive(path, "learner")


@pytest.mark.parametrize(
    "facts",
    ["", "no json", "[]", "3", '{"format": 2}', '{"format": 2, "arrays": 3, "kind": "learner", "facts": {}}'],
)
def test_facts_that_say_nothing_are_refused(facts, path, refused):
    rewritten(path, facts=np.asarray(facts))
    with refused(str(path)):
        read_archive(path, "learner")


def test_facts_that_are_no_dictionary_are_refused(path, refused):
    rewritten(path, facts=np.asarray(json.dumps(content_of(path) | {"facts": [1, 2]})))
    with refused("damaged"):
        read_archive(path, "learner")


def test_an_archive_of_somebody_else_is_refused(tmp_path, refused):
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with refused("not an archive of dorax"):
        read_archive(tmp_path / "other.npz", "learner")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with refused("not an archive"):
        read_archive(tmp_path / "one.npy", "learner")
    (tmp_path / "text.npz").write_text("not an archive at all")
    with refused("not an archive"):
        read_archive(tmp_path / "text.npz", "learner")


def test_a_format_of_the_future_is_refused_and_says_who_wrote_it(path, refused):
    rewritten(path, facts=np.asarray(json.dumps(content_of(path) | {"format": FORMAT + 1, "dorax": "9.1"})))
    with refused("was written by dorax 9.1", f"format {FORMAT}"):
        read_archive(path, "learner")


def test_a_format_of_the_future_may_hold_other_arrays(path, refused):
    rewritten(path, facts=np.asarray(json.dumps(content_of(path) | {"format": FORMAT + 1, "dorax": "9.1"})), more=[1])
    with refused("was written by dorax 9.1"):
        read_archive(path, "learner")


@pytest.mark.parametrize("entry", ["content", "facts"])
@pytest.mark.parametrize("kind", ["checkpoint", "network", "learner"])
def test_a_file_of_dorax_0_1_is_refused_as_such(kind, entry, tmp_path, refused):
    """Learners and checkpoints had an entry `content`, networks and wrappers' counts `facts` without a format."""
    old = np.asarray(json.dumps({"what": {"game": "freeway"}, "steps": 3}))
    np.savez(tmp_path / "old.npz", **{entry: old, "weights": np.arange(5)})
    with refused("written by dorax 0.1", "train it again"):
        read_archive(tmp_path / "old.npz", kind)


class Trap:
    """Whoever unpickles it opens it."""

    sprung: list = []  # noqa: RUF012

    def __reduce__(self):
        return list.append, (self.sprung, True)


def test_a_file_with_pickles_is_refused_and_none_is_opened(path, refused):
    rewritten(path, count=np.array([Trap()], object), allow_pickle=True)
    with refused("damaged"):
        read_archive(path, "learner")
    path.write_bytes(pickle.dumps(Trap()))
    with refused("damaged"):
        read_archive(path, "learner")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("facts", pickle.dumps(Trap()))
    with refused(str(path)):
        read_archive(path, "learner")
    assert not Trap.sprung
