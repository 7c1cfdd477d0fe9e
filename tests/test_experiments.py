"""The paper's experiments at the command line: what is left of them is done, and written down."""

import json
import os
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest
import small
from processes import wait_until

import algorist
from algorist.cli import main
from algorist.data import official
from algorist.evaluation.evaluator import evaluate
from algorist.experiments import evaluate_runs, run_control
from algorist.experiments.config_hash import config_hash
from algorist.experiments.evaluate_runs import RunEvaluator
from algorist.experiments.jobs import find_jobs
from algorist.experiments.plan import EXPERIMENTS, Plan
from algorist.experiments.results import Results, read, sample_count
from algorist.experiments.run_control import Interrupt
from algorist.model.compute_config import ComputeConfig
from algorist.training import run_files
from algorist.training.divergence import DivergedError
from algorist.training.engine import Engine
from algorist.training.run import Run
from algorist.training.saved_learners import load
from algorist.training.validation import Validation

pytestmark = pytest.mark.usefixtures("piped")
SMALL = ["--hidden", "8", "--batch-size", "2", "--sizes", "4", "--device", "cpu"]
SHORT = ["--steps", "4", "--validate-every", "2", "--samples", "2"]


def reproduce(folder, *words, seeds=2, algorithms="activity_selector,bfs", small=SMALL):
    places = ["--out", str(folder / "results"), "--runs", str(folder / "runs")]
    chosen = ["--algorithms", algorithms, "--seeds", str(seeds)]
    return main(["reproduce", *words, *places, *chosen, *small, *SHORT])


def rows_of(folder, experiment="specialists"):
    return read(folder / "results" / f"{experiment}.csv")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """An experiment that was done at one go."""
    folder = tmp_path_factory.mktemp("done")
    assert reproduce(folder, "specialists") == 0
    return folder


@pytest.fixture
def packed_batches(monkeypatch):
    """The algorithms of all packed batches learnt; time is their number."""
    learn, learnt = Engine.learn, []

    def counted(engine, packed_batch):
        learnt.append(packed_batch.key.algorithm)
        learn(engine, packed_batch)

    monkeypatch.setattr(Engine, "learn", counted)
    monkeypatch.setattr(run_control, "time", SimpleNamespace(monotonic=lambda: len(learnt)))
    return learnt


def known(rows):
    """What does not depend on the machine and the hour."""
    return [replace(row, seconds=0, date="") for row in rows]


def test_every_net_has_its_row_with_the_score_of_its_best_model(done):
    rows = rows_of(done)
    assert [row.key for row in rows] == [
        (n, n, s) for n in ("activity_selector", "bfs") for s in (0, 1)
    ]
    (folder,) = (done / "runs" / "specialists" / "activity_selector").iterdir()
    learner = load(folder)
    assert len({row.score for row in rows}) > 1
    for row, about in zip(rows, learner.metadata["replicas"], strict=False):
        (expected,) = evaluate(
            learner.replica(row.seed),
            "activity_selector",
            official.first_samples("activity_selector", "test", 2),
        )
        assert row.score == 100 * expected.score
        assert row.correct == 100 * expected.correct
        assert (row.validation, row.best_step) == (100 * about["validation"], about["step"])
        assert row.recipe == config_hash(Run.resume(folder).trainer.config)
        assert row.weights == sum(p.numel() for p in learner.replica(0).net.parameters())
        assert (row.experiment, row.steps, row.samples, row.device) == ("specialists", 4, 2, "cpu")
        assert row.version == algorist.__version__
        assert row.seconds > 0


def test_what_is_done_is_not_done_again(capsys, done, packed_batches):
    before = (done / "results" / "specialists.csv").read_bytes()
    assert reproduce(done, "specialists") == 0
    assert "specialists: all is done" in capsys.readouterr().out
    assert not packed_batches
    assert (done / "results" / "specialists.csv").read_bytes() == before


def test_an_experiment_that_shares_all_its_runs_says_whose_they_are(capsys, tmp_path):
    assert main(["reproduce", "families", "--algorithms", "bfs", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "shared with specialists: 1 (algorist reproduce specialists)" in out
    assert "families: nothing is trained for it alone" in out


def test_experiments_go_on_where_they_were_stopped(capsys, done, tmp_path, packed_batches):
    assert reproduce(tmp_path, "specialists", "--stop-after", "2s") == 0
    out = capsys.readouterr().out
    assert "saved at step 2" in out
    assert "0 of 2 runs done" in out
    assert "to go on: the same command again" in out
    assert not (tmp_path / "results").exists()
    assert reproduce(tmp_path, "specialists", "--stop-after", "3s") == 0
    assert packed_batches == ["activity_selector"] * 4 + ["bfs"]
    assert len(rows_of(tmp_path)) == 2
    assert reproduce(tmp_path, "specialists") == 0
    assert packed_batches == ["activity_selector"] * 4 + ["bfs"] * 4
    (folder,) = (tmp_path / "runs" / "specialists" / "bfs").iterdir()
    sittings = [json.loads(line) for line in (folder / "times.jsonl").read_text().splitlines()]
    seconds = sum(sitting["ready_s"] + sitting["since_s"] for sitting in sittings)
    assert len(sittings) == 2
    assert rows_of(tmp_path)[-1].seconds == pytest.approx(seconds, abs=0.001)
    assert known(rows_of(tmp_path)) == known(rows_of(done))


def test_ctrl_c_saves_and_the_same_command_goes_on(capfd, done, tmp_path, monkeypatch):
    learn, learnt, enter, interrupts = Engine.learn, [], Interrupt.__enter__, []

    def interrupted(engine, packed_batch):
        learn(engine, packed_batch)
        learnt.append(packed_batch.key.algorithm)
        if len(learnt) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            wait_until(interrupts[-1].came)

    def entered(interrupt):
        interrupts.append(interrupt)
        return enter(interrupt)

    monkeypatch.setattr(Engine, "learn", interrupted)
    monkeypatch.setattr(Interrupt, "__enter__", entered)
    assert reproduce(tmp_path, "specialists") == 128 + signal.SIGINT
    assert "saved at step 2" in capfd.readouterr().out
    assert reproduce(tmp_path, "specialists") == 0
    assert learnt == ["activity_selector"] * 4 + ["bfs"] * 4
    assert known(rows_of(tmp_path)) == known(rows_of(done))


def test_tests_can_be_stopped_between_algorithms_and_are_exact(tmp_path, monkeypatch):
    def change(config):
        like = small.training(*config.algorithms, steps=2)
        return replace(like, seeds=config.seeds)

    def noted(learner, *problems):
        precisions.append(learner.net.precision)
        return evaluate(learner, *problems)

    precisions = []
    monkeypatch.setattr(evaluate_runs, "evaluate", noted)
    (part,) = Plan(["activity_selector", "bfs"], change).of("generalist")
    results = Results(tmp_path, "generalist")
    (job,) = find_jobs([part], range(1), 2, results, tmp_path / "runs")
    run = job.run(ComputeConfig())
    run.train()
    evaluator = RunEvaluator(results, 2)
    assert not evaluator.evaluate(job, run.trainer, lambda: bool(results.rows))
    assert [row.algorithm for row in read(results.file)] == ["activity_selector"]
    assert evaluator.evaluate(job, run.trainer)
    assert [row.algorithm for row in read(results.file)] == ["activity_selector", "bfs"]
    assert not list(find_jobs([part], range(1), 2, results, tmp_path / "runs"))
    assert run.trainer.net.precision == "tf32"
    assert precisions == ["fp32"] * 2


def test_a_run_that_is_trained_and_not_tested_is_only_tested(
    done, tmp_path, packed_batches, capsys
):
    assert reproduce(tmp_path, "generalist", "--stop-after", "8s") == 0
    assert "trained, to be tested" in capsys.readouterr().out
    assert len(packed_batches) == 8
    assert reproduce(tmp_path, "generalist") == 0
    assert len(packed_batches) == 8
    assert [row.algorithm for row in rows_of(tmp_path, "generalist")] == [
        "activity_selector"
    ] * 2 + ["bfs"] * 2


def test_more_seeds_are_trained_apart_and_are_as_if_trained_together(
    done, tmp_path, packed_batches
):
    assert reproduce(tmp_path, "specialists", seeds=1, algorithms="activity_selector") == 0
    assert reproduce(tmp_path, "specialists", seeds=2, algorithms="activity_selector") == 0
    folders = sorted((tmp_path / "runs" / "specialists" / "activity_selector").iterdir())
    assert [folder.name.split("-", 1)[1] for folder in folders] == ["seeds-0", "seeds-1"]
    together = {row.seed: row.score for row in rows_of(done) if row.part == "activity_selector"}
    for row in rows_of(tmp_path):
        assert row.score == pytest.approx(together[row.seed], abs=2)


def test_several_parts_are_done_at_once_with_the_same_results(done, tmp_path):
    assert reproduce(tmp_path, "specialists", "--at-once", "2") == 0
    assert known(rows_of(tmp_path)) == known(rows_of(done))


def test_results_of_other_settings_are_refused_with_the_way_out(capsys, done):
    before = (done / "results" / "specialists.csv").read_bytes()
    assert reproduce(done, "specialists", "--triplet-features", "2") == 2
    error = capsys.readouterr().err
    assert "specialists.csv: got 4 rows of other settings" in error
    assert "--out" in error
    assert (done / "results" / "specialists.csv").read_bytes() == before


def test_few_samples_do_not_count_as_all(done, tmp_path):
    results = Results(done / "results", "specialists")
    plan = Plan(["activity_selector"])
    part = replace(plan.of("specialists")[0], config_hash=results.rows[0].recipe)
    assert sample_count("bfs", None) == 32
    assert sample_count("binary_search", None) > 32
    assert results.has(part, "activity_selector", 0, 2)
    assert not results.has(part, "activity_selector", 0, 3)
    assert not results.has(part, "activity_selector", 0, None)
    assert not results.has(replace(part, config_hash="other"), "activity_selector", 0, 2)
    assert len(list(find_jobs([part], range(2), None, results, tmp_path))) == 1


def test_a_packed_run_from_elsewhere_is_gone_on_with(capsys, done, tmp_path, packed_batches):
    there, here = tmp_path / "there", tmp_path / "here"
    assert reproduce(there, "specialists", "--stop-after", "2s", algorithms="bfs") == 0
    packed = str(here / "runs")
    assert reproduce(there, "specialists", "--pack", packed, algorithms="bfs") == 0
    assert f"--runs {packed}" in capsys.readouterr().out
    assert reproduce(there, "specialists", "--pack", packed, algorithms="bfs") == 2
    assert "is there already; remove it or name another folder" in capsys.readouterr().err
    assert reproduce(here, "specialists", algorithms="bfs") == 0
    assert packed_batches == ["bfs"] * 4
    assert len(rows_of(here)) == 2


@pytest.mark.usefixtures("packed_batches")
def test_a_run_that_somebody_resumed_with_other_settings_is_not_taken_for_its_own(capsys, tmp_path):
    assert reproduce(tmp_path, "specialists", "--stop-after", "2s", algorithms="bfs") == 0
    (folder,) = (tmp_path / "runs" / "specialists" / "bfs").iterdir()
    assert main(["resume", str(folder), "--steps", "6", "--device", "cpu"]) == 0
    capsys.readouterr()
    assert reproduce(tmp_path, "specialists", algorithms="bfs") == 1
    said = capsys.readouterr()
    assert f"{folder}: got the recipe " in said.err
    assert "resumed this run with other settings; move it elsewhere" in said.err
    assert "to go on" not in said.out
    assert not (tmp_path / "results").exists()
    folder.rename(tmp_path / "elsewhere")
    assert reproduce(tmp_path, "specialists", algorithms="bfs") == 0
    assert [row.steps for row in rows_of(tmp_path)] == [4, 4]


def test_a_run_that_algorist_pack_has_written_may_have_any_name(done, tmp_path, packed_batches):
    (folder,) = (done / "runs" / "specialists" / "activity_selector").iterdir()
    target = tmp_path / "runs" / "specialists" / "activity_selector" / "from-elsewhere"
    run_files.pack_run(folder, target)
    assert reproduce(tmp_path, "specialists", algorithms="activity_selector") == 0
    assert not packed_batches
    assert [row.best_step for row in rows_of(tmp_path)] == [r.best_step for r in rows_of(done)[:2]]


def test_there_may_be_nothing_to_pack(capsys, done, tmp_path):
    assert reproduce(done, "specialists", "--pack", str(tmp_path)) == 0
    assert "nothing to pack" in capsys.readouterr().out


def test_a_run_that_has_diverged_is_not_tried_again(capsys, tmp_path, monkeypatch):
    def diverge(validation):
        raise DivergedError("the loss of bfs is nan")

    monkeypatch.setattr(Validation, "qualities", diverge)
    assert reproduce(tmp_path, "specialists", algorithms="bfs") == 1
    first = capsys.readouterr()
    monkeypatch.undo()
    assert reproduce(tmp_path, "specialists", algorithms="bfs") == 1
    again = capsys.readouterr().err
    assert "the loss of bfs is nan" in first.err
    assert "the loss of bfs is nan" in again
    assert "to train it again, remove" in again


def test_memory_nets_that_were_trained_on_small_problems_are_tested_on_large_ones(tmp_path, capsys):
    assert reproduce(tmp_path, "baselines", seeds=1, algorithms="bfs") == 2
    assert "--sizes: the fixed training set has its own" in capsys.readouterr().err
    small = ["--hidden", "8", "--batch-size", "2", "--device", "cpu"]
    assert reproduce(tmp_path, "baselines", seeds=1, algorithms="bfs", small=small) == 0
    assert [row.part for row in rows_of(tmp_path, "baselines")] == [
        "memnet/bfs",
        "mpnn/bfs",
        "pgn/bfs",
    ]


def test_experiments_are_listed_with_what_is_done(capsys, done):
    assert reproduce(done) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = {line.split()[0]: line.split()[-5:] for line in lines[1 : 1 + len(EXPERIMENTS)]}
    assert list(listed) == list(EXPERIMENTS)
    assert listed["specialists"] == ["2", "2", "0", "4", "0"]
    assert listed["baselines"] == ["6", "0", "0", "0", "0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "unknown experiment 'nothing'"),
        (["specialists", "--seeds", "0"], "--seeds: got 0"),
        (["specialists", "--samples", "0"], "--samples: got 0"),
        (["specialists", "--algorithms", "bogosort"], "bogosort"),
        (["specialists", "--chunk", "3"], "--chunk"),
        (["--pack", "x"], "--pack"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, tmp_path, words, message):
    places = ["--out", str(tmp_path), "--runs", str(tmp_path)]
    assert main(["reproduce", *words, *places]) == 2
    assert message in capsys.readouterr().err
