"""Compilation with Numba: what is compiled, and how machine code is kept on disk."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from numba import njit

_OPTIONS = {"nogil": True, "error_model": "numpy"}

compiled = njit(**_OPTIONS)
"""Compile a helper that compiled code calls. On disk it is kept inside its callers."""


def specialised(template: Callable, function: Callable) -> Any:
    """Compile `template` with its global name `function` bound to the given one.

    The copy claims to stand where `function` does. So Numba keeps the machine code beside that
    file (a user's own too), one entry per function, and drops it when that file changes. A closure
    would do the same but cannot be kept on disk.
    """
    source = function.__code__
    code = template.__code__.replace(
        co_filename=source.co_filename, co_firstlineno=source.co_firstlineno
    )
    names = {**template.__globals__, "function": compiled(function)}
    copied = types.FunctionType(code, names, template.__name__)
    copied.__qualname__ = f"{template.__name__}.{function.__qualname__}"
    copied.__module__ = function.__module__
    return njit(cache=True, **_OPTIONS)(copied)


@compiled
def copy(target, source):
    """Copy a vector. An explicit loop compiles several times faster than a slice assignment."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled
def clear(vector):
    """Set a vector to zero."""
    for i in range(len(vector)):
        vector[i] = 0
