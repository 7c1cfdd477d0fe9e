"""Means of weights: what they are, that training does not notice them, and that they are kept."""

import pytest
import small
import torch

from algorist.cli import main
from algorist.experiments.config_hash import config_hash
from algorist.training.run import Run
from algorist.training.run_files import pack_run
from algorist.training.saved_learners import load, newest
from algorist.training.trainer import Trainer
from algorist.training.validation import Validation

EVERY = {"validate_every": 1, "checkpoint_every": 2}


def config(average, steps=4):
    return small.training("bfs", seeds=(0, 1), steps=steps, schedule={**EVERY, "average": average})


@pytest.mark.parametrize("average", [1, 3, 100])
def test_the_mean_goes_over_some_steps_and_training_does_not_notice(average):
    plain, averaged = Trainer(config(0)), Trainer(config(average))
    assert plain.evaluated_model is plain.learner
    assert averaged.evaluated_model is not averaged.learner
    mean = small.weights(averaged.net)
    for step, _ in enumerate(zip(plain.run(), averaged.run(), strict=True), start=1):
        now = small.weights(averaged.net)
        for name, value in small.weights(plain.net).items():
            assert torch.equal(now[name], value)
        share = max(1 / average, 10 / (10 + step))
        mean = {name: (1 - share) * old + share * now[name] for name, old in mean.items()}
        small.assert_same(small.weights(averaged.evaluated_model.net), mean, 1e-6)


def test_the_mean_is_what_is_validated_and_kept(tmp_path):
    run = Run.start(tmp_path / "run", config(100))
    evaluated_model = []

    def note(trainer, report):
        evaluated_model.append((report.best_step, small.weights(trainer.evaluated_model.net)))

    run.train(observe=note)
    last = evaluated_model[-1][0]
    best = load(tmp_path / "run").net
    for name, value in best.named_parameters():
        for seed in (0, 1):
            assert torch.equal(value[seed], evaluated_model[last[seed] - 1][1][name][seed])
    examined = Trainer.resume(newest(tmp_path / "run")).evaluated_model
    small.assert_same(small.weights(examined.net), evaluated_model[-1][1], 0)


def test_a_run_with_a_mean_goes_on_exactly(tmp_path):
    whole = Run.start(tmp_path / "whole", config(3))
    whole.train()
    parts = Run.start(tmp_path / "parts", config(3))
    parts.train(should_stop=lambda: parts.trainer.step == 2)
    Run.resume(tmp_path / "parts").train()
    got, expected = newest(tmp_path / "parts"), newest(tmp_path / "whole")
    assert any(name.startswith("mean/") for name in expected.tensors)
    small.assert_same(got.tensors, expected.tensors, 0)


def test_a_packed_mean_is_nearly_as_it_was(tmp_path):
    Run.start(tmp_path / "run", config(3)).train()
    pack_run(tmp_path / "run", tmp_path / "packed")
    got, expected = newest(tmp_path / "packed"), newest(tmp_path / "run")
    assert got.tensors.keys() == expected.tensors.keys()
    for name, value in expected.tensors.items():
        torch.testing.assert_close(got.tensors[name], value, rtol=1e-2, atol=1e-4)


def test_a_run_can_be_averaged_from_now_on(tmp_path):
    Run.start(tmp_path, config(0)).train()
    resumed = Run.resume(tmp_path, steps=6, average=5)
    begun = small.weights(resumed.trainer.evaluated_model.net)
    small.assert_same(begun, small.weights(resumed.trainer.net), 0)
    resumed.train()
    again = Run.resume(tmp_path).trainer
    assert again.config.schedule.average == 5
    assert not torch.equal(
        small.weights(again.evaluated_model.net)["processor.first.weight"],
        begun["processor.first.weight"],
    )


def test_of_a_new_mean_the_best_is_kept_whatever_was_better_before(tmp_path):
    Run.start(tmp_path, config(0)).train()
    run = Run.resume(tmp_path, steps=6, average=5)
    small.assert_identical(run.trainer.best, small.weights(run.trainer.net))
    assert load(tmp_path).metadata["replicas"][0] == {"seed": 0, "step": 4, "validation": None}
    run.train()
    assert min(run.trainer.best_steps) > 4
    with pytest.raises(ValueError, match="average: got 7, but all 6 steps are done, expected more"):
        Run.resume(tmp_path, average=7)
    assert Run.resume(tmp_path).trainer.config.schedule.average == 5


def test_a_mean_goes_on_when_it_is_asked_for_again(tmp_path):
    Run.start(tmp_path, config(5)).train()
    mean = small.weights(Run.resume(tmp_path).trainer.evaluated_model.net)
    again = Run.resume(tmp_path, steps=6, average=5).trainer
    small.assert_identical(small.weights(again.evaluated_model.net), mean)


def test_another_mean_is_what_is_validated(monkeypatch):
    validated = []

    class Noted(Validation):
        def __init__(self, learner, *details):
            validated.append(learner.net)
            super().__init__(learner, *details)

    monkeypatch.setattr("algorist.training.trainer.Validation", Noted)
    trainer = Trainer(config(0))
    list(trainer.run())
    trainer.reschedule(steps=5, average=5)
    list(trainer.run())
    assert trainer.evaluated_model.net is not trainer.net
    assert [net is trainer.net for net in validated] == [True, False]
    assert validated[1] is trainer.evaluated_model.net


def test_means_are_another_recipe_unless_there_are_none():
    assert len({config_hash(config(average)) for average in (0, 1, 2)}) == 3


def test_what_makes_no_sense_is_refused(capsys, tmp_path):
    with pytest.raises(ValueError, match="average: got -1, expected 0 or more"):
        config(-1)
    runs, words = str(tmp_path / "runs"), ["--steps", "1", "--hidden", "8", "--batch-size", "2"]
    assert main(["train", "bfs", "bellman_ford", "--each", "--out", runs, *words]) == 0
    assert main(["resume", runs, "--average", "5"]) == 2
    assert "--average: it is for one run" in capsys.readouterr().err
