"""The operations that dominate the cost of a net, and the choice of what computes them.

Each is one differentiable function of dense projections of nodes and of edge features. Three
modules implement them all with the same signatures: `plain` (PyTorch, the definition), `compiled`
(Numba, for training on CPUs) and `fused.operations` (Triton, for GPUs). `using` chooses among them,
and nothing else does.

Shapes: B samples, n nodes, h channels. Every tensor may have a leading axis of S replicas, (S, B,
n, h) for nodes; then all tensors of a call have it, layers included.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from algorist.errors import unknown
from algorist.extras import how_to_install
from algorist.kernels import compiled, plain
from algorist.kernels.affine import Affine, FactoredEdges

KERNELS = ("auto", "plain", "fused")
"""The kernels that may compute a net."""
PRECISIONS = {"fp32": "ieee", "tf32": "tf32", "bf16": "bf16"}
"""How fused kernels round operands of matrix products, with Triton's names."""

MOST_CHANNELS, MOST_NODES = 128, 256
"""For more, what a fused kernel holds at once does not fit into a multiprocessor of an H200."""

Edges: TypeAlias = Tensor | FactoredEdges | None
Layer: TypeAlias = nn.Linear | Affine


class _Settings(NamedTuple):
    kernels: str = "auto"
    precision: str = "fp32"


_DEFAULT = _Settings()
_SETTINGS = ContextVar("kernels", default=_DEFAULT)


@contextmanager
def using(kernels: str = "auto", *, precision: str = "fp32") -> Iterator[None]:
    """Choose what computes the operations that are called in this context, and by this thread.

    kernels: `plain`, `fused` (an error for what Triton kernels cannot compute), or `auto`: the
        fastest that the device has.
    precision: how fused kernels round the operands of matrix products: fp32 (not at all), tf32 or
        bf16. Sums are always float32.
    """
    if kernels not in KERNELS:
        raise ValueError(unknown("kernels", kernels, KERNELS))
    if precision not in PRECISIONS:
        raise ValueError(unknown("precision", precision, PRECISIONS))
    before = _SETTINGS.set(_Settings(kernels, precision))
    try:
        yield
    finally:
        _SETTINGS.reset(before)


def message_max(
    receiver: Tensor,
    sender: Tensor,
    edges: Edges,
    first: Layer,
    second: Layer,
    mask: Tensor | None = None,
    *,
    recompute: bool | None = None,
) -> Tensor:
    """The largest message that each node receives, per channel: (B, n, h).

    The message from i to j is second(relu(first(relu(receiver[j] + sender[i] + edges[i, j])))).

    receiver, sender: (B, n, h), projections of the nodes; they may be columns of wider rows.
    edges: a tensor (B, n, n, h), `FactoredEdges`, or None.
    first, second: layers from h to h channels.
    mask: (B, n, n), 0 where the message from i to j is dropped. A node that receives none gets
        -1e6, and no gradient flows through it.
    recompute: compute the messages again in backward instead of keeping two tensors of the shape
        (B, n, n, h). Unless told, fused kernels keep them up to 256 MB.
    """
    largest, bias = _messages(
        "message_max", receiver, sender, edges, first, second, mask, recompute
    )
    return _match(largest + bias, receiver)


def message_max_mean(
    receiver: Tensor,
    sender: Tensor,
    edges: Edges,
    first: Layer,
    second: Layer,
    mask: Tensor | None = None,
    *,
    recompute: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest message that each node receives and their mean: (B, n, h) each.

    Arguments as for `message_max`. The mean is that of the messages that the mask lets through; a
    node that receives none gets the bias of `second`.
    """
    (largest, mean), bias = _messages(
        "message_max_mean", receiver, sender, edges, first, second, mask, recompute
    )
    return _match(largest + bias, receiver), _match(mean + bias, receiver)


def _messages(
    operation: str,
    receiver: Tensor,
    sender: Tensor,
    edges: Edges,
    first: Layer,
    second: Layer,
    mask: Tensor | None,
    recompute: bool | None,
) -> tuple[Any, Tensor]:
    """The result of an operation on messages, and the bias of `second`, which it lacks."""
    whole = _with_replicas(receiver, "receiver")
    S, B, n, h = whole.shape
    layers = _affine(first, S, (h, h), "first"), _affine(second, S, (h, h), "second")
    arguments = (
        whole,
        _check(_with_replicas(sender, "sender"), whole.shape, "sender"),
        _factored(edges, receiver, h),
        layers[0],
        layers[1].weight,
        None if mask is None else _check(_match_axes(mask, receiver), (S, B, n, n), "mask"),
    )
    implementation, options = _implementation(receiver, h)
    function = getattr(implementation, operation)
    if options:  # fused kernels recompute messages by themselves
        function = partial(function, recompute=recompute, **options)
    elif recompute:
        function = partial(checkpoint, function, use_reentrant=False, preserve_rng_state=False)
    return function(*arguments), layers[1].bias[:, None, None]


def triplet_max(nodes: Tensor, edges: Edges) -> Tensor:
    """For all j and k, the largest over i of the sum of the triplet (i, j, k): (B, n, n, T).

    The sum is nodes_1[i] + nodes_2[j] + nodes_3[k] + edges_1[i, j] + edges_2[i, k] + edges_3[j, k],
    where 1, 2 and 3 are the three thirds of the channels.

    nodes: (B, n, 3T).
    edges: a tensor (B, n, n, 3T), `FactoredEdges`, or None.
    """
    whole = _with_replicas(nodes, "nodes")
    if whole.shape[-1] % 3:
        raise ValueError(f"nodes: got {whole.shape[-1]} channels, expected a multiple of 3")
    implementation, options = _implementation(nodes, whole.shape[-1] // 3, fewest=1)
    factored = _factored(edges, nodes, whole.shape[-1])
    return _match(implementation.triplet_max(whole, factored, **options), nodes)


def pointer_logits(source: Tensor, target: Tensor, edges: Edges, score: Layer) -> Tensor:
    """The logits of pointers from nodes to nodes: (B, n source, n target).

    The logit of a pointer from i to j is score(max(source[i], target[j] + edges[j, i])).

    source, target: (B, n, h), projections of the nodes.
    edges: a tensor (B, n, n, h), `FactoredEdges`, or None; from target to source.
    score: a layer from h channels to one.
    """
    whole = _with_replicas(source, "source")
    S, h = len(whole), whole.shape[-1]
    implementation, options = _implementation(source, h)
    logits = implementation.pointer_logits(
        whole,
        _check(_with_replicas(target, "target"), whole.shape, "target"),
        _factored(edges, source, h),
        _affine(score, S, (h, 1), "score"),
        **options,
    )
    return _match(logits, source)


def edge_pointer_logits(pair: Tensor, pointee: Tensor, score: Layer) -> Tensor:
    """The logits of pointers from pairs of nodes to nodes: (B, n, n, n).

    The logit of a pointer from the pair (i, j) to k is score(max(pair[i, j], pointee[k])).

    pair: (B, n, n, h).
    pointee: (B, n, h), a projection of the nodes.
    score: a layer from h channels to one.
    """
    whole = _with_replicas(pointee, "pointee")
    S, B, n, h = whole.shape
    implementation, options = _implementation(pointee, h)
    logits = implementation.edge_pointer_logits(
        _check(_match_axes(pair, pointee), (S, B, n, n, h), "pair"),
        whole,
        _affine(score, S, (h, 1), "score"),
        **options,
    )
    return _match(logits, pointee)


def triplet_logits(
    pair: Tensor,
    source: Tensor,
    target: Tensor,
    score: Layer,
    raw: Tensor | None = None,
    weight: Tensor | None = None,
) -> Tensor:
    """The logits of pointers from pairs of nodes to nodes, by all three pairs: (B, n, n, n).

    The logit of a pointer from the pair (i, j) to k is
    score(relu(pair[i, j] + source[i, k] + target[j, k] + raw[i, j, k] @ weight)).
    Fused kernels compute this again in backward instead of keeping B x n x n x n x h numbers.

    pair, source, target: (B, n, n, h), perhaps columns of wider rows.
    score: a layer from h channels to one.
    raw, weight: (B, n, n, n, F) and (F, h), a few numbers for each triplet and how they are
        encoded; or neither.
    """
    whole = _with_replicas(pair, "pair", "B, n, n, h")
    S, B, n, _, h = whole.shape
    pairs = (S, B, n, n, h)
    if (raw is None) != (weight is None):
        raise ValueError("raw and weight: got one of them, expected both or neither")
    if raw is None or weight is None:
        raw, weight = pair.new_empty(*pair.shape[:-1], n, 0), pair.new_empty(S, 0, h)
    numbers = _with_replicas(raw, "raw", "B, n, n, n, F")
    F = numbers.shape[-1]
    implementation, options = _implementation(pair, h)
    logits = implementation.triplet_logits(
        _check(whole, pairs, "pair"),
        _check(_with_replicas(source, "source", "B, n, n, h"), pairs, "source"),
        _check(_with_replicas(target, "target", "B, n, n, h"), pairs, "target"),
        _check(numbers, (S, B, n, n, n, F), "raw"),
        _check(_with_replicas(weight, "weight", "F, h"), (S, F, h), "weight"),
        _affine(score, S, (h, 1), "score"),
        **options,
    )
    return logits if pair.ndim == 5 else logits.squeeze(0)


def _with_replicas(x: Tensor, name: str, axes: str = "B, n, h") -> Tensor:
    """(S, B, n, h), or with other axes behind S, where there may be no replica axis yet."""
    count = len(axes.split(", "))
    if x.ndim not in (count, count + 1):
        found = tuple(x.shape)
        raise ValueError(f"{name}: got shape {found}, expected ({axes}) or (S, {axes})")
    return x if x.ndim > count else x.unsqueeze(0)


def _match_axes(x: Tensor, nodes: Tensor) -> Tensor:
    """With a replica axis, which `x` has if the nodes have one."""
    return x if nodes.ndim == 4 else x.unsqueeze(0)


def _match(result: Tensor, nodes: Tensor) -> Tensor:
    """Without the replica axis, unless the nodes have one."""
    return result if nodes.ndim == 4 else result.squeeze(0)


def _check(x: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    if x.shape != torch.Size(shape):
        raise ValueError(f"{name}: got shape {tuple(x.shape)}, expected {tuple(shape)}")
    return x


def _factored(edges: Edges, nodes: Tensor, width: int) -> FactoredEdges:
    """Edge features of any form as `FactoredEdges` with a replica axis."""
    *leading, n, _ = _with_replicas(nodes, "nodes").shape
    pairs = (*leading, n, n)
    if edges is None:
        return FactoredEdges(nodes.new_empty(*pairs, 0), nodes.new_empty(leading[0], 0, width))
    if isinstance(edges, Tensor):
        return FactoredEdges.of_dense(_check(_match_axes(edges, nodes), (*pairs, width), "edges"))
    raw, weight = (_match_axes(x, nodes) for x in (edges.raw, edges.weight))
    dense = None if edges.dense is None else _match_axes(edges.dense, nodes)
    F = raw.shape[-1]
    _check(raw, (*pairs, F), "edges.raw")
    _check(weight, (leading[0], F, width), "edges.weight")
    if dense is not None:
        _check(dense, (*pairs, width), "edges.dense")
    return FactoredEdges(raw, weight, dense)


def _affine(layer: Layer, replicas: int, size: tuple[int, int], name: str) -> Affine:
    """A layer as the kernels take it: weights (S, in, out), bias (S, out)."""
    if isinstance(layer, nn.Linear):  # one layer for all replicas
        weight = layer.weight.mT.expand(replicas, -1, -1)
        bias = weight.new_zeros(size[1]) if layer.bias is None else layer.bias
        layer = Affine(weight, bias.expand(replicas, -1))
    if not isinstance(layer, Affine):
        raise ValueError(f"{name}: got {type(layer).__name__}, expected nn.Linear or Affine")
    _check(layer.weight, (replicas, *size), f"the weight of {name}")
    return layer


def _implementation(
    like: Tensor, channels: int, *, fewest: int = 16
) -> tuple[ModuleType, dict[str, Any]]:
    """The module that computes an operation on such a tensor, and the options that it takes."""
    kernels, precision = _SETTINGS.get()
    if _wants_fused(like):
        obstacle = _obstacle(like, channels, fewest)
        if obstacle is None:
            from algorist.kernels.fused import operations

            return operations, {"precision": PRECISIONS[precision]}
        if kernels == "fused":
            raise ValueError(f"kernels: fused ones {obstacle}; or choose plain")
        warnings.warn(f"plain kernels, several times slower: fused ones {obstacle}", stacklevel=4)
    learns = torch.is_grad_enabled() and like.dtype == torch.float32
    if kernels == "auto" and like.device.type == "cpu" and learns:
        return compiled, {}
    return plain, {}


def computes_fused(like: Tensor) -> bool:
    """Whether fused kernels compute what they can at every size, on such a tensor."""
    if not _wants_fused(like):
        return False
    obstacle = _general_obstacle(like)
    if obstacle and _SETTINGS.get().kernels == "fused":
        raise ValueError(f"kernels: fused ones {obstacle}; or choose plain")
    return obstacle is None


def _wants_fused(like: Tensor) -> bool:
    kernels = _SETTINGS.get().kernels
    return kernels == "fused" or (kernels == "auto" and like.device.type == "cuda")


def _obstacle(like: Tensor, channels: int, fewest: int) -> str | None:
    """Why fused kernels cannot compute an operation on such a tensor."""
    obstacle = _general_obstacle(like)
    if obstacle:
        return obstacle
    if channels & (channels - 1) or not fewest <= channels <= MOST_CHANNELS:
        sizes = f"a power of two from {fewest} to {MOST_CHANNELS}"
        return f"need {sizes} as the number of channels, got {channels}"
    nodes = like.shape[-2]
    return None if nodes <= MOST_NODES else f"take at most {MOST_NODES} nodes, got {nodes}"


def _general_obstacle(like: Tensor) -> str | None:
    """Why fused kernels can compute nothing on such a tensor, of any size."""
    if importlib.util.find_spec("triton") is None:
        return f"need Triton: {how_to_install('gpu')}"
    if not launched_on(like.device):
        return f"need a GPU, got {like.device.type}"
    if like.dtype != torch.float32:
        return f"need float32, got {like.dtype}"
    return None


def launched_on(device: torch.device) -> bool:
    """Whether Triton launches kernels on a device: on others only its interpreter runs them."""
    return device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
