"""Plug-ins: Python files of users' own that register further algorithms."""

from __future__ import annotations

import hashlib
import importlib.util
import shlex
import sys
from pathlib import Path
from typing import Any

from algorist.plugin_errors import line_of, reason
from algorist.registry import additions_alone

_PREFIX = "algorist_plugin_"
"""The beginning of the names of modules that are plug-ins."""


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
        with additions_alone():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        line = line_of(error, str(file))
        place = f"{path}:{line}" if line else f"{path}"
        raise ValueError(f"plug-in {place}: {reason(error)}") from error


def loaded_plugins() -> list[str]:
    """The files that were loaded, for processes that are to know the same algorithms."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_PREFIX)]
    return [str(module.__file__) for module in modules]


def shell(*words: Any) -> str:
    """A command line of ours, to be pasted, with the plug-ins that are loaded.

    >>> shell("resume", "my run")
    "algorist resume 'my run'"
    """
    plugins = [word for file in loaded_plugins() for word in ("--plugin", file)]
    return shlex.join(["algorist", *plugins, *map(str, words)])
