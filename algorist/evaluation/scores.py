"""Scores as the benchmark counts them: masks by F1, choices by accuracy, scalars by error."""

from __future__ import annotations

import numpy as np

from algorist.spec import MASKED, Kind


def score(kind: Kind, predicted: np.ndarray, truth: np.ndarray) -> float:
    """The score of final predictions, all samples together."""
    return _SCORES[kind](predicted, truth)


def _squared_error(predicted: np.ndarray, truth: np.ndarray) -> float:
    return float(np.mean((predicted - truth) ** 2))


def _f1(predicted: np.ndarray, truth: np.ndarray) -> float:
    """F1 over all entries that count; nothing predicted is precise, nothing there is recalled."""
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


_SCORES = {
    Kind.SCALAR: _squared_error,
    Kind.MASK: _f1,
    Kind.MASK_ONE: _one_hot_accuracy,
    Kind.CATEGORICAL: _one_hot_accuracy,
    Kind.POINTER: _accuracy,
}
