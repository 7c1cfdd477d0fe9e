"""`algorist list`: what there is."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

import algorist
from algorist.commands import Command
from algorist.commands.arguments import of_family
from algorist.report.catalogue import SIZES, catalogue, described, steps
from algorist.report.terminal import Terminal
from algorist.weights import models, shipped


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument(
        "--models", action="store_true", help="list the learners that come with the package instead"
    )
    parser.add_argument("--family", help="only the algorithms of this family")
    parser.add_argument(
        "--no-steps", action="store_true", help="leave out the steps: nothing is run or compiled"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON, with every feature and what it means"
    )


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of the algorithms, or JSON."""
    if arguments.models:
        _list_models(arguments, terminal)
        return
    family = arguments.family
    names = algorist.algorithms() if family is None else of_family(family)
    chosen = [algorist.get(name) for name in names]
    rows = [described(algorithm) for algorithm in chosen]
    if not arguments.no_steps:
        with Terminal(stderr=True).status("") as status:
            for row, algorithm in zip(rows, chosen, strict=True):
                status.update(f"running {algorithm.name} (it is compiled the first time)")
                row["steps"] = {str(n): steps(algorithm, n) for n in SIZES}
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        terminal.print(catalogue(rows))


def _list_models(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of the shipped learners, or JSON with all that their files say."""
    from algorist.model.learner import read
    from algorist.report.shipped import described, learner_table

    for option in ("family", "no_steps"):
        if getattr(arguments, option):
            raise ValueError(f"--{option.replace('_', '-')}: it is for algorithms, not --models")
    rows = [described(name, file, read(file)) for name, file in shipped().items()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif rows:
        terminal.print(learner_table(rows))
        for folder in sorted(set(models()) - shipped().keys()):
            terminal.print(f"\n{folder} is a model too: for each algorithm the one of that name")
    else:
        terminal.print("no learners come with this package")


command = Command(
    help="list the algorithms and how many steps they take, or the learners that are here",
    examples="""\
algorist list
algorist list --family sorting
algorist list --json --no-steps | python -m json.tool
algorist --plugin examples/euclid.py list
algorist list --models""",
    add_arguments=add_arguments,
    run=run,
)
