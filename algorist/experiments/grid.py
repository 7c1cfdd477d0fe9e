"""A sweep is an experiment whose parts are a grid: recipes, variants of settings, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from algorist.experiments.plan import Change, Name, Part, Parts, parts_of
from algorist.experiments.results import file_of
from algorist.training.recipes import recipe

SWEEP = "sweep"


def grid(
    recipes: Sequence[str], variants: Mapping[str, Change], tasks: Mapping[str, Sequence[str]]
) -> list[Part]:
    """The parts of a sweep, known by the names of recipe, variant and task.

    A task is some algorithms that one net is trained for. A variant may have no name.
    """
    cells = _cells(recipes, variants, tasks)
    return list(parts_of((Name(SWEEP, part), config) for part, config in cells).values())


def _cells(
    recipes: Sequence[str], variants: Mapping[str, Change], tasks: Mapping[str, Sequence[str]]
) -> Parts:
    for name in recipes:
        for variant, change in variants.items():
            for task, algorithms in tasks.items():
                part = "/".join(filter(None, (name, variant, task)))
                yield part, change(recipe(name, algorithms))


def variant_of(values: Mapping[str, str]) -> str:
    """The name of a variant, by the values of its settings; it is the name of a folder, too.

    >>> variant_of({"hidden": "64", "sizes": "4,7", "processor_from": "runs/bfs"})
    'hidden=64 sizes=4,7 processor_from=runs%2Fbfs'
    """
    return " ".join(f"{name}={quote(value, safe=',+')}" for name, value in values.items())


def settings_of(part: str) -> dict[str, str]:
    """The recipe, the task and the values of settings that a part's name tells.

    >>> settings_of("clrs2022/hidden=64 sizes=4,7/bfs")
    {'recipe': 'clrs2022', 'task': 'bfs', 'hidden': '64', 'sizes': '4,7'}
    """
    recipe, *variant, task = part.split("/")
    pairs = (pair.split("=", 1) for pair in " ".join(variant).split())
    return {"recipe": recipe, "task": task, **{name: unquote(value) for name, value in pairs}}


def is_sweep(folder: Path) -> bool:
    """Whether a folder holds the results of a sweep."""
    return file_of(folder, SWEEP).exists()
