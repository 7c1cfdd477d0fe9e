"""The improvements of a recipe: which setting each of them is, read off the recipes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from algorist.training.config import Config
from algorist.training.recipes import IMPROVEMENTS, recipe, without


def table(name: str) -> str:
    """One row for each improvement of a recipe: what changes if it is taken away."""
    head = ("| improvement | setting | with it | without it |", "| --- | --- | --- | --- |")
    return "\n".join((*head, *_rows(name)))


def _rows(name: str) -> Iterator[str]:
    one, many = recipe(name, ["bfs"]), recipe(name, ["bfs", "dfs"])
    for improvement in IMPROVEMENTS:
        # Some make a difference to nets for many tasks alone.
        changed = _changes(one, without(one, improvement)) or _changes(
            many, without(many, improvement)
        )
        if changed:
            rows = [(f"`{place}`", _text(a), _text(b)) for place, a, b in changed]
            cells = " | ".join("<br>".join(cell) for cell in zip(*rows, strict=True))
            yield f"| `{improvement}` | {cells} |"


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
