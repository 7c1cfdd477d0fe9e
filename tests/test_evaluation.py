"""Evaluation against examples worked out by hand, and in pieces against the whole."""

import math
from dataclasses import replace

import numpy as np
import pytest
import small
import torch

import algorist
from algorist.data import official
from algorist.evaluation import evaluator as evaluation
from algorist.evaluation.evaluator import Evaluation, evaluate
from algorist.evaluation.metrics import score
from algorist.model import inference
from algorist.model.inference import Predictions, predict
from algorist.model.learner import Learner
from algorist.model.postprocessing import decide, permutations_to_pointers
from algorist.spec import Feature, Kind, Location, Spec, Stage


def feature(kind, location=Location.NODE, classes=0):
    return Feature("x", Stage.OUTPUT, location, kind, classes)


def learner(*algorithms, seeds=(0,), convention=small.CONVENTION):
    made = Learner.new(algorithms, small.model(), convention, seeds)
    small.lively(made.net)
    return made


# Refusals, and batches of all shapes


def test_a_batch_of_another_algorithm_is_refused():
    with pytest.raises(ValueError, match="batch: got one with other features than bfs has"):
        evaluate(learner("bfs"), "bfs", small.problems("minimum"))


def test_a_learner_of_other_features_is_refused(monkeypatch):
    made = learner("bfs")
    monkeypatch.setitem(made.net.specs, "bfs", small.CONVENTION.spec("dfs"))
    with pytest.raises(ValueError, match="bfs: the learner was trained when it had other features"):
        evaluate(made, "bfs", small.problems("bfs"))


def test_hints_that_are_padded_further_change_nothing():
    batch, made = small.problems("bfs"), learner("bfs")
    padded = {name: np.concatenate((x, x[-1:], x[-1:])) for name, x in batch.hints.items()}
    got = evaluate(made, "bfs", replace(batch, hints=padded), hints=True)
    assert got == evaluate(made, "bfs", batch, hints=True)


def test_a_net_in_training_stays_so_if_its_evaluation_fails(monkeypatch):
    made = learner("bfs")
    monkeypatch.setattr(type(made.net), "rollout", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate(made, "bfs", small.problems("bfs"))
    assert made.net.training


# Scores


@pytest.mark.parametrize(
    ("kind", "predicted", "truth", "expected"),
    [
        (Kind.SCALAR, [1.0, 2.0], [1.0, 4.0], 2.0),
        (Kind.POINTER, [0, 1, 2, 3], [0, 1, 0, 0], 0.5),
        (Kind.MASK_ONE, [[0, 1], [1, 0], [0, 1]], [[0, 1], [0, 1], [0, 1]], 2 / 3),
        (Kind.CATEGORICAL, [[0, 1], [1, 0]], [[0, 1], [0, -1]], 1.0),  # the second is masked
        (Kind.CATEGORICAL, [[1, 0], [1, 0]], [[0, 1], [0, -1]], 0.0),
        (Kind.MASK, [1, 1, 0, 0], [1, 0, 1, 0], 0.5),
        (Kind.MASK, [1, 1, 1, 0], [1, 1, 0, 0], 0.8),  # precision 2/3, recall 1
        (Kind.MASK, [1, 1, 1, 0], [1, 1, -1, -1], 1.0),
        (Kind.MASK, [0, 0], [0, 0], 1.0),
        (Kind.MASK, [0, 0], [1, 0], 0.0),
        (Kind.MASK, [1, 0], [0, 0], 0.0),
        (Kind.MASK, [[1, 0], [0, 0]], [[1, 0], [0, 1]], 2 / 3),  # all samples together
    ],
)
def test_scores_are_those_worked_out_by_hand(kind, predicted, truth, expected):
    assert score(kind, np.array(predicted), np.array(truth)) == pytest.approx(expected)


def test_choices_that_all_do_not_count_have_no_score():
    assert math.isnan(score(Kind.CATEGORICAL, np.array([[1, 0]]), np.array([[0, -1]])))


# Answers


@pytest.mark.parametrize(
    ("of", "prediction", "expected"),
    [
        (feature(Kind.SCALAR), [0.5, -2.0], [0.5, -2.0]),
        (feature(Kind.MASK), [0.1, -0.1], [1, 0]),
        (feature(Kind.MASK_ONE), [0.1, 3.0, -1.0], [0, 1, 0]),
        (feature(Kind.POINTER), [[0.0, 1.0], [5.0, 1.0]], [1, 0]),
        (feature(Kind.CATEGORICAL, classes=2), [[0.0, 1.0], [5.0, 1.0]], [[0, 1], [1, 0]]),
        (
            feature(Kind.PERMUTATION_POINTER),
            [[0.0, 2.0, 1.0], [1.0, 0.0, 2.0], [2.0, 1.0, 0.0]],
            [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
        ),
    ],
    ids=str,
)
def test_predictions_are_decided_in_the_form_of_batches(of, prediction, expected):
    got = decide(of, torch.tensor(prediction)).numpy()
    np.testing.assert_array_equal(got, expected)
    assert (got.dtype == np.float32) == (of.kind == Kind.SCALAR)


def test_permutations_become_the_pointers_they_came_from():
    """The order 2, 0, 1: node 2 is first, 0 points back to 2 and 1 to 0."""
    spec = Spec(
        (
            feature(Kind.PERMUTATION_POINTER),
            Feature("x_mask", Stage.OUTPUT, Location.NODE, Kind.MASK_ONE),
        )
    )
    values = {
        "x": np.array([[[0, 0, 1], [1, 0, 0], [0, 1, 0]]]),
        "x_mask": np.array([[0, 0, 1]]),
    }
    plain, pointers = permutations_to_pointers(spec, values)
    assert plain == Spec((feature(Kind.POINTER),))
    np.testing.assert_array_equal(pointers["x"], [[2, 0, 2]])
    assert pointers.keys() == {"x"}


@pytest.mark.parametrize("name", ["insertion_sort", "quicksort", "topological_sort"])
def test_true_orders_survive_the_way_to_permutations_and_back(name):
    batch = official.generate(name, n=6, count=4, seed=3)
    seen = small.CONVENTION.batch(name, batch)
    for output, truth in permutations_to_pointers(seen.spec, seen.outputs)[1].items():
        np.testing.assert_array_equal(truth, batch.outputs[output])


# Evaluations


@pytest.mark.parametrize("name", algorist.algorithms())
def test_the_truth_has_full_marks(name, monkeypatch):
    batch = official.generate(name, n=8, count=4, seed=2)

    def truth(learner, algorithm, batch, *, hints):
        seen = learner.encoding.batch(algorithm, batch)
        outputs = permutations_to_pointers(seen.spec, seen.outputs)[1]
        return [Predictions(outputs, {name: array[1:] for name, array in seen.hints.items()})]

    monkeypatch.setattr(evaluation, "predict", truth)
    (result,) = evaluate(learner(name), name, batch, hints=True)
    assert result.score == result.correct == 1.0
    assert result.outputs.keys() == batch.outputs.keys()
    spec = small.CONVENTION.spec(name)
    best = {f.name: 0.0 if f.kind == Kind.SCALAR else 1.0 for f in spec.hints}
    assert result.hints == best


def test_hints_are_scored_at_each_step_over_the_samples_that_have_it():
    """Two samples of 2 nodes with 3 and 2 steps: pointers, 4 entries at step 1, 2 at step 2."""
    spec = Spec.of(
        inputs={"pos": algorist.node.scalar},
        hints={"p": algorist.node.pointer},
        outputs={"q": algorist.node.pointer, "m": algorist.node.mask},
    )
    truth = np.array([[[0, 0], [0, 0]], [[0, 1], [1, 1]], [[1, 1], [0, 0]]], np.int16)
    outputs = {"q": np.array([[0, 1], [1, 1]]), "m": np.array([[1, 0], [1, 1]])}
    batch = algorist.Batch(spec, {"pos": np.zeros((2, 2))}, {"p": truth}, outputs, np.array([3, 2]))
    predicted = np.array([[[0, 1], [1, 0]], [[0, 0], [1, 1]]])  # 3 of 4 right, then 0 of 2
    answers = {"q": np.array([[0, 1], [0, 0]]), "m": np.array([[1, 0], [1, 0]])}
    predictions = Predictions(answers, {"p": predicted})
    against = evaluation._Truth("own", batch, spec, outputs)
    got = evaluation._evaluation(against, predictions, correct=0.5)
    assert got.outputs == pytest.approx({"q": 0.5, "m": 0.8})
    assert got.score == pytest.approx(0.65)
    assert got.hints_over_time == {"p": [0.75, 0.0]}
    assert got.hints == pytest.approx({"p": (2 * 0.75 + 1 * 0.0) / 3})


def assert_same_predictions(one, other):
    for stage in ("outputs", "hints"):
        got, expected = getattr(one, stage), getattr(other, stage)
        assert got.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(got[name], expected[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["dfs", "insertion_sort", "binary_search"])
@pytest.mark.parametrize("piece", [1, 3])
def test_an_evaluation_in_pieces_equals_the_whole(name, piece, monkeypatch):
    made, batch = learner(name, seeds=(0, 1)), official.generate(name, n=5, count=4, seed=2)
    whole = predict(made, name, batch, hints=True)
    expected = evaluate(made, name, batch, hints=True)
    monkeypatch.setattr(inference, "WINDOW_STEPS", piece)
    for got, other in zip(predict(made, name, batch, hints=True), whole, strict=True):
        assert_same_predictions(got, other)
        assert {len(hints) for hints in got.hints.values()} == {batch.steps - 1}
    for got, other in zip(evaluate(made, name, batch, hints=True), expected, strict=True):
        assert got.outputs == pytest.approx(other.outputs)
        assert got.hints == pytest.approx(other.hints, rel=1e-4)


def test_an_evaluation_in_small_batches_equals_the_whole(monkeypatch):
    made, batch = learner("bfs"), official.generate("bfs", n=6, count=7, seed=2)
    (whole,) = predict(made, "bfs", batch, hints=True)
    monkeypatch.setattr(inference, "BATCH_SIZE", 2)
    (got,) = predict(made, "bfs", batch, hints=True)
    for name, expected in whole.outputs.items():
        np.testing.assert_array_equal(got.outputs[name], expected)
    for name, expected in whole.hints.items():
        for sample, length in enumerate(batch.lengths):
            np.testing.assert_array_equal(
                got.hints[name][: length - 1, sample], expected[: length - 1, sample]
            )


def test_each_replica_is_scored_as_if_it_were_alone():
    made = learner("insertion_sort", seeds=(0, 1, 2))
    batch = official.generate("insertion_sort", n=8, count=5, seed=1)
    results = evaluate(made, "insertion_sort", batch, hints=True)
    assert len(results) == 3
    for replica, result in enumerate(results):
        (alone,) = evaluate(made.replica(replica), "insertion_sort", batch, hints=True)
        assert result.outputs == pytest.approx(alone.outputs)
        assert result.hints == pytest.approx(alone.hints, rel=1e-4)


def test_hints_are_left_out_unless_they_are_asked_for():
    made, batch = learner("bfs"), official.generate("bfs", n=4, count=2, seed=0)
    (result,) = evaluate(made, "bfs", batch)
    assert result.hints == {}
    assert result.hints_over_time == {}
    assert predict(made, "bfs", batch)[0].hints == {}


def test_evaluation_leaves_the_net_in_training_and_without_gradients():
    made, batch = learner("bfs"), official.generate("bfs", n=4, count=2, seed=0)
    made.net.train()
    evaluate(made, "bfs", batch)
    assert made.net.training
    assert all(parameter.grad is None for parameter in made.net.parameters())


def test_runs_of_a_single_moment_have_answers_but_no_hints_to_score():
    batch = official.generate("bfs", n=4, count=40, seed=0)
    batch = batch.take(np.flatnonzero(batch.lengths == 1))
    assert len(batch) > 0
    (result,) = evaluate(learner("bfs"), "bfs", batch, hints=True)
    assert 0 <= result.score <= 1
    assert all(math.isnan(value) for value in result.hints.values())
    assert set(map(len, result.hints_over_time.values())) == {0}


def test_steps_where_nothing_counts_are_left_out_of_the_mean():
    assert evaluation._average([0.5, math.nan, 1.0], np.array([2, 5, 1])) == pytest.approx(2 / 3)


def test_an_algorithm_that_the_learner_does_not_know_is_refused():
    batch = official.generate("dfs", n=4, count=2, seed=0)
    with pytest.raises(
        ValueError, match="unknown algorithm for this net 'dfs': did you mean 'bfs'"
    ):
        evaluate(learner("bfs"), "dfs", batch)


def test_the_score_of_an_evaluation_is_the_mean_over_its_outputs():
    assert Evaluation({"a": 0.5, "b": 1.0}, correct=1.0, quality=0.75).score == 0.75


def test_the_quality_of_hints_is_one_where_all_are_right():
    own = learner("bellman_ford")
    batch = official.generate("bellman_ford", n=4, count=4, seed=0)
    (found,) = evaluate(own, "bellman_ford", batch, hints=True)
    error = found.hints["d"]
    others = [value for name, value in found.hints.items() if name != "d" and not np.isnan(value)]
    assert error > 0
    assert found.hint_quality == pytest.approx(np.mean([1 - error, *others]))


def test_a_smaller_error_is_of_higher_quality_where_the_output_is_a_number(euclid):
    batch = euclid.sample(4, 8, 0)
    (poor,) = evaluate(learner("euclid"), "euclid", batch)
    assert poor.outputs["gcd"] > 0
    assert poor.quality == -poor.outputs["gcd"] == -poor.score
    (fair,) = evaluate(learner("bfs"), "bfs", official.generate("bfs", n=4, count=4, seed=0))
    assert fair.quality == fair.score
