"""Packages that few need, which come with the extra of their name."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def extra(name: str, title: str) -> ModuleType:
    """Such a package, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        message = f"{title} is not installed: pip install 'algorist[{name}]'"
        raise ValueError(message) from None
