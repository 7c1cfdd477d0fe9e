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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

_FULL = 0.1
"""Numbers that fill less of the range than this are spread out to fill it."""
_ROUNDING = 1e-6
_TINY, _HUGE = 1e-100, 1e100
"""What is smaller than this stays as it is; what is larger is refused: its products overflow."""


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
    reach: Mapping[str, float] = field(default_factory=dict)
    """How large hints of `degrees` may get: a long path of heavy edges is out of the range that a
    net has seen, although none of its edges is."""

    def of(self, inputs: Mapping[str, np.ndarray]) -> Scaled:
        """How to scale the inputs of a problem."""
        groups = [
            np.concatenate([np.ravel(inputs[name]) for name in group]) for group in self.groups
        ]
        largest = max(float(np.abs(group).max()) for group in groups)
        if largest > _HUGE:
            names = ", ".join(name for group in self.groups for name in group)
            raise ValueError(f"{names}: got {largest:g}, expected numbers up to {_HUGE:g}")
        origins = [float(group.min()) if self.shifts else 0.0 for group in groups]
        size = self._size(groups, origins)
        room = self.high - (self.low if self.shifts else 0.0)
        fills = _FULL <= size / room <= 1 + _ROUNDING
        if self._inside(groups) and (fills or size < _TINY):
            return Scaled(self)
        return Scaled(
            self,
            factor=room / size if size >= _TINY else 1.0,
            origins={
                name: origin
                for group, origin in zip(self.groups, origins, strict=True)
                for name in group
            },
        )

    def within_reach(self, scaled: Scaled, hints: Mapping[str, np.ndarray]) -> Scaled:
        """The same with a smaller factor, if hints would get larger than `reach` allows."""
        factor = scaled.factor
        for name, most in self.reach.items():
            degree = self.degrees[name]
            largest = float(np.abs(hints[name]).max(initial=0.0)) * factor**degree
            factor *= min(1.0, most / max(largest, _TINY)) ** (1 / degree)
        if factor == scaled.factor:
            return scaled
        origins = {name: 0.0 for group in self.groups for name in group}
        return replace(scaled, factor=factor, origins={**origins, **scaled.origins})

    def _size(self, groups: Sequence[np.ndarray], origins: Sequence[float]) -> float:
        """How far the numbers reach, or what they sum up to."""
        if self.total:
            return sum(float(group.sum()) for group in groups)
        pairs = zip(groups, origins, strict=True)
        return max(float(np.abs(group - origin).max()) for group, origin in pairs)

    def _inside(self, groups: Sequence[np.ndarray]) -> bool:
        """Whether all numbers lie in the benchmark's range, but for rounding."""
        low = self.low if self.shifts else -self.high
        slack = _ROUNDING * (self.high - low)
        return all(
            bool(((group >= low - slack) & (group <= self.high + slack)).all()) for group in groups
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
        return np.asarray(target + (values - self.origins[name]) * self.factor)

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
