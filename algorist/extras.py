"""Packages that few need: those that come with the extra of their name, and others."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def extra(name: str, title: str, install: str = "") -> ModuleType:
    """Such a package, or an error that says how to install it: by its extra if nothing is given."""
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(f"{title} is not installed: {install or how_to_install(name)}") from None


def how_to_install(name: str) -> str:
    """The command that installs an extra, in the folder of a clone."""
    return f"pip install -c constraints.txt -e '.[{name}]'"
