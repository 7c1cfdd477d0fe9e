"""Preparation: machine code and fixed sets, made by other processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from algorist.algorithms import get
from algorist.data import official, prepare
from algorist.data.chunks import origin
from algorist.data.stream import Online
from algorist.model.learner import TaskEncoding
from algorist.training.config import Config, DataConfig
from algorist.training.loader import TaskStream

NAMES = ("minimum", "insertion_sort")
ROOT = Path(__file__).parent.parent


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What other processes are asked for; none is started, and no set is on disk."""
    calls = []

    class Process:
        def __init__(self, command, **_):
            calls.append(command[3:])

        def wait(self):
            pass

        kill = wait

    monkeypatch.setattr(subprocess, "Popen", Process)
    monkeypatch.setattr(prepare, "cores", lambda: 3)
    monkeypatch.setenv("ALGORIST_CACHE", str(tmp_path))
    return calls


def prepare_all(names, *splits):
    with prepare.prepare_in_background(names, *splits):
        pass


def test_processes_share_the_work(asked):
    prepare_all(["bfs", "minimum", "dfs", "jarvis_march"], ["val", "train"])
    assert asked == [
        ["val,train", "bfs", "jarvis_march"],
        ["val,train", "minimum"],
        ["val,train", "dfs"],
    ]


def test_a_single_algorithm_needs_no_other_process(asked):
    prepare_all(["bfs"])
    assert asked == []


def test_a_single_core_needs_no_other_process(asked, monkeypatch):
    monkeypatch.setattr(prepare, "cores", lambda: 1)
    prepare_all(NAMES)
    assert asked == []


def test_what_is_there_is_not_made_again(asked):
    for name in NAMES:
        official.split(name, "val")
    prepare_all(NAMES)
    assert asked == []
    prepare_all(NAMES, ["train"])
    assert asked == [["train", "minimum"], ["train", "insertion_sort"]]


def test_it_does_not_matter_if_no_process_can_be_started(asked, monkeypatch):
    def fail(*_, **__):
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", fail)
    prepare_all(NAMES)
    assert all(get(name).is_compiled for name in NAMES)


def test_processes_end_when_something_goes_wrong_meanwhile(monkeypatch, tmp_path):
    monkeypatch.setenv("ALGORIST_CACHE", str(tmp_path))
    monkeypatch.setattr(prepare, "_PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(prepare, "cores", lambda: 2)
    started = []
    popen = subprocess.Popen

    def noted(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    with pytest.raises(KeyError), prepare.prepare_in_background(NAMES):
        raise KeyError
    assert [process.returncode for process in started] == [-9, -9]


PROGRAM = """
import json
from algorist.algorithms import get
from algorist.data import official, prepare
from algorist.data.stream import Online

prepare.cores = lambda: 2
names = {names}
assert not any(get(name).is_compiled for name in names)
with prepare.prepare_in_background(names):
    pass
for name in names:
    Online(name, seed=0).batch(0)
    official.generate(name, n=5, count=2, seed=0)
loops = [loop for name in names for loop in (get(name)._run_batch, get(name).sampler.draw_batch)]
compiled = sum(sum(loop.stats.cache_misses.values()) for loop in loops)
kept = [official.split_file(get(name), "val").exists() for name in names]
print(json.dumps([compiled, kept]))
"""


def test_the_first_time_other_processes_compile_and_this_one_only_loads(tmp_path):
    folders = {"NUMBA_CACHE_DIR": tmp_path / "code", "ALGORIST_CACHE": tmp_path / "sets"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **{k: str(v) for k, v in folders.items()}}
    command = [sys.executable, "-c", PROGRAM.format(names=NAMES)]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(output.stdout) == [0, [True, True]]


def test_fixed_data_needs_the_training_set_too():
    assert Config(("bfs",)).splits == ("val",)
    assert Config(("bfs",), data=DataConfig(online=False)).splits == ("val", "train")
    assert Config(("bfs",), convention=TaskEncoding(sparse=True)).splits == ()


def test_where_chunks_begin_is_known_without_drawing_a_problem(monkeypatch):
    task_stream = TaskStream(
        Config(("bfs",), data=DataConfig(chunk=4, batch_size=3, sizes=(4, 5))), "bfs"
    )
    monkeypatch.setattr(Online, "batch", lambda *_: pytest.fail("a problem was drawn"))
    assert task_stream.cursors(0) == {"4": [origin(3)], "5": [origin(3)]}
    assert origin(3) == {"step": 0, "batches": [0, 0, 0], "offsets": [0, 0, 0]}
