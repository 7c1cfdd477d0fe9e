"""Compilation with Numba: what is compiled, and how machine code is kept on disk."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numba import config, njit
from numba.core.registry import CPUDispatcher

from algorist.machine_code import compile_cached, reachable_functions, referenced_globals

_OPTIONS = {"nogil": True, "error_model": "numpy"}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Helper(CPUDispatcher):
    """A function that compiled code calls.

    It lacks the wrapper through which Python calls: without, an algorithm compiles a fifth faster.
    Should Python call it nevertheless, it is compiled again, with one.
    """

    def __call__(self, *arguments: Any) -> Any:
        return self._for_python(*arguments)

    @cached_property
    def _for_python(self) -> Any:
        return njit(**_OPTIONS)(self.py_func)


def compiled(function: Callable) -> Any:
    """Compile a helper that compiled code calls. On disk it is kept inside its callers."""
    if config.DISABLE_JIT:
        return function
    return _Helper(function, targetoptions={"nopython": True, **_OPTIONS, **_NO_WRAPPERS})


def specialise(template: Callable, function: Callable) -> Any:
    """Compile `template` with its global name `function` bound to the given one.

    The copy claims to stand where `function` does. So Numba keeps the machine code beside that
    file (a user's own too), one entry per function, and drops it when that file changes; the name
    carries a digest of the helpers in other files, which Numba does not watch. A closure would do
    the same but cannot be kept on disk.
    """
    source = function.__code__
    code = template.__code__.replace(
        co_filename=source.co_filename, co_firstlineno=source.co_firstlineno
    )
    names = {**template.__globals__, "function": compiled(function)}
    copied = types.FunctionType(code, names, template.__name__)
    digest = _digest(template, function)
    copied.__qualname__ = f"{template.__name__}.{digest}.{function.__qualname__}"
    copied.__module__ = function.__module__
    return compile_cached(copied, **_OPTIONS)


def is_kept(function: Any) -> bool:
    """Whether a specialised function has machine code, in memory or on disk."""
    if config.DISABLE_JIT:
        return True
    # Numba offers no other way to ask; its index is empty where the source has changed since.
    on_disk = getattr(function._cache, "_cache_file", None)
    return bool(function.signatures or (on_disk and on_disk._load_index()))


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


def _digest(template: Callable, function: Callable) -> str:
    """Stands for all that goes into the machine code from files other than the function's own.

    And for the module, which it refers to: that of a plug-in has another name in another folder.
    """
    parts = {function.__module__}
    for one in reachable_functions(template, function):
        if one.__code__.co_filename != function.__code__.co_filename:
            parts.add(_file_digest(one.__code__.co_filename))
        parts.update(
            filter(None, (_constant(name, value) for name, value in referenced_globals(one)))
        )
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()[:12]


def _constant(name: str, value: Any) -> str | None:
    """What compiled code takes from a global name; None if that is no value."""
    if isinstance(value, np.ndarray):
        return f"{name}={value.dtype}{value.shape}{value.tobytes().hex()}"
    return f"{name}={value!r}" if isinstance(value, int | float | str | tuple) else None


@cache
def _file_digest(path: str) -> str:
    file = Path(path)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else path
