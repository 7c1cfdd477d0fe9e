"""Splits on disk: the protocol's, whole or not at all, built once."""

import os
import pwd
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from golden_records import assert_same

from algorist import get
from algorist.data import cache, official


def test_splits_follow_the_protocol(cache_folder):
    wanted = {"train": (16, 1000, 1), "val": (16, 32, 2), "test": (64, 32, 3)}
    for split, (n, count, seed) in wanted.items():
        expected = official.generate("insertion_sort", n=n, count=count, seed=seed)
        assert_same(official.split("insertion_sort", split), expected)


def test_multiplier_and_stretch_change_the_evaluation_sets(cache_folder):
    stretched = replace(get("insertion_sort"), name="stretched", stretch=1.25, eval_multiplier=3)
    sizes = {name: official.split(stretched, name) for name in official.SPLITS}
    assert {name: (len(batch), batch.n) for name, batch in sizes.items()} == {
        "train": (1000, 20),
        "val": (96, 20),
        "test": (96, 80),
    }


def test_a_split_is_read_from_disk_the_second_time(cache_folder, monkeypatch):
    first = official.split("dijkstra", "val")
    monkeypatch.setattr(official.Split, "generate", None)
    assert_same(official.split("dijkstra", "val"), first)
    assert [path.name for path in cache_folder.iterdir()] == ["dijkstra-val-v1.npz"]


def test_any_flipped_byte_is_noticed(cache_folder):
    expected = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    content = path.read_bytes()
    for place in (0, 10, len(content) // 3, len(content) // 2, len(content) - 40, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(cache.Damaged):
            cache.load(path, expected.spec)
    with pytest.warns(UserWarning, match="damaged: building it again"):
        assert_same(official.split("insertion_sort", "val"), expected)
    assert path.read_bytes() == content


@pytest.mark.parametrize("kept", [0, 7, 2000])
def test_a_torn_file_is_built_again(cache_folder, kept):
    expected = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.warns(UserWarning, match="damaged: building it again"):
        assert_same(official.split("insertion_sort", "val"), expected)


def test_numpy_opens_the_files_without_pickle(cache_folder):
    batch = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    with np.load(path, allow_pickle=False) as archive:
        assert np.array_equal(archive["input/key"], batch.inputs["key"])


def test_a_failed_write_leaves_nothing_behind_and_the_split_is_still_returned(
    cache_folder, monkeypatch
):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="not kept on disk: no space left"):
        assert len(official.split("insertion_sort", "val")) == 32
    assert list(cache_folder.iterdir()) == []


def test_a_split_that_is_kept_may_be_read_by_others(cache_folder):
    official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    (cache_folder / "usual").touch()
    assert path.stat().st_mode == (cache_folder / "usual").stat().st_mode


def test_a_split_that_cannot_be_read_is_drawn(cache_folder, monkeypatch):
    expected = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    path.unlink()
    path.mkdir()  # also where everything is allowed, it is not a file
    with pytest.warns(UserWarning, match="the split") as warned:
        assert_same(official.split("insertion_sort", "val"), expected)
    unread, unkept = (str(each.message) for each in warned)
    assert "the split on disk is not read" in unread
    assert "the split is not kept on disk" in unkept


def test_processes_may_build_a_split_at_once(cache_folder):
    program = (
        "import sys, warnings; warnings.simplefilter('error'); from algorist.data import official;"
        "batch = official.split('insertion_sort', 'train'); print(batch.inputs['key'].sum())"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=os.environ)
        for _ in range(3)
    ]
    printed = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(printed) == 1
    assert [path.name for path in cache_folder.iterdir()] == ["insertion_sort-train-v1.npz"]
    with warnings.catch_warnings(action="error"):
        official.split("insertion_sort", "train")


def test_algorithms_from_outside_are_never_taken_from_disk(cache_folder):
    official.split("insertion_sort", "val")
    altered = replace(get("insertion_sort"), sampler=replace(get("insertion_sort").sampler))
    official.split(altered, "test")
    assert [path.name for path in cache_folder.iterdir()] == ["insertion_sort-val-v1.npz"]


def test_the_cache_is_where_users_expect_it(monkeypatch, tmp_path):
    monkeypatch.setenv("ALGORIST_CACHE", str(tmp_path / "chosen"))
    assert cache.folder() == tmp_path / "chosen"
    monkeypatch.delenv("ALGORIST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "algorist"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "algorist"


def test_who_has_no_home_gets_a_split_and_is_told_where_it_could_be_kept(monkeypatch):
    def unknown(user):
        raise KeyError(user)

    expected = official.split("insertion_sort", "val")
    for name in ("ALGORIST_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)  # as in a container with a user of its own
    with pytest.warns(UserWarning, match="the user has no home") as warned:
        assert_same(official.split("insertion_sort", "val"), expected)
    assert "; set ALGORIST_CACHE to a folder that can be written" in str(warned[-1].message)
