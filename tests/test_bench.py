"""`algorist bench`: tables, JSON, and what it refuses."""

import json
import shlex

import pytest
import small
import torch
from small import needs_gpu

from algorist.bench import step_cost, timing, training_cost
from algorist.bench.timing import TimingConfig
from algorist.cli import main
from algorist.model.compute_config import ComputeConfig
from algorist.training.engine import Engine
from algorist.training.trainer import Trainer
from algorist.training.validation import Validation

pytestmark = pytest.mark.usefixtures("piped")

SMALL = ["--hidden", "8", "--device", "cpu"]
STEPS = ["--batch-size", "2", "--rounds", "2", "--seconds", "0"]
TRAINING = ["--sizes", "4,5", "--batch-size", "2", "--warm-up", "2", "--cycles", "4"]


def bench(capsys, tmp_path, *words):
    """The rows of a table without its headings, and the JSON."""
    file = tmp_path / "numbers.json"
    words = ["bench", *words, *SMALL, "--json", str(file)]
    assert main(words) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    numbers = json.loads(file.read_text())
    assert shlex.split(numbers["command"]) == ["algorist", *words]
    machine = numbers["machine"]
    assert (machine["torch"], machine["gpu"]) == (torch.__version__, None)
    assert machine["cores"] >= 1
    assert machine["date"].startswith("20")
    return rows, numbers


# Steps


def test_steps_have_a_row_for_each_algorithm_size_and_number_of_nets(capsys, tmp_path):
    words = ["bfs", "minimum", "--size", "4,6", "--replicas", "1,3"]
    rows, numbers = bench(capsys, tmp_path, "steps", *words, *STEPS)
    got = [(row["algorithm"], row["n"], row["replicas"]) for row in numbers["steps"]]
    assert got == [(name, n, nets) for name in words[:2] for n in (4, 6) for nets in (1, 3)]
    assert [(row[0], int(row[1]), int(row[2])) for row in rows] == got
    for row in numbers["steps"]:
        assert 0 < row["fastest_ms"] <= row["ms"]
        per_step = row["ms"] / row["steps"]
        assert row["ms_per_algorithm_step"] == pytest.approx(per_step)
        assert row["ms_per_algorithm_step_and_replica"] == pytest.approx(per_step / row["replicas"])
        assert row["samples_per_second"] == pytest.approx(2000 * row["replicas"] / row["ms"])
        assert row["first_s"] > 0
        assert row["again_s"] > 0
        assert row["memory_mb"] > 50


def test_steps_of_chunks_are_those_of_the_chunk(capsys, tmp_path):
    words = ["naive_string_matcher", "--size", "16", "--chunk", "3", "--processor", "mpnn", *STEPS]
    _, numbers = bench(capsys, tmp_path, "steps", *words)
    (row,) = numbers["steps"]
    assert (row["steps"], row["padded_steps"], row["batch_size"]) == (3, 3, 2)
    assert row["n"] == 20  # string matchers are stretched


@pytest.mark.parametrize("accumulate", [False, True])
def test_a_measured_step_changes_the_weights_also_where_gradients_accumulate(
    accumulate, monkeypatch
):
    made = []

    class Noted(Trainer):
        def __init__(self, *details):
            super().__init__(*details)
            made.append((self.net, small.weights(self.net)))

    monkeypatch.setattr(step_cost, "Trainer", Noted)
    config = small.training("bfs", optimizer={"accumulate": accumulate})
    step_cost.step_cost(config, ComputeConfig(), TimingConfig(rounds=1, seconds=0))
    assert made
    for net, before in made:
        assert any(not torch.equal(p, before[name]) for name, p in net.named_parameters())


class Clock:
    """A clock that only work moves."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """What is measured lasts as long as the test says."""
    clock = Clock()
    for module in (timing, training_cost):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.mark.parametrize(("seconds", "times"), [(1.0, 4), (0.0, 1)])
def test_a_round_lasts_about_as_long_as_asked_for(clock, seconds, times):
    def step():
        clock.now += 0.25

    rounds = timing.time_rounds(step, torch.device("cpu"), TimingConfig(rounds=3, seconds=seconds))
    assert rounds == [0.25] * 3
    assert clock.now == 0.25 * (2 + 3 * times)


# Trainings


def test_a_training_of_several_tasks_is_one_row(capsys, tmp_path):
    words = ["bfs", "insertion_sort", "--seeds", "0,1", "--validate-every", "3", "--steps", "50"]
    (shown,), numbers = bench(capsys, tmp_path, "training", *words, *TRAINING)
    count, title, nets, _, captures, *_ = shown
    assert (count, title, nets, captures) == ("2", "algorithms", "2", "4")
    (row,) = numbers["training"]
    assert (row["algorithms"], row["cycles"]) == (["bfs", "insertion_sort"], 4)
    assert (row["captures"], row["late_captures"]) == (4, 0)
    seconds = row["ready_s"] + row["late_s"] + 50 * row["cycle_ms"] / 1000
    assert row["projected_minutes"] == pytest.approx(seconds / 60)
    assert row["validation_share"] == pytest.approx(row["validation_s"] / 3 / row["cycle_ms"] * 1e3)
    assert 0 < row["validation_share"] < 1
    assert 0 <= row["waiting_share"] < 1
    assert row["samples_per_second"] == pytest.approx(2 * 2 * 2 * 1000 / row["cycle_ms"])
    assert numbers["all"]["projected_minutes"] == row["projected_minutes"]


def test_each_task_can_have_a_net_of_its_own(capsys, tmp_path):
    rows, numbers = bench(capsys, tmp_path, "training", "bfs", "dijkstra", "--each", *TRAINING)
    assert [row[0] for row in rows] == ["bfs", "dijkstra", "all"]
    costs = numbers["training"]
    assert [row["algorithms"] for row in costs] == [["bfs"], ["dijkstra"]]
    minutes = sum(row["projected_minutes"] for row in costs)
    assert numbers["all"]["projected_minutes"] == pytest.approx(minutes)
    assert float(rows[-1][-2]) == pytest.approx(minutes, abs=0.05)


def test_nets_can_be_trained_at_once(capsys, tmp_path):
    words = ["bfs", "dijkstra", "bellman_ford", "--each", "--at-once", "2"]
    rows, numbers = bench(capsys, tmp_path, "training", *words, *TRAINING)
    assert {row[0] for row in rows[:3]} == set(words[:3])
    minutes = {row["algorithms"][0]: row["projected_minutes"] for row in numbers["training"]}
    first, second, third = (minutes[name] for name in words[:3])
    together = max(min(first, second) + third, first, second)
    assert numbers["all"]["projected_minutes"] == pytest.approx(together)
    assert numbers["all"]["at_once"] == 2
    assert float(rows[3][-2]) == pytest.approx(together, abs=0.05)
    assert main(["bench", "training", "bfs", "--at-once", "2", *SMALL]) == 2
    assert "--at-once: it is for several nets, expected --each too" in capsys.readouterr().err


def test_what_comes_first_after_the_warm_up_is_counted_apart(clock, monkeypatch):
    learn, qualities, learnt = Engine.learn, Validation.qualities, []

    def slow_at_first(engine, packed_batch):
        learn(engine, packed_batch)
        learnt.append(packed_batch)
        clock.now += 8.0 if len(learnt) <= 2 else 0.25

    def slow_validation(validation):
        clock.now += 5.0
        return qualities(validation)

    monkeypatch.setattr(Engine, "learn", slow_at_first)
    monkeypatch.setattr(Validation, "qualities", slow_validation)
    config = small.training("bfs", steps=20, schedule={"validate_every": 20})
    cost = training_cost.training_cost(config, ComputeConfig(), warm_up=1, cycles=3)
    assert (cost.captures, cost.late_captures) == (2, 1)
    assert cost.ready_s == 8.0 + 5.0
    assert cost.late_s == cost.slowest_capture_s == 8.0
    assert cost.validation_s == 5.0  # though none was due
    assert cost.cycle_ms == pytest.approx(1000 * (2 * 0.25 / 3 + 5.0 / 20))


# Evaluations


def test_an_evaluation_has_a_row_for_each_algorithm_and_their_sum(capsys, tmp_path):
    words = ["--algorithms", "bfs,minimum", "--split", "val", "--samples", "3", "--replicas", "2"]
    rows, numbers = bench(capsys, tmp_path, "evaluation", *words)
    assert [row[:4] for row in rows[:2]] == [["bfs", "16", "2", "3"], ["minimum", "16", "2", "3"]]
    scoring = sum(row["score_s"] for row in numbers["evaluation"])
    assert numbers["all"]["score_s"] == pytest.approx(scoring)
    assert rows[2][0] == "all"
    assert float(rows[2][2]) == pytest.approx(scoring, abs=0.01)


def test_a_saved_learner_is_measured_as_it_is(capsys, tmp_path):
    run = str(tmp_path / "run")
    words = ["train", "bfs", "--out", run, "--steps", "1", "--batch-size", "2", *SMALL]
    assert main(words) == 0
    capsys.readouterr()
    words = ["bench", "evaluation", run, "--device", "cpu", "--split", "val", "--samples", "2"]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:4] == ["bfs", "16", "1", "2"]
    for more, message in [
        (["--hidden", "4"], "--hidden: only a fresh net has it, expected no MODEL"),
        (["--replicas", "2"], "--replicas: only a fresh net has it"),
        (["--algorithms", "dfs"], "unknown algorithm for this learner 'dfs'"),
    ]:
        assert main([*words, *more]) == 2
        assert message in capsys.readouterr().err


# What goes wrong


def test_what_cannot_be_measured_does_not_end_the_rest(capsys, tmp_path, monkeypatch):
    measure = step_cost.step_cost

    def failing(config, *arguments, **options):
        if config.algorithms == ("dfs",):
            raise RuntimeError("out of memory\nmore about it")
        return measure(config, *arguments, **options)

    monkeypatch.setattr(step_cost, "step_cost", failing)
    file = tmp_path / "numbers.json"
    words = ["bench", "steps", "bfs", "dfs", "dijkstra", "--size", "4", "--json", str(file)]
    assert main([*words, *STEPS, *SMALL]) == 1
    captured = capsys.readouterr()
    rows = captured.out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["bfs", "dfs", "dijkstra"]
    assert rows[1].split(maxsplit=1)[1] == "failed: RuntimeError: out of memory"
    assert "Traceback" in captured.err
    first, second, third = json.loads(file.read_text())["steps"]
    assert "ms" in first
    assert "more about it" in second["error"]
    assert "ms" in third


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "the following arguments are required: WHAT"),
        ("speed", "invalid choice: 'speed'"),
        ("steps bsf", "unknown algorithm 'bsf': did you mean 'bfs'?"),
        ("steps bfs --size x", "got 'x', expected whole numbers"),
        ("steps bfs --size 0", "size: got 0"),
        ("steps bfs --replicas 0", "replicas: got 0"),
        ("steps bfs --sizes 4", "unrecognized arguments: --sizes"),
        ("steps bfs --rounds 0", "rounds: got 0, expected 1 or more"),
        ("steps bfs --seconds -1", "seconds: got -1.0, expected 0 or more"),
        ("steps bfs --recipe clrs2022 --size 4", "the fixed training set has size 16"),
        ("steps bfs --profile --device cpu", "--profile: got cpu as the device, expected a GPU"),
        ("steps bfs --json /dev/null/x.json", "--json: got /dev/null, which is a file"),
        ("training", "algorithms: got none, expected names, --family or --all"),
        ("training bfs dfs --each --at-once 0", "at_once: got 0, expected 1 or more"),
        ("training bfs --cycles 0", "cycles: got 0, expected 1 or more"),
        ("training bfs --steps 20", "steps: got 20, expected at least the 310"),
        ("evaluation nowhere", "no file, run or shipped learner 'nowhere'"),
        ("evaluation --samples 0", "samples: got 0"),
        ("evaluation --algorithms bsf", "unknown algorithm 'bsf'"),
        ("evaluation --graphs", "unrecognized arguments: --graphs"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(capsys, words, message):
    assert main(["bench", *words.split()]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


# On a GPU


@needs_gpu
def test_steps_on_a_gpu_are_padded_captured_and_profiled(capsys, tmp_path):
    file = tmp_path / "numbers.json"
    words = ["dfs", "--size", "5,6", "--batch-size", "2", "--hidden", "16", "--device", "cuda"]
    assert main(["bench", "steps", *words, "--profile", "--json", str(file)]) == 0
    assert "kernels" in capsys.readouterr().out
    numbers = json.loads(file.read_text())
    assert numbers["machine"]["gpu"] == torch.cuda.get_device_name()
    for row in numbers["steps"]:
        assert row["padded_steps"] >= row["steps"]
        assert sum(kernel["microseconds"] for kernel in row["kernels"]) > 0


@needs_gpu
def test_every_shape_is_captured_once_on_a_gpu():
    config = small.training("bfs", "insertion_sort", steps=40, chunk=4)
    cost = training_cost.training_cost(config, ComputeConfig("cuda"), warm_up=4, cycles=20)
    assert cost.captures >= 4
    assert cost.cycle_ms > 0
