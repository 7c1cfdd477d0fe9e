"""A sweep is an experiment whose parts are a grid: recipes, variants of settings, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from algorist.experiments.plan import Change, Name, Part, Parts, parts_of
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
