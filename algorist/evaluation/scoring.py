"""Scores in one call: of a net or a learner, or of predictions from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from algorist.algorithms import get
from algorist.algorithms.answer_checks import check_answers
from algorist.algorithms.user_inputs.graph_arrays import to_numpy
from algorist.batch import Batch
from algorist.data import official
from algorist.errors import shorten, unknown
from algorist.evaluation.evaluator import Evaluation
from algorist.evaluation.evaluator import evaluate as evaluate_replicas
from algorist.evaluation.metrics import score as score_feature
from algorist.model.learner import Learner
from algorist.model.net import Net
from algorist.model.prediction import algorithm_of
from algorist.spec import MASKED, Feature, Kind


def evaluate(
    net: Net | Learner,
    algorithm: str | Batch | None = None,
    batch: Batch | None = None,
    *,
    n: int | None = None,
    count: int | None = None,
    seed: int | None = None,
    split: str | None = None,
    hints: bool = False,
) -> Evaluation:
    """Score a net or a learner of one seed.

    The problems are a batch, or `count` ones of size `n` drawn from a seed, or one of the
    benchmark's sets: `split` may be "train", "val" or "test".

        >>> import algorist
        >>> net = algorist.Net(["bfs"], hidden=16)
        >>> 0 <= algorist.evaluate(net, "bfs", n=8, count=4, seed=1).score <= 1
        True
    """
    if not isinstance(net, Net | Learner):
        raise TypeError(f"net: got {type(net).__name__}, expected a Net or a Learner")
    learner = net if isinstance(net, Learner) else Learner(net)
    if learner.net.replicas != 1:
        raise ValueError(
            f"net: got one of {learner.net.replicas} seeds, expected one seed: take one with "
            "learner.replica(0), or the best with learner.best_replica()"
        )
    if isinstance(algorithm, Batch):
        algorithm, batch = None, algorithm
    batch = _problems(learner.net, algorithm, batch, (n, count, seed), split)
    name = algorithm_of(learner.net, batch, algorithm)
    (evaluation,) = evaluate_replicas(learner, name, batch.numpy(), hints=hints)
    return evaluation


def _problems(
    net: Net,
    algorithm: str | None,
    batch: Batch | None,
    drawn: tuple[int | None, ...],
    split: str | None,
) -> Batch:
    given = [batch is not None, split is not None, any(x is not None for x in drawn)]
    if sum(given) != 1:
        raise ValueError("expected one of: a batch, split=..., or n=, count= and seed=")
    if batch is not None:
        return batch
    if algorithm is None:
        raise ValueError("algorithm: got none, expected the name of the algorithm to evaluate")
    net.spec(algorithm)
    if split is not None:
        return official.split(algorithm, split)
    n, count, seed = drawn
    if n is None or count is None:
        raise ValueError("n, count: expected both the size and the number of problems")
    return official.generate(algorithm, n=n, count=count, seed=0 if seed is None else seed)


def score(predictions: Mapping[str, Any], batch: Batch, algorithm: str | None = None) -> Evaluation:
    """Score predictions from any source: the outputs by name, in the form of the batch.

    Choices among nodes or classes may be given as indices or one-hot, masks also as probabilities.

        >>> import algorist
        >>> batch = algorist.get("bfs").sample(n=4, count=3, seed=0)
        >>> algorist.score({"pi": batch.outputs["pi"]}, batch).correct
        1.0
    """
    batch, name = batch.numpy(), algorithm or batch.algorithm
    if name is None:
        raise ValueError("batch: got one that does not say its algorithm: pass algorithm=...")
    if not isinstance(predictions, Mapping):
        raise ValueError(
            f"predictions: got {shorten(predictions)}, expected outputs by name, as in "
            f"{{{next(iter(batch.outputs))!r}: ...}}; algorist.evaluate(net, batch) scores a net"
        )
    for given in predictions:
        if given not in batch.outputs:
            raise ValueError(unknown("output", given, batch.outputs))
    found, scores, signed = {}, {}, []
    for feature in batch.spec.outputs:
        truth = batch.outputs[feature.name]
        found[feature.name] = _value(feature, predictions, truth)
        kind = Kind.POINTER if feature.kind == Kind.SHOULD_BE_PERMUTATION else feature.kind
        result = score_feature(kind, found[feature.name], truth)
        scores[feature.name] = result
        signed.append(-result if kind == Kind.SCALAR else result)
    right = check_answers(get(name), batch.inputs, found, batch.outputs)
    return Evaluation(scores, float(right.mean()), float(np.mean(signed)))


def _value(feature: Feature, predictions: Mapping[str, Any], truth: np.ndarray) -> np.ndarray:
    """A prediction in the form of the truth."""
    name = feature.name
    if name not in predictions:
        raise ValueError(f"{name}: got no prediction of this output, expected all outputs")
    given = predictions[name]
    value = np.asarray(to_numpy(given))
    if value.dtype.kind not in "biuf":
        raise ValueError(f"{name}: got {shorten(given)}, expected numbers")
    one_hot = feature.kind in (Kind.MASK_ONE, Kind.CATEGORICAL)
    if one_hot and value.shape == truth.shape[:-1]:
        value = np.eye(truth.shape[-1], dtype=truth.dtype)[_indices(name, value, truth.shape[-1])]
    if value.shape != truth.shape:
        is_logits = value.shape[:-1] == truth.shape and value.shape[-1] == truth.shape[-1]
        hint = "; of logits take argmax(-1), or algorist.evaluate(net, batch)" if is_logits else ""
        raise ValueError(f"{name}: got shape {value.shape}, expected {truth.shape}{hint}")
    if feature.kind in (Kind.POINTER, Kind.SHOULD_BE_PERMUTATION):
        value = _indices(name, value, truth.shape[-1]).astype(truth.dtype)
    elif not np.isfinite(value).all():
        raise ValueError(f"{name}: got NaN or infinity, expected finite numbers")
    elif feature.kind == Kind.MASK:
        value = _rounded(name, value, truth)
    elif one_hot:
        largest = np.eye(truth.shape[-1], dtype=truth.dtype)[value.argmax(-1)]
        value = np.where(truth == MASKED, truth, largest)
    return value


def _rounded(name: str, value: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The mask of probabilities, as the score reads them; entries that do not count stay."""
    counts = truth != MASKED
    if ((value < 0) | (value > 1))[counts].any():
        raise ValueError(f"{name}: got other numbers, expected 0 and 1, or probabilities")
    return np.where(counts, value > 0.5, truth).astype(truth.dtype)


def _indices(name: str, value: np.ndarray, size: int) -> np.ndarray:
    if (value != np.floor(value)).any() or (value < 0).any() or (value >= size).any():
        raise ValueError(f"{name}: got other numbers, expected whole ones from 0 to {size - 1}")
    return value.astype(np.int64)
