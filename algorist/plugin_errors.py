"""Errors in users' plug-ins as one line: the name of the class or function, the error, its line."""

from __future__ import annotations

import dis
import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numba.core.errors import NumbaError

from algorist.errors import UnregisteredError
from algorist.machine_code import reachable_functions

_PLACES = (r"^During: .* at (.+) \((\d+)\)$", r'^File "(.+)", line (\d+):')
"""How Numba names a line, the second time from the folder at hand."""


@contextmanager
def user_error(
    name: str, function: Callable[..., Any], mistakes: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """Turn errors of a user's function, or some types of them, into a `ValueError` with a line."""
    try:
        yield
    except NumbaError as error:
        raise ValueError(f"{name}: {_uncompiled(error, function)}") from error
    except mistakes as error:
        code = function.__code__
        line = line_of(error, code.co_filename) or code.co_firstlineno
        raise ValueError(f"{name}: {reason(error)} ({code.co_filename}:{line})") from error


def reason(error: BaseException) -> str:
    """What went wrong, on one line: errors of ours explain themselves, others need their name."""
    if isinstance(error, NumbaError):
        return _uncompiled(error)
    # A KeyError shows its message as it shows keys, in quotes.
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    text = " ".join(str(said).split())
    if type(error) in (ValueError, UnregisteredError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_of(error: BaseException, file: str) -> int | None:
    """The line of a file in which an error arose; None: it arose elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return lines[-1] if lines else None


def _uncompiled(error: NumbaError, *functions: Callable[..., Any]) -> str:
    """What the compiler found and where, without its account of how it came there."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error))  # colours, where colorama is installed
    text = text.split("During: resolving callee type")[0]
    lines = [line.strip() for line in text.split('\nFile "')[0].splitlines()]
    found = [line for line in lines if line and not line.startswith(("Failed in", "During"))]
    place = _place(text, functions)
    return f"cannot compile: {' '.join(found[:2])}" + (f" ({place})" if place else "")


def _place(text: str, functions: Sequence[Callable[..., Any]]) -> str | None:
    """The file and the line that the compiler names, or that it should have named."""
    for pattern in _PLACES:
        if named := re.search(pattern, text, re.MULTILINE):
            return f"{os.path.abspath(named[1])}:{named[2]}"
    if (unknown := re.search(r"name '(\w+)' is not defined", text)) and (
        place := _use_of(unknown[1], functions)
    ):
        return place
    codes = [function.__code__ for function in functions]
    return f"{codes[0].co_filename}:{codes[0].co_firstlineno}" if codes else None


def _use_of(name: str, functions: Sequence[Callable[..., Any]]) -> str | None:
    """Where functions, or the helpers that they call, use a global name."""
    for function in reachable_functions(*functions):
        for step in dis.get_instructions(function):
            if step.opname == "LOAD_GLOBAL" and step.argval == name and step.positions:
                return f"{function.__code__.co_filename}:{step.positions.lineno}"
    return None
