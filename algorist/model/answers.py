"""From raw predictions to answers in the benchmark's own form, with sorted orders as pointers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from algorist.model.kinds import row
from algorist.spec import Feature, Kind, Spec

Arrays = Mapping[str, np.ndarray]


def decided(feature: Feature, prediction: Tensor) -> Tensor:
    """A prediction made final, in the form of batches."""
    value = row(feature).meaning.feedback(prediction, True)
    if feature.kind == Kind.POINTER:
        value = value.argmax(-1)
    return value.detach() if feature.kind == Kind.SCALAR else value.to(torch.int16)


def without_permutations(spec: Spec, values: Arrays) -> tuple[Spec, dict[str, np.ndarray]]:
    """Permutation matrices and their masks turned back into plain pointers.

    A node that the mask marks as the first points to itself, all others to where their row does.
    """
    result = dict(values)
    for feature in spec:
        if feature.kind != Kind.PERMUTATION_POINTER or feature.name not in result:
            continue
        mask = f"{feature.name}_mask"
        matrix, first = result[feature.name], result.pop(mask)
        own = np.arange(matrix.shape[-1])
        result[feature.name] = np.where(first > 0.5, own, matrix.argmax(-1))
        spec = spec.replaced(mask).replaced(feature.name, replace(feature, kind=Kind.POINTER))
    return spec, result
