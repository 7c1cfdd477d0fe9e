"""Postprocessing of raw predictions: answers in the benchmark's form, and their confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from torch import Tensor

from algorist.data.transforms import mask_of
from algorist.model.kinds import row
from algorist.spec import Feature, Kind, Spec

Arrays = Mapping[str, np.ndarray]


def decide(feature: Feature, prediction: Tensor) -> Tensor:
    """The final answer of a raw prediction, in the form of batches."""
    return row(feature).ops.final(prediction)


def confidences(spec: Spec, predictions: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The probability that the net gives to each of its answers; scalars have none."""
    measures = {name: row(spec[name]).ops.confidence for name in predictions}
    return {name: sure(predictions[name]) for name, sure in measures.items() if sure}


def permutations_to_pointers(spec: Spec, values: Arrays) -> tuple[Spec, dict[str, np.ndarray]]:
    """Turn permutation matrices and their masks back into pointers; also return such a spec.

    A node that the mask marks as the first points to itself, all others to where their row does.
    Gated scalars become scalars in the spec.
    """
    result = dict(values)
    for feature in spec:
        if feature.kind == Kind.GATED_SCALAR:
            spec = spec.replaced(feature.name, replace(feature, kind=Kind.SCALAR))
        if feature.kind != Kind.PERMUTATION_POINTER or feature.name not in result:
            continue
        mask = mask_of(feature)
        matrix, first = result[feature.name], result.pop(mask)
        own = np.arange(matrix.shape[-1])
        result[feature.name] = np.where(first > 0.5, own, matrix.argmax(-1))
        spec = spec.replaced(mask).replaced(feature.name, replace(feature, kind=Kind.POINTER))
    return spec, result


def permutation_confidence_to_pointers(
    spec: Spec, confidence: Arrays, answers: Arrays
) -> dict[str, np.ndarray]:
    """`permutations_to_pointers` for confidences: that of the first node is that of the mask."""
    result = dict(confidence)
    for feature in spec:
        if feature.kind == Kind.PERMUTATION_POINTER and feature.name in result:
            mask = mask_of(feature)
            in_first = result.pop(mask)[..., None]
            result[feature.name] = np.where(answers[mask] > 0.5, in_first, result[feature.name])
    return result
