"""Decoded values of the graph, from the maxima over its nodes.

Values are (S, B, n, channels), weights (S, in, out). Results go where the caller says.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import dot, exact_dot, padded, pdl_options, wait_for_previous

_COUNTS = ["B", "n", "F", "CG"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""
_ROWS = 16
"""The rows of a tile that holds all channels: the fewest that the matrix units take."""


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
