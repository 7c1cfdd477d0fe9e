"""What an explanation of an answer is made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_MOST_MISSING = 10
"""How many of what is missing are named."""


@dataclass(frozen=True)
class AnswerExplanation:
    """An answer in the terms of its problem."""

    of: str
    """What it has pieces for: node, key, output; empty if it is a single piece."""
    pieces: Mapping[str, str]
    """In words, by what they are about; a single one under ''."""
    facts: Any
    """The same as plain data."""


@dataclass(frozen=True)
class Answered:
    """Outputs with the problem that they answer."""

    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    names: Sequence[Hashable] | None

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.inputs["pos"])

    def name(self, node: int) -> str:
        """What the user calls a node."""
        is_known = self.names is not None and "A" in self.inputs and 0 <= node < self.n
        return str(self.names[node]) if is_known else str(node)  # type: ignore[index]

    def item(self, node: int) -> str:
        """A node with the user's numbers for it."""
        numbers = {
            name: array[node]
            for name, array in self.inputs.items()
            if name != "pos" and array.dtype == np.float64 and array.ndim == 1 and node < len(array)
        }
        described = ", ".join(f"{name} {x:g}" for name, x in numbers.items())
        return f"{self.name(node)} ({described})" if described else self.name(node)

    def letter(self, node: int) -> str:
        """A letter of the strings."""
        return str(self.names[node]) if self.names else str(int(self.inputs["key"][node]))


def single(text: str, **facts: Any) -> AnswerExplanation:
    """An answer that is one piece."""
    return AnswerExplanation("", {"": text}, facts)


def missing_text(what: str, missing: Sequence[str], total: int) -> str:
    """What an order leaves out, to be said behind it; nothing if it is whole.

    >>> missing_text("key", ["3", "5"], 9)
    ' (2 of 9 keys are missing: 3, 5)'
    """
    if not missing:
        return ""
    more = ", ..." if len(missing) > _MOST_MISSING else ""
    some = ", ".join(missing[:_MOST_MISSING]) + more
    verb = "is" if len(missing) == 1 else "are"
    return f" ({len(missing)} of {total} {what}s {verb} missing: {some})"
