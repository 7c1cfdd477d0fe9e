"""Frames: all features of one stage side by side in two flat buffers.

Scalars live in a buffer of floats, everything else in one of small integers. A feature takes as
many cells as it has values; a `mask_one` takes one, the index of its node, and a categorical one
the number of its class. Batches hold both one-hot: `unpack` makes them so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from algorist.machine import memory
from algorist.spec import MASKED, Feature, Kind

FLOAT, INT = np.float64, np.int16
MAX_NODES = int(np.iinfo(INT).max)

_WIDTHS = {Kind.MASK: np.int8, Kind.MASK_ONE: np.int8, Kind.CATEGORICAL: np.int8}


class Buffers(NamedTuple):
    """The two flat buffers of a frame, or many of them along leading axes."""

    floats: np.ndarray
    ints: np.ndarray


class FrameLayout:
    """Where each of some features sits in a frame for `n` nodes."""

    def __init__(self, features: Sequence[Feature], n: int):
        self.features, self.n = features, n
        self._slots: dict[str, tuple[int, slice, tuple[int, ...]]] = {}
        sizes = [0, 0]
        for feature in features:
            bank = 0 if feature.kind == Kind.SCALAR else 1
            shape = _cell_shape(feature, n)
            size = math.prod(shape)
            self._slots[feature.name] = (bank, slice(sizes[bank], sizes[bank] + size), shape)
            sizes[bank] += size
        self.sizes = tuple(sizes)

    def empty(self, *leading: int) -> Buffers:
        """Zeroed buffers for frames along the given leading axes."""
        floats, ints = self.sizes
        return Buffers(np.zeros((*leading, floats), FLOAT), np.zeros((*leading, ints), INT))

    def fits(self, frames: int) -> bool:
        """Whether there is memory for this many frames and for making a batch of them.

        An estimate: three times the cells, and a byte a node for each `mask_one` in the batch.
        """
        floats, ints = self.sizes
        ones = sum(feature.kind == Kind.MASK_ONE for feature in self.features)
        return frames * (3 * (8 * floats + 2 * ints) + self.n * ones) <= memory()

    def window(self, buffers: Buffers, name: str) -> np.ndarray:
        """The cells of one feature, shared with the buffers."""
        bank, cells, shape = self._slots[name]
        part = buffers[bank][..., cells]
        return part.reshape(*part.shape[:-1], *shape)

    def unpack(self, buffers: Buffers, valid: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """The features by name, as batches hold them. Frames that are not `valid` become zero."""
        return {
            feature.name: _unpacked(feature, self.window(buffers, feature.name), self.n, valid)
            for feature in self.features
        }

    def pack(self, values: Mapping[str, np.ndarray], buffers: Buffers) -> None:
        """Write features, one-hot where batches hold them so, into the cells of the buffers."""
        for feature in self.features:
            value = values[feature.name]
            if feature.kind in (Kind.MASK_ONE, Kind.CATEGORICAL):
                value = value.argmax(-1)
            window = self.window(buffers, feature.name)
            window[...] = np.reshape(value, window.shape)


def _cell_shape(feature: Feature, n: int) -> tuple[int, ...]:
    """The cells of one value: at least one axis, so that compiled code can write to it."""
    if feature.kind == Kind.MASK_ONE:
        return (1,)
    shape = feature.shape(n)
    if feature.kind == Kind.CATEGORICAL:
        shape = shape[:-1]
    return shape or (1,)


def _unpacked(feature: Feature, cells: np.ndarray, n: int, valid: np.ndarray | None) -> np.ndarray:
    leading = cells.shape[: cells.ndim - len(_cell_shape(feature, n))]
    shape = (*leading, *feature.shape(n))
    if feature.kind not in (Kind.MASK_ONE, Kind.CATEGORICAL):
        return cells.reshape(shape).astype(_WIDTHS.get(feature.kind, cells.dtype))
    if valid is None:
        valid = np.ones(leading, bool)
    array = np.zeros(shape, np.int8)
    if feature.kind == Kind.MASK_ONE:
        np.put_along_axis(array, cells, valid[..., None], -1)
        return array
    classes = cells.reshape(shape[:-1])
    for c in range(feature.classes):  # several times faster than one comparison with all classes
        array[..., c] = classes == c
    array[..., -1] -= classes == MASKED
    array[~valid] = 0
    return array
