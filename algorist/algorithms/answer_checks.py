"""Which answers are right, whether or not the benchmark has the same ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from algorist.algorithms.declaring import Algorithm
from algorist.spec import MASKED, Feature, Kind

Arrays = Mapping[str, np.ndarray]

TOLERANCE = 0.05
"""What scalars may be off by, as a share of the largest of them that is true."""

TOLERANCE_TEXT = f"within {TOLERANCE:.0%} of the largest true one".replace("%", " %")

_ONE_HOT = (Kind.MASK_ONE, Kind.CATEGORICAL)
_POINTERS = (Kind.POINTER, Kind.SHOULD_BE_PERMUTATION)


def check_answers(
    algorithm: Algorithm, inputs: Arrays, outputs: Arrays, truths: Arrays
) -> np.ndarray:
    """For each sample of a batch, (B,), whether its outputs are a right answer to its inputs.

    The truth is one, in every entry that counts; so are others where the algorithm accepts them.
    Sorted orders are plain pointers.
    """
    features = algorithm.spec.outputs
    right = np.logical_and.reduce(
        [_equals_truth(f, outputs[f.name], truths[f.name]) for f in features]
    )
    if algorithm.accepts is None:
        return right
    n = inputs["pos"].shape[1]
    fitting = np.logical_and.reduce([_fits_kind(f, outputs[f.name], n) for f in features])
    for i in np.flatnonzero(fitting & ~right):
        right[i] = algorithm.accepts(
            {name: array[i] for name, array in inputs.items()},
            {name: array[i] for name, array in outputs.items()},
        )
    return right


def is_close(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Which numbers are off by no more than `TOLERANCE`."""
    largest = float(np.abs(truth).max(initial=0.0)) or 1.0
    return np.asarray(np.abs(predicted - truth) <= TOLERANCE * largest)


def _equals_truth(feature: Feature, predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Which samples equal the truth in every entry that counts."""
    if feature.kind == Kind.SCALAR:
        return np.array([is_close(*both).all() for both in zip(predicted, truth, strict=True)])
    same, counts = predicted == truth, truth != MASKED
    if feature.kind in _ONE_HOT:
        same, counts = same.all(-1), counts.all(-1)
    return _holds_throughout(same | ~counts)


def _fits_kind(feature: Feature, predicted: np.ndarray, n: int) -> np.ndarray:
    """Which samples are what their kind says: pointers to nodes, one-hot choices, masks."""
    if feature.kind in _POINTERS:
        return _holds_throughout((predicted >= 0) & (predicted < n))
    if feature.kind == Kind.SCALAR:
        return _holds_throughout(np.isfinite(predicted))
    fits = _holds_throughout((predicted == 0) | (predicted == 1))
    return fits & _holds_throughout(predicted.sum(-1) == 1) if feature.kind in _ONE_HOT else fits


def _holds_throughout(holds: np.ndarray) -> np.ndarray:
    """Whether it holds throughout each sample: (B, ...) to (B,)."""
    return np.asarray(holds.reshape(len(holds), -1).all(1))
