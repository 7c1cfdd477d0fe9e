"""`algorist list`: what there is."""

from __future__ import annotations

import inspect
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import algorist
from algorist.commands import Command
from algorist.commands.arguments import algorithms_of_family
from algorist.report.algorithm_table import SIZES, algorithm_table, count_steps, describe_algorithm
from algorist.report.terminal import Terminal, bare_table
from algorist.weights import models, shipped

_OTHERS = ("models", "processors", "recipes")
"""What is listed instead of algorithms."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument(
        "--models", action="store_true", help="list the learners that come with the package instead"
    )
    for what in ("processors", "recipes"):
        parser.add_argument(f"--{what}", action="store_true", help=f"list the {what} instead")
    parser.add_argument("--family", help="only the algorithms of this family")
    parser.add_argument(
        "--no-steps", action="store_true", help="leave out the steps: nothing is run or compiled"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, with every feature and what it means"
    )


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of the algorithms, or JSON."""
    others = [name for name in _OTHERS if getattr(arguments, name)]
    if others:
        _expect_no_others(others, arguments)
        {"models": _list_models, "processors": _list_processors, "recipes": _list_recipes}[
            others[0]
        ](arguments, terminal)
        return
    family = arguments.family
    names = algorist.algorithms() if family is None else algorithms_of_family(family)
    chosen = [algorist.get(name) for name in names]
    rows = [describe_algorithm(algorithm) for algorithm in chosen]
    if not arguments.no_steps:
        with Terminal(stderr=True).status("") as status:
            for row, algorithm in zip(rows, chosen, strict=True):
                status.update(f"running {algorithm.name} (it is compiled the first time)")
                row["steps"] = {str(n): count_steps(algorithm, n) for n in SIZES}
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        terminal.print(algorithm_table(rows))


def _expect_no_others(chosen: list[str], arguments: Namespace) -> None:
    if len(chosen) > 1:
        raise ValueError(f"--{chosen[1]}: got --{chosen[0]} too, expected one of them")
    for option in ("family", "no_steps"):
        if getattr(arguments, option):
            raise ValueError(
                f"--{option.replace('_', '-')}: it is for algorithms, not --{chosen[0]}"
            )


def _list_processors(arguments: Namespace, terminal: Terminal) -> None:
    """Print the names of all processors and what they are."""
    from algorist.model.processors import PROCESSORS

    _list_named(PROCESSORS, arguments, terminal)


def _list_recipes(arguments: Namespace, terminal: Terminal) -> None:
    """Print the names of all recipes and what they are."""
    from algorist.training.recipes import RECIPES

    _list_named(RECIPES, arguments, terminal)


def _list_named(
    table: Mapping[str, Callable[..., Any]], arguments: Namespace, terminal: Terminal
) -> None:
    """Print names, and the first line of what is said about each."""
    rows = [{"name": name, "description": _description(table[name])} for name in sorted(table)]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    shown = bare_table()
    shown.add_column("name", no_wrap=True)
    shown.add_column("description")
    for row in rows:
        shown.add_row(row["name"], row["description"])
    terminal.print(shown)


def _description(made: Callable[..., Any]) -> str:
    if not isinstance(made, partial):
        return (inspect.getdoc(made) or "").split("\n")[0]
    chosen = [name if x is True else f"{name}={x}" for name, x in made.keywords.items() if x]
    return f"{_description(made.func)} ({', '.join(chosen)})" if chosen else _description(made.func)


def _list_models(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of the shipped learners, or JSON with all that their files say."""
    from algorist.model.learner import read
    from algorist.report.shipped_table import describe_learner, learner_table

    rows = [describe_learner(name, file, read(file)) for name, file in shipped().items()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif rows:
        terminal.print(learner_table(rows))
        for folder in sorted(set(models()) - shipped().keys()):
            terminal.print(f"\n{folder} is a model too: for each algorithm the one of that name")
    else:
        terminal.print("no learners come with this package")


command = Command(
    help="list algorithms and how many steps they take, or learners, processors or recipes",
    examples="""\
algorist list
algorist list --family sorting
algorist list --json --no-steps | python -m json.tool
algorist --plugin examples/euclid.py list
algorist list --models
algorist list --processors
algorist list --recipes""",
    add_arguments=add_arguments,
    run=run,
)
