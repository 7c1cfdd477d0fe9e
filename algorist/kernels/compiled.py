"""Maxima for training on CPUs, compiled with Numba.

Only one sender in n has the largest message of a channel, so the gradient of the layer before the
maximum has few entries that are not zero: adding up those costs a fraction of two dense matrix
products.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from algorist.kernels.affine import Affine, FactoredEdges, product
from algorist.kernels.plain import (
    NOT_A_NEIGHBOUR,
    build_messages,
    edge_pointer_logits,
    mean_of_senders,
    triplet_logits,
)
from algorist.kernels.replica_function import ReplicaFunction
from algorist.machine_code import compile_cached

__all__ = [
    "edge_pointer_logits",
    "message_max",
    "message_max_mean",
    "pointer_logits",
    "triplet_logits",
    "triplet_max",
]

_compiled = partial(compile_cached, nogil=True, fastmath={"contract"})
_compiled_sum = partial(compile_cached, nogil=True, fastmath={"contract", "reassoc"})
"""For sums over channels, which the processor adds up several at a time."""


def message_max(
    receiver: Tensor,
    sender: Tensor,
    edges: FactoredEdges,
    first: Affine,
    second: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """The twin of `plain.message_max`."""
    hidden = first(build_messages(receiver, sender, edges)).relu_()
    return _max_product(hidden, second, mask)


def message_max_mean(
    receiver: Tensor,
    sender: Tensor,
    edges: FactoredEdges,
    first: Affine,
    second: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The twin of `plain.message_max_mean`; the last layer of the mean is one of nodes."""
    hidden = first(build_messages(receiver, sender, edges)).relu_()
    return _max_product(hidden, second, mask), product(mean_of_senders(hidden, mask), second)


def triplet_max(nodes: Tensor, edges: FactoredEdges) -> Tensor:
    """The twin of `plain.triplet_max`."""
    of_i, of_j, of_k = nodes.chunk(3, -1)
    of_ij, of_ik, of_jk = edges.encode().chunk(3, -1)
    largest, _ = _MaxSum.apply(of_ij + of_i.unsqueeze(3), of_ik)
    return largest + of_jk + of_j.unsqueeze(3) + of_k.unsqueeze(2)


def pointer_logits(source: Tensor, target: Tensor, edges: FactoredEdges, score: Affine) -> Tensor:
    """The twin of `plain.pointer_logits`."""
    logits = _ScoreOfLarger.apply(edges.encode(), source, target, score.weight.squeeze(-1))
    return logits.mT + score.bias.view(-1, 1, 1, 1)


def _max_product(hidden: Tensor, weight: Tensor, mask: Tensor | None) -> Tensor:
    return _MaxProduct.apply(hidden, weight, mask)[0]


class _MaxProduct(ReplicaFunction):
    """The maximum over senders of hidden x weight, hidden being (S, B, sender, receiver, h)."""

    @staticmethod
    def forward(hidden: Tensor, weight: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        values = product(hidden, weight)
        if mask is not None:
            values.masked_fill_((mask <= 0).unsqueeze(-1), NOT_A_NEIGHBOUR)
        S, B, _, n, h = values.shape
        largest = values.new_empty(S, B, n, h)
        winner = torch.empty_like(largest, dtype=torch.int16)
        _find_max(*(_array(x.flatten(0, 1)) for x in (values, largest, winner)))
        if mask is not None:  # no gradient for receivers without senders
            winner.masked_fill_(largest == NOT_A_NEIGHBOUR, -1)
        return largest, winner

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        hidden, weight, _ = inputs
        ctx.save_for_backward(hidden, weight, output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, winner = ctx.saved_tensors
        grad, d_hidden = grad.contiguous(), torch.empty_like(hidden)
        transposed = weight.mT.contiguous()
        d_transposed = torch.zeros_like(transposed)
        tensors = (grad, winner, hidden, transposed, d_hidden, d_transposed)
        for s in range(len(hidden)):
            _spread_product(*(_array(x[s]) for x in tensors))
        return d_hidden, d_transposed.mT, None


class _MaxSum(ReplicaFunction):
    """max over i of left[i, j] + right[i, k], for all j and k: (S, B, n, n, f) each."""

    @staticmethod
    def forward(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        left, right = left.contiguous(), right.contiguous()
        largest, winner = torch.empty_like(left), torch.empty_like(left, dtype=torch.int16)
        _find_max_sum(*(_array(x.flatten(0, 1)) for x in (left, right, largest, winner)))
        return largest, winner

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        (winner,) = ctx.saved_tensors
        grad = grad.contiguous()
        d_left, d_right = torch.zeros_like(grad), torch.zeros_like(grad)
        _spread_sum(*(_array(x.flatten(0, 1)) for x in (winner, grad, d_left, d_right)))
        return d_left, d_right


class _ScoreOfLarger(ReplicaFunction):
    """The score of max(source, target + edge) for all pairs (S, B, target, source, h)."""

    @staticmethod
    def forward(edges: Tensor, source: Tensor, target: Tensor, score: Tensor) -> Tensor:
        logits = edges.new_empty(edges.shape[:-1])
        tensors = (edges.contiguous(), source.contiguous(), target.contiguous(), score, logits)
        for s in range(len(edges)):
            _score_larger(*(_array(x[s]) for x in tensors))
        return logits

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        inputs = [x.contiguous() for x in (grad, *ctx.saved_tensors)]
        edges, source, target, score = inputs[1:]
        results = (torch.empty_like(edges), *map(torch.zeros_like, (source, target, score)))
        for s in range(len(edges)):
            _spread_score(*(_array(x[s]) for x in (*inputs, *results)))
        return results


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


@_compiled
def _find_max(values, largest, winner):
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
def _spread_product(gradient, winner, hidden, transposed, d_hidden, d_transposed):
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
                    d_hidden[b, s, r, k] += grad * transposed[c, k]
                for k in range(inner):
                    d_transposed[c, k] += grad * hidden[b, s, r, k]


@_compiled
def _find_max_sum(left, right, largest, winner):
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
