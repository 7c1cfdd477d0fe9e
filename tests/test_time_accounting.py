"""Where the time of a training goes: by a clock that is moved by hand, and in a run's folder."""

import json
import time
from contextlib import nullcontext, suppress

import pytest
import small

from algorist.cli import main
from algorist.model.compute_config import ComputeConfig
from algorist.training.captured_engine import CapturedEngine
from algorist.training.run import Run
from algorist.training.run_files import pack_run
from algorist.training.time_accounting import TimeAccount
from algorist.training.trainer import Trainer


class Clock:
    """Stands until it is moved."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(time, "perf_counter", made)
    return made


def spend(time_account, purpose, clock, seconds):
    with time_account.on(purpose):
        clock.now += seconds


def test_seconds_are_counted_by_purpose_from_the_first_lesson_on(clock):
    time_account = TimeAccount()
    spend(time_account, "saving", clock, 3)
    with time_account.on("waiting"):
        clock.now += 2
        assert (time_account.ready, time_account.since) == (5, 0)
        time_account.begin()
    clock.now += 10
    time_account.begin()  # which it has
    spend(time_account, "waiting", clock, 4)
    spend(time_account, "validation", clock, 5)
    spend(time_account, "waiting", clock, 1)
    assert time_account.to_json() == {
        "ready_s": 5,
        "since_s": 20,
        "waiting_s": 5,
        "captures_s": 0,
        "validation_s": 5,
        "saving_s": 0,
    }
    assert str(time_account) == (
        "ready after 5 s; of the 20 s since then: "
        "waited for data 25.0 %, captures 0.0 %, validation 25.0 %, saving 0.0 %"
    )


def test_nothing_is_divided_by_zero_before_the_first_lesson(clock):
    assert str(TimeAccount()).startswith(
        "ready after 0 s; of the 1 s since then: waited for data 0.0 %"
    )


def test_what_fails_has_taken_its_time_too(clock):
    time_account = TimeAccount()
    time_account.begin()
    with suppress(KeyError), time_account.on("captures"):
        clock.now += 7
        raise KeyError
    assert time_account["captures"] == 7


def test_a_trainer_counts_what_is_not_learning():
    trainer = Trainer(small.training("bfs", steps=4, schedule={"validate_every": 2}))
    list(trainer.run())
    times = trainer.time_account.to_json()
    assert 0 < times["validation_s"] < times["since_s"]
    assert times["captures_s"] == 0


def test_captures_are_counted(monkeypatch):
    class CudaGraphs:
        on_stream, is_outgrown, count = staticmethod(nullcontext), False, 0

        def capture(self, work):
            self.count += 1
            time.sleep(0.05)
            return type("Graph", (), {"replay": staticmethod(work)})

    small.without_streams(monkeypatch)
    trainer = Trainer(small.training("bfs", steps=2, sizes=(4,), chunk=4))
    graphs = CudaGraphs()
    trainer.engine = CapturedEngine(
        trainer.net, trainer.config, graphs, time_account=trainer.time_account
    )
    steps = trainer.run()
    next(steps)
    after_one = trainer.time_account["captures"]
    assert after_one >= 0.05
    list(steps)
    assert graphs.count * 0.05 <= trainer.time_account["captures"]


def test_each_sitting_of_a_run_has_a_line(tmp_path):
    run = Run.start(tmp_path / "run", small.training("bfs", steps=4))
    run.train(should_stop=lambda: run.trainer.step >= 1)
    Run.resume(tmp_path / "run").train()
    lines = [json.loads(line) for line in (tmp_path / "run" / "times.jsonl").open()]
    assert [(line["from"], line["to"]) for line in lines] == [(0, 1), (1, 4)]
    assert all(0 < line["saving_s"] < line["since_s"] for line in lines)
    assert tmp_path / "packed" / "times.jsonl" in pack_run(tmp_path / "run", tmp_path / "packed")


@pytest.mark.parametrize("on_gpu", [False, True])
def test_the_command_says_it_at_the_end_on_a_gpu(tmp_path, capsys, monkeypatch, on_gpu):
    class Elsewhere(ComputeConfig):
        on_gpu = False

    monkeypatch.setattr("algorist.commands.train_one.compute_config", lambda _: Elsewhere())
    begun = Run.train

    def train(self, **options):
        done = begun(self, **options)
        monkeypatch.setattr(Elsewhere, "on_gpu", on_gpu)
        return done

    monkeypatch.setattr(Run, "train", train)
    words = ["--hidden", "8", "--batch-size", "4", "--sizes", "4", "--steps", "2"]
    assert main(["train", "bfs", "--out", str(tmp_path / "run"), *words]) == 0
    printed = capsys.readouterr().out
    assert ("waited for data" in printed) == on_gpu
