"""Machine code of Numba that is kept on disk, and what it is made from."""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Iterator
from typing import Any

from numba import config, njit


def compile_cached(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function, and cache its machine code on disk if its folder can be written."""
    try:
        return njit(cache=_has_folder(function), **options)(function)
    except RuntimeError:  # it was typed at a prompt, or neither its folder nor HOME can be written
        return njit(**options)(function)


def _has_folder(function: Callable[..., Any]) -> bool:
    """Whether there is a folder for machine code: Numba calls a home that nobody knows `./~`."""
    own = os.path.dirname(inspect.getfile(function))
    knows_home = os.path.expanduser("~") != "~"
    return knows_home or bool(config.CACHE_DIR) or os.access(own, os.W_OK)


def reachable_functions(*functions: Any) -> list[Any]:
    """The functions, the helpers that they call, and the helpers of these.

    A helper is compiled, or a function of Python's that Numba knows another form of (`overload`).
    """
    found = list(functions)
    for one in found:  # grows on the way
        values = (getattr(v, "py_func", v) for _, v in referenced_globals(one))
        helpers = dict.fromkeys(v for v in values if isinstance(v, types.FunctionType))
        found += [helper for helper in helpers if helper not in found]
    return found


def referenced_globals(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals that a function names, and their values; `module.name` for those of modules."""
    names = set(_names(function.__code__))
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        yield name, value
        if isinstance(value, types.ModuleType):
            inner = names & vars(value).keys()
            yield from ((f"{name}.{one}", vars(value)[one]) for one in inner)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
