"""The table of the paper's improvements: which setting each of them is, read off the recipes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from algorist.training.config import Config
from algorist.training.recipes import IMPROVEMENTS, recipe, without


def table() -> str:
    """One row for each improvement: what changes in the configuration if it is taken away."""
    head = ("| improvement | setting | with it | without it |", "| --- | --- | --- | --- |")
    return "\n".join((*head, *map(_row, IMPROVEMENTS)))


def _row(name: str) -> str:
    config = recipe("ibarz2022", ["bfs"])
    changed = _changes(config, without(config, name))
    if not changed:  # what makes a difference to nets for many tasks alone
        config = recipe("ibarz2022", ["bfs", "dfs"])
        changed = _changes(config, without(config, name))
    cells = zip(*((f"`{place}`", _text(a), _text(b)) for place, a, b in changed), strict=True)
    return f"| `{name}` | " + " | ".join("<br>".join(cell) for cell in cells) + " |"


def _changes(config: Config, other: Config) -> list[tuple[str, Any, Any]]:
    """The settings that differ: where each stands, what it is in one and in the other."""
    return [
        (f"{section}.{name}", value, asdict(other)[section][name])
        for section, settings in asdict(config).items()
        if isinstance(settings, dict)
        for name, value in settings.items()
        if value != asdict(other)[section][name]
    ]


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
