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
from algorist.kernels.fused import edges, node, points
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
from algorist.kernels.maps import DecodeMaps, EdgeValues, Pointing, Pooling


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


class Shared:
    """What the decoders of pairs of nodes share."""

    def __init__(
        self, moments: Moments, projection: Projection, widen: Affine | None, *, keep: bool
    ):
        self.moments, self.projection, self.keep = moments, projection, keep
        self.widen = points.Widening(*widen) if widen else None
        *shape, h = moments.before.shape
        self.wide = moments.x.new_empty(*shape, shape[-1], h) if keep and widen else None


class _OfPairs:
    """What decoders of pairs of nodes have in common."""

    adds = ("raw", "maxima")
    first = False  # whether it comes first, and writes the triplets as all of them read them

    def __init__(self, shared: Shared, column: int):
        """Its columns in what nodes are projected to begin at `column`."""
        self.shared, self.column = shared, column
        self.moments, self.projection, self.widen = shared.moments, shared.projection, shared.widen
        self.precision = shared.projection.precision

    def _read(self, k: int) -> tuple[Tensor, int, Tensor, Tensor | None]:
        maxima = at_step(self.moments.maxima, k)
        return self.projection.out[k], self.column, self.moments.raw[k], maxima

    def _wide(self, k: int) -> Tensor | None:
        """Where the widened triplets are to be written, if at all."""
        return at_step(self.shared.wide, k) if self.first else None

    def prepare(self, k: int) -> None:
        """What can be done before the states of step k are renewed."""

    def prepare_backward(self, k: int) -> None:
        """The slopes that nothing but the way back of `prepare` waits for."""

    def turn(self, slots: Slots, slopes: Tensor) -> None:
        """Make ready for the way back."""
        self.slopes = slopes
        wide = self.shared.wide
        self.d_wide = None if wide is None else torch.empty_like(wide)
        self.d_raw, self.d_maxima = slots.take("raw"), slots.take_if("maxima")

    def _partial(self, count: int, column: int, stride: int) -> Tensor:
        n = self.moments.before.shape[-2]
        return self.projection.partial(count, column, stride, tiles(n).blocks(n))

    def _slopes(self, k: int) -> tuple[Tensor | None, Tensor, Tensor | None]:
        return at_step(self.d_wide, k), self.d_raw[k], at_step(self.d_maxima, k)

    def _of_triplets(self, slopes: Tensor) -> Tensor | None:
        """The gradient of the weights of widened triplets, from slopes of what they add to."""
        wide = self.shared.wide
        return None if wide is None else each_over_steps(wide, slopes)

    def widening_gradient(self) -> Affine | None:
        """Of how triplets are widened."""
        if self.d_wide is None:
            return None
        return Affine(over_steps(self.moments.maxima, self.d_wide), sum_over_steps(self.d_wide))


class Points(_OfPairs):
    """Pointers of nodes."""

    def __init__(self, maps: Pointing, shared: Shared, column: int):
        super().__init__(shared, column)
        self.maps = _with_turned(maps, self.widen)
        K, S, B, n, h = self.moments.before.shape
        new, P = self.moments.before.new_empty, maps.edge.shape[1]
        self.out = new(K, P, S, B, n, n)
        # Without a way back all steps may share the room of one.
        self.larger = new(K if shared.keep else 1, P, S, B, n, n, h).expand(
            K, -1, -1, -1, -1, -1, -1
        )

    def prepare(self, k: int) -> None:
        """What step k can know of pairs before states are renewed."""
        points.pair_values(
            self.moments.raw[k], at_step(self.moments.maxima, k), self.maps, self.widen,
            self.larger[k], self._wide(k), precision=self.precision,
        )  # fmt: skip

    def forward(self, k: int) -> None:
        """The scores of step k."""
        points.points(
            self.projection.out[k], self.column, self.maps, self.larger[k], self.out[k],
            keep=self.shared.keep,
        )  # fmt: skip

    def turn(self, slots: Slots, slopes: Tensor) -> None:
        """Make ready for the way back."""
        super().turn(slots, slopes)
        self.d_excess = torch.empty_like(self.larger)

    def backward(self, k: int) -> None:
        """The slopes of what nodes said in step k."""
        points.points_backward(
            self.slopes[k], self.projection.out[k], self.column, self.maps, self.larger[k],
            self.projection.slopes[k],
        )  # fmt: skip

    def prepare_backward(self, k: int) -> None:
        """The slopes of what edges and triplets said in step k."""
        points.pair_values_backward(
            self.slopes[k], self.projection.out[k], self.column, self.maps, self.widen,
            at_step(self.shared.wide, k), self.larger[k], self.d_excess[k], *self._slopes(k),
            precision=self.precision,
        )  # fmt: skip

    def gradients(self) -> Pointing:
        """Of the maps."""
        turned = self.slopes.mT.unsqueeze(-1)  # rows are (target, source)
        return Pointing(
            edge=each_over_steps(self.moments.raw, self.d_excess),
            triplet=self._of_triplets(self.d_excess),
            score=each_over_steps(self.larger, turned),
            bias=self.slopes.sum((0, 3, 4, 5)).mT.unsqueeze(-1),
        )


class Edges(_OfPairs):
    """Values of edges."""

    def __init__(self, maps: EdgeValues, shared: Shared, column: int):
        super().__init__(shared, column)
        self.maps = EdgeValues(maps.edge, maps.triplet if self.widen else None)
        raw = self.moments.raw
        self.out = raw.new_empty(*raw.shape[:-1], maps.edge.shape[-1])

    def forward(self, k: int) -> None:
        """The values of step k."""
        edges.edge_values(*self._read(k), *self.maps, self.widen, self.out[k], self._wide(k))

    def backward(self, k: int) -> None:
        """The slopes of what step k read."""
        edges.edge_values_backward(
            self.slopes[k], self.column, *self.maps, self.widen, at_step(self.shared.wide, k),
            self.projection.slopes[k], *self._slopes(k), precision=self.precision,
        )  # fmt: skip

    def gradients(self) -> EdgeValues:
        """Of the maps."""
        triplet = self._of_triplets(self.slopes.unsqueeze(1))
        return EdgeValues(
            edge=over_steps(self.moments.raw, self.slopes),
            triplet=None if triplet is None else triplet.squeeze(1),
        )


class Cubes(_OfPairs):
    """Pointers of edges."""

    def __init__(self, maps: Pointing, shared: Shared, column: int):
        super().__init__(shared, column)
        self.maps = _with_turned(maps, self.widen)
        K, S, B, n, h = self.moments.before.shape
        new, Q = self.moments.before.new_empty, maps.edge.shape[1]
        self.out = new(K, Q, S, B, n, n, n)
        self.pairs = new(K, Q, S, B, n, n, h) if shared.keep else None

    def forward(self, k: int) -> None:
        """The scores of step k."""
        edges.cube(
            *self._read(k), self.maps, self.widen, self.out[k], self._wide(k),
            at_step(self.pairs, k), precision=self.precision,
        )  # fmt: skip

    def turn(self, slots: Slots, slopes: Tensor) -> None:
        """Make ready for the way back."""
        super().turn(slots, slopes)
        K, S, B, n, h = self.moments.before.shape
        Q = self.out.shape[1]
        self.d_target = self._partial(Q, self.column + h, 3 * h)
        self.d_pointee = self._partial(Q, self.column + 2 * h, 3 * h)
        self.d_pair = torch.empty_like(self.pairs)
        self.d_score = self.out.new_empty(K, Q, S, B, tiles(n).blocks(n), h)

    def backward(self, k: int) -> None:
        """The slopes of what step k read."""
        edges.cube_backward(
            self.slopes[k], self.projection.out[k], self.column, self.maps, self.widen,
            at_step(self.shared.wide, k), self.pairs[k], self.projection.slopes[k], self.d_target,
            self.d_pointee, self.d_pair[k], self.d_score[k], *self._slopes(k),
            precision=self.precision,
        )  # fmt: skip

    def gradients(self) -> Pointing:
        """Of the maps."""
        return Pointing(
            edge=each_over_steps(self.moments.raw, self.d_pair),
            triplet=self._of_triplets(self.d_pair),
            score=self.d_score.sum((0, 3, 4)).transpose(0, 1).unsqueeze(-1),
            bias=self.slopes.sum((0, 3, 4, 5, 6)).mT.unsqueeze(-1),
        )


def _with_turned(maps: Pointing, widen: points.Widening | None) -> points.Pointing:
    """The maps as kernels take them: those of triplets, if any are read, in both directions."""
    triplets = (maps.triplet, maps.triplet.mT.contiguous()) if widen else (None, None)
    return points.Pointing(maps.edge, maps.score, maps.bias, *triplets)


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
        shared = Shared(moments, self.nodes, maps.widen, keep=keep)
        if maps.edges:
            self.edges = Edges(maps.edges, shared, maps.node_values)
        if maps.points:
            self.points = Points(maps.points, shared, column)
            column += 2 * h * maps.points.edge.shape[1]
        if maps.cubes:
            self.cubes = Cubes(maps.cubes, shared, column)
        self.of_pairs = [p for p in (self.points, self.edges, self.cubes) if p]
        for part in self.of_pairs[:1]:
            part.first = True
        if maps.graph:
            self.graph = Pool(maps.graph, moments, of_nodes, precision, keep=keep)
        self.parts = self.of_pairs + ([self.graph] if self.graph else [])

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

    def prepare(self, k: int) -> None:
        """Do what can be done before the states of step k are renewed."""
        for part in self.of_pairs:
            part.prepare(k)

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
        """The slopes of moment k, but for those of `prepare`."""
        for part in (*self.parts, self.nodes):
            if part:
                part.backward(k)

    def prepare_backward(self, k: int) -> None:
        """The slopes of what was prepared."""
        for part in self.of_pairs:
            part.prepare_backward(k)

    def gradients(self) -> DecodeMaps:
        """Of all maps."""
        widen = [x for part in self.of_pairs if (x := part.widening_gradient())]
        return DecodeMaps(
            nodes=self.nodes and self.nodes.gradients(),
            node_values=self.node_values,
            points=self.points and self.points.gradients(),
            edges=self.edges and self.edges.gradients(),
            cubes=self.cubes and self.cubes.gradients(),
            graph=self.graph and self.graph.gradients(),
            widen=Affine(*map(sum, zip(*widen, strict=True))) if widen else None,
        )
