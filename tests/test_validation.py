"""What the best weights are chosen by, development sets, and one-step accuracy."""

import numpy as np
import pytest
import small

import algorist
from algorist.data import DEVELOPMENT_SIZES, official
from algorist.evaluation.evaluator import evaluate
from algorist.experiments.config_hash import config_hash
from algorist.model.learner import Learner
from algorist.training.trainer import Trainer


def trained(measure, **changes):
    config = small.training("bfs", "heapsort", seeds=(0, 1), schedule={"validate_by": measure})
    trainer = Trainer(config)
    *_, report = trainer.run()
    return trainer, report


def test_hints_are_validated_by_their_mean_score():
    trainer, report = trained("hints")
    learner = trainer.best_learner()
    for name in ("bfs", "heapsort"):
        expected = [
            own.hint_quality
            for own in evaluate(learner, name, official.split(name, "val"), hints=True)
        ]
        assert report.scores[name] == pytest.approx(expected)
        assert len(set(expected)) == 2


def test_the_loss_is_validated_as_a_negative_number():
    _, report = trained("loss")
    for name in ("bfs", "heapsort"):
        assert all(-100 < score < 0 for score in report.scores[name])
    assert report.score[0] == pytest.approx(np.mean([own[0] for own in report.scores.values()]))


def test_what_is_validated_by_changes_neither_training_nor_the_default_identity():
    by_outputs, by_loss = trained("outputs")[0], trained("loss")[0]
    small.assert_identical(small.weights(by_outputs.net), small.weights(by_loss.net))
    assert config_hash(by_outputs.config) == config_hash(small.training("bfs", "heapsort"))
    assert config_hash(by_outputs.config) != config_hash(by_loss.config)
    with pytest.raises(ValueError, match="unknown validate_by 'hint': did you mean 'hints'"):
        small.training("bfs", schedule={"validate_by": "hint"})


def test_development_sets_are_not_those_of_the_benchmark():
    seeds = {split.seed for split in official.SPLITS.values()}
    assert DEVELOPMENT_SIZES == (16, 32, 64)
    for n in DEVELOPMENT_SIZES:
        batch = algorist.data.development("bfs", n)
        assert (batch.n, len(batch)) == (n, 32)
        for seed in seeds:
            other = official.generate("bfs", n=n, count=1, seed=seed)
            assert not np.array_equal(other.inputs["A"][0], batch.inputs["A"][0])
        again = algorist.data.development("bfs", n)
        assert np.array_equal(again.inputs["A"], batch.inputs["A"])
    with pytest.raises(ValueError, match="size of a development set '17'"):
        algorist.data.development("minimum", 17)


def test_true_hints_at_every_step_are_what_forced_scores_see():
    learner = Learner(small.lively(small.net("insertion_sort"), 0.5))
    batch = official.generate("insertion_sort", n=6, count=4, seed=0)
    (free,) = evaluate(learner, "insertion_sort", batch, hints=True)
    (both,) = evaluate(learner, "insertion_sort", batch, hints=True, forced=True)
    assert both.hints == free.hints
    assert both.forced_hints.keys() == both.hints.keys()
    assert both.forced_hints != both.hints
    assert not free.forced_hints
