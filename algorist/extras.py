"""Packages that few need, which come with the extra of their name."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def extra(name: str, title: str) -> ModuleType:
    """Such a package, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(f"{title} is not installed: {how_to_install(name)}") from None


def how_to_install(name: str) -> str:
    """The command that installs an extra, in the folder of a clone."""
    return f"pip install -c constraints.txt -e '.[{name}]'"
