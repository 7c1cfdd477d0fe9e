"""`algorist.train`, the iterator over steps, and what a training that fails leaves behind."""

import numpy as np
import pytest
import small
from commanding import main

import algorist
from algorist.training import loss_terms
from algorist.training.config import Config
from algorist.training.run import Run
from algorist.training.train import build_config

FEW = {"steps": 4, "hidden": 8, "batch_size": 2, "sizes": (4,), "validate_every": 2}


def test_train_returns_the_run_with_its_learner_and_metrics(tmp_path):
    run = algorist.train(
        ["bfs"], out=tmp_path / "a/run", learning_rate=1e-3, schedule="cosine", device="cpu", **FEW
    )
    assert [row["step"] for row in run.metrics] == [2, 4]
    assert list(run.metrics[0]) == ["step", "loss", "scores", "score", "best_step", "learning_rate"]
    assert isinstance(run.metrics[0]["score"], float)
    assert run.metrics[1]["loss"].keys() == {"bfs"}
    assert isinstance(run.metrics[1]["loss"]["bfs"], float)
    assert repr(run).startswith(f"Run({tmp_path}/a/run: step 4 of 4, Net(bfs: triplet_gmpnn, ")
    loaded = algorist.load(tmp_path / "a/run")
    small.assert_identical(small.weights(run.learner.net), small.weights(loaded.net))
    assert (tmp_path / "a/run/events").is_dir()


def test_metrics_of_several_seeds_have_a_number_for_each(tmp_path):
    run = algorist.train("bfs", out=tmp_path / "run", seeds=(0, 1), device="cpu", **FEW)
    assert [len(row["score"]) for row in run.metrics] == [2, 2]
    assert Run.start(tmp_path / "new", small.training("bfs", steps=4)).metrics == []


def test_train_does_what_the_command_does(capsys, tmp_path):
    words = ["--steps", "4", "--hidden", "8", "--batch-size", "2", "--sizes", "4", "--seeds", "3"]
    more = ["--validate-every", "2", "--without", "gating", "--device", "cpu"]
    assert main(["train", "bfs", "--out", str(tmp_path / "command"), *words, *more]) == 0
    algorist.train(
        "bfs", out=tmp_path / "call", seeds=(3,), without=["gating"], device="cpu", **FEW
    )
    for file in ("config.json", "metrics.jsonl", "best.safetensors"):
        both = [(tmp_path / name / file).read_bytes() for name in ("command", "call")]
        assert both[0] == both[1], file


def test_unknown_settings_and_a_folder_that_is_taken_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown setting 'hiden': did you mean 'hidden'"):
        algorist.train("bfs", out=tmp_path / "run", hiden=8)
    with pytest.raises(ValueError, match="unknown algorithm 'bsf'"):
        algorist.train("bsf", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    algorist.train("bfs", out=tmp_path / "run", device="cpu", **FEW)
    with pytest.raises(ValueError, match="there is a run already"):
        algorist.train("bfs", out=tmp_path / "run", device="cpu", **FEW)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": "3"}, "steps: got '3', expected a value of type int"),
        ({"learning_rate": "1e-3"}, "learning_rate: got '1e-3', expected a value of type float"),
        ({"layer_norm": "no"}, "layer_norm: got 'no', expected a value of type bool"),
        ({"sizes": 4}, "sizes: got 4, expected a list"),
        ({"seeds": 3}, "seeds: got 3, expected a list"),
        ({"algorithms": None}, "algorithms: got None, expected one name or several"),
        ({"algorithms": [3]}, "algorithms: got 3, expected a value of type str"),
    ],
)
def test_values_of_other_types_are_refused(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        algorist.train(**{"algorithms": "bfs", "out": tmp_path / "run", **settings})
    assert not (tmp_path / "run").exists()


def test_numbers_of_numpy_and_ranges_are_plain_ones(tmp_path):
    given = {"steps": np.int64(2), "sizes": np.arange(4, 6), "learning_rate": np.float64(0.01)}
    config = build_config(("bfs",), seeds=range(2), **given)
    assert config == Config.from_json(config.to_json())
    assert (config.schedule.steps, config.data.sizes, config.seeds) == (2, (4, 5), (0, 1))


def test_callbacks_see_every_step_and_may_stop(tmp_path):
    seen = []
    run = algorist.train(
        "bfs",
        out=tmp_path,
        device="cpu",
        callback=lambda trainer, report: seen.append((trainer.step, report is not None)),
        should_stop=lambda: len(seen) == 3,
        **FEW,
    )
    assert seen == [(1, False), (2, True), (3, False)]
    assert Run.resume(run.folder).trainer.step == 3


def test_steps_can_be_taken_in_a_loop_of_ones_own(tmp_path):
    run = Run.start(tmp_path / "a", small.training("bfs", steps=4))
    taken = [report is not None for report in run.steps()]
    assert taken == [False, False, False, True]
    other = Run.start(tmp_path / "b", small.training("bfs", steps=4))
    for _ in other.steps():
        if other.trainer.step == 2:
            break
    again = Run.resume(tmp_path / "b")
    assert again.trainer.step == 2
    again.train()
    small.assert_identical(small.weights(again.trainer.net), small.weights(run.trainer.net))


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.setattr(loss_terms, "LOSS_TERMS", dict(loss_terms.LOSS_TERMS))

    @algorist.register
    def broken(prediction, batch):
        raise RuntimeError("no")


@pytest.mark.usefixtures("broken")
def test_a_training_that_fails_at_once_leaves_no_folder(tmp_path):
    with pytest.raises(ValueError, match="loss term 'broken': RuntimeError: no"):
        algorist.train("bfs", out=tmp_path / "run", device="cpu", loss_terms=("broken",), **FEW)
    assert not (tmp_path / "run").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    with pytest.raises(ValueError, match="loss term 'broken'"):
        algorist.train("bfs", out=tmp_path / "mine", device="cpu", loss_terms=("broken",), **FEW)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_a_training_that_fails_later_keeps_its_folder(tmp_path):
    run = Run.start(tmp_path, small.training("bfs", steps=4))

    def fail(trainer, report):
        if trainer.step == 2:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run.train(observe=fail)
    assert Run.resume(tmp_path).trainer.step == 0  # as if it had been killed
