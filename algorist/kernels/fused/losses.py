"""The losses of all hints of a window, and their slopes, in two passes over the predictions.

Both passes are one kernel, which looks up in a table what each hint is: it is compiled once for
every algorithm of a size. A program takes one hint of one lane and a few steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.begin import Code
from algorist.kernels.fused.tiling import padded
from algorist.spec import MASKED

# A code is a place, in fours, and a meaning.
_SCALAR, _MASK = (tl.constexpr(code % 4) for code in (Code.NODE_SCALAR, Code.NODE_MASK))
_AMONG_NODES, _GRAPH, _EDGE, _POINTER, _EDGE_POINTER = (
    tl.constexpr(code // 4)
    for code in (
        Code.NODE_CHOICE, Code.GRAPH_SCALAR, Code.EDGE_SCALAR, Code.POINTER, Code.EDGE_POINTER
    )
)  # fmt: skip
_MASKED = tl.constexpr(MASKED)
_ALMOST_NOTHING = tl.constexpr(1e-12)
_NEVER = tl.constexpr(-3.0e38)  # finite, so that rows that are not there make no NaN

_CHUNK = 256
"""How many partial sums are added up at once."""
_PARTS = 256
"""Into how many parts the steps and lanes of a replica are cut, unless it has more lanes."""


class Hint(NamedTuple):
    """What one hint is and where its prediction lies."""

    code: Code
    column: int
    """In its logits; of pointers, which of the pointers it is."""
    width: int = 1
    """The number of classes."""


class Stacks(NamedTuple):
    """The predictions of all steps, or their slopes; None for what an algorithm lacks."""

    decoded: Tensor | None = None  # (K, S, B, n, C2)
    points: Tensor | None = None  # (K, P, S, B, n, n)
    edge_values: Tensor | None = None  # (K, S, B, n, n, Ce)
    cube: Tensor | None = None  # (K, Q, S, B, n, n, n)
    graph_values: Tensor | None = None  # (K, S, B, Cg)


class Truths(NamedTuple):
    """What the hints should be, side by side: one tensor (K, S, B, columns) for each type."""

    numbers: Tensor  # float32: scalars
    marks: Tensor  # int8: masks and one-hot rows
    targets: Tensor  # int16: pointers


_TYPES = torch.float32, torch.int8, torch.int16


class Table(NamedTuple):
    """What the kernel looks up: made once for an algorithm and a number of nodes."""

    rows: Tensor
    """(hints, 5), int32: code, column in the logits, width, column in the truths, room."""
    widest: int
    """The most classes that a hint has."""


def hint_table(hints: Sequence[Hint], n: int, device: torch.device | str) -> Table:
    """The table of some hints on n nodes."""
    columns, rows = [0] * len(_TYPES), []
    for hint in hints:
        group = _group(hint.code)
        rows.append((hint.code.value, hint.column, hint.width, columns[group], 0))
        columns[group] += _places(hint.code, n) * hint.width
    widest = max((hint.width for hint in hints), default=1)
    return Table(torch.tensor(rows, dtype=torch.int32, device=device).view(-1, 5), widest)


def packed(hints: Sequence[Hint], truths: Sequence[Tensor], device: torch.device | str) -> Truths:
    """The truths (K, S, B, ...) of the same hints, as windows hold them, side by side.

    That is one operation for each type. Truths that are still on the host should be packed there.
    """
    groups: list[list[Tensor]] = [[] for _ in _TYPES]
    for hint, truth in zip(hints, truths, strict=True):
        group = _group(hint.code)
        groups[group].append(truth.to(_TYPES[group]).reshape(*truth.shape[:3], -1))
    return Truths(
        *(
            torch.cat(group, -1).to(device) if group else torch.empty(0, dtype=dtype, device=device)
            for group, dtype in zip(groups, _TYPES, strict=True)
        )
    )


def _group(code: Code) -> int:
    """Which of the tensors of truths holds a hint."""
    if code in (Code.POINTER, Code.EDGE_POINTER):
        return 2
    return 0 if code in (Code.NODE_SCALAR, Code.EDGE_SCALAR, Code.GRAPH_SCALAR) else 1


def _places(code: Code, n: int) -> int:
    """How many places a hint describes."""
    if code in (Code.GRAPH_SCALAR, Code.GRAPH_MASK, Code.GRAPH_CLASSES):
        return 1
    nodes = (Code.NODE_SCALAR, Code.NODE_MASK, Code.NODE_CHOICE, Code.NODE_CLASSES, Code.POINTER)
    return n if code in nodes else n * n


@triton.jit
def _sum(parts, count, CHUNK: tl.constexpr):
    """The sum of so many numbers, always in the same order."""
    total = tl.zeros((CHUNK,), tl.float32)
    for start in range(0, count, CHUNK):
        at = start + tl.arange(0, CHUNK)
        total += tl.load(parts + at, at < count, 0.0)
    return tl.sum(total, 0)


@triton.jit
def _numbers(
    logits, slopes, numbers, marks, meaning, rows, stride, factor,
    TILE: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """Squared errors of scalars or cross entropies of masks, added up, and how many count."""
    lost, counted = 0.0, 0.0
    for start in range(0, rows, TILE):
        row = start + tl.arange(0, TILE)
        there = row < rows
        x = tl.load(logits + row * stride, there, 0.0)
        if meaning == _SCALAR:
            off = x - tl.load(numbers + row, there, 0.0)
            loss, slope, counts = off * off, 2.0 * off, there.to(tl.float32)
        else:
            mark = tl.load(marks + row, there, _MASKED).to(tl.float32)
            loss = tl.maximum(x, 0.0) - x * mark + tl.log(1.0 + tl.exp(-tl.abs(x)))
            slope, counts = tl.sigmoid(x) - mark, (mark != _MASKED).to(tl.float32)
        if LAST:
            tl.store(slopes + row * stride, factor * counts * slope, there)
        else:
            lost += tl.sum(counts * loss, 0)
            counted += tl.sum(counts, 0)
    return lost, counted


@triton.jit
def _choices(
    logits, slopes, marks, targets, place, rows, stride, width, between, factor,
    R: tl.constexpr, N: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """Cross entropies of rows of logits, added up, and how many count: those with a target."""
    lost, counted = 0.0, 0.0
    column = tl.arange(0, N)[None, :]
    for start in range(0, rows, R):
        row = start + tl.arange(0, R)[:, None]
        there = (row < rows) & (column < width)
        at = row * stride + column * between
        x = tl.load(logits + at, there, _NEVER)
        if place >= _POINTER:
            chosen = tl.load(targets + row, row < rows, -1) == column
        else:
            chosen = tl.load(marks + row * width + column, there, 0) == 1
        chosen = chosen.to(tl.float32)
        counts = tl.sum(chosen, 1)
        x -= tl.max(x, 1)[:, None]
        power = tl.exp(x)
        total = tl.sum(power, 1)
        if LAST:
            slope = counts[:, None] * power / total[:, None] - chosen
            tl.store(slopes + at, factor * slope, there)
        else:
            score = tl.sum(tl.where(chosen > 0, x, 0.0), 1)
            lost += tl.sum(counts * tl.log(total) - score, 0)
            counted += tl.sum(counts, 0)
    return lost, counted


_SIZES = (
    "K", "B", "n", "P", "Q", "C2", "Ce", "Cg", "of_numbers", "of_marks", "of_targets", "steps"
)  # fmt: skip


@triton.jit(do_not_specialize=_SIZES)
def _pass(
    table, follows, scale,  # (hints, 5), (K, S, B), (S)
    decoded, points, edge_values, cube, graph_values, numbers, marks, targets,  # inputs
    d_decoded, d_points, d_edge_values, d_cube, d_graph_values, losses,  # results, last pass
    sums,  # result of the first pass, input of the last: (hints, S, 2, parts)
    K, B, n, P, Q, C2, Ce, Cg, of_numbers, of_marks, of_targets, steps,
    R: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr,
    LAST: tl.constexpr, SCALED: tl.constexpr,
):  # fmt: skip
    part, replica, hint = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    parts, S = tl.num_programs(0), tl.num_programs(1)
    code, column = tl.load(table + hint * 5), tl.load(table + hint * 5 + 1)
    width, truth_column = tl.load(table + hint * 5 + 2), tl.load(table + hint * 5 + 3)
    meaning, place = code % 4, code // 4

    # Each sample has rows of logits; pointers have stacks of their own among several (heads).
    logits, slopes, rows, stride = decoded, d_decoded, n, C2
    heads, head, between = 1, 0, 1
    if place == _GRAPH:
        logits, slopes, rows, stride = graph_values, d_graph_values, 1, Cg
    elif place == _EDGE:
        logits, slopes, rows, stride = edge_values, d_edge_values, n * n, Ce
    elif place == _POINTER:
        logits, slopes, heads, stride = points, d_points, P, n
    elif place == _EDGE_POINTER:
        logits, slopes, heads, rows, stride = cube, d_cube, Q, n * n, n
    if place >= _POINTER:
        head, column, width = column, 0, n
    size = rows * stride
    if place == _AMONG_NODES:  # all nodes together are one row
        rows, width, between = 1, n, C2

    sums += (hint * S + replica) * 2 * parts
    factor = 1.0
    if LAST:
        total = tl.maximum(_sum(sums + parts, parts, CHUNK), _ALMOST_NOTHING)
        if part == 0:
            tl.store(losses + hint * S + replica, _sum(sums, parts, CHUNK) / total)
        factor /= total
        if SCALED:
            factor *= tl.load(scale + replica)

    lost, counted = 0.0, 0.0
    lane, first = part % B, part // B * steps
    for k in range(first, tl.minimum(first + steps, K)):
        sample = (k * S + replica).to(tl.int64) * B + lane
        at = (((k * heads + head) * S + replica).to(tl.int64) * B + lane) * size + column
        at_mark = marks + sample * of_marks + truth_column
        weight = tl.load(follows + sample)
        if meaning <= _MASK:
            loss, counts = _numbers(
                logits + at, slopes + at, numbers + sample * of_numbers + truth_column, at_mark,
                meaning, rows, stride, factor * weight, R * N, LAST,
            )  # fmt: skip
        else:
            loss, counts = _choices(
                logits + at, slopes + at, at_mark, targets + sample * of_targets + truth_column,
                place, rows, stride, width, between, factor * weight, R, N, LAST,
            )  # fmt: skip
        lost += weight * loss
        counted += weight * counts
    if not LAST:
        tl.store(sums + part, lost)
        tl.store(sums + parts + part, counted)


def hint_losses(
    table: Table, logits: Stacks, truths: Truths, follows: Tensor, *,
    slopes: Stacks | None = None, scale: Tensor | None = None,
) -> tuple[Tensor, Stacks]:  # fmt: skip
    """The loss (hints, S) of each hint of a window, and the slopes of what the replicas lose.

    A loss is the mean over all that counts, where `follows` (K, S, B) is 1. The slopes, times
    `scale` (S), go into `slopes` where given, of `decoded` into the columns of hints alone.
    """
    if slopes is None:
        slopes = Stacks(*(None if x is None else torch.empty_like(x) for x in logits))
    K, S, B = follows.shape
    n = next((x.shape[-2] for x in logits[:-1] if x is not None), 1)
    steps = triton.cdiv(K, max(1, _PARTS // B))
    parts = triton.cdiv(K, steps) * B
    sums = follows.new_empty(len(table.rows), S, 2, parts)
    losses = follows.new_empty(len(table.rows), S)
    nothing = follows.new_empty(0)
    columns = padded(max(n, table.widest))
    rows = max(1, min(16, 1024 // columns))
    for last in (False, True):
        _pass[(parts, S, len(table.rows))](
            table.rows, follows, follows if scale is None else scale,
            *(nothing if x is None else x for x in logits), *truths,
            *(nothing if x is None else x for x in slopes), losses, sums,
            K, B, n, _size(logits.points, 1), _size(logits.cube, 1),
            _size(logits.decoded), _size(logits.edge_values), _size(logits.graph_values),
            *(x.shape[-1] for x in truths), steps, R=rows, N=columns, CHUNK=_CHUNK,
            LAST=last, SCALED=scale is not None, num_warps=max(1, min(4, rows * columns // 256)),
        )  # fmt: skip
    return losses, slopes


def _size(stack: Tensor | None, axis: int = -1) -> int:
    return 0 if stack is None else stack.shape[axis]
