"""A run for each of several algorithms: at once as alone, stopped and resumed, with failures."""

import json
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import small
import torch
from processes import PATIENCE, running, wait_until
from small import needs_gpu

from algorist.cli import main
from algorist.experiments import run_control
from algorist.model.compute_config import ComputeConfig
from algorist.plugins import shell
from algorist.training import checkpoint
from algorist.training.engine import Engine
from algorist.training.job_pool import JobPool
from algorist.training.loader import TaskStream
from algorist.training.multi_run import MultiRun
from algorist.training.run import Run
from algorist.training.saved_learners import members

ROOT = Path(__file__).parent.parent
NAMES = ("bfs", "dijkstra", "insertion_sort")
SMALL = ["--hidden", "8", "--batch-size", "4", "--sizes", "4,5", "--device", "cpu"]
SHORT = ["--steps", "6", "--validate-every", "3", "--checkpoint-every", "2"]

pytestmark = pytest.mark.usefixtures("piped")


def train_each(folder, *words, names=NAMES):
    return main(["train", *names, "--each", "--out", str(folder), *SMALL, *SHORT, *words])


def resume(folder, *words):
    return main(["resume", str(folder), "--device", "cpu", *words])


def assert_same_run(one, other):
    for name in ("config.json", "metrics.jsonl", "best.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), (one, name)
    first, second = (checkpoint.newest(folder / "checkpoints") for folder in (one, other))
    assert first.step == second.step
    assert first.state == second.state
    small.assert_identical(first.tensors, second.tensors)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Runs that were started one by one."""
    folder = tmp_path_factory.mktemp("alone")
    for name in NAMES:
        assert main(["train", name, "--out", str(folder / name), *SMALL, *SHORT]) == 0
    return folder


@pytest.fixture(scope="module")
def each(tmp_path_factory):
    """The same runs by one command, to be looked at only."""
    folder = tmp_path_factory.mktemp("each")
    assert train_each(folder) == 0
    return folder


def step_of(folder):
    return checkpoint.newest(folder / "checkpoints").step


# Runs at once


def test_runs_of_one_command_are_as_if_started_alone(each, alone):
    for name in NAMES:
        assert_same_run(each / name, alone / name)


def test_runs_at_once_are_as_if_started_alone(tmp_path, alone):
    assert train_each(tmp_path, "--at-once", "2", "--workers", "2") == 0
    for name in NAMES:
        assert_same_run(tmp_path / name, alone / name)


def test_chunks_at_once_are_as_alone_too(tmp_path):
    config = replace(small.training("bfs", steps=7, chunk=3), algorithms=("bfs", "dfs"))
    each = MultiRun.start(tmp_path / "each", config)
    with JobPool(2, ComputeConfig(workers=3)) as pool:
        tasks = [
            lambda context, name=name: each.run(name, ComputeConfig(workers=3), context).train()
            for name in each.algorithms
        ]
        assert all(outcome.value for outcome in pool.outcomes(tasks))
    for name in each.algorithms:
        Run.start(tmp_path / name, replace(config, algorithms=(name,))).train()
        assert_same_run(tmp_path / "each" / name, tmp_path / name)


def test_every_run_has_lines_of_its_own_and_its_best_score_at_the_end(capsys, tmp_path):
    assert train_each(tmp_path, "--at-once", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 of 3 runs to go, 2 at once"
    for name in NAMES:
        own = [line.split(maxsplit=1)[1] for line in lines if line.startswith(f"{name} ")]
        assert own[0].startswith("triplet_gmpnn, ")
        assert [line[:8] for line in own[1:3]] == ["step 3/6", "step 6/6"]
        assert own[3].startswith("done, best validation ")
        assert own[3].split()[3] in own[2].split("best ")[1]
    assert "3 of 3 runs done" in lines


def test_a_terminal_shows_the_runs_live(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    assert train_each(tmp_path, "--at-once", "2") == 0
    last = capsys.readouterr().out.rpartition("to go, 2 at once")[2]
    for name in NAMES:
        assert f"{name}" in last
    assert last.count("done, best validation") >= 3


# Stopped and resumed


def test_stopped_runs_go_on_missing_ones_start_and_finished_ones_stay(
    capsys, monkeypatch, tmp_path, alone
):
    learn, packed_batches, both = Engine.learn, [], threading.Barrier(2)
    first = set(NAMES[:2])

    def counted(engine, packed_batch):
        algorithm = packed_batch.key.algorithm
        if algorithm in first:
            first.remove(algorithm)
            both.wait(timeout=60)
        packed_batches.append(algorithm)
        learn(engine, packed_batch)

    monkeypatch.setattr(Engine, "learn", counted)
    clock = SimpleNamespace(monotonic=lambda: len(packed_batches))
    monkeypatch.setattr(run_control, "time", clock)
    assert train_each(tmp_path, "--at-once", "2", "--stop-after", "4s") == 0
    out = capsys.readouterr().out
    assert "0 of 3 runs done" in out
    assert f"to go on: {shell('resume', tmp_path)}" in out
    assert not (tmp_path / NAMES[2]).exists()
    steps = [step_of(tmp_path / name) for name in NAMES[:2]]
    assert 4 <= sum(steps) <= 5
    assert sum(f"saved at step {step}" in out for step in steps) == 2

    packed_batches.clear()
    assert resume(tmp_path, "--stop-after", f"{6 - steps[0]}s") == 0  # the first is done then
    assert "1 of 3 runs done" in capsys.readouterr().out
    monkeypatch.setattr(run_control, "time", time)
    packed_batches.clear()
    assert resume(tmp_path, "--at-once", "3") == 0
    assert "bfs             done, best validation" in capsys.readouterr().out
    assert "bfs" not in packed_batches
    for name in NAMES:
        assert_same_run(tmp_path / name, alone / name)

    packed_batches.clear()
    assert resume(tmp_path) == 0
    assert "all is done, 3 runs" in capsys.readouterr().out
    assert not packed_batches


def test_all_runs_of_a_folder_can_be_extended(capsys, tmp_path, alone):
    names = ("bfs", "dijkstra")
    assert train_each(tmp_path, "--steps", "3", names=names) == 0
    assert resume(tmp_path, "--steps", "2") == 2
    assert "steps: got 2, expected at least the 3 that bfs has done" in capsys.readouterr().err
    assert resume(tmp_path, "--steps", "6", "--at-once", "2") == 0
    for name in names:
        assert_same_run(tmp_path / name, alone / name)


@contextmanager
def started(folder, *words):
    """A training of two runs in a process of its own, once both have begun."""
    words = ["bfs", "dijkstra", "--each", "--at-once", "2", "--out", folder, *SMALL, *words]
    with running("-m", "algorist", "train", *words, "--steps", "100000") as process:
        seen = set()
        while len(seen) < 2:
            line = process.stdout.readline()
            assert process.poll() is None
            if " step " in line:
                seen.add(line.split()[0])
        yield process


def test_ctrl_c_saves_all_runs(tmp_path):
    with started(tmp_path, "--validate-every", "2") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "finishing this step" in err
    assert "Traceback" not in err
    for name in ("bfs", "dijkstra"):
        assert f"saved at step {step_of(tmp_path / name)}" in out
    assert f"to go on: {shell('resume', tmp_path)}" in out


STUCK = """
import time
from pathlib import Path
from algorist.training.engine import Engine

learnt = []

def learn(engine, packed_batch):
    usual(engine, packed_batch)
    learnt.append(packed_batch.key.algorithm)
    if learnt.count(packed_batch.key.algorithm) > 2:
        Path(__file__).with_name(f"stuck-{packed_batch.key.algorithm}").touch()
        time.sleep(10**6)

usual, Engine.learn = Engine.learn, learn
"""


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    plugin = tmp_path / "stuck.py"
    plugin.write_text(STUCK)
    words = ["--validate-every", "2", "--workers", "2", "--plugin", plugin]
    with started(tmp_path / "runs", *words) as process:
        wait_until(lambda: len([*tmp_path.glob("stuck-*")]) == 2)
        process.send_signal(signal.SIGINT)
        assert "finishing this step" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "saved at step" not in out


# Failures


def test_a_run_that_fails_does_not_stop_the_others(capsys, monkeypatch, tmp_path, alone):
    window = TaskStream.window

    def spoilt(task_stream, step):
        if task_stream.algorithm == "dijkstra" and step == 3:
            raise ValueError(f"no data at step {step}")
        return window(task_stream, step)

    with monkeypatch.context() as patch:
        patch.setattr(TaskStream, "window", spoilt)
        assert train_each(tmp_path, "--at-once", "2", "--workers", "2") == 1
    captured = capsys.readouterr()
    assert captured.err == "algorist: error: dijkstra: no data at step 3\n"
    assert "2 of 3 runs done" in captured.out
    assert step_of(tmp_path / "dijkstra") == 2
    assert resume(tmp_path) == 0
    for name in NAMES:
        assert_same_run(tmp_path / name, alone / name)


def test_a_run_that_diverges_is_named_at_the_end(capsys, monkeypatch, tmp_path):
    learn = Engine.learn

    def diverging(engine, packed_batch):
        learn(engine, packed_batch)
        if packed_batch.key.algorithm == "bfs":
            engine.net.processor.requires_grad_(False)
            next(engine.net.processor.parameters()).fill_(float("nan"))

    monkeypatch.setattr(Engine, "learn", diverging)
    assert train_each(tmp_path, "--at-once", "2") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("algorist: error: bfs: ")
    assert "the last checkpoint is kept" in line
    assert step_of(tmp_path / "dijkstra") == step_of(tmp_path / "insertion_sort") == 6


def test_others_go_on_where_the_processes_of_one_have_died(capsys, monkeypatch, tmp_path):
    window = TaskStream.window

    def deadly(task_stream, step):
        if task_stream.algorithm == "bfs":
            os._exit(3)
        return window(task_stream, step)

    monkeypatch.setattr(TaskStream, "window", deadly)
    assert train_each(tmp_path / "two", "--at-once", "2", "--workers", "2") == 1
    assert "bfs: a process that prepares data has died" in capsys.readouterr().err
    assert (
        step_of(tmp_path / "two" / "dijkstra") == step_of(tmp_path / "two" / "insertion_sort") == 6
    )
    assert train_each(tmp_path / "one", "--at-once", "1", "--workers", "2") == 1
    assert "have ended: dijkstra, insertion_sort" in capsys.readouterr().err


def test_runs_wait_for_memory(capsys, monkeypatch, tmp_path, alone):
    learn, learnt, met = Engine.learn, [], []

    def full_at_first(engine, packed_batch):
        learnt.append(packed_batch.key.algorithm)
        if learnt[-1] == "bfs" and learnt.count("bfs") == 4:
            met.append(engine)
            raise torch.OutOfMemoryError("full")
        learn(engine, packed_batch)

    monkeypatch.setattr(Engine, "learn", full_at_first)
    assert train_each(tmp_path, "--at-once", "2") == 0
    assert met
    assert "the GPU's memory is full" in capsys.readouterr().out
    for name in NAMES:
        assert_same_run(tmp_path / name, alone / name)


# All nets together


def test_the_nets_of_all_runs_are_tested_and_run_as_one(each, capsys):
    capsys.readouterr()
    words = ["--samples", "2", "--device", "cpu", "--json"]
    rows = []
    for name in NAMES:
        assert main(["eval", str(each / name), *words]) == 0
        rows += json.loads(capsys.readouterr().out)
    assert main(["eval", str(each), *words]) == 0
    assert json.loads(capsys.readouterr().out) == rows
    assert main(["eval", str(each), NAMES[1], *words]) == 0
    assert json.loads(capsys.readouterr().out) == rows[1:2]
    problem = ["run", "insertion_sort", "3", "1", "2", "--json", "--model"]
    assert main([*problem, str(each)]) == 0
    got = json.loads(capsys.readouterr().out)
    assert main([*problem, str(each / "insertion_sort")]) == 0
    assert json.loads(capsys.readouterr().out) == got
    for words, message in (
        (["run", "dfs", "--random", "4", "--model"], "unknown algorithm for this learner 'dfs'"),
        (["eval", "dfs", "--model"], "unknown algorithm for this learner 'dfs'"),
    ):
        assert main([*words, str(each)]) == 2
        assert message in capsys.readouterr().err


def test_all_runs_are_reported_on_one_page(each, tmp_path):
    words = ["--samples", "2", "--device", "cpu"]
    page, scores = tmp_path / "page.html", tmp_path / "scores.html"
    assert main(["report", str(each), *words, "--out", str(page)]) == 0
    assert main(["eval", str(each), *words, "--html", str(scores)]) == 0
    whole, plain = page.read_text(), scores.read_text()
    assert f"{', '.join(NAMES)}, a net each" in whole
    for name in NAMES:
        assert f"<h2>{name}</h2>\n<p>seed 0: best after " in whole
        assert f"<tr><th>{name}</th><td>64</td><td>2</td>" in whole
        assert f"<tr><th>{name}</th><td>64</td><td>2</td>" in plain
    assert whole.count("training loss") == len(NAMES)
    assert "training loss" not in plain
    assert whole.count("<dt>hidden</dt><dd>8</dd>") == plain.count("<dt>hidden</dt><dd>8</dd>") == 1


def test_runs_and_files_with_the_names_of_algorithms_are_one_model_too(tmp_path, alone, capsys):
    shutil.copytree(alone / "bfs", tmp_path / "bfs")
    file = tmp_path / "dijkstra.safetensors"
    assert main(["export", str(alone / "dijkstra"), str(file)]) == 0
    shutil.copytree(alone / "bfs", tmp_path / "bfs.old")
    (tmp_path / "notes.txt").touch()
    capsys.readouterr()
    words = ["--samples", "1", "--device", "cpu", "--json"]
    assert main(["eval", str(tmp_path), *words]) == 0
    assert [row["algorithm"] for row in json.loads(capsys.readouterr().out)] == ["bfs", "dijkstra"]
    assert members(tmp_path) == {"bfs": str(tmp_path / "bfs"), "dijkstra": str(file)}
    shutil.copytree(alone / "dijkstra", tmp_path / "dijkstra")
    assert main(["eval", str(tmp_path), *words]) == 2
    assert f"got {tmp_path / 'dijkstra'} and {file}, expected one" in capsys.readouterr().err


def test_those_that_have_not_begun_or_are_not_validated_are_told(tmp_path, capsys):
    each = MultiRun.start(tmp_path, replace(small.training("bfs"), algorithms=("bfs", "dfs")))
    each.run("bfs")
    assert main(["eval", str(tmp_path), "--samples", "1", "--device", "cpu"]) == 0
    told = capsys.readouterr().err
    assert f"not begun: dfs; to go on: {shell('resume', tmp_path)}\n" in told
    assert "not validated yet, tested as begun: bfs\n" in told


# Refusals


def test_what_can_never_be_drawn_is_refused_before_the_first_run(capsys, tmp_path):
    names = ["bfs", "strongly_connected_components"]
    assert train_each(tmp_path / "new", "--sizes", "2,3", names=names) == 2
    assert "strongly_connected_components cannot be drawn at size 2" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_what_makes_no_sense_is_refused(capsys, monkeypatch, tmp_path, alone):
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace())
    new = tmp_path / "new"
    for words, message in (
        (["--each", "--at-once", "0"], "at_once: got 0, expected 1 or more"),
        (["--at-once", "2"], "--at-once: it is for several runs, expected --each too"),
        (["--each", "--at-once", "2", "--wandb", "x"], "--wandb: it follows one run at a time"),
    ):
        assert main(["train", *NAMES, "--out", str(new), *SMALL, *words]) == 2
        assert message in capsys.readouterr().err
        assert not new.exists()
    assert train_each(alone) == 2
    assert "there is a run already" in capsys.readouterr().err
    assert not (alone / "each.json").exists()
    assert resume(alone / "bfs", "--at-once", "2") == 2
    assert "--at-once: it is for several runs" in capsys.readouterr().err
    assert train_each(new, "--stop-after", "0.000001s") == 0
    assert main(["report", str(new)]) == 2
    assert f"not begun: {', '.join(NAMES)}; to go on" in capsys.readouterr().err
    assert main(["eval", str(new), NAMES[1]]) == 2
    assert f"not begun: {NAMES[1]}; to go on: {shell('resume', new)}" in capsys.readouterr().err
    for words in (["--each"], []):
        assert main(["train", *NAMES, "--out", str(new), *SMALL, *words]) == 2
        assert "there is a run already; resume it" in capsys.readouterr().err


# On a GPU


@needs_gpu
@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("chunk", [0, 4])
def test_runs_at_once_on_a_gpu_are_as_alone(tmp_path, chunk, graphs):
    how = ComputeConfig("cuda", graphs=graphs, workers=2)
    names = ("bfs", "insertion_sort", "dfs", "floyd_warshall", "minimum")
    schedule = {"validate_every": 5, "checkpoint_every": 7}
    config = small.training(*names, steps=20, chunk=chunk, schedule=schedule)
    each = MultiRun.start(tmp_path / "each", config)
    with JobPool(3, how) as pool:
        tasks = [lambda context, name=name: each.run(name, how, context).train() for name in names]
        outcomes = list(pool.outcomes(tasks))
    assert not [outcome.trace for outcome in outcomes if outcome.error]
    for name in names:
        Run.start(tmp_path / name, replace(config, algorithms=(name,)), how).train()
        assert_same_run(tmp_path / "each" / name, tmp_path / name)
