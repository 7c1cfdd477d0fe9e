"""The losses of all hints or outputs of a window, and their grads, in two passes over predictions.

Both passes are one kernel, which looks up in a table what each feature is: it is compiled once for
every algorithm of a size. A program takes one feature of one lane and a few steps; outputs have a
single step, and a lane for each end of a trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.buffers import Logits
from algorist.kernels.fused.feature_codes import (
    AMONG_NODES,
    EDGE,
    EDGE_POINTER,
    GRAPH,
    MASK,
    POINTER,
    SCALAR,
    Code,
)
from algorist.kernels.fused.targets import Targets
from algorist.kernels.fused.tiling import padded
from algorist.spec import MASKED

_MASKED = tl.constexpr(MASKED)
_ALMOST_NOTHING = tl.constexpr(1e-12)
_NEVER = tl.constexpr(-3.0e38)  # finite, so that rows that are not there make no NaN

_CHUNK = 256
"""How many partial sums are added up at once."""
_PARTS = 256
"""Into how many parts the steps and lanes of a replica are cut, unless it has more lanes."""


class Predicted(NamedTuple):
    """What one feature is and where its prediction lies."""

    code: Code
    column: int
    """In its logits; of pointers, which of the pointers it is."""
    truth: int
    """The first column among the targets of its type."""
    width: int = 1
    """The number of classes."""


class LossTable(NamedTuple):
    """What the kernel looks up: made once for an algorithm and a number of nodes."""

    rows: Tensor
    """(features, 4), int32: code, column in the logits, width, column in the targets."""
    widest: int
    """The most classes that a feature has."""
    complete: bool
    """Whether it has all features that there are logits of."""


def loss_table(
    features: Sequence[Predicted], device: torch.device | str, *, complete: bool = True
) -> LossTable:
    """The table of some features."""
    rows = [(f.code.value, f.column, f.width, f.truth) for f in features]
    widest = max((f.width for f in features), default=1)
    return LossTable(
        torch.tensor(rows, dtype=torch.int32, device=device).view(-1, 4), widest, complete
    )


@triton.jit
def _sum(parts, count, CHUNK: tl.constexpr):
    """The sum of `count` numbers, in a fixed order."""
    total = tl.zeros((CHUNK,), tl.float32)
    for start in range(0, count, CHUNK):
        at = start + tl.arange(0, CHUNK)
        total += tl.load(parts + at, at < count, 0.0)
    return tl.sum(total, 0)


@triton.jit
def _numbers(
    logits, grads, numbers, marks, meaning, rows, stride, grad_stride, factor,
    TILE: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """Squared errors of scalars or cross entropies of masks, added up, and how many count."""
    lost, counted = 0.0, 0.0
    for start in range(0, rows, TILE):
        row = start + tl.arange(0, TILE)
        there = row < rows
        x = tl.load(logits + row * stride, there, 0.0)
        if meaning == SCALAR:
            off = x - tl.load(numbers + row, there, 0.0)
            loss, grad, counts = off * off, 2.0 * off, there.to(tl.float32)
        else:
            mark = tl.load(marks + row, there, _MASKED).to(tl.float32)
            loss = tl.maximum(x, 0.0) - x * mark + tl.log(1.0 + tl.exp(-tl.abs(x)))
            grad, counts = tl.sigmoid(x) - mark, (mark != _MASKED).to(tl.float32)
        if LAST:
            tl.store(grads + row * grad_stride, factor * counts * grad, there)
        else:
            lost += tl.sum(counts * loss, 0)
            counted += tl.sum(counts, 0)
    return lost, counted


@triton.jit
def _choices(
    logits, grads, marks, targets, place, rows, stride, grad_stride, width, between,
    grad_between, factor,
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
        if place >= POINTER:
            chosen = tl.load(targets + row, row < rows, -1) == column
        else:
            chosen = tl.load(marks + row * width + column, there, 0) == 1
        chosen = chosen.to(tl.float32)
        counts = tl.sum(chosen, 1)
        x -= tl.max(x, 1)[:, None]
        power = tl.exp(x)
        total = tl.sum(power, 1)
        if LAST:
            grad = counts[:, None] * power / total[:, None] - chosen
            at = row * grad_stride + column * grad_between
            tl.store(grads + at, factor * grad, there)
        else:
            score = tl.sum(tl.where(chosen > 0, x, 0.0), 1)
            lost += tl.sum(counts * tl.log(total) - score, 0)
            counted += tl.sum(counts, 0)
    return lost, counted


# No size of an algorithm's features, and no place of its targets, may lead to another compilation.
_ANY = (
    "numbers", "marks", "targets", "K", "B", "n", "P", "Q", "C2", "D2", "Ce", "Cg",
    "of_numbers", "of_marks", "of_targets", "steps",
)  # fmt: skip


@triton.jit(do_not_specialize=_ANY)
def _pass(
    table, weights, scale,  # (features, 4), (K, S, B), (features, S)
    decoded, points, edge_values, edge_pointer_logits, graph_values,  # predictions
    numbers, marks, targets,
    d_decoded, d_points, d_edge_values, d_cube, d_graph_values,  # results, last pass
    sums,  # result of the first pass, input of the last: (features, S, 2, parts)
    K, B, n, P, Q, C2, D2, Ce, Cg, of_numbers, of_marks, of_targets, steps,
    R: tl.constexpr, N: tl.constexpr, CHUNK: tl.constexpr,
    LAST: tl.constexpr,
):  # fmt: skip
    part, replica, feature = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    parts, S = tl.num_programs(0), tl.num_programs(1)
    code, column = tl.load(table + feature * 4), tl.load(table + feature * 4 + 1)
    width, truth_column = tl.load(table + feature * 4 + 2), tl.load(table + feature * 4 + 3)
    meaning, place = code % 4, code // 4

    # Each sample has rows of logits; pointers have stacks of their own among several (heads).
    logits, grads, rows, stride = decoded, d_decoded, n, C2
    heads, head, between = 1, 0, 1
    if place == GRAPH:
        logits, grads, rows, stride = graph_values, d_graph_values, 1, Cg
    elif place == EDGE:
        logits, grads, rows, stride = edge_values, d_edge_values, n * n, Ce
    elif place == POINTER:
        logits, grads, heads, stride = points, d_points, P, n
    elif place == EDGE_POINTER:
        logits, grads, heads, rows, stride = edge_pointer_logits, d_cube, Q, n * n, n
    if place >= POINTER:
        head, column, width = column, 0, n
    size, grad_stride, grad_between = rows * stride, stride, 1
    grad_size = size
    if place <= AMONG_NODES:
        grad_stride, grad_size = D2, n * D2
    if place == AMONG_NODES:  # all nodes together are one row
        rows, width, between, grad_between = 1, n, C2, D2

    sums += (feature * S + replica) * 2 * parts
    factor = 1.0
    if LAST:
        total = tl.maximum(_sum(sums + parts, parts, CHUNK), _ALMOST_NOTHING)
        factor = tl.load(scale + feature * S + replica) / total

    lost, counted = 0.0, 0.0
    lane, first = part % B, part // B * steps
    for k in range(first, tl.minimum(first + steps, K)):
        sample = (k * S + replica).to(tl.int64) * B + lane
        line = ((k * heads + head) * S + replica).to(tl.int64) * B + lane
        at, grad_at = line * size + column, line * grad_size + column
        at_mark = marks + sample * of_marks + truth_column
        weight = tl.load(weights + sample)
        if meaning <= MASK:
            loss, counts = _numbers(
                logits + at, grads + grad_at,
                numbers + sample * of_numbers + truth_column, at_mark,
                meaning, rows, stride, grad_stride, factor * weight, R * N, LAST,
            )  # fmt: skip
        else:
            loss, counts = _choices(
                logits + at, grads + grad_at, at_mark,
                targets + sample * of_targets + truth_column, place, rows,
                stride, grad_stride, width, between, grad_between, factor * weight, R, N, LAST,
            )  # fmt: skip
        lost += weight * loss
        counted += weight * counts
    if not LAST:
        tl.store(sums + part, lost)
        tl.store(sums + parts + part, counted)


@triton.jit
def _mean(sums, losses, parts, CHUNK: tl.constexpr):
    which = tl.program_id(0)
    sums += which * 2 * parts
    counted = tl.maximum(_sum(sums + parts, parts, CHUNK), _ALMOST_NOTHING)
    tl.store(losses + which, _sum(sums, parts, CHUNK) / counted)


def mean_losses(table: LossTable, logits: Logits, targets: Targets, weights: Tensor) -> Tensor:
    """The loss of each feature of a window, (features, S): the mean over all that counts.

    Targets are of K steps and B lanes; `weights` (K, S, B) says how much each of them counts.
    """
    return _MeanLosses.apply(table, targets, weights, *logits)


class _MeanLosses(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table: LossTable, targets: Targets, weights: Tensor, *logits: Tensor | None
    ) -> Tensor:
        ctx.run = _Run(table, targets, weights, Logits(*logits))
        return ctx.run.losses()

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, None, *ctx.run.grads(scale)


class _Run:
    """Both passes over a window."""

    def __init__(self, table: LossTable, targets: Targets, weights: Tensor, logits: Logits):
        self.table, self.targets, self.weights, self.logits = table, targets, weights, logits
        K, S, B = weights.shape
        self.steps = triton.cdiv(K, max(1, _PARTS // B))
        self.parts = triton.cdiv(K, self.steps) * B
        self.sums = weights.new_empty(len(table.rows), S, 2, self.parts)

    def losses(self) -> Tensor:
        """The first pass: what is lost, and how much counts."""
        self._pass(self.sums, Logits(), last=False)
        losses = self.sums.new_empty(self.sums.shape[:2])
        _mean[(losses.numel(),)](self.sums, losses, self.parts, CHUNK=_CHUNK, num_warps=4)
        return losses

    def grads(self, scale: Tensor) -> Logits:
        """The last pass: grads of all logits, those of each loss times its scale (features, S)."""
        new = torch.empty_like if self.table.complete else torch.zeros_like
        grads = Logits(
            *(
                None if x is None else new(x, memory_format=torch.contiguous_format)
                for x in self.logits
            )
        )
        self._pass(scale.contiguous(), grads, last=True)
        return grads

    def _pass(self, scale: Tensor, grads: Logits, *, last: bool) -> None:
        table, logits, (K, S, B) = self.table, self.logits, self.weights.shape
        n = next((x.shape[-2] for x in logits[:-1] if x is not None), 1)
        columns = padded(max(n, table.widest))
        rows = max(1, min(16, 1024 // columns))
        any_tensor = self.weights
        _pass[(self.parts, S, len(table.rows))](
            table.rows, self.weights, scale,
            *(any_tensor if x is None else x for x in logits), *self.targets,
            *(any_tensor if x is None else x for x in grads), self.sums,
            K, B, n, _size(logits.points, 1), _size(logits.edge_pointer_logits, 1),
            _row(logits.decoded), _row(grads.decoded), _size(logits.edges), _size(logits.graph),
            *(x.shape[-1] for x in self.targets), self.steps, R=rows, N=columns, CHUNK=_CHUNK,
            LAST=last, num_warps=max(1, min(4, rows * columns // 256)),
        )  # fmt: skip


def _size(stack: Tensor | None, axis: int = -1) -> int:
    return 0 if stack is None else stack.shape[axis]


def _row(stack: Tensor | None) -> int:
    """How far the nodes of a stack lie apart."""
    return 0 if stack is None else stack.stride(-2)
