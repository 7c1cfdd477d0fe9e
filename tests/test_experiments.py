"""The paper's experiments: what they are, what is left of them, what is written down."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import made_up
import pytest
import small
from processes import PATIENCE

import algorist
from algorist.cli import main
from algorist.commands import conduct
from algorist.commands.conduct import Interrupt
from algorist.data import official
from algorist.evaluation.evaluate import evaluate
from algorist.experiments import examining
from algorist.experiments.examining import Examiner
from algorist.experiments.identity import recipe_of
from algorist.experiments.plan import ALGORITHMS, BASELINES, EXPERIMENTS, FAMILIES, Name, Plan
from algorist.experiments.results import Results, read, sample_count, write
from algorist.experiments.work import jobs
from algorist.model.computing import Computing
from algorist.training import run as runs_of
from algorist.training.loading import load
from algorist.training.recipes import recipe, without
from algorist.training.run import Run
from algorist.training.trainer import DivergedError, Trainer

pytestmark = pytest.mark.usefixtures("piped")
SMALL = ["--hidden", "8", "--batch-size", "2", "--sizes", "4", "--device", "cpu"]
SHORT = ["--steps", "4", "--validate-every", "2", "--samples", "2"]
PLAN = Plan()


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
def lessons(monkeypatch):
    """The algorithms of all lessons learnt; time is their number."""
    learn, learnt = Trainer._learn, []

    def counted(trainer, lesson):
        learnt.append(lesson.place.algorithm)
        learn(trainer, lesson)

    monkeypatch.setattr(Trainer, "_learn", counted)
    monkeypatch.setattr(conduct, "time", SimpleNamespace(monotonic=lambda: len(learnt)))
    return learnt


def known(rows):
    """What does not depend on the machine and the hour."""
    return [replace(row, seconds=0, date="") for row in rows]


# The plan


def test_the_thirty_are_those_of_the_registry():
    assert list(ALGORITHMS) == algorist.algorithms()
    assert set(FAMILIES) == {algorist.get(name).family for name in ALGORITHMS}


def test_there_is_a_specialist_for_each_algorithm_by_the_papers_recipe():
    parts = {part.name.part: part.config for part in PLAN.of("specialists")}
    assert parts == {name: recipe("generalist", [name]) for name in ALGORITHMS}


def test_baselines_are_the_earlier_papers():
    parts = PLAN.of("baselines")
    assert len(parts) == 90
    for part in parts:
        net, name = part.name.part.split("/")
        expected = recipe("clrs2022", [name])
        assert part.config == replace(
            expected, model=replace(expected.model, processor=BASELINES[net])
        )


def test_pgn_has_all_improvements():
    for part in PLAN.of("pgn"):
        specialist = recipe("generalist", [part.name.part])
        model = replace(specialist.model, processor="triplet_gpgn")
        assert part.config == replace(specialist, model=model)


def test_generalists_differ_in_chunks_alone():
    (chunked,), (full,) = PLAN.of("generalist"), PLAN.of("generalist-full")
    assert chunked.config == recipe("generalist", ALGORITHMS)
    assert full.config == without(chunked.config, "chunking")


@pytest.mark.parametrize("experiment", ["specialists", "generalist"])
def test_averaged_nets_differ_in_what_is_kept_alone(experiment):
    plain, averaged = PLAN.of(experiment), PLAN.of(f"{experiment}-averaged")
    assert [part.name.part for part in averaged] == [part.name.part for part in plain]
    for part, without_mean in zip(averaged, plain, strict=True):
        schedule = replace(without_mean.config.schedule, average=400)
        assert part.config == replace(without_mean.config, schedule=schedule)


def test_the_generalists_ablation_starts_with_the_generalist_which_is_not_trained_again():
    first, *others = PLAN.of("generalist-ablation")
    assert first.source == Name("generalist", "all")
    assert [part.name.part for part in others] == [
        "triplets",
        "permutations",
        "random_positions",
        "static_hints",
        "soft_hints",
        "augmentation",
        "initialisation",
        "no_teacher_forcing",
    ]
    assert others == PLAN.trained_for("generalist-ablation")


def test_specialists_lose_improvements_one_at_a_time_and_one_after_the_other():
    parts = [p.name.part for p in PLAN.of("specialist-ablation") if p.config.algorithms == ("bfs",)]
    single = [part.split("/")[1] for part in parts if part.startswith("single/")]
    cumulative = [part.split("/")[1] for part in parts if part.startswith("cumulative/")]
    assert single[:3] == cumulative[:3] == ["all", "gating", "triplets"]
    assert single[-2:] == ["clipping", "no_teacher_forcing"]
    assert (len(single), len(cumulative)) == (11, 10)


def test_what_makes_no_difference_to_an_algorithm_is_not_trained():
    def source(part):
        return str(PLAN.parts[Name("specialist-ablation", part)].source)

    assert source("single/permutations/bfs") == "specialists/bfs"
    assert source("single/static_hints/bfs") == "specialists/bfs"
    assert source("single/initialisation/bfs") == "specialists/bfs"
    assert source("cumulative/permutations/bfs").endswith("cumulative/triplets/bfs")
    assert source("cumulative/gating/bfs").endswith("single/gating/bfs")
    for name in ("permutations/quicksort", "static_hints/minimum", "initialisation/dijkstra"):
        assert source(f"single/{name}") == f"specialist-ablation/single/{name}"


def test_families_are_trained_together_and_a_family_of_one_is_a_specialist():
    parts = {part.name.part: part for part in PLAN.of("families")}
    assert list(parts) == list(FAMILIES)
    assert parts["strings"].config == recipe("generalist", ["kmp_matcher", "naive_string_matcher"])
    assert str(parts["divide_and_conquer"].source) == "specialists/find_maximum_subarray_kadane"


def test_no_part_is_trained_twice():
    trained = [part.recipe for name in EXPERIMENTS for part in PLAN.trained_for(name)]
    assert len(set(trained)) == len(trained)
    assert set(trained) == {part.recipe for part in PLAN.parts.values()}


@pytest.mark.usefixtures("euclid")
def test_algorithms_of_users_take_no_part():
    assert recipe_of(Plan().of("generalist")[0].config) == PLAN.of("generalist")[0].recipe
    with pytest.raises(ValueError, match="algorithm of the paper"):
        Plan(["euclid"])


# The hash of a configuration


def test_the_hash_is_of_what_is_learnt_and_of_nothing_else():
    config = small.training("insertion_sort")
    same = replace(config, seeds=(4, 5), schedule=replace(config.schedule, checkpoint_every=9))
    assert recipe_of(same) == recipe_of(config)
    fixed = recipe("clrs2022", ["bfs"])
    of_no_use = replace(fixed, data=replace(fixed.data, sizes=(4, 7)))
    assert recipe_of(of_no_use) == recipe_of(fixed)
    changed = [
        replace(config, algorithms=("quicksort",)),
        replace(config, schedule=replace(config.schedule, steps=4)),
        replace(config, schedule=replace(config.schedule, validate_every=1)),
        replace(config, model=replace(config.model, hidden=8)),
        *(without(config, name) for name in ("permutations", "soft_hints", "clipping")),
    ]
    assert len({recipe_of(other) for other in [config, *changed]}) == 8


def test_the_hash_is_the_same_in_every_version():
    """Results on disk are known by it: a new setting must not change it while it is as before."""
    assert recipe_of(recipe("generalist", ["bfs"])) == "5034ff9c46"


# Doing them


def test_every_net_has_its_row_with_the_score_of_its_best_model(done):
    rows = rows_of(done)
    assert [row.key for row in rows] == [
        (n, n, s) for n in ("activity_selector", "bfs") for s in (0, 1)
    ]
    (folder,) = (done / "runs" / "specialists" / "activity_selector").iterdir()
    learner = load(folder)
    assert len({row.score for row in rows}) > 1
    for row, about in zip(rows, learner.about["replicas"], strict=False):
        (expected,) = evaluate(
            learner.replica(row.seed),
            "activity_selector",
            official.beginning("activity_selector", "test", 2),
        )
        assert row.score == 100 * expected.score
        assert row.correct == 100 * expected.correct
        assert (row.validation, row.best_step) == (100 * about["validation"], about["step"])
        assert row.recipe == recipe_of(Run.resume(folder).trainer.config)
        assert row.weights == sum(p.numel() for p in learner.replica(0).net.parameters())
        assert (row.experiment, row.steps, row.samples, row.device) == ("specialists", 4, 2, "cpu")
        assert row.version == algorist.__version__
        assert row.seconds > 0


def test_what_is_done_is_not_done_again(capsys, done, lessons):
    before = (done / "results" / "specialists.csv").read_bytes()
    assert reproduce(done, "specialists") == 0
    assert "specialists: all is done" in capsys.readouterr().out
    assert not lessons
    assert (done / "results" / "specialists.csv").read_bytes() == before


def test_an_experiment_that_shares_all_its_runs_says_whose_they_are(capsys, tmp_path):
    assert main(["reproduce", "families", "--algorithms", "bfs", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "shared with specialists: 1 (algorist reproduce specialists)" in out
    assert "families: nothing is trained for it alone" in out


def test_experiments_go_on_where_they_were_stopped(capsys, done, tmp_path, lessons):
    assert reproduce(tmp_path, "specialists", "--stop-after", "2s") == 0
    out = capsys.readouterr().out
    assert "saved at step 2" in out
    assert "0 of 2 runs done" in out
    assert "to go on: the same command again" in out
    assert not (tmp_path / "results").exists()
    assert reproduce(tmp_path, "specialists", "--stop-after", "3s") == 0
    assert lessons == ["activity_selector"] * 4 + ["bfs"]
    assert len(rows_of(tmp_path)) == 2
    assert reproduce(tmp_path, "specialists") == 0
    assert lessons == ["activity_selector"] * 4 + ["bfs"] * 4
    (folder,) = (tmp_path / "runs" / "specialists" / "bfs").iterdir()
    sittings = [json.loads(line) for line in (folder / "times.jsonl").read_text().splitlines()]
    seconds = sum(sitting["ready_s"] + sitting["since_s"] for sitting in sittings)
    assert len(sittings) == 2
    assert rows_of(tmp_path)[-1].seconds == pytest.approx(seconds, abs=0.001)
    assert known(rows_of(tmp_path)) == known(rows_of(done))


def test_ctrl_c_saves_and_the_same_command_goes_on(capfd, done, tmp_path, monkeypatch):
    learn, learnt, handle, heard = Trainer._learn, [], Interrupt._handle, threading.Event()

    def interrupted(trainer, lesson):
        learn(trainer, lesson)
        learnt.append(lesson.place.algorithm)
        if len(learnt) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            assert heard.wait(PATIENCE)

    def handled(interrupt, *details):
        handle(interrupt, *details)
        heard.set()

    monkeypatch.setattr(Trainer, "_learn", interrupted)
    monkeypatch.setattr(Interrupt, "_handle", handled)
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
    monkeypatch.setattr(examining, "evaluate", noted)
    (part,) = Plan(["activity_selector", "bfs"], change).of("generalist")
    results = Results(tmp_path, "generalist")
    (job,) = jobs([part], range(1), 2, results, tmp_path / "runs")
    run = job.run(Computing())
    run.train()
    examiner = Examiner(results, 2, "1")
    assert not examiner.examine(job, run.trainer, lambda: bool(results.rows))
    assert [row.algorithm for row in read(results.file)] == ["activity_selector"]
    assert examiner.examine(job, run.trainer)
    assert [row.algorithm for row in read(results.file)] == ["activity_selector", "bfs"]
    assert not list(jobs([part], range(1), 2, results, tmp_path / "runs"))
    assert run.trainer.net.precision == "tf32"
    assert precisions == ["fp32"] * 2


def test_a_run_that_is_trained_and_not_tested_is_only_tested(done, tmp_path, lessons, capsys):
    assert reproduce(tmp_path, "generalist", "--stop-after", "8s") == 0
    assert "trained, to be tested" in capsys.readouterr().out
    assert len(lessons) == 8
    assert reproduce(tmp_path, "generalist") == 0
    assert len(lessons) == 8
    assert [row.algorithm for row in rows_of(tmp_path, "generalist")] == [
        "activity_selector"
    ] * 2 + ["bfs"] * 2


def test_more_seeds_are_trained_apart_and_are_as_if_trained_together(done, tmp_path, lessons):
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
    part = replace(plan.of("specialists")[0], recipe=results.rows[0].recipe)
    assert sample_count("bfs", None) == 32
    assert sample_count("binary_search", None) > 32
    assert results.has(part, "activity_selector", 0, 2)
    assert not results.has(part, "activity_selector", 0, 3)
    assert not results.has(part, "activity_selector", 0, None)
    assert not results.has(replace(part, recipe="other"), "activity_selector", 0, 2)
    assert len(list(jobs([part], range(2), None, results, tmp_path))) == 1


def test_a_packed_run_from_elsewhere_is_gone_on_with(capsys, done, tmp_path, lessons):
    there, here = tmp_path / "there", tmp_path / "here"
    assert reproduce(there, "specialists", "--stop-after", "2s", algorithms="bfs") == 0
    packed = str(here / "runs")
    assert reproduce(there, "specialists", "--pack", packed, algorithms="bfs") == 0
    assert f"--runs {packed}" in capsys.readouterr().out
    assert reproduce(there, "specialists", "--pack", packed, algorithms="bfs") == 2
    assert "is there already; remove it or name another folder" in capsys.readouterr().err
    assert reproduce(here, "specialists", algorithms="bfs") == 0
    assert lessons == ["bfs"] * 4
    assert len(rows_of(here)) == 2


@pytest.mark.usefixtures("lessons")
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


def test_a_run_that_algorist_pack_has_written_may_have_any_name(done, tmp_path, lessons):
    (folder,) = (done / "runs" / "specialists" / "activity_selector").iterdir()
    runs_of.pack(folder, tmp_path / "runs" / "specialists" / "activity_selector" / "from-elsewhere")
    assert reproduce(tmp_path, "specialists", algorithms="activity_selector") == 0
    assert not lessons
    assert [row.best_step for row in rows_of(tmp_path)] == [r.best_step for r in rows_of(done)[:2]]


def test_there_may_be_nothing_to_pack(capsys, done, tmp_path):
    assert reproduce(done, "specialists", "--pack", str(tmp_path)) == 0
    assert "nothing to pack" in capsys.readouterr().out


def test_a_run_that_has_diverged_is_not_tried_again(capsys, tmp_path, monkeypatch):
    def diverge(trainer):
        raise DivergedError("the loss of bfs is nan")

    monkeypatch.setattr(Trainer, "_report", diverge)
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


def test_processes_do_not_lose_each_others_results(tmp_path):
    one, other = (Results(tmp_path, "specialists") for _ in range(2))
    one.add([made_up.row(part="bfs", algorithm="bfs")])
    other.add([made_up.row(part="dfs", algorithm="dfs")])
    one.remove([made_up.row(part="dijkstra", algorithm="dijkstra")])
    assert [each.part for each in Results(tmp_path, "specialists").rows] == ["bfs", "dfs"]


def test_results_that_are_added_at_the_same_time_are_all_kept(tmp_path):
    add = """if 1:
        import sys, made_up
        from algorist.experiments.results import Results
        results = Results(sys.argv[1], "specialists")
        for seed in range(30):
            results.add([made_up.row(part=sys.argv[2], algorithm=sys.argv[2], seed=seed)])
    """
    here = {**os.environ, "PYTHONPATH": os.path.dirname(made_up.__file__)}
    others = [
        subprocess.Popen([sys.executable, "-c", add, str(tmp_path), name], env=here)
        for name in ("bfs", "dfs")
    ]
    assert [other.wait(PATIENCE) for other in others] == [0, 0]
    assert len(Results(tmp_path, "specialists").rows) == 60


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


# Results on disk


def test_rows_are_kept_in_full_precision_and_in_order(tmp_path):
    rows = [made_up.row(seed=seed, part=part) for part in ("bfs", "dfs") for seed in (0, 2, 10)]
    results = Results(tmp_path, "specialists")
    for new in reversed(rows):
        results.add([new])
    assert read(results.file) == Results(tmp_path, "specialists").rows == rows
    with results.file.open() as file:
        keys = [(line["part"], int(line["seed"])) for line in csv.DictReader(file)]
    assert all(first < second for first, second in pairwise(keys))
    assert [file.name for file in tmp_path.iterdir()] == ["specialists.csv"]


def test_a_new_row_takes_the_place_of_the_old_one(tmp_path):
    results = Results(tmp_path, "specialists")
    results.add([made_up.row(samples=2), made_up.row(seed=1)])
    results.add([made_up.row(samples=32, score=5.0)])
    assert [(r.seed, r.samples) for r in results.rows] == [(0, 32), (1, 32)]


def _changed(results, old, new):
    """The first row with something else in it."""
    row = results.splitlines()[1]
    assert old in row
    return row.replace(old, new)


def test_files_that_are_not_results_are_refused(tmp_path):
    file = tmp_path / "specialists.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected experiment, part"):
        read(file)
    write(file, [made_up.row()])
    file.write_text(file.read_text().replace("2026-01-01,1.5", "2026-01-01,long"))
    with pytest.raises(ValueError, match="csv, line 2: got 'long' for seconds, expected a number"):
        read(file)
    write(file, [made_up.row()])
    good = file.read_bytes()
    for bad, message in (
        (b"bfs,2\n", "csv, line 3: got 2 values, expected 16"),
        (b"\xff", "csv, line 3: got bytes that are no UTF-8"),
        (good.splitlines()[1] + b",more", "csv, line 3: got 17 values, expected 16"),
        (good.splitlines()[1], "csv, line 3: got a second row of bfs, bfs, seed 0; remove one"),
        (_changed(good, b"specialists", b"pgn"), "line 3: got a row of 'pgn', expected specialis"),
        (_changed(good, b"33.333333333333336", b"nan"), "line 3: got nan for score, expected one"),
        (_changed(good, b"33.333333333333336", b"100.1"), "line 3: got 100.1 for score, expected"),
        (_changed(good, b"bfs,bfs,0,", b"bfs,bfs,-5,"), "line 3: got -5 for seed, expected 0 or"),
    ):
        file.write_bytes(good + bad)
        with pytest.raises(ValueError, match=message):
            read(file)
