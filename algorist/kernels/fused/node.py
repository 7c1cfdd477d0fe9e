"""What happens at the nodes: projections, the renewal of states, and what the graph reads of them.

Values are (S, B, n, channels), weights (S, in, out). The raw numbers x of a node end with a one:
the last row of the weights that read x is the bias. Results go where the caller says.
"""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import (
    MANY,
    dot,
    exact_dot,
    padded,
    pdl_options,
    wait_for_previous,
)
from algorist.kernels.maps import Update

_TALL, _WIDE, _DEEP, _STAGES = 32, 64, 32, 4
"""The rows and columns of a tile of a projection, how many products are summed at a time, and how
many tiles are on their way."""
_COUNTS = ["rows", "B", "n", "F", "C", "CG"]
"""One compilation of a projection or a pooling serves all values of these."""
_ROWS = 16
"""The rows of a tile that holds all channels: the fewest that the matrix units take."""

Partial = tuple[Tensor, int, int]
"""Slopes that are yet to be summed over blocks, (P, S, B, blocks, n, h), the column where those of
the first p begin, and how many columns further those of each next p do."""


@triton.jit(do_not_specialize=_COUNTS)
def _project(
    x, before, after, weight, out,
    rows, F, C,
    FX: tl.constexpr, H: tl.constexpr, UNIT: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr,
    DEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    # Rows that are known to start at multiples of 4 are read four numbers at a time.
    C = C // UNIT * UNIT
    replica = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * TALL + tl.arange(0, TALL)
    column = tl.program_id(2) * WIDE + tl.arange(0, WIDE)
    there, known = (row < rows)[:, None], (column < C)[None, :]
    line = (replica * rows + row)[:, None]
    depth: tl.constexpr = H if after is None else 2 * H
    weight += replica * (F + depth) * C
    # The numbers of x are asked for first and needed last.
    feature = tl.arange(0, FX)
    numbers = tl.load(x + line * F + feature, there & (feature < F), 0.0)
    of_numbers = weight + feature[:, None] * C + column
    of_numbers = tl.load(of_numbers, (feature < F)[:, None] & known, 0.0)
    total = tl.zeros((TALL, WIDE), tl.float32)
    for k in tl.range(0, depth, DEEP, num_stages=4):
        states = before
        if after is not None:
            states = tl.where(k < H, before, after)
        inner = tl.arange(0, DEEP)
        values = tl.load(states + line * H + k % H + inner, there, 0.0)
        weights = tl.load(weight + (F + k + inner)[:, None] * C + column, known, 0.0)
        total += dot(values, weights, PRECISION)
    total += exact_dot(numbers, of_numbers, PRECISION)
    tl.store(out + line * C + column, total, there & known)


def project(parts: Sequence[Tensor], weight: Tensor, out: Tensor, precision: str) -> None:
    """out (S, B, n, C) = the parts side by side @ weight; they are x, before and perhaps after."""
    x, before, after = (*parts, None)[:3]
    S, B, n, h = before.shape
    C = out.shape[-1]
    wide = 2 * _WIDE if S * B * n >= MANY else _WIDE
    _project[S, triton.cdiv(B * n, _TALL), triton.cdiv(C, wide)](
        x, before, after, weight, out, B * n, x.shape[-1], C,
        FX=padded(x.shape[-1]), H=h, UNIT=_unit(C), TALL=_TALL, WIDE=wide, DEEP=min(_DEEP, h),
        PRECISION=precision, num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip


def _unit(*columns: int) -> int:
    """How many numbers can be read at a time where rows and columns begin at these."""
    return 1 if any(column % 4 for column in columns) else 4


@triton.jit(do_not_specialize=_COUNTS)
def _project_backward(
    grads, weight, partials, places, d_x, d_before, d_after,
    rows, B, n, F, C,
    H: tl.constexpr, UNIT: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr,
    DEEP: tl.constexpr, BLOCKS: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    C = C // UNIT * UNIT
    replica = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * TALL + tl.arange(0, TALL)
    channel = tl.program_id(2) * WIDE + tl.arange(0, WIDE)  # of the parts side by side
    width = F + (H if d_after is None else 2 * H)
    there, known = (row < rows)[:, None], (channel < width)[None, :]
    line = (replica * rows + row)[:, None]
    transposed = weight + (replica * width + channel)[None, :] * C
    inner = tl.arange(0, DEEP)
    down = tl.zeros((TALL, WIDE), tl.float32)
    for i in tl.static_range(len(partials)):
        first, stride, count, blocks = places[i]
        first, stride = first // UNIT * UNIT, stride // UNIT * UNIT
        whole = tl.arange(0, H)
        for p in range(count):
            sample = (p * tl.num_programs(0) + replica) * B + row // n
            column = first + p * stride + whole
            weights = tl.load(transposed + column[:, None], known, 0.0)
            total = tl.zeros((TALL, H), tl.float32)
            for start in range(0, blocks, BLOCKS):
                for block in tl.static_range(BLOCKS):
                    block += start
                    at = ((sample * blocks + block) * n + row % n)[:, None] * H + whole
                    end = tl.where(block < blocks, rows, 0)
                    total += tl.load(partials[i] + at, row[:, None] < end, 0.0)
            down += dot(total, weights, PRECISION)
            # All programs of these rows sum the same; one of them writes it down. None reads it.
            end = tl.where(tl.program_id(2) == 0, rows, 0)
            tl.store(grads + line * C + column, total, row[:, None] < end)
    for k in tl.range(0, C, DEEP, num_stages=STAGES):
        column = k + inner
        own = column < C
        for i in tl.static_range(len(partials)):
            first, stride, count, blocks = places[i]
            first, stride = first // UNIT * UNIT, stride // UNIT * UNIT
            away = column - first
            own &= (away < 0) | (away >= (count - 1) * stride + H) | (away % stride >= H)
        values = tl.load(grads + line * C + column, there & own, 0.0)
        weights = tl.load(transposed + column[:, None], known & own[:, None], 0.0)
        down += dot(values, weights, PRECISION)
    tl.store(d_x + line * F + channel, down, there & (channel < F))
    channel -= F
    tl.store(d_before + line * H + channel, down, there & (channel >= 0) & (channel < H))
    if d_after is not None:
        channel -= H
        tl.store(d_after + line * H + channel, down, there & (channel >= 0) & (channel < H))


def project_backward(
    grads: Tensor,
    weight: Tensor,
    partials: Sequence[Partial],
    d_parts: Sequence[Tensor],
    precision: str,
) -> None:
    """The grads of the parts, from those of what `project` made of them.

    What `partials` hold is summed, and written into its columns of `grads` too.
    """
    d_x, d_before, d_after = (*d_parts, None)[:3]
    S, B, n, h = d_before.shape
    C, F = grads.shape[-1], d_x.shape[-1]
    places = tuple((first, max(stride, h), len(x), x.shape[3]) for x, first, stride in partials)
    starts = [column for first, stride, *_ in places for column in (first, stride)]
    tall = 2 * _TALL if S * B * n >= MANY else _TALL
    _project_backward[S, triton.cdiv(B * n, tall), triton.cdiv(weight.shape[1], _WIDE)](
        grads, weight, tuple(x for x, *_ in partials), places, d_x, d_before, d_after,
        B * n, B, n, F, C,
        H=h, UNIT=_unit(C, *starts), TALL=tall, WIDE=_WIDE, DEEP=min(_DEEP, h), BLOCKS=4,
        STAGES=_STAGES, PRECISION=precision, num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit
def _update_states(
    state, messages, before, weight, scale, offset, gate_weight, gate_bias,
    after, pre, gate, gate_hidden,
    rows, C, self_column, gate_column,
    H: tl.constexpr, ROWS: tl.constexpr, DEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(0).to(tl.int64)
    row, channel = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, H)
    there = (row < rows)[:, None]
    line = (replica * rows + row)[:, None]
    place = line * H + channel
    wide: tl.constexpr = H if gate_weight is None else 2 * H
    if gate_weight is not None:
        gate_layer = tl.load(gate_weight + (replica * H + channel)[:, None] * H + channel)
    wait_for_previous()
    value = tl.load(state + line * C + self_column + channel, there, 0.0)
    if gate_weight is not None:
        gate_value = tl.load(state + line * C + gate_column + channel, there, 0.0)
        old = tl.load(before + place, there, 0.0)
    for k in tl.range(0, H, DEEP, num_stages=3):
        inner = k + tl.arange(0, DEEP)
        received = tl.load(messages + line * H + inner, there, 0.0)
        weights = weight + (replica * H + inner)[:, None] * wide + channel
        value += dot(received, tl.load(weights), PRECISION)
        if gate_weight is not None:
            gate_value += dot(received, tl.load(weights + H), PRECISION)
    value = tl.maximum(value, 0.0)
    if pre is not None:
        tl.store(pre + place, value, there)
    if scale is not None:
        value -= tl.sum(value, 1)[:, None] / H
        value *= tl.rsqrt(tl.sum(value * value, 1)[:, None] / H + 1e-5)
        value *= tl.load(scale + replica * H + channel)
        value += tl.load(offset + replica * H + channel)
    if gate_weight is not None:
        gate_value = tl.maximum(gate_value, 0.0)
        if pre is not None:
            tl.store(gate_hidden + place, gate_value, there)
        gate_value = dot(gate_value, gate_layer, PRECISION)
        gate_value += tl.load(gate_bias + replica * H + channel)
        gate_value = tl.sigmoid(gate_value)
        if pre is not None:
            tl.store(gate + place, gate_value, there)
        value = old + gate_value * (value - old)
    tl.store(after + place, value, there)


def update_states(
    state: Tensor,
    columns: tuple[int, int | None],
    messages: Tensor,
    before: Tensor,
    maps: Update,
    after: Tensor,
    kept: Sequence[Tensor | None] | None,
    precision: str,
) -> None:
    """The new states of the nodes; `columns` of `state` are where its parts keep and gate begin.

    kept are pre, gate and gate_hidden (the last two None without a gate); None keeps nothing.
    """
    S, B, n, h = messages.shape
    self_column, gate_column = columns
    pre, gate, gate_hidden = kept or (None, None, None)
    _update_states[S, triton.cdiv(B * n, _ROWS)](
        state, messages, before, maps.of_message, *(maps.norm or (None, None)),
        *(maps.gate or (None, None)), after, pre, gate, gate_hidden,
        B * n, state.shape[-1], self_column, gate_column,
        H=h, ROWS=_ROWS, DEEP=min(_DEEP, h), PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit
def _update_states_backward(
    d_after, before, weight, scale, offset, gate_weight, pre, gate, gate_hidden,
    grads, d_message, d_before, d_gate, d_normal, d_value,
    rows, C, self_column, gate_column,
    H: tl.constexpr, SLOTS: tl.constexpr, ROWS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(0).to(tl.int64)
    row, channel = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, H)
    there = (row < rows)[:, None]
    line = (replica * rows + row)[:, None]
    place = line * H + channel
    wide: tl.constexpr = H if gate_weight is None else 2 * H
    # All weights are transposed, and asked for before they are needed.
    transposed = weight + (replica * H + channel)[None, :] * wide + channel[:, None]
    of_value = tl.load(transposed)
    wait_for_previous()
    value = tl.load(pre + place, there, 0.0)
    down = tl.zeros((ROWS, H), tl.float32)
    for slot in tl.static_range(SLOTS):
        one = tl.num_programs(0).to(tl.int64) * rows * H
        down += tl.load(d_after + slot * one + place, there, 0.0)
    alive = value > 0
    if scale is not None:
        value -= tl.sum(value, 1)[:, None] / H
        inverse = tl.rsqrt(tl.sum(value * value, 1)[:, None] / H + 1e-5)
        value *= inverse
        scales = tl.load(scale + replica * H + channel)
    if gate_weight is not None:
        new = value
        if scale is not None:
            new = value * scales + tl.load(offset + replica * H + channel)
        gate_value = tl.load(gate + place, there, 0.0)
        old = tl.load(before + place, there, 0.0)
        tl.store(d_before + place, down * (1.0 - gate_value), there)
        d_logit = down * (new - old) * gate_value * (1.0 - gate_value)
        tl.store(d_gate + place, d_logit, there)
        down *= gate_value
    if scale is not None:
        tl.store(d_value + place, down, there)
        tl.store(d_normal + place, down * value, there)
        down *= scales
        mean = tl.sum(down, 1)[:, None] / H
        tilt = tl.sum(down * value, 1)[:, None] / H
        down = inverse * (down - mean - value * tilt)
    if gate_weight is not None:
        gate_layer = tl.load(gate_weight + (replica * H + channel)[None, :] * H + channel[:, None])
    down = tl.where(alive, down, 0.0)
    tl.store(grads + line * C + self_column + channel, down, there)
    down = dot(down, of_value, PRECISION)
    if gate_weight is not None:
        of_gate = tl.load(transposed + H)
        d_logit = dot(d_logit, gate_layer, PRECISION)
        d_logit = tl.where(tl.load(gate_hidden + place, there, 0.0) > 0, d_logit, 0.0)
        tl.store(grads + line * C + gate_column + channel, d_logit, there)
        down += dot(d_logit, of_gate, PRECISION)
    tl.store(d_message + place, down, there)


def update_states_backward(
    d_after: Tensor,
    before: Tensor,
    maps: Update,
    kept: Sequence[Tensor | None],
    grads: Tensor,
    columns: tuple[int, int | None],
    d_message: Tensor,
    d_before: Tensor | None,
    d_gate: Tensor | None,
    d_norm: Sequence[Tensor] | None,
    precision: str,
) -> None:
    """The grads of what `renew` reads, from the sum of d_after over (grad buffers, S, B, n, h).

    They go into the columns keep and gate of `grads`, d_message and, with a gate, d_before. For
    the weights are d_gate, before the gate's sigmoid, and d_norm, which sums up to the grads of
    the norm's scale and offset.
    """
    grad_buffers, S, B, n, h = d_after.shape
    self_column, gate_column = columns
    gate_weight = maps.gate.weight if maps.gate else None
    _update_states_backward[S, triton.cdiv(B * n, _ROWS)](
        d_after, before, maps.of_message, *(maps.norm or (None, None)), gate_weight, *kept,
        grads, d_message, d_before, d_gate, *(d_norm or (None, None)),
        B * n, grads.shape[-1], self_column, gate_column,
        H=h, SLOTS=grad_buffers, ROWS=_ROWS, PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit
def _largest(values, node, best, winner):
    """The largest so far of each column and the first row that has it, with some more rows."""
    more = tl.max(values, 0)
    first = tl.min(tl.where(values == more[None, :], node[:, None], 32767), 0)
    return tl.maximum(best, more), tl.where(more > best, first, winner)


@triton.jit(do_not_specialize=_COUNTS)
def _pool(
    x, before, after, encoder, weight, graph_weight, out, pooled, winners,
    B, n, F, CG,
    FX: tl.constexpr, H: tl.constexpr, G: tl.constexpr, ROWS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample = tl.program_id(0).to(tl.int64)
    replica = sample // B
    channel, feature, value = tl.arange(0, H), tl.arange(0, FX), tl.arange(0, G)
    known = feature < F
    encoder += replica * F * H
    encoders = tl.load(encoder + feature[:, None] * H + channel, known[:, None], 0.0)
    parts = weight + (replica * 3 * H + channel)[:, None] * CG + value
    wanted = (value < CG)[None, :]
    of_nodes = tl.load(parts, wanted, 0.0)
    of_before = tl.load(parts + H * CG, wanted, 0.0)
    of_after = tl.load(parts + 2 * H * CG, wanted, 0.0)
    at_graph = graph_weight + (replica * F + feature)[:, None] * CG + value
    of_graph = tl.load(at_graph, known[:, None] & wanted, 0.0)
    nodes = tl.full((H,), float("-inf"), tl.float32)
    first, second = nodes, nodes
    node_winner = tl.zeros((H,), tl.int32)
    before_winner, after_winner = node_winner, node_winner
    for start in range(0, n, ROWS):
        node = start + tl.arange(0, ROWS)
        there = (node < n)[:, None]
        line = (sample * n + node)[:, None]
        numbers = tl.load(x + line * F + feature, there & known, 0.0)
        earlier = tl.load(before + line * H + channel, there, float("-inf"))
        later = tl.load(after + line * H + channel, there, float("-inf"))
        encoded = tl.where(there, exact_dot(numbers, encoders, PRECISION), float("-inf"))
        nodes, node_winner = _largest(encoded, node, nodes, node_winner)
        first, before_winner = _largest(earlier, node, first, before_winner)
        second, after_winner = _largest(later, node, second, after_winner)
    if winners is not None:
        place = sample * 3 * H + channel
        tl.store(pooled + place, nodes)
        tl.store(pooled + place + H, first)
        tl.store(pooled + place + 2 * H, second)
        tl.store(winners + place, node_winner.to(tl.int16))
        tl.store(winners + place + H, before_winner.to(tl.int16))
        tl.store(winners + place + 2 * H, after_winner.to(tl.int16))
    numbers = tl.load(x + sample * n * F + feature, known, 0.0)
    total = nodes[:, None] * of_nodes + first[:, None] * of_before + second[:, None] * of_after
    total = tl.sum(total, 0) + tl.sum(numbers[:, None] * of_graph, 0)
    tl.store(out + sample * CG + value, total, value < CG)


def pool(
    x: Tensor,
    before: Tensor,
    after: Tensor,
    encoder: Tensor,
    weight: Tensor,
    graph_weight: Tensor,
    out: Tensor,
    kept: tuple[Tensor, Tensor] | None,
    precision: str,
) -> None:
    """out (S, B, Cg) = the largest of x @ encoder, before, after @ weight + x[0] @ graph_weight.

    kept are the largest, pooled (S, B, 3h), and the first nodes that have them, winners
    (S, B, 3, h); None keeps nothing.
    """
    S, B, n, h = before.shape
    F, Cg = graph_weight.shape[1:]
    pooled, winners = kept or (None, None)
    _pool[(S * B,)](
        x, before, after, encoder, weight, graph_weight, out, pooled, winners, B, n, F, Cg,
        FX=padded(F), H=h, G=triton.next_power_of_2(Cg), ROWS=_ROWS, PRECISION=precision,
        num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit(do_not_specialize=_COUNTS)
def _pool_backward(
    d_out, winners, encoder, weight, graph_weight, d_x, d_before, d_after, d_encoded,
    B, n, F, CG,
    FX: tl.constexpr, H: tl.constexpr, G: tl.constexpr, ROWS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample = tl.program_id(0).to(tl.int64)
    replica = sample // B
    channel, feature, value = tl.arange(0, H), tl.arange(0, FX), tl.arange(0, G)
    known, wanted = feature < F, (value < CG)[None, :]
    encoder += replica * F * H
    transposed = tl.load(encoder + feature[None, :] * H + channel[:, None], known[None, :], 0.0)
    place = sample * 3 * H + channel
    node_winner = tl.load(winners + place)[None, :]
    before_winner = tl.load(winners + place + H)[None, :]
    after_winner = tl.load(winners + place + 2 * H)[None, :]
    grad = tl.load(d_out + sample * CG + value, value < CG, 0.0)[None, :]
    parts = weight + (replica * 3 * H + channel)[:, None] * CG + value
    of_nodes = tl.sum(tl.load(parts, wanted, 0.0) * grad, 1)[None, :]
    of_before = tl.sum(tl.load(parts + H * CG, wanted, 0.0) * grad, 1)[None, :]
    of_after = tl.sum(tl.load(parts + 2 * H * CG, wanted, 0.0) * grad, 1)[None, :]
    at_graph = graph_weight + (replica * F + feature)[:, None] * CG + value
    of_graph = tl.load(at_graph, known[:, None] & wanted, 0.0)
    of_graph = tl.sum(of_graph * grad, 1)[None, :]
    for start in range(0, n, ROWS):
        node = start + tl.arange(0, ROWS)[:, None]
        line, there = sample * n + node, node < n
        at = line * H + channel
        encoded = tl.where(node == node_winner, of_nodes, 0.0)
        tl.store(d_encoded + at, encoded, there)
        tl.store(d_before + at, tl.where(node == before_winner, of_before, 0.0), there)
        tl.store(d_after + at, tl.where(node == after_winner, of_after, 0.0), there)
        numbers = dot(encoded, transposed, PRECISION) + tl.where(node == 0, of_graph, 0.0)
        tl.store(d_x + line * F + feature, numbers, there & known)


def pool_backward(
    d_out: Tensor,
    winners: Tensor,
    encoder: Tensor,
    weight: Tensor,
    graph_weight: Tensor,
    d_x: Tensor,
    d_before: Tensor,
    d_after: Tensor,
    d_encoded: Tensor,
    precision: str,
) -> None:
    """The grads of what `pool` reads, from those of its result; d_encoded is of x @ encoder."""
    S, B, n, h = d_before.shape
    F, Cg = graph_weight.shape[1:]
    _pool_backward[(S * B,)](
        d_out, winners, encoder, weight, graph_weight, d_x, d_before, d_after, d_encoded,
        B, n, F, Cg,
        FX=padded(F), H=h, G=triton.next_power_of_2(Cg), ROWS=_ROWS, PRECISION=precision,
        num_warps=4, **pdl_options(S * B * n),
    )  # fmt: skip
