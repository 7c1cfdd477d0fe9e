"""Machine code of Numba that is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def kept(function: Callable, **options: Any) -> Any:
    """Compile a function, and keep its machine code for the next process, if there is a place."""
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # it was typed at a prompt, or neither its folder nor HOME can be written
        return njit(**options)(function)
