"""True values become the numbers that steps read.

A program takes one sample of one step. What differs between algorithms is read from a table, so
that a single compilation serves them all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.feature_codes import (
    CODES,
    EDGE,
    EDGE_POINTER,
    GRAPH,
    POINTER,
    SCALAR,
    Code,
)
from algorist.spec import Feature, Kind

_TILE = 512
"""The numbers that a program writes at once."""

# No argument may lead to another compilation by its value or alignment, unless it is a constexpr.
_ARGUMENTS = range(15)


class Targets(NamedTuple):
    """True values side by side: one tensor (..., S, B, columns) for each type."""

    numbers: Tensor  # float32: scalars
    marks: Tensor  # int8: masks and one-hot rows
    targets: Tensor  # int16: pointers


def code(feature: Feature) -> Code:
    """What the kernel calls a feature: a permutation is a mark for each edge."""
    if feature.kind == Kind.PERMUTATION_POINTER:
        return Code.EDGE_MASK
    return CODES[feature.location, feature.kind]


@triton.jit
def _edge_pointer(targets, raw, n, Fe, TILE: tl.constexpr):
    """How often edges point to k: those that enter j, then those that leave i."""
    for first in range(0, n * n, TILE):
        pair = first + tl.arange(0, TILE)
        there, node, k = pair < n * n, pair // n, pair % n
        entering, leaving = tl.zeros((TILE,), tl.float32), tl.zeros((TILE,), tl.float32)
        for other in range(0, n):
            entering += (tl.load(targets + other * n + node, there, -1) == k).to(tl.float32)
            leaving += (tl.load(targets + node * n + other, there, -1) == k).to(tl.float32)
        tl.store(raw + pair * Fe, entering / n, there)
        tl.store(raw + pair * Fe + 1, leaving / n, there)


@triton.jit(do_not_specialize=_ARGUMENTS)
def _write(
    table, given, numbers, marks, targets,  # inputs
    x, raw,  # results
    features, samples, n, Fx, Fe, of_numbers, of_marks, of_targets,
    ALL: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    into = tl.program_id(0).to(tl.int64)
    x, raw = x + into * n * Fx, raw + into * n * n * Fe
    sample = into % samples
    numbers, marks = numbers + sample * of_numbers, marks + sample * of_marks
    targets += sample * of_targets
    if not ALL:
        features = tl.where(tl.load(given + into) != 0, features, 0)
    for feature in range(0, features):
        row = table + feature * 4
        code, column = tl.load(row), tl.load(row + 1)
        width, start = tl.load(row + 2), tl.load(row + 3)
        place, meaning = code // 4, code % 4
        if place == EDGE_POINTER:
            _edge_pointer(targets + start, raw + column, n, Fe, TILE)
        elif place == POINTER:
            for first in range(0, n * n, TILE):
                pair = first + tl.arange(0, TILE)
                target = tl.load(targets + start + pair // n, pair < n * n, -1)
                hit = (target == pair % n).to(tl.float32)
                tl.store(raw + pair * Fe + column, hit, pair < n * n)
        else:
            result, stride, count = x, Fx, n * width
            if place == EDGE:
                result, stride, count = raw, Fe, n * n * width
            for first in range(0, count, TILE):
                entry = first + tl.arange(0, TILE)
                there, at = entry < count, start + entry
                if place == GRAPH:  # each node gets the same
                    at = start + entry % width
                if meaning == SCALAR:
                    value = tl.load(numbers + at, there, 0.0)
                else:
                    value = tl.load(marks + at, there, 0).to(tl.float32)
                target = entry // width * stride + column + entry % width
                tl.store(result + target, value, there)


def write(table: Tensor, targets: Targets, x: Tensor, raw: Tensor, given: Tensor | None) -> None:
    """Write targets into `x` (K, S, B, n, Fx) and `raw` (K, S, B, n, n, Fe).

    `table` (features, 4), int32, has for each feature: its code, its (first) column in `x` or
    `raw`, its width (the number of classes, else 1), its first column among the targets of its
    type.
    The targets are those of at least K steps, or of one for them all. `given` (K, S, B) says where
    they are written, None everywhere.
    """
    *lanes, n, columns = x.shape
    samples = targets.numbers.shape[:-1].numel()
    _write[(math.prod(lanes),)](
        table, table if given is None else given, *targets, x, raw,
        len(table), samples, n, columns, raw.shape[-1], *(part.shape[-1] for part in targets),
        ALL=given is None, TILE=_TILE,
    )  # fmt: skip
