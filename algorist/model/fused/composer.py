"""The composer: linear layers that read encodings become layers that read raw numbers.

What all of them do to all numbers is one product. Its left matrix has the encoders of nodes, edges
and graph as blocks; the right one has all maps that read them, below each other where their results
are added up. The numbers of nodes are followed by those of the graph and a one: its row has all
that is constant, so that what edges and messages add that is constant is added at nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from torch import Tensor

from algorist.kernels.weight_layout import WeightLayout
from algorist.model.layers import Linear
from algorist.spec import Location

Encoders = Mapping[Location, Sequence[Linear]]
"""The maps whose sum encodes the raw numbers of nodes, edges and graph."""


class FusedOutput(NamedTuple):
    """Outputs that are sums: of what is made of a node, and of what is added to that.

    Each map reads an encoding before all else; of messages only their bias is read here.
    """

    width: int
    node: Linear | None = None
    edge: Linear | None = None
    graph: Linear | None = None
    message: Linear | None = None

    @property
    def layers(self) -> tuple[Linear | None, ...]:
        """The layers whose results are added up; None where there is none."""
        return self.node, self.edge, self.graph, self.message


_NODE, _EDGE, _GRAPH, _MESSAGE = range(4)
"""What maps read: the blocks of the inner axis of the product. A one for each comes last."""


class OutputGroup(NamedTuple):
    """Columns side by side, and where each of them stands."""

    outputs: Sequence[FusedOutput]
    spans: Sequence[slice]

    @property
    def each(self) -> list[tuple[FusedOutput, slice]]:
        """Both, for each output."""
        return list(zip(self.outputs, self.spans, strict=True))

    @property
    def span(self) -> slice:
        """Where they stand together."""
        return slice(self.spans[0].start, self.spans[-1].stop)


class Composer:
    """Plans the composed weights of one algorithm: each method adds a result to the layout.

    A result is a view of its place in the buffer, until the weights are composed.
    """

    def __init__(
        self,
        hidden: int,
        encoders: Encoders,
        message: Linear | None,
        groups: Sequence[Sequence[FusedOutput]],
        others: Iterable[Linear],
    ):
        """`message` is the last map of messages; `others` are only copied into results."""
        outputs = [output for group in groups for output in group]
        read = [linear for output in outputs for linear in output.layers if linear]
        every = [encoder for location in Location for encoder in encoders[location]]
        self.parameters: list[Tensor] = [
            *(encoder.weight for encoder in every),
            *(encoder.bias for encoder in every),  # those of a location are added up
            *([message.bias] if message else []),
            *(parameter for linear in (*read, *others) for parameter in linear.parameters()),
        ]
        of_nodes, of_edges, of_graph = (
            sum(encoder.weight.shape[1] for encoder in encoders[location]) for location in Location
        )
        self.hidden, self.numbers = hidden, of_nodes + of_graph + 1
        ends = [*accumulate((output.width for output in outputs), initial=0)]
        self.layout = WeightLayout(
            self.parameters, self.numbers + of_edges, 4 * hidden + 4, ends[-1]
        )
        spans = iter([slice(*pair) for pair in pairwise(ends)])
        self.groups = [OutputGroup(group, [next(spans) for _ in group]) for group in groups]
        for group in self.groups:
            for output, span in group.each:
                self._place(output, span)
        self._place_encoders(encoders, message, {_NODE: 0, _GRAPH: of_nodes, _EDGE: self.numbers})
        self._encoder: Tensor | None = None

    def _inner(self, block: int) -> slice:
        return slice(block * self.hidden, (block + 1) * self.hidden)

    def _place(self, output: FusedOutput, span: slice) -> None:
        for block, linear in enumerate(output.layers):
            if linear:
                own = self.layout.of(linear.weight)[:, : self.hidden]
                self.layout.copy(own, self.layout.right[:, self._inner(block), span])
                self._place_bias(linear, block, span)

    def _place_bias(self, linear: Linear, block: int, span: slice) -> None:
        one = self.layout.right[:, 4 * self.hidden + block]
        self.layout.copy(self.layout.of(linear.bias), one[:, span])

    def _place_encoders(
        self, encoders: Encoders, message: Linear | None, rows: Mapping[int, int]
    ) -> None:
        layout, one = self.layout, self.layout.left[:, self.numbers - 1]
        for block, location in zip((_NODE, _EDGE, _GRAPH), Location, strict=True):
            row, inner = rows[block], self._inner(block)
            for encoder in encoders[location]:
                weight = layout.of(encoder.weight)
                layout.copy(weight, layout.left[:, row : row + weight.shape[1], inner])
                row += weight.shape[1]
            if encoders[location]:
                biases = layout.stack_of([encoder.bias for encoder in encoders[location]])
                layout.copy(biases, one[:, inner])
        if message:
            layout.copy(layout.of(message.bias), one[:, self._inner(_MESSAGE)])
        layout.set(one[:, 4 * self.hidden :], 1.0)

    def edge(self, span: slice) -> Tensor:
        """How raw numbers of edges are read by some outputs."""
        return self.layout.product[:, self.numbers :, span]

    def message(self, span: slice) -> Tensor:
        """How messages are read by some outputs."""
        return self.layout.right[:, self._inner(_MESSAGE), span]

    def after_encoding(self, linear: Linear) -> Tensor:
        """The weights of what a map reads after an encoding."""
        return self.layout.of(linear.weight)[:, self.hidden :]

    def states(self, group: OutputGroup) -> Tensor | None:
        """All outputs as maps of numbers and states; None where there are no outputs."""
        if not group.outputs:
            return None
        numbers = self.layout.product[:, : self.numbers, group.span]
        rows = max(c.node.weight.shape[1] for c in group.outputs if c.node) - self.hidden
        result = self.layout.result(self.numbers + rows, numbers.shape[-1])
        self.layout.copy(numbers, result[:, : self.numbers])
        for output, span in group.each:
            own = slice(span.start - group.span.start, span.stop - group.span.start)
            nothing = self.layout.right[:, :rows, span]  # where there is no map, this is zero
            weights = self.after_encoding(output.node) if output.node else nothing
            self.layout.copy(weights, result[:, self.numbers :, own])
        return result

    def constant(self, group: OutputGroup, biases: Sequence[Linear]) -> Tensor:
        """All outputs as maps of numbers alone, with a bias more for each."""
        for linear, span in zip(biases, group.spans, strict=True):
            self._place_bias(linear, _NODE, span)
        return self.side_by_side([self.layout.product[:, : self.numbers, group.span]])

    def encoder(self) -> Tensor:
        """The map of numbers to the encoding of a node."""
        if self._encoder is None:
            own = self.layout.left[:, : self.numbers, self._inner(_NODE)]
            self._encoder = self.side_by_side([own])
        return self._encoder

    def side_by_side(self, parts: Sequence[Tensor]) -> Tensor:
        """Parts with the same rows as one matrix."""
        widths = [part.shape[-1] for part in parts]
        result = self.layout.result(parts[0].shape[1], sum(widths))
        for part, place in zip(parts, result.split(widths, -1), strict=True):
            self.layout.copy(part, place)
        return result

    def stacked(self, parts: Sequence[Tensor]) -> Tensor:
        """Parts of one shape along a new axis, after that of replicas."""
        result = self.layout.result(len(parts), *parts[0].shape[1:])
        for part, place in zip(parts, result.unbind(1), strict=True):
            self.layout.copy(part, place)
        return result
