"""Maxima for training on CPUs, compiled with Numba.

Only one sender in n wins a channel of a message, so the gradient of the layer before the maximum
has few entries that are not zero: adding up those costs a fraction of two dense matrix products.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorist.kernels.affine import Affine, product
from algorist.kernels.plain import NOT_A_NEIGHBOUR
from algorist.machine_code import kept

_compiled = partial(kept, nogil=True, fastmath={"contract"})
_compiled_sum = partial(kept, nogil=True, fastmath={"contract", "reassoc"})
"""For sums over channels, which the processor adds up several at a time."""


def message_max(
    receiver: Tensor,
    sender: Tensor,
    raw: Tensor,
    adjacency: Tensor | None,
    edge: Tensor,
    first: Affine,
    second: Tensor,
) -> Tensor:
    """The twin of `plain.message_max`."""
    messages = product(raw, edge).add_(receiver.unsqueeze(2)).add_(sender.unsqueeze(3)).relu_()
    return _LargestProduct.apply(first(messages).relu_(), second, adjacency)


def triplet_maxima(nodes: Tensor, raw: Tensor, edge: Tensor) -> Tensor:
    """The twin of `plain.triplet_maxima`."""
    of_i, of_j, of_k = nodes.chunk(3, -1)
    of_ij, of_ik, of_jk = product(raw, edge).chunk(3, -1)
    largest = _LargestSum.apply(of_ij + of_i.unsqueeze(3), of_ik)
    return largest + of_jk + of_j.unsqueeze(3) + of_k.unsqueeze(2)


def pointer_scores(
    source: Tensor,
    target: Tensor,
    raw: Tensor,
    triplets: Tensor | None,
    edge: Tensor,
    triplet: Tensor,
    score: Affine,
) -> Tensor:
    """The twin of `plain.pointer_scores`."""
    pairs = product(raw, edge)
    if triplets is not None:
        pairs = pairs.add_(product(triplets, triplet))
    scores = _ScoreOfLarger.apply(pairs, source, target, score.weight.squeeze(-1))
    return scores.mT + score.bias.view(-1, 1, 1, 1)


class _LargestProduct(torch.autograd.Function):
    """The largest over senders of hidden x weight, hidden being (S, B, sender, receiver, h)."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, adjacency: Tensor | None) -> Tensor:
        values = product(hidden, weight)
        if adjacency is not None:
            values.masked_fill_((adjacency <= 0).unsqueeze(-1), NOT_A_NEIGHBOUR)
        S, B, _, n, h = values.shape
        largest, winner = values.new_empty(S, B, n, h), np.empty((S * B, n, h), np.int16)
        _find_largest(_array(values.flatten(0, 1)), _array(largest.flatten(0, 1)), winner)
        if adjacency is not None:  # who senders nobody learns from nobody
            winner[_array(largest.flatten(0, 1)) == NOT_A_NEIGHBOUR] = -1
        ctx.save_for_backward(hidden, weight)
        ctx.winner = winner.reshape(S, B, n, h)
        return largest

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        hidden, weight = ctx.saved_tensors
        d_hidden, turned = torch.empty_like(hidden), weight.mT.contiguous()
        d_turned = torch.zeros_like(turned)
        for s in range(len(hidden)):
            _spread_product(
                _array(gradient[s].contiguous()),
                ctx.winner[s],
                *(_array(x[s]) for x in (hidden, turned, d_hidden, d_turned)),
            )
        return d_hidden, d_turned.mT, None


class _LargestSum(torch.autograd.Function):
    """max over i of left[i, j] + right[i, k], for all j and k: (S, B, n, n, f) each."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        left, right = left.contiguous(), right.contiguous()
        largest, ctx.winner = torch.empty_like(left), np.empty(left.shape, np.int16)
        samples = (x.flatten(0, 1) for x in (left, right, largest))
        _find_largest_sum(*map(_array, samples), ctx.winner.reshape(-1, *left.shape[2:]))
        return largest

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        gradient = gradient.contiguous()
        d_left, d_right = torch.zeros_like(gradient), torch.zeros_like(gradient)
        samples = (x.flatten(0, 1) for x in (gradient, d_left, d_right))
        _spread_sum(ctx.winner.reshape(-1, *gradient.shape[2:]), *map(_array, samples))
        return d_left, d_right


class _ScoreOfLarger(torch.autograd.Function):
    """The score of max(source, target + pair) for all pairs (S, B, target, source, h)."""

    @staticmethod
    def forward(ctx: Any, pairs: Tensor, source: Tensor, target: Tensor, score: Tensor) -> Tensor:
        source, target = source.contiguous(), target.contiguous()
        scores = pairs.new_empty(pairs.shape[:-1])
        for s in range(len(pairs)):
            _score_larger(*(_array(x[s]) for x in (pairs, source, target, score, scores)))
        ctx.save_for_backward(pairs, source, target, score)
        return scores

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple:
        pairs, source, target, score = ctx.saved_tensors
        gradient, d_pairs = gradient.contiguous(), torch.empty_like(pairs)
        d_source, d_target, d_score = (torch.zeros_like(x) for x in (source, target, score))
        given = (gradient, pairs, source, target, score)
        wanted = (d_pairs, d_source, d_target, d_score)
        for s in range(len(pairs)):
            _spread_score(*(_array(x[s]) for x in (*given, *wanted)))
        return d_pairs, d_source, d_target, d_score


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


@_compiled
def _find_largest(values, largest, winner):
    samples, senders, receivers, channels = values.shape
    for b in range(samples):
        for r in range(receivers):
            for c in range(channels):
                largest[b, r, c] = values[b, 0, r, c]
                winner[b, r, c] = 0
            for s in range(1, senders):
                for c in range(channels):
                    if values[b, s, r, c] > largest[b, r, c]:
                        largest[b, r, c] = values[b, s, r, c]
                        winner[b, r, c] = s


@_compiled
def _spread_product(gradient, winner, hidden, turned, d_hidden, d_turned):
    samples, receivers, channels = gradient.shape
    senders, inner = hidden.shape[1], hidden.shape[3]
    for b in range(samples):
        for s in range(senders):
            for r in range(receivers):
                for k in range(inner):
                    d_hidden[b, s, r, k] = 0
        for r in range(receivers):
            for c in range(channels):
                s, grad = winner[b, r, c], gradient[b, r, c]
                if s < 0:
                    continue
                for k in range(inner):
                    d_hidden[b, s, r, k] += grad * turned[c, k]
                for k in range(inner):
                    d_turned[c, k] += grad * hidden[b, s, r, k]


@_compiled
def _find_largest_sum(left, right, largest, winner):
    samples, n, _, features = left.shape
    for b in range(samples):
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    for f in range(features):
                        total = left[b, i, j, f] + right[b, i, k, f]
                        if i == 0 or total > largest[b, j, k, f]:
                            largest[b, j, k, f] = total
                            winner[b, j, k, f] = i


@_compiled
def _spread_sum(winner, gradient, d_left, d_right):
    samples, n, _, features = winner.shape
    for b in range(samples):
        for j in range(n):
            for k in range(n):
                for f in range(features):
                    i = winner[b, j, k, f]
                    d_left[b, i, j, f] += gradient[b, j, k, f]
                    d_right[b, i, k, f] += gradient[b, j, k, f]


@_compiled_sum
def _score_larger(pairs, source, target, score, scores):
    samples, n, _, channels = pairs.shape
    for b in range(samples):
        for j in range(n):
            for i in range(n):
                total = np.float32(0.0)
                for c in range(channels):
                    larger = max(source[b, i, c], target[b, j, c] + pairs[b, j, i, c])
                    total += score[c] * larger
                scores[b, j, i] = total


@_compiled
def _spread_score(
    gradient, pairs, source, target, score, d_pairs, d_source, d_target, d_score
):  # fmt: skip
    samples, n, _, channels = pairs.shape
    for b in range(samples):
        for j in range(n):
            for i in range(n):
                grad = gradient[b, j, i]
                for c in range(channels):
                    other = target[b, j, c] + pairs[b, j, i, c]
                    down = grad * score[c]
                    exceeds = other > source[b, i, c]
                    part = down if exceeds else np.float32(0.0)
                    d_pairs[b, j, i, c] = part
                    d_target[b, j, c] += part
                    d_source[b, i, c] += down - part
                    d_score[c] += grad * (other if exceeds else source[b, i, c])
