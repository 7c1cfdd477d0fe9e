"""The operations that dominate the cost, in plain PyTorch: their definition, on any device.

Shapes: S replicas, B samples, n nodes, h channels. A pair of nodes is (from, to). Edge features
may come as a few raw numbers and the weights that encode them (`FactoredEdges`). Constants that
could be added to edges are added to nodes by the caller, where they are fewer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, relu

from algorist.kernels.affine import Affine, FactoredEdges, add_product, product
from algorist.kernels.replica_function import ReplicaFunction
from algorist.kernels.rounding import exact_products
from algorist.kernels.scan_weights import UpdateWeights

NOT_A_NEIGHBOUR = -1e6
"""Takes the place of a message that the mask drops: far below any other."""
_MOST_AT_ONCE = 2**24
"""Channels of triplets that are computed at once without gradients."""


class _Max(ReplicaFunction):
    """The maximum over the third axis; the gradient goes to the first of equal maxima.

    PyTorch's own maximum with indices is forty times slower here, and the backward of its `amax`
    four times.
    """

    @staticmethod
    def forward(values: Tensor) -> Tensor:
        return values.amax(2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        values, result = ctx.saved_tensors
        spread = torch.empty_like(values)
        for i in range(values.shape[2]):
            hit = values[:, :, i] == result
            torch.mul(grad, hit, out=spread[:, :, i])
            grad = grad.masked_fill(hit, 0.0)
        return spread


def build_messages(receiver: Tensor, sender: Tensor, edges: FactoredEdges) -> Tensor:
    """relu(receiver + sender + edge) of all pairs: (S, B, sender, receiver, h)."""
    return edges.plus(receiver.unsqueeze(2)).add_(sender.unsqueeze(3)).relu_()


def message_max(
    receiver: Tensor,  # (S, B, n, h)
    sender: Tensor,  # (S, B, n, h)
    edges: FactoredEdges,  # from sender to receiver
    first: Affine,
    second: Tensor,  # (S, h, h)
    mask: Tensor | None = None,  # (S, B, n, n), 0 where a message is dropped
) -> Tensor:
    """The largest message that each node receives, per channel: (S, B, n, h)."""
    messages = product(first(build_messages(receiver, sender, edges)).relu_(), second)
    return _Max.apply(_drop(messages, mask))


def message_max_mean(
    receiver: Tensor,
    sender: Tensor,
    edges: FactoredEdges,
    first: Affine,
    second: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest message that each node receives and the mean of all, as in `message_max`."""
    messages = product(first(build_messages(receiver, sender, edges)).relu_(), second)
    return _Max.apply(_drop(messages, mask)), mean_of_senders(messages, mask)


def _drop(messages: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return messages
    return torch.where(mask.unsqueeze(-1) > 0, messages, NOT_A_NEIGHBOUR)


def mean_of_senders(values: Tensor, mask: Tensor | None) -> Tensor:
    """The mean over the senders that a mask lets through, 0 where it drops all: (S, B, n, h)."""
    if mask is None:
        return values.mean(2)
    received = (mask > 0).to(values.dtype)
    weight = received / received.sum(2, keepdim=True).clamp(min=1.0)
    return (values * weight.unsqueeze(-1)).sum(2)


def update(
    self_projection: Tensor,
    gate: Tensor | None,
    messages: Tensor,
    hidden: Tensor,
    weights: UpdateWeights,
) -> Tensor:
    """The new hidden states, (S, B, n, h).

    `self_projection` and `gate` are projections of the node itself; `gate` lacks its last layer.
    """
    h = self_projection.shape[-1]
    of_message = product(messages, weights.of_message)
    new = relu(self_projection + of_message[..., :h])
    if weights.norm is not None:
        scale, offset = (x[:, None, None] for x in weights.norm)
        new = layer_norm(new, new.shape[-1:]) * scale + offset
    if gate is None or weights.gate is None:
        return new
    return hidden + weights.gate(relu(gate + of_message[..., h:])).sigmoid() * (new - hidden)


def triplet_max(nodes: Tensor, edges: FactoredEdges) -> Tensor:
    """The largest over i of the sum of the triplet (i, j, k), for all j and k: (S, B, n, n, T).

    nodes: (S, B, n, 3T), the projections of i, j and k side by side.
    edges: those of (i, j), (i, k) and (j, k), 3T likewise.
    """
    of_i, of_j, of_k = nodes.chunk(3, -1)
    of_ij, of_ik, of_jk = edges.encode().chunk(3, -1)
    left = of_ij + of_i.unsqueeze(3)
    return _max_of_sums(left, of_ik) + of_jk + of_j.unsqueeze(3) + of_k.unsqueeze(2)


def _max_of_sums(left: Tensor, right: Tensor) -> Tensor:
    """max over i of left[i, j] + right[i, k], for all j and k."""
    if torch.is_grad_enabled():
        return _Max.apply(left.unsqueeze(-2) + right.unsqueeze(-3))
    best = left[:, :, 0].unsqueeze(-2) + right[:, :, 0].unsqueeze(-3)
    for i in range(1, left.shape[2]):
        torch.maximum(best, left[:, :, i].unsqueeze(-2) + right[:, :, i].unsqueeze(-3), out=best)
    return best


def pointer_logits(
    source: Tensor,  # (S, B, n, h)
    target: Tensor,  # (S, B, n, h)
    edges: FactoredEdges,  # from target to source
    score: Affine,  # (S, h, 1)
) -> Tensor:
    """The logits of pointers from nodes to nodes: (S, B, source, target).

    The logit is score(max(source, target + edge)), computed as score(source) + the score of what
    exceeds the source: the first term is a matter of nodes.
    """
    excess = edges.plus(target.unsqueeze(3)).sub_(source.unsqueeze(2))
    logits = product(excess.relu_(), score.weight)
    return (logits + score(source).unsqueeze(2)).squeeze(-1).transpose(2, 3)


def edge_pointer_logits(pair: Tensor, pointee: Tensor, score: Affine) -> Tensor:
    """The logits of pointers from pairs of nodes to nodes: (S, B, n, n, n).

    pair is (S, B, n, n, h), pointee (S, B, n, h); the logit is score(max(pair, pointee)).
    """
    columns = [
        product((pair - pointee[:, :, None, None, k]).relu_(), score.weight)
        for k in range(pointee.shape[2])
    ]
    return torch.cat(columns, -1) + score(pointee).mT.unsqueeze(2)


def triplet_logits(
    pair: Tensor,  # (S, B, n, n, h), of (source, target)
    source: Tensor,  # (S, B, n, n, h), of (source, pointee)
    target: Tensor,  # (S, B, n, n, h), of (target, pointee)
    raw: Tensor,  # (S, B, n, n, n, F), of all three
    weight: Tensor,  # (S, F, h)
    score: Affine,  # (S, h, 1)
) -> Tensor:
    """The logits of pointers from pairs of nodes to nodes, by triplets: (S, B, n, n, n).

    The logit is score(relu(pair + source + target + raw weight)).
    """

    def logits(k: slice) -> Tensor:
        total = pair.unsqueeze(4) + source[:, :, :, None, k] + target[:, :, None, :, k]
        if raw.shape[-1]:
            with exact_products():
                total = add_product(total, raw[..., k, :], weight)
        return score(total.relu_()).squeeze(-1)

    if torch.is_grad_enabled():
        return logits(slice(None))
    # Few pointees at a time, since n * n * n * h numbers may not fit.
    n, few = pair.shape[2], max(1, _MOST_AT_ONCE // pair.numel())
    return torch.cat([logits(slice(k, k + few)) for k in range(0, n, few)], -1)
