"""Tensors that are kept as factors, and layers that read the same input in one product.

Encoders are linear, and whatever reads an encoding is linear first. So encodings need not be
computed: a layer that reads one is composed with the encoder, a small product of two matrices, and
applied to the few raw numbers that the encoding is made of. For edges this saves the n x n x h
tensor. Nothing else in the net knows about it: a `Factored` goes wherever a tensor (S, ..., h)
does, through `Linear`, and `dense` gives the tensor itself where something is not linear.
Products of raw numbers are exact: a small difference between two keys may decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.kernels.affine import Affine, FactoredEdges, product
from algorist.kernels.rounding import exact_products
from algorist.model.grouped import cat_columns, split_columns
from algorist.model.layers import Linear, is_plain


class Composition(NamedTuple):
    """What some layers side by side make of raw numbers, of what stands beside them, and a bias."""

    of_raw: Tensor  # (S, F, out)
    of_beside: Tensor  # (S, channels beside the encoding, out)
    bias: Tensor  # (S, out)


class Encoding:
    """The map that encodes F raw numbers, and what it is composed with.

    Compositions are made once and serve all steps of a scan.
    """

    def __init__(self, weight: Tensor, bias: Tensor):
        """Weights (S, F, h) and bias (S, h)."""
        self.affine = Affine(weight, bias)
        self.one = weight.new_ones(1)
        self._raw = weight.shape[1]
        self._rows = torch.cat((weight, bias.unsqueeze(1)), 1)
        self._composed: dict[tuple[Linear, ...], Composition] = {}
        self._matrices: dict[tuple[Linear, ...], Tensor] = {}

    @property
    def channels(self) -> int:
        """The number of channels, h."""
        return self._rows.shape[-1]

    def composed(self, layers: tuple[Linear, ...]) -> Composition:
        """The map that some layers side by side make of their encoding, and of what follows it."""
        if layers not in self._composed:
            weight, bias = _joined(layers)
            of_encoding, of_beside = _split_rows(weight, self.channels)
            with exact_products():
                encoded = torch.bmm(self._rows, of_encoding)
            of_raw, constant = _split_rows(encoded, self._raw)
            self._composed[layers] = Composition(of_raw, of_beside, constant.squeeze(1) + bias)
        return self._composed[layers]

    def matrix(self, layers: tuple[Linear, ...]) -> Tensor:
        """The composed map as one matrix, whose last row is the bias."""
        if layers not in self._matrices:
            of_raw, of_beside, bias = self.composed(layers)
            self._matrices[layers] = torch.cat((of_raw, of_beside, bias.unsqueeze(1)), 1)
        return self._matrices[layers]


def _joined(layers: Sequence[Linear]) -> Affine:
    """Some layers side by side, as one map."""
    if len(layers) == 1:
        return Affine(layers[0].weight, layers[0].bias)
    weights, biases = zip(*((layer.weight, layer.bias) for layer in layers), strict=True)
    return Affine(torch.cat(weights, -1), torch.cat(biases, -1))


def _split_rows(matrix: Tensor, first: int) -> tuple[Tensor, ...]:
    """The first rows of a matrix (S, rows, out), and the others.

    Their gradients are joined by one copy. Those of slices are filled with zeros and added up.
    """
    S, rows, outputs = matrix.shape
    if rows == first:
        return matrix, matrix.new_empty(S, 0, outputs)
    parts: tuple[Tensor, ...] = matrix.split((first, rows - first), 1)
    return parts


class Factored:
    """An encoding (S, ..., h), and what stands beside it, as the factors that it is made of."""

    def __init__(self, raw: Tensor, encoding: Encoding, *beside: Tensor):
        """Raw numbers (S, ..., F), how they are encoded, and the tensors beside the encoding."""
        self.raw, self.encoding, self.beside = raw, encoding, beside

    @property
    def shape(self) -> torch.Size:
        """The shape of the dense tensor."""
        width = self.encoding.channels + sum(x.shape[-1] for x in self.beside)
        return torch.Size((*self.raw.shape[:-1], width))

    def dense(self) -> Tensor:
        """The tensor itself."""
        return torch.cat((self._encoded, *self.beside), -1) if self.beside else self._encoded

    @cached_property
    def _encoded(self) -> Tensor:
        with exact_products():
            return self.encoding.affine(self.raw)

    @cached_property
    def _values(self) -> Tensor:
        """All numbers side by side, and a 1 for the bias: cheaper than to add it, for nodes."""
        one = self.encoding.one.expand(*self.raw.shape[:-1], 1)
        return torch.cat((self.raw, *self.beside, one), -1)

    def apply(self, *layers: Linear) -> Tensor:
        """The results of some layers side by side, in one product."""
        if self.raw.ndim > 4:
            return self._apply_to_pairs(layers)
        if not self.beside and not self.raw.shape[-1]:  # nothing is encoded here but a bias
            bias = self.encoding.composed(layers).bias
            shape = (*self.raw.shape[:-1], bias.shape[-1])
            return bias.view(len(bias), *(1,) * (len(shape) - 2), -1).expand(shape)
        with exact_products():
            return product(self._values, self.encoding.matrix(layers))

    def _apply_to_pairs(self, layers: tuple[Linear, ...]) -> Tensor:
        """The same without joining the values, of which pairs of nodes have too many."""
        of_raw, of_beside, bias = self.encoding.composed(layers)
        with exact_products():
            result = Affine(of_raw, bias)(self.raw)
        widths = [values.shape[-1] for values in self.beside]
        weights = [of_beside] if len(widths) == 1 else of_beside.split(widths, 1)
        for values, weight in zip(self.beside, weights, strict=False):
            result = result.add_(product(values, weight))
        return result


class Joint:
    """An input that several layers read: those announced are computed in one product."""

    def __init__(self, values: Tensor | Factored, layers: Sequence[Linear] = ()):
        self.values = values
        self._layers = tuple(dict.fromkeys(layer for layer in layers if is_plain(layer)))
        self._results: dict[Linear, Tensor] = {}

    @property
    def shape(self) -> torch.Size:
        """The shape of the dense tensor."""
        return self.values.shape

    def dense(self) -> Tensor:
        """The tensor itself."""
        return dense(self.values)

    def apply(self, layer: Linear) -> Tensor:
        """The result of one layer."""
        if layer not in self._layers:
            return layer(self.values)
        if not self._results:
            results = project(self.values, *self._layers)
            self._results = dict(zip(self._layers, results, strict=True))
        return self._results[layer]


def dense(values: Tensor | Factored | Joint) -> Tensor:
    """The tensor itself."""
    return values if isinstance(values, Tensor) else values.dense()


def side_by_side(first: Tensor | Factored, *others: Tensor) -> Tensor | Factored:
    """Values concatenated along their channels."""
    if isinstance(first, Factored):
        return Factored(first.raw, first.encoding, *first.beside, *others)
    return torch.cat((first, *others), -1) if others else first


def project(values: Tensor | Factored, *layers: Linear) -> tuple[Tensor, ...]:
    """What each of some layers makes of the same values: one product, if all are ordinary."""
    if len(layers) == 1 or not all(map(is_plain, layers)):
        return tuple(layer(values) for layer in layers)
    joint = values.apply(*layers) if isinstance(values, Factored) else _joined(layers)(values)
    return tuple(split_columns(joint, [layer.outputs for layer in layers]))


def factored_edges(
    values: Tensor | Factored | Joint, *layers: Linear
) -> tuple[FactoredEdges, Tensor]:
    """What some layers side by side make of edges, as kernels read it, and a bias (S, outputs).

    The bias is for the caller to add to nodes, which are fewer than edges.
    """
    values = values.values if isinstance(values, Joint) else values
    if isinstance(values, Factored) and len(values.beside) < 2 and all(map(is_plain, layers)):
        of_raw, of_beside, bias = values.encoding.composed(layers)
        beside = product(values.beside[0], of_beside) if values.beside else None
        return FactoredEdges(values.raw, of_raw, beside), bias
    result = cat_columns(project(values, *layers))
    return FactoredEdges.of_dense(result), result.new_zeros(len(result), result.shape[-1])
