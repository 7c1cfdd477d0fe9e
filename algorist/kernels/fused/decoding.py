"""Decoders at all steps of a scan: what they predict, and their slopes.

Each form of prediction is a part of its own, with `forward` and `backward` for one step and
`gradients` for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.fused import node, points
from algorist.kernels.fused.projection import Projection
from algorist.kernels.fused.stacks import (
    Moments,
    Slots,
    at_step,
    each_over_steps,
    over_steps,
    sum_over_steps,
    with_ones,
    without_ones,
)
from algorist.kernels.fused.tiling import tiles
from algorist.kernels.maps import DecodeMaps, Pointing, Pooling


class Logits(NamedTuple):
    """Raw predictions, (K, S, B, ...), those of several features side by side; None for none."""

    decoded: Tensor | None  # (K, S, B, n, C): values of nodes, then what others are made of
    points: Tensor | None  # (K, P, S, B, n, n)
    edges: Tensor | None  # (K, S, B, n, n, Ce)
    cubes: Tensor | None  # (K, Q, S, B, n, n, n)
    graph: Tensor | None  # (K, S, B, Cg)

    def at(self, k: int) -> Logits:
        """Those of one step."""
        return Logits(*(None if stack is None else stack[k] for stack in self))


class Points:
    """Pointers of nodes."""

    adds = ("raw", "maxima")

    def __init__(
        self, maps: Pointing, widen: Affine | None, moments: Moments, projection: Projection,
        column: int, *, keep: bool,
    ):  # fmt: skip
        turned = maps.triplet.mT.contiguous() if widen else None
        self.maps = points.Pointing(maps.edge, maps.score, maps.bias, maps.triplet, turned)
        self.widen = widen and points.Widening(*widen)
        self.moments, self.projection, self.column = moments, projection, column
        self.precision = projection.precision
        K, S, B, n, h = moments.before.shape
        new, P = moments.before.new_empty, maps.edge.shape[1]
        self.out = new(K, P, S, B, n, n)
        self.larger = new(K, P, S, B, n, n, h) if keep else None
        self.wide = new(K, S, B, n, n, h) if keep and widen else None

    def forward(self, k: int) -> None:
        """The scores of step k."""
        points.points(
            self.projection.out[k], self.column, self.moments.raw[k],
            at_step(self.moments.maxima, k), self.maps, self.widen, self.out[k], at_step(self.wide, k), at_step(self.larger, k),
            precision=self.precision,
        )  # fmt: skip

    def turn(self, slots: Slots, slopes: Tensor) -> None:
        """Make ready for the way back."""
        n, h = self.moments.before.shape[-2:]
        self.slopes = slopes
        self.d_source = self.projection.partial(
            self.out.shape[1], self.column, 2 * h, tiles(n).blocks(n)
        )
        self.d_excess = torch.empty_like(self.larger)
        self.d_wide = None if self.wide is None else torch.empty_like(self.wide)
        self.d_raw, self.d_maxima = slots.take("raw"), slots.take_if("maxima")

    def backward(self, k: int) -> None:
        """The slopes of what step k read."""
        points.points_backward(
            self.slopes[k], self.projection.out[k], self.column, self.maps, self.widen,
            at_step(self.wide, k), self.larger[k], self.projection.slopes[k], self.d_source,
            self.d_excess[k], at_step(self.d_wide, k), self.d_raw[k], at_step(self.d_maxima, k),
            precision=self.precision,
        )  # fmt: skip

    def gradients(self) -> tuple[Pointing, Affine | None]:
        """Of the maps and of the widening of triplets."""
        turned = self.slopes.mT.unsqueeze(-1)  # rows are (target, source)
        maps = Pointing(
            edge=each_over_steps(self.moments.raw, self.d_excess),
            triplet=None if self.wide is None else each_over_steps(self.wide, self.d_excess),
            score=each_over_steps(self.larger, turned),
            bias=self.slopes.sum((0, 3, 4, 5)).mT.unsqueeze(-1),
        )
        return maps, _widening(self.moments, self.d_wide)


class Pool:
    """Values of the graph."""

    adds = ("x", "before", "after")

    def __init__(
        self, maps: Pooling, moments: Moments, of_nodes: int, precision: str, *, keep: bool
    ):
        self.moments, self.precision = moments, precision
        K, S, B, n, h = moments.before.shape
        new = moments.before.new_empty
        self.split = of_nodes, moments.x.shape[-1] - 1 - of_nodes
        bias = (maps.graph.bias + maps.pooled.bias).unsqueeze(1)
        unread = bias.new_zeros(S, of_nodes, bias.shape[-1])
        self.maps = (
            with_ones(maps.encoder, *self.split),
            maps.pooled.weight.contiguous(),
            torch.cat((unread, maps.graph.weight, bias), 1),
        )
        self.out = new(K, S, B, bias.shape[-1])
        self.pooled = new(K, S, B, 3 * h) if keep else None
        self.winners = new(K, S, B, 3, h, dtype=torch.int16) if keep else None

    def forward(self, k: int) -> None:
        """The values of step k."""
        x, _, before, after, _ = self.moments.step(k)
        kept = None if self.pooled is None else (self.pooled[k], self.winners[k])
        node.pool(x, before, after, *self.maps, self.out[k], kept, self.precision)

    def turn(self, slots: Slots, slopes: Tensor) -> None:
        """Make ready for the way back."""
        self.slopes = slopes
        self.slots = [slots.take(name) for name in self.adds]
        self.d_encoded = torch.empty_like(self.moments.before)

    def backward(self, k: int) -> None:
        """The slopes of what step k read."""
        d_x, d_before, d_after = (slot[k] for slot in self.slots)
        node.pool_backward(
            self.slopes[k], self.winners[k], *self.maps, d_x, d_before, d_after,
            self.d_encoded[k], self.precision,
        )  # fmt: skip

    def gradients(self) -> Pooling:
        """Of the encoder, of what is pooled, and of the graph."""
        of_nodes, _ = self.split
        graph = over_steps(self.moments.x[:, :, :, 0], self.slopes)
        bias = graph[:, -1]
        return Pooling(
            encoder=without_ones(over_steps(self.moments.x, self.d_encoded), *self.split),
            pooled=Affine(over_steps(self.pooled, self.slopes), bias),
            graph=Affine(graph[:, of_nodes:-1], bias),
        )


class Decoding:
    """All decoders of some features, at all steps; `keep` what the way back needs."""

    def __init__(
        self, maps: DecodeMaps, moments: Moments, of_nodes: int, precision: str, *, keep: bool
    ):
        x, _, before, after, _ = moments
        h = before.shape[-1]
        self.maps, self.moments, self.node_values = maps, moments, maps.node_values
        self.nodes = maps.nodes and Projection(
            maps.nodes, (x, before, after), precision, narrow=maps.narrow
        )
        column = self.nodes.wide if self.nodes else 0
        self.points = self.edges = self.cubes = self.graph = None
        among = (maps.widen, moments, self.nodes)
        if maps.edges:
            self.edges = Edges(maps.edges, *among, maps.node_values, keep=keep)
        if maps.points:
            self.points = Points(maps.points, *among, column, keep=keep)
            column += 2 * h * maps.points.edge.shape[1]
        if maps.cubes:
            self.cubes = Cubes(maps.cubes, *among, column, keep=keep)
        if maps.graph:
            self.graph = Pool(maps.graph, moments, of_nodes, precision, keep=keep)
        self.parts = [p for p in (self.points, self.edges, self.cubes, self.graph) if p]

    @property
    def adds(self) -> list[str]:
        """The moments whose slopes it contributes to, each as often as it does."""
        names = ["x", "before", "after"] if self.nodes else []
        return names + [name for part in self.parts for name in part.adds]

    @property
    def logits(self) -> Logits:
        """All predictions."""
        parts = (self.nodes, self.points, self.edges, self.cubes, self.graph)
        return Logits(*(part and part.out for part in parts))

    def forward(self, k: int) -> None:
        """Predict from moment k."""
        for part in (self.nodes, *self.parts):
            if part:
                part.forward(k)

    @property
    def predictions(self) -> Logits:
        """All predictions, without what else is made of nodes."""
        values = self.nodes.out[..., : self.node_values] if self.node_values else None
        return self.logits._replace(decoded=values)

    def read_slopes(self, slopes: Iterator[Tensor | None]) -> Logits:
        """The slopes of all predictions, in their order, as tensors that may be changed."""
        read = []
        for stack in self.predictions:
            slope = None if stack is None else next(slopes)
            if stack is not None:
                slope = (
                    torch.zeros_like(stack)
                    if slope is None
                    else slope.clone(memory_format=torch.contiguous_format)
                )
            read.append(slope)
        return Logits(*read)

    def turn(self, slots: Slots, slopes: Logits) -> None:
        """Make ready for the way back, with slopes of all predictions, which will be changed."""
        if self.nodes:
            self.nodes.turn(slots)
            if slopes.decoded is not None:
                self.nodes.slopes[..., : self.node_values] = slopes.decoded
            slopes = slopes._replace(decoded=self.nodes.slopes)
        self.slopes = slopes
        parts = (self.points, self.edges, self.cubes, self.graph)
        for part, slope in zip(parts, slopes[1:], strict=True):
            if part:
                part.turn(slots, slope)

    def backward(self, k: int) -> None:
        """The slopes of moment k."""
        for part in (*self.parts, self.nodes):
            if part:
                part.backward(k)

    def gradients(self) -> DecodeMaps:
        """Of all maps."""
        of_pairs = {
            name: getattr(self, name).gradients()
            for name in ("points", "edges", "cubes")
            if getattr(self, name)
        }
        widen = [widen for _, widen in of_pairs.values() if widen]
        return DecodeMaps(
            nodes=self.nodes and self.nodes.gradients(),
            node_values=self.node_values,
            graph=self.graph and self.graph.gradients(),
            widen=Affine(*map(sum, zip(*widen, strict=True))) if widen else None,
            **{
                name: of_pairs[name][0] if name in of_pairs else None
                for name in ("points", "edges", "cubes")
            },
        )


def _widening(moments: Moments, d_wide: Tensor | None) -> Affine | None:
    """The gradient of how triplets are widened."""
    if d_wide is None:
        return None
    return Affine(over_steps(moments.maxima, d_wide), sum_over_steps(d_wide))
