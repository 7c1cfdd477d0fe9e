"""Former names of parameters: what was saved under them is loaded under the present ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

_PRESENT = {
    "processor.keep.": "processor.self_projection.",
    "processor.triplet_out.": "processor.triplet_projection.",
}


def by_present_names(saved: Mapping[str, Value]) -> dict[str, Value]:
    """Values by the names of parameters, which may be a part of their names."""
    return {_present(name): value for name, value in saved.items()}


def _present(name: str) -> str:
    for former, present in _PRESENT.items():
        name = name.replace(former, present)
    return name
