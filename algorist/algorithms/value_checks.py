"""Checks of the values that an algorithm of a user's own leaves behind."""

from __future__ import annotations

import numpy as np

from algorist.algorithms.array_answers import chain
from algorist.algorithms.frames import Buffers, FrameLayout
from algorist.spec import MASKED, Feature, Kind, Stage


def check_values(name: str, layout: FrameLayout, buffers: Buffers) -> None:
    """Complain about values that no feature of its kind has: these go unseen in compiled code."""
    for feature in layout.features:
        cells = layout.window(buffers, feature.name)
        if feature.kind == Kind.SCALAR:
            wrong, expected = cells[~np.isfinite(cells)], "finite numbers"
        else:
            least, most, expected = _range(feature, layout.n)
            wrong = cells[(cells < least) | (cells > most)]
            if not wrong.size and _has_to_chain(feature):
                wrong = cells[[not chain(pointers) for pointers in cells]]
                expected = "a chain of all nodes, the first of which points to itself"
        if wrong.size:
            got = wrong[0].tolist()
            raise ValueError(
                f"{name}: {feature.kind} {feature.name!r} got {got}, expected {expected}"
            )


def _has_to_chain(feature: Feature) -> bool:
    """While an algorithm runs, its order need not be complete."""
    return feature.kind == Kind.SHOULD_BE_PERMUTATION and feature.stage == Stage.OUTPUT


def _range(feature: Feature, n: int) -> tuple[int, int, str]:
    """The least and the largest integer that a cell may hold, and both in words."""
    if feature.kind == Kind.MASK:
        return MASKED, 1, f"0, 1 or {MASKED}"
    if feature.kind == Kind.CATEGORICAL:
        last = feature.classes - 1
        return MASKED, last, f"classes 0 to {last}, or {MASKED}"
    return 0, n - 1, f"nodes 0 to {n - 1}"
