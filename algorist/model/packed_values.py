"""Values of many features side by side, in few tensors that are quick to move and to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.spec import Feature, Kind

_TYPES = (np.float32, np.int8, np.int16)
_PARTS = {
    Kind.SCALAR: 0,
    Kind.GATED_SCALAR: 0,
    Kind.CATEGORICAL: 1,
    Kind.MASK: 1,
    Kind.MASK_ONE: 1,
    Kind.PERMUTATION_POINTER: 1,
    Kind.POINTER: 2,
}
"""Which of the types the values of a kind have."""


class ColumnSlice(NamedTuple):
    """The position of a feature's values."""

    part: int
    start: int
    shape: tuple[int, ...]
    """The shape of one value."""


class PackedValues(Mapping[str, Tensor]):
    """Tensors by the names of their features; they share their first axes and their memory."""

    def __init__(self, parts: tuple[Tensor, ...], slices: Mapping[str, ColumnSlice]):
        self.parts = parts
        """Each (..., columns): scalars (float32), masks and classes (int8), pointers (int16)."""
        self.slices = slices

    @classmethod
    def of(
        cls,
        features: Sequence[Feature],
        replicas: Sequence[Mapping[str, np.ndarray]],
        shape: tuple[int, ...],
    ) -> PackedValues:
        """The arrays of all replicas, whose axis is to be the last but one of `shape`.

        Zeros are appended to arrays that are shorter than their first axis.
        """
        slices, columns = {}, [0] * len(_TYPES)
        for feature in features:
            part = _PARTS[feature.kind]
            of_one = replicas[0][feature.name].shape[len(shape) - 1 :]
            slices[feature.name] = ColumnSlice(part, columns[part], of_one)
            columns[part] += prod(of_one)
        parts = [np.zeros((*shape, c), t) for c, t in zip(columns, _TYPES, strict=True)]
        for s, arrays in enumerate(replicas):
            for name, (part, start, of_one) in slices.items():
                array = arrays[name]
                rows = array.reshape(*array.shape[: len(shape) - 1], -1)
                parts[part][..., s, :, start : start + prod(of_one)][: len(array)] = rows
        return cls(tuple(map(torch.from_numpy, parts)), slices)

    @classmethod
    def side_by_side(cls, numbers: Mapping[str, Tensor]) -> PackedValues:
        """Tensors of one number each, all of one type and shape, by any names."""
        slices = {name: ColumnSlice(0, start, ()) for start, name in enumerate(numbers)}
        return cls((torch.stack(list(numbers.values()), -1),), slices)

    def map(self, function: Callable[[Tensor], Tensor]) -> PackedValues:
        """The same features, with a function of the first axes applied to all of them."""
        return PackedValues(tuple(map(function, self.parts)), self.slices)

    def __getitem__(self, name: str) -> Tensor:
        part, start, shape = self.slices[name]
        columns = self.parts[part][..., start : start + prod(shape)]
        return columns.view(*columns.shape[:-1], *shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self.slices)

    def __len__(self) -> int:
        return len(self.slices)
