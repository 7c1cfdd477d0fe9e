"""The operations that dominate the cost, in plain PyTorch: the reference, on any device.

Shapes: S replicas, B samples, n nodes, h channels. A pair of nodes is (from, to). Edge features
come as the few raw numbers they are made of, (S, B, n, n, F), and the weights that encode them:
the n x n x h tensor of their encodings exists only inside these functions. Constants that could
be added to edges are added to nodes by the caller, where they are fewer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, relu

from algorist.kernels.affine import Affine, product
from algorist.kernels.maps import Update

NOT_A_NEIGHBOUR = -1e6
"""Stands for the message of a node that is not heard: far below any that is."""


class _Largest(torch.autograd.Function):
    """The largest over the third axis; the gradient goes to the first that is largest.

    PyTorch's own maximum with indices is forty times slower here, and its `amax` backward fourfold.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        result = values.amax(2)
        ctx.save_for_backward(values, result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        values, result = ctx.saved_tensors
        spread = torch.empty_like(values)
        for i in range(values.shape[2]):
            hit = values[:, :, i] == result
            torch.mul(gradient, hit, out=spread[:, :, i])
            gradient = gradient.masked_fill(hit, 0.0)
        return spread


def largest(values: Tensor) -> Tensor:
    """The largest over the third axis."""
    return _Largest.apply(values)


def message_max(
    receiver: Tensor,  # (S, B, n, h)
    sender: Tensor,  # (S, B, n, h)
    raw: Tensor,  # (S, B, n, n, F), from sender to receiver
    adjacency: Tensor | None,  # (S, B, n, n)
    edge: Tensor,
    first: Affine,
    second: Tensor,
) -> Tensor:
    """The largest message that each node receives, per channel: (S, B, n, h)."""
    messages = product(raw, edge).add_(receiver.unsqueeze(2)).add_(sender.unsqueeze(3)).relu_()
    messages = product(first(messages).relu_(), second)
    if adjacency is not None:
        messages = torch.where(adjacency.unsqueeze(-1) > 0, messages, NOT_A_NEIGHBOUR)
    return largest(messages)


def update(
    keep: Tensor, gate: Tensor | None, messages: Tensor, hidden: Tensor, maps: Update
) -> Tensor:
    """The new states of the nodes, (S, B, n, h): `keep` and `gate` come from the old ones."""
    message_mask = product(messages, maps.of_message)
    new = relu(keep + message_mask[..., : keep.shape[-1]])
    if maps.norm is not None:
        scale, offset = (x[:, None, None] for x in maps.norm)
        new = layer_norm(new, new.shape[-1:]) * scale + offset
    if gate is None or maps.gate is None:
        return new
    opened = maps.gate(relu(gate + message_mask[..., keep.shape[-1] :])).sigmoid()
    return hidden + opened * (new - hidden)


def triplet_maxima(nodes: Tensor, raw: Tensor, edge: Tensor) -> Tensor:
    """The largest over i of what the triplet (i, j, k) sums up to, for all j and k: (..., f).

    nodes (S, B, n, 3f) are the parts of i, j and k side by side, edge (S, F, 3f) the weights of the
    edges (i, j), (i, k) and (j, k).
    """
    of_i, of_j, of_k = nodes.chunk(3, -1)
    of_ij, of_ik, of_jk = product(raw, edge).chunk(3, -1)
    left = of_ij + of_i.unsqueeze(3)
    return _max_of_sums(left, of_ik) + of_jk + of_j.unsqueeze(3) + of_k.unsqueeze(2)


def _max_of_sums(left: Tensor, right: Tensor) -> Tensor:
    """max over i of left[i, j] + right[i, k], for all j and k."""
    if torch.is_grad_enabled():
        return largest(left.unsqueeze(-2) + right.unsqueeze(-3))
    best = left[:, :, 0].unsqueeze(-2) + right[:, :, 0].unsqueeze(-3)
    for i in range(1, left.shape[2]):
        torch.maximum(best, left[:, :, i].unsqueeze(-2) + right[:, :, i].unsqueeze(-3), out=best)
    return best


def pointer_scores(
    source: Tensor,  # (S, B, n, h)
    target: Tensor,  # (S, B, n, h)
    raw: Tensor,  # (S, B, n, n, F), from target to source
    triplets: Tensor | None,  # (S, B, n, n, h), likewise
    edge: Tensor,
    triplet: Tensor,
    score: Affine,
) -> Tensor:
    """How strongly each node points to each other: (S, B, source, target).

    The score is that of max(source, target + edge), written as source + relu(what exceeds it):
    then the part of the source alone is a matter of nodes.
    """
    excess = product(raw, edge).add_(target.unsqueeze(3)).add_(-source.unsqueeze(2))
    if triplets is not None:
        excess = excess.add_(product(triplets, triplet))
    scores = product(excess.relu_(), score.weight) + score(source).unsqueeze(2)
    return scores.squeeze(-1).transpose(2, 3)


def edge_pointer_scores(pair: Tensor, pointee: Tensor, score: Affine) -> Tensor:
    """How strongly each pair of nodes points to each node: (S, B, n, n, n).

    pair is (S, B, n, n, h), pointee (S, B, n, h); the score is that of the larger of the two.
    """
    columns = [
        product((pair - pointee[:, :, None, None, k]).relu_(), score.weight)
        for k in range(pointee.shape[2])
    ]
    return torch.cat(columns, -1) + score(pointee).mT.unsqueeze(2)
