"""Tables by name that plug-ins may add to, but in which they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Table = TypeVar("Table", bound=dict[str, Any])

_registries: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
"""What their values are, the tables, and what each held at first."""


def registry(what: str, table: Table) -> Table:
    """A table that plug-ins may add to."""
    _registries.append((what, table, dict(table)))
    return table


@contextmanager
def additions_alone() -> Iterator[None]:
    """Complain if a block changes what a table holds; if it fails, it has added nothing."""
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
