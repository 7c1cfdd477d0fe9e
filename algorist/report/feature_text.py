"""Feature values as short text, one piece for each value.

A pointer or a `mask_one` is the index of a node, a categorical value the number of its class, a
mask 1 or a dot; a dash stands for a value that does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from algorist.algorithms.format_answers import compact
from algorist.spec import Feature, Kind

_MASK = {0: ".", 1: "1"}
_NONE = "-"


@dataclass(frozen=True)
class FeatureValues:
    """One feature over some steps: a number for each value, and how to write such numbers."""

    feature: Feature
    numbers: np.ndarray  # (steps, ...): no further axis, one a node, or one a pair of nodes
    decimals: int
    wrong: np.ndarray | None = None
    """Which numbers are to be marked; None: those that changed."""
    side: str = ""
    """Whose values these are, where others stand beside them."""

    @classmethod
    def of(cls, feature: Feature, array: np.ndarray) -> FeatureValues:
        """Read an array of a batch, with one leading axis."""
        return cls.of_compact(feature, compact(feature, array))

    @classmethod
    def of_compact(
        cls,
        feature: Feature,
        numbers: np.ndarray,
        wrong: np.ndarray | None = None,
        side: str = "",
    ) -> FeatureValues:
        """Read an array with one number for each value."""
        whole = np.array_equal(numbers, np.round(numbers))
        return cls(feature, numbers, 0 if whole else 2, wrong, side)

    @property
    def heading(self) -> str:
        """What stands above the values."""
        return f"{self.feature.name} {self.side}".strip()

    def text(self, number: float) -> str:
        """A single value."""
        if self.feature.kind == Kind.SCALAR:
            large = abs(number) >= 10_000
            return f"{number:.3g}" if large else f"{number:.{self.decimals}f}"
        if number < 0:
            return _NONE
        return _MASK[int(number)] if self.feature.kind == Kind.MASK else str(int(number))

    def texts(self, step: int) -> list[str]:
        """All values of a step, flat."""
        return [self.text(number) for number in self.numbers[step].flat]

    def marked(self, step: int) -> np.ndarray:
        """Which values of a step are wrong or, if nobody said, differ from the step before."""
        if self.wrong is not None:
            return np.asarray(self.wrong[step])
        before = self.numbers[max(step - 1, 0)]
        return np.asarray(self.numbers[step] != before)

    @property
    def mark_means(self) -> str:
        """What marked values are, in a word."""
        return "changes" if self.wrong is None else "wrong"

    @property
    def width(self) -> int:
        """The longest text."""
        return max(len(text) for step in range(len(self.numbers)) for text in self.texts(step))
