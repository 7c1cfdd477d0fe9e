"""Registries: tables by name to which plug-ins add entries, without changing those that exist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Table = TypeVar("Table", bound=dict[str, Any])

_registries: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
"""What the values of each table are, the table, and its built-in entries."""


def registry(what: str, table: Table) -> Table:
    """Make a table one that plug-ins may add to; `what` names its values in messages."""
    _registries.append((what, table, dict(table)))
    return table


@contextmanager
def additions_alone() -> Iterator[None]:
    """Raise a `ValueError` if the block changes an entry; undo its additions if it fails."""
    before = {id(table): dict(table) for _, table, _ in _registries}
    try:
        yield
        for what, table, first in _registries:
            for name, value in before.get(id(table), first).items():
                if table.get(name) is not value:
                    raise ValueError(f"{what}: there is one called {name!r} already")
    except BaseException:
        for _, table, first in _registries:
            held = before.get(id(table), first)
            table.clear()
            table.update(held)
        raise
