"""Logs beside the metrics file, and the page about a run."""

import sys
import time
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import algorist
from algorist.cli import main
from algorist.report.format_numbers import format_duration, format_mean, format_percent
from algorist.report.published import NETS, published
from algorist.training.config import Config, DataConfig, ModelConfig, ScheduleConfig
from algorist.training.logs import TensorBoard, WeightsAndBiases
from algorist.training.run import Run

pytestmark = pytest.mark.usefixtures("piped")


def config(**changes):
    return Config(
        ("bfs", "dijkstra"),
        seeds=(0, 4),
        model=ModelConfig(hidden=4, processor="mpnn"),
        data=DataConfig(batch_size=2, sizes=(4,)),
        schedule=ScheduleConfig(steps=6, validate_every=2, checkpoint_every=2),
        **changes,
    )


def points(folder, seed, name):
    """What TensorBoard shows: the value at each step."""
    events = EventAccumulator(str(folder / "events" / f"seed-{seed}"))
    events.Reload()
    scalars = events.Scalars(name)
    assert len({event.step for event in scalars}) == len(scalars)
    return {event.step: event.value for event in scalars}


def test_tensorboard_has_a_curve_for_each_task_and_seed(tmp_path):
    run = Run.start(tmp_path, config())
    reports = []
    keep = lambda trainer, report: reports.append(report) if report else None  # noqa: E731
    run.train(logs=[TensorBoard(run)], observe=keep)
    for place, seed in enumerate((0, 4)):
        for task in ("bfs", "dijkstra"):
            expected = {r.step: r.loss[task][place] for r in reports}
            assert points(tmp_path, seed, f"loss/{task}") == pytest.approx(expected)
            expected = {r.step: r.scores[task][place] for r in reports}
            assert points(tmp_path, seed, f"validation/{task}") == pytest.approx(expected)
        expected = {r.step: r.score[place] for r in reports}
        assert points(tmp_path, seed, "validation") == pytest.approx(expected)


def test_steps_that_are_taken_again_are_shown_once(tmp_path):
    run = Run.start(tmp_path, config())

    def killed(trainer, report):
        if trainer.step == 5:  # its reports of step 4 are written, its checkpoint is of step 4
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run.train(logs=[TensorBoard(run)], observe=killed)
    (tmp_path / "checkpoints" / "00000004" / "state.json").write_text("damaged")
    with pytest.warns(UserWarning, match="trying the one before"):
        again = Run.resume(tmp_path)
    assert again.trainer.step == 2
    time.sleep(1.1)  # TensorBoard orders its files by the second in which they were begun
    again.train(logs=[TensorBoard(again)])
    assert list(points(tmp_path, 0, "validation")) == [2, 4, 6]


@pytest.fixture
def wandb(monkeypatch):
    """A stand-in that remembers what it is told."""
    told = SimpleNamespace(starts=[], metrics=[], values=[], finished=0)

    def finish():
        told.finished += 1

    def init(**settings):
        told.starts.append(settings)
        define = lambda name, **more: told.metrics.append((name, more))  # noqa: E731
        return SimpleNamespace(define_metric=define, log=told.values.append, finish=finish)

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    return told


def test_weights_and_biases_get_every_value_and_the_same_run_when_resumed(tmp_path, wandb):
    run = Run.start(tmp_path / "mine", config())
    steps = iter([False, False, True])
    log = WeightsAndBiases(run, "project")
    assert not run.train(logs=[log], should_stop=lambda: next(steps))
    again = Run.resume(tmp_path / "mine")
    again.train(logs=[WeightsAndBiases(again, "project")])
    first, second = wandb.starts
    assert (first["project"], first["name"], first["resume"]) == ("project", "mine", "allow")
    assert first["id"] == second["id"]
    assert first["config"]["model"]["hidden"] == 4
    assert [values["step"] for values in wandb.values] == [2, 4, 6]
    features = [
        f"loss/{task}/{feature.name}"
        for task, spec in run.trainer.net.specs.items()
        for feature in (*spec.outputs, *spec.hints)
    ]
    assert len(features) > 4
    assert set(wandb.values[0]) == {"step"} | {
        f"seed-{seed}/{name}"
        for seed in (0, 4)
        for name in (
            *features,
            "loss/bfs",
            "loss/dijkstra",
            "validation/bfs",
            "validation/dijkstra",
            "validation",
        )
    }
    assert wandb.metrics[0] == ("*", {"step_metric": "step"})
    assert wandb.finished == 2


def test_one_seed_needs_no_number_in_the_names_of_its_curves(capsys, tmp_path, wandb):
    words = ["--hidden", "4", "--batch-size", "2", "--steps", "1", "--wandb", "project"]
    assert main(["train", "bfs", "--out", str(tmp_path / "run"), *words]) == 0
    (values,) = wandb.values
    features = {"loss/bfs/pi", "loss/bfs/pi_h", "loss/bfs/reach_h"}
    assert set(values) == {"step", "loss/bfs", *features, "validation/bfs", "validation"}


class Page(HTMLParser):
    """Checks that every tag is closed, and collects what is shown and what is fetched."""

    VOID = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.text, self.fetched = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data.strip())


def test_the_page_about_a_run_is_whole_and_needs_nothing_else(capsys, tmp_path):
    folder, file = tmp_path / "<my> run", tmp_path / "page.html"
    Run.start(folder, config()).train()
    assert main(["report", str(folder), "--out", str(file), "--samples", "2"]) == 0
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert not page.open
    assert "<my> run" in page.text
    summary = next(text for text in page.text if text.startswith("bfs, dijkstra · mpnn · seed 0"))
    assert "seed 4: best after " in summary
    assert "6 of 6 steps are done." in page.text
    assert published()["dijkstra"]["triplet_gmpnn"].text() in page.text
    assert {"validation score, %", "training loss", "hidden"} < set(page.text)
    assert all(link.startswith("#") for link in page.fetched if link)
    assert "currentColor" in file.read_text(encoding="utf-8")


def test_a_run_without_a_validation_has_a_page_too(tmp_path):
    run = Run.start(tmp_path / "run", config())
    assert main(["report", str(run.folder), "--out", str(tmp_path / "p"), "--samples", "1"]) == 0
    assert "No validation yet" in (tmp_path / "p").read_text(encoding="utf-8")


def test_half_a_line_of_metrics_is_not_on_the_page(tmp_path):
    run = Run.start(tmp_path / "run", config())
    run.metrics_file.write_text('{"step": 2, "lo')
    assert main(["report", str(run.folder), "--out", str(tmp_path / "p"), "--samples", "1"]) == 0
    assert "No validation yet" in (tmp_path / "p").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_tested(
    capsys, monkeypatch, tmp_path
):
    run = Run.start(tmp_path / "run", config())
    monkeypatch.setattr("algorist.commands.evaluate_each.evaluate_each", None)
    file = run.folder / "config.json"
    assert main(["report", str(run.folder), "--out", str(file / "p")]) == 2
    assert f"--out: got {file}, which is a file, expected a folder" in capsys.readouterr().err
    assert main(["report", str(run.folder), "--out", str(tmp_path)]) == 2
    assert f"--out: got {tmp_path}, which is a folder, expected a file" in capsys.readouterr().err


def test_published_scores_are_there_for_all_thirty():
    assert set(published()) == set(algorist.algorithms())
    means = {net: sum(scores[net].mean for scores in published().values()) / 30 for net in NETS}
    # As the papers give them.
    assert {net: round(mean, 2) for net, mean in means.items()} == {
        "memnet": 38.03,
        "mpnn": 51.02,
        "pgn": 52.31,
        "triplet_gmpnn": 75.98,
        "g_forgetnet": 82.89,
    }
    assert published()["bfs"]["g_forgetnet"].error is None


def test_numbers_are_written_for_people():
    assert format_percent([0.5]) == "50.00"
    assert format_percent([0.25, 0.75], 1) == "50.0 ± 25.0"
    assert format_percent([float("nan")]) == "-"
    assert format_mean([1.0, float("nan")], ".1f", "+-") == "1.0"
    assert [format_duration(s) for s in (0.4, 59.6, 3599.9, 36000)] == [
        "0 s",
        "1 min 00 s",
        "1 h 00 min",
        "10 h 00 min",
    ]


def test_several_runs_are_compared_on_one_page(capsys, tmp_path):
    for name in ("a", "b"):
        Run.start(tmp_path / name, config()).train()
    file, folders = tmp_path / "page.html", [str(tmp_path / name) for name in ("a", "b")]
    assert main(["report", *folders, "--out", str(file), "--samples", "1"]) == 0
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    assert not page.open
    assert [text for text in page.text if text in folders][:2] == folders
    assert page.text.count("bfs") == 3  # in the table, and in the legends of two runs
    assert main(["report", *folders[:1] * 2, "--out", str(file)]) == 2
    assert "expected each once" in capsys.readouterr().err
