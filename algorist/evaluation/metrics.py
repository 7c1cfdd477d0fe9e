"""The benchmark's metrics: F1 for masks, accuracy for choices, squared error for scalars."""

from __future__ import annotations

import numpy as np

from algorist.spec import MASKED, Kind


def score(kind: Kind, predicted: np.ndarray, truth: np.ndarray) -> float:
    """The metric of a kind, over the final predictions of all samples together."""
    return _METRICS[kind](predicted, truth)


def _squared_error(predicted: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean((predicted - truth) ** 2))


def _f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """F1 over unmasked entries; precision is 1 if none is predicted, recall if none is true."""
    counts = truth != MASKED
    found, there = (predicted > 0.5) & counts, (truth > 0.5) & counts
    right = np.sum(found & there)
    precision = right / found.sum() if found.any() else 1.0
    recall = right / there.sum() if there.any() else 1.0
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def _one_hot_accuracy(predicted: np.ndarray, truth: np.ndarray) -> float:
    counts = (truth != MASKED).all(-1)
    right = (predicted.argmax(-1) == truth.argmax(-1))[counts]
    return float(right.mean()) if right.size else float("nan")


def _accuracy(predicted: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean(predicted == truth))


_METRICS = {
    Kind.SCALAR: _squared_error,
    Kind.MASK: _f1,
    Kind.MASK_ONE: _one_hot_accuracy,
    Kind.CATEGORICAL: _one_hot_accuracy,
    Kind.POINTER: _accuracy,
}
