"""Feedback: predicted hints become the numbers that the next step reads, and states are carried on.

A program takes one hint of one sample; one more copies the states. All that differs between
algorithms is read from a table, so that a single compilation serves them all.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.feature_codes import (
    AMONG_NODES,
    CHOICE,
    CLASSES,
    EDGE,
    EDGE_POINTER,
    GRAPH,
    MASK,
    POINTER,
)
from algorist.kernels.fused.tiling import padded, pdl_options, wait_for_previous

_TILE, _CUBE_TILE = 1024, 4096
"""The numbers that a program holds at once, and those of edge pointers."""

# No argument may lead to another compilation by its value or alignment, unless it is a constexpr.
_ARGUMENTS, _BACKWARD_ARGUMENTS = range(19), range(25)


@triton.jit
def _row(table, hint):
    """What the table says of a hint: place, meaning, column, index, width."""
    row = table + hint * 4
    code = tl.load(row)
    return code // 4, code % 4, tl.load(row + 1), tl.load(row + 2), tl.load(row + 3)


@triton.jit
def _layout(place, column, index, width, sample, n, Fx, Fe, C2, Ce, Cg):
    """A hint as rows of entries: how many, then where they are among logits and among numbers.

    Each where is an offset, and the steps from row to row and from entry to entry.
    """
    rows, entries = n, width
    at, by_row, by_entry = sample * n * C2 + index, C2, 1
    to, to_row, to_entry = sample * n * Fx + column, Fx, 1
    if place == AMONG_NODES:
        rows, entries = 1, n
        by_entry, to_entry = C2, Fx
    elif place == GRAPH:  # each node gets the same
        at, by_row = sample * Cg + index, 0
    elif place >= EDGE:
        to, to_row = sample * n * n * Fe + column, Fe
        if place == EDGE:
            at, by_row = sample * n * n * Ce + index, Ce
        else:
            at, by_row = (index * tl.num_programs(0) + sample) * n * n, 1
        if width > 1:
            rows = n * n
        else:
            entries = n
            by_row, by_entry = n * by_row, by_row
            to_row, to_entry = n * Fe, Fe
    return rows, entries, at, by_row, by_entry, to, to_row, to_entry


@triton.jit
def _choose(value, HARD: tl.constexpr):
    """The softmax along the last axis, or the first largest as a one-hot vector."""
    last: tl.constexpr = len(value.shape) - 1
    if HARD:
        number = tl.arange(0, value.shape[last])
        return (number == tl.argmax(value, last, keep_dims=True)).to(tl.float32)
    else:
        value = tl.exp(value - tl.max(value, last, keep_dims=True))
        return value / tl.sum(value, last, keep_dims=True)


@triton.jit
def _edge_choices(
    edge_pointer_logits, first, n, N: tl.constexpr, LAYERS: tl.constexpr, HARD: tl.constexpr
):
    """What edges (i, j) point to, from i = `first` on: their choices, offsets, which are there."""
    i = first + tl.arange(0, LAYERS)[:, None, None]
    j, k = tl.arange(0, N)[None, :, None], tl.arange(0, N)[None, None, :]
    there, offset = (i < n) & (j < n) & (k < n), (i * n + j) * n + k
    value = tl.load(edge_pointer_logits + offset, there, 0.0)
    choice = _choose(tl.where(k < n, value, float("-inf")), HARD)
    return tl.where(there, choice, 0.0), offset, there


@triton.jit
def _edge_pointer(
    edge_pointer_logits, raw, n, Fe, N: tl.constexpr, LAYERS: tl.constexpr, HARD: tl.constexpr
):
    j, k = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float32)
    for first in range(0, n, LAYERS):
        choice, _, _ = _edge_choices(edge_pointer_logits, first, n, N, LAYERS, HARD)
        total += tl.sum(choice, 0)
        i = first + tl.arange(0, LAYERS)[:, None]
        tl.store(raw + (i * n + k) * Fe + 1, tl.sum(choice, 1) / n, (i < n) & (k < n))
    tl.store(raw + (j * n + k) * Fe, total / n, (j < n) & (k < n))


@triton.jit(do_not_specialize=_ARGUMENTS)
def _feed_hints(
    table, given, fresh,  # inputs
    decoded, points, edge_values, edge_pointer_logits, graph_values, after,  # logits, states
    x, raw, before,  # results
    n, h, Fx, Fe, C2, Ce, Cg,
    N: tl.constexpr, R: tl.constexpr, W: tl.constexpr, LAYERS: tl.constexpr, TILE: tl.constexpr,
    CUBE: tl.constexpr, HARD: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, hint = tl.program_id(0).to(tl.int64), tl.program_id(1)
    if hint == tl.num_programs(1) - 1:
        kept = tl.where(tl.load(fresh + sample) == 0, n * h, 0)
        for first in range(0, n * h, TILE):
            offset = first + tl.arange(0, TILE)
            state = tl.load(after + sample * n * h + offset, offset < kept, 0.0)
            tl.store(before + sample * n * h + offset, state, offset < n * h)
    elif tl.load(given + sample) == 0:
        place, meaning, column, index, width = _row(table, hint)
        if CUBE and place == EDGE_POINTER:
            of_sample = edge_pointer_logits + (index * tl.num_programs(0) + sample) * n * n * n
            numbers = raw + sample * n * n * Fe + column
            _edge_pointer(of_sample, numbers, n, Fe, N, LAYERS, HARD)
        else:
            logits, numbers = decoded, x
            if place == GRAPH:
                logits = graph_values
            elif place == EDGE:
                logits, numbers = edge_values, raw
            elif place == POINTER:
                logits, numbers = points, raw
            rows, entries, at, by_row, by_entry, to, to_row, to_entry = _layout(
                place, column, index, width, sample, n, Fx, Fe, C2, Ce, Cg
            )
            entry = tl.arange(0, W)[None, :]
            for first in range(0, rows, R):
                row = first + tl.arange(0, R)[:, None]
                there = (row < rows) & (entry < entries)
                value = tl.load(logits + at + row * by_row + entry * by_entry, there, 0.0)
                if meaning == CHOICE:
                    value = _choose(tl.where(entry < entries, value, float("-inf")), HARD)
                elif meaning == MASK:
                    if HARD:
                        value = (value > 0).to(tl.float32)
                    else:
                        value = tl.sigmoid(value)
                tl.store(numbers + to + row * to_row + entry * to_entry, value, there)


@triton.jit
def _added(grad_buffers, offset, there, size, count, SLOTS: tl.constexpr):
    """The sum of the `count` grad buffers, at most SLOTS, that lie `size` apart."""
    total = tl.load(grad_buffers + offset, there, 0.0)
    count = tl.where(there, count, 0)
    for slot in tl.static_range(1, SLOTS):
        total += tl.load(grad_buffers + slot * size + offset, slot < count, 0.0)
    return total


@triton.jit
def _edge_pointer_backward(
    edge_pointer_logits, d_raw, d_cube, n, Fe, size, count,
    N: tl.constexpr, LAYERS: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    j, k = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    of_jk = _added(d_raw, (j * n + k) * Fe, (j < n) & (k < n), size, count, SLOTS)
    for first in range(0, n, LAYERS):
        i = first + tl.arange(0, LAYERS)[:, None]
        of_ik = _added(d_raw, (i * n + k) * Fe + 1, (i < n) & (k < n), size, count, SLOTS)
        choice, offset, there = _edge_choices(edge_pointer_logits, first, n, N, LAYERS, False)
        grad = choice * (of_jk[None, :, :] + of_ik[:, None, :]) / n
        grad -= choice * tl.sum(grad, 2, keep_dims=True)
        tl.store(d_cube + offset, tl.load(d_cube + offset, there, 0.0) + grad, there)


@triton.jit(do_not_specialize=_BACKWARD_ARGUMENTS)
def _feed_hints_backward(
    table, given, fresh, x, raw, edge_pointer_logits, d_x, d_raw, d_before,  # inputs
    d_decoded, d_points, d_edge_values, d_cube, d_graph_values, d_after,  # results
    n, h, Fx, Fe, C2, Ce, Cg, x_slots, raw_slots, before_slots,
    N: tl.constexpr, R: tl.constexpr, W: tl.constexpr, LAYERS: tl.constexpr, TILE: tl.constexpr,
    CUBE: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, hint = tl.program_id(0).to(tl.int64), tl.program_id(1)
    nodes = n.to(tl.int64) * tl.num_programs(0)  # of all samples
    if hint == tl.num_programs(1) - 1:
        kept = tl.where(tl.load(fresh + sample) == 0, n * h, 0)
        for first in range(0, n * h, TILE):
            offset = first + tl.arange(0, TILE)
            grad_buffers = d_before + sample * n * h
            grad = _added(grad_buffers, offset, offset < kept, nodes * h, before_slots, SLOTS)
            tl.store(d_after + sample * n * h + offset, grad, offset < n * h)
    elif tl.load(given + sample) == 0:
        place, meaning, column, index, width = _row(table, hint)
        if CUBE and place == EDGE_POINTER:
            skipped = (index * tl.num_programs(0) + sample) * n * n * n
            grad_buffers = d_raw + sample * n * n * Fe + column
            _edge_pointer_backward(
                edge_pointer_logits + skipped, grad_buffers, d_cube + skipped, n, Fe,
                nodes * n * Fe, raw_slots, N, LAYERS, SLOTS,
            )  # fmt: skip
        else:
            logits, numbers, grad_buffers, size, count = d_decoded, x, d_x, nodes * Fx, x_slots
            if place >= EDGE:
                numbers, grad_buffers, size, count = raw, d_raw, nodes * n * Fe, raw_slots
            if place == GRAPH:
                logits = d_graph_values
            elif place == EDGE:
                logits = d_edge_values
            elif place == POINTER:
                logits = d_points
            rows, entries, at, by_row, by_entry, to, to_row, to_entry = _layout(
                place, column, index, width, sample, n, Fx, Fe, C2, Ce, Cg
            )
            entry = tl.arange(0, W)
            total = tl.zeros((W,), tl.float32)
            for first in range(0, rows, R):
                row = first + tl.arange(0, R)[:, None]
                there = (row < rows) & (entry < entries)
                offset = row * to_row + entry * to_entry
                grad = _added(grad_buffers + to, offset, there, size, count, SLOTS)
                value = tl.load(numbers + to + offset, there, 0.0)
                if meaning == CHOICE:
                    grad = value * (grad - tl.sum(value * grad, 1, keep_dims=True))
                elif meaning == MASK:
                    grad *= value * (1.0 - value)
                if place == GRAPH:
                    total += tl.sum(grad, 0)
                else:
                    target = logits + at + row * by_row + entry * by_entry
                    tl.store(target, tl.load(target, there, 0.0) + grad, there)
            if place == GRAPH:
                target = logits + at + entry
                tl.store(target, tl.load(target, entry < entries, 0.0) + total, entry < entries)


def feed_hints(
    table: Tensor, x: Tensor, raw: Tensor, before: Tensor, given: Tensor, fresh: Tensor,
    decoded: Tensor | None, points: Tensor | None, edge_values: Tensor | None,
    edge_pointer_logits: Tensor | None, graph_values: Tensor | None, after: Tensor, hard: bool,
) -> None:  # fmt: skip
    """Put the predictions of the step before in place of the true hints, where not given.

    `table` (hints, 4), int32, has for each hint: its code, its (first) column in `x` or `raw`,
    its (first) column in its logits or the number of its pointer, its width (the number of classes,
    else 1). `x` (S, B, n, Fx) and `raw` (S, B, n, n, Fe) hold the truth.
    `given` and `fresh` are (S, B). `before` becomes `after` of the step before, or 0 where fresh.
    """
    S, B, n, h = before.shape
    _feed_hints[(S * B, len(table) + 1)](
        table, given, fresh, _any(decoded, x), _any(points, x), _any(edge_values, x),
        _any(edge_pointer_logits, x), _any(graph_values, x), after, x, raw, before,
        n, h, x.shape[-1], raw.shape[-1], _width(decoded), _width(edge_values),
        _width(graph_values), HARD=hard, **_tiles(n, edge_pointer_logits is not None),
        **pdl_options(S * B * n),
    )  # fmt: skip


def feed_hints_backward(
    table: Tensor, x: Tensor, raw: Tensor, given: Tensor, fresh: Tensor,
    edge_pointer_logits: Tensor | None, d_x: Tensor, d_raw: Tensor, d_before: Tensor,
    grads: Tensor | None, d_points: Tensor | None,
    d_edge_values: Tensor | None, d_cube: Tensor | None, d_graph_values: Tensor | None,
    d_after: Tensor, hard: bool,
) -> None:  # fmt: skip
    """Add to the grads of all logits of the step before; write those of its states, `d_after`.

    `d_x`, `d_raw` and `d_before` have a leading axis of grad buffers, which are summed. `x` and
    `raw` are as the step read them; `grads` are those of `decoded`. Hard choices pass no grad on.
    """
    S, B, n, h = d_after.shape
    counts = len(d_x), len(d_raw), len(d_before)
    _feed_hints_backward[(S * B, 1 if hard else len(table) + 1)](
        table, given, fresh, x, raw, _any(edge_pointer_logits, x), d_x, d_raw, d_before,
        _any(grads, x), _any(d_points, x), _any(d_edge_values, x), _any(d_cube, x),
        _any(d_graph_values, x), d_after,
        n, h, x.shape[-1], raw.shape[-1], _width(grads), _width(d_edge_values),
        _width(d_graph_values), *counts, SLOTS=triton.next_power_of_2(max(counts)),
        **_tiles(n, d_cube is not None), **pdl_options(S * B * n),
    )  # fmt: skip


def _any(logits: Tensor | None, other: Tensor) -> Tensor:
    """A tensor for an argument that no hint asks for, if there is none."""
    return other if logits is None else logits


def _width(logits: Tensor | None) -> int:
    return 0 if logits is None else logits.shape[-1]


def _tiles(n: int, edge_pointer_logits: bool) -> dict[str, int]:
    """How the kernels are to cut what n nodes have, and among how many threads."""
    nodes = padded(n)
    width = max(nodes, CLASSES)
    return {
        "N": nodes, "R": _TILE // width, "W": width, "LAYERS": max(1, _CUBE_TILE // nodes**2),
        "TILE": _TILE, "CUBE": edge_pointer_logits,
        "num_warps": (16 if nodes > 64 else 8) if edge_pointer_logits else 4,
    }  # fmt: skip
