"""Plug-ins: Python files of users' own that register further algorithms."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path

from algorist.algorithms import all_or_none

_PREFIX = "algorist_plugin_"
"""Of the names of modules that are plug-ins."""


def load_plugin(path: str | Path) -> None:
    """Run a Python file that calls `algorist.register`; a file that was loaded already is not.

    Machine code of its algorithms is kept in the `__pycache__` beside it. A plug-in may also be an
    ordinary module that you import: this is for files that are not on the import path.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise ValueError(f"plug-in: got {str(path)!r}, expected a Python file that exists")
    name = f"{_PREFIX}{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"plug-in: got {str(path)!r}, expected a file whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with all_or_none():
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"plug-in {path}{_line(error, file)}: {_reason(error)}") from error


def loaded_plugins() -> list[str]:
    """The files that were loaded, for processes that are to know the same algorithms."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_PREFIX)]
    return [str(module.__file__) for module in modules]


def _line(error: Exception, file: Path) -> str:
    """The line of the plug-in in which an error arose, as `:12`."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return f":{lines[-1]}" if lines else ""


def _reason(error: Exception) -> str:
    """A `ValueError` of ours explains itself; others need their name."""
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
