"""Users' own numbers brought into the range that the benchmark draws from.

Nets learn from numbers of a certain size and cannot know those of another. What an algorithm does
stays the same if its keys are shifted, or its weights are given in another unit: so numbers far
outside the range go to the net in a unit, and from an origin, that brings them in.

    >>> import algorist
    >>> minimum = algorist.get("minimum")
    >>> scaled = minimum.scale.of(minimum.trace(key=[30, 10, 20]).inputs)
    >>> scaled.input("key", np.array([30.0, 10.0, 20.0]))
    array([1. , 0. , 0.5])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

_FULL = 0.1
"""Numbers that fill less of the range than this are spread out to fill it."""
_ROUNDING = 1e-6
_TINY = 1e-300
"""Below this there is no telling of sizes."""


@dataclass(frozen=True)
class Scale:
    """Which inputs have a unit in common, and where the benchmark's lie."""

    groups: tuple[tuple[str, ...], ...]
    """Inputs of one unit; those in the same group have the same origin too."""
    low: float = 0.0
    high: float = 1.0
    shifts: bool = False
    """Whether the origin does not matter. Else it stays, and sizes are brought below `high`."""
    total: bool = False
    """Whether it is the sum of all numbers that the benchmark brings to `high`."""
    degrees: Mapping[str, int] = field(default_factory=dict)
    """The hints and outputs that change with the unit, and by which power of it."""

    def of(self, inputs: Mapping[str, np.ndarray]) -> Scaled:
        """How to scale the inputs of a problem."""
        groups = [
            np.concatenate([np.ravel(inputs[name]) for name in group]) for group in self.groups
        ]
        largest = max(float(np.abs(group).max()) for group in groups)
        if largest < _TINY:
            return Scaled(self)
        groups = [group / largest for group in groups]  # so that nothing overflows
        origins = [float(group.min()) if self.shifts else 0.0 for group in groups]
        size = (
            sum(float(group.sum()) for group in groups)
            if self.total
            else max(float(np.abs(g - o).max()) for g, o in zip(groups, origins, strict=True))
        )
        room = self.high - (self.low if self.shifts else 0.0)
        inside = all(
            (largest * group <= self.high * (1 + _ROUNDING)).all()
            and (not self.shifts or (largest * group >= self.low).all())
            for group in groups
        )
        fills = size * largest / room
        if size < _TINY or (inside and _FULL <= fills <= 1 + _ROUNDING):
            return Scaled(self)
        return Scaled(
            self,
            factor=room / size / largest,
            origins={
                name: origin * largest
                for group, origin in zip(self.groups, origins, strict=True)
                for name in group
            },
        )


@dataclass(frozen=True)
class Scaled:
    """A scale as it is for one problem."""

    scale: Scale
    factor: float = 1.0
    origins: Mapping[str, float] = field(default_factory=dict)
    """By input; empty: the problem stays as it is."""

    def input(self, name: str, values: np.ndarray) -> np.ndarray:
        """An input as it is put to the net."""
        if name not in self.origins:
            return values
        target = self.scale.low if self.scale.shifts else 0.0
        with np.errstate(over="ignore"):
            return np.asarray(target + (values * self.factor - self.origins[name] * self.factor))

    def inwards(self, name: str, values: np.ndarray) -> np.ndarray:
        """A hint or an output as it is put to the net."""
        return self._scaled(name, values, 1)

    def outwards(self, name: str, values: np.ndarray) -> np.ndarray:
        """A hint or an output of the net in the user's own unit."""
        return self._scaled(name, values, -1)

    def _scaled(self, name: str, values: np.ndarray, direction: int) -> np.ndarray:
        degree = self.scale.degrees.get(name, 0)
        if degree == 0 or self.factor == 1.0:
            return values
        return np.asarray(values.astype(np.float64) * self.factor ** (direction * degree))
