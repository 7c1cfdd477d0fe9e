"""The options of commands that take a problem."""

from __future__ import annotations

import re
from argparse import ArgumentParser

from algorist.problems.inputs import FILES, LISTS, TEXTS


def add_problem_options(parser: ArgumentParser, *, random: bool = True) -> None:
    """Declare the options of all problems; without `random`, not those of random ones."""
    parser._negative_number_matcher = re.compile(r"-[\d.]")  # -1,2 is a point, not an option
    group = parser.add_argument_group(
        "the problem", "Files are CSV or, for graphs, JSON too; - is the standard input."
    )
    group.add_argument(
        "values",
        nargs="*",
        default=[],  # otherwise argparse says that it is required
        metavar="VALUE",
        help="keys to sort or to search, dimensions of matrices; or pairs like 3,5: points, "
        "activities from,to, tasks deadline,weight",
    )
    for name, text in FILES.items():
        group.add_argument(f"--{name}", metavar="FILE", help=text)
    group.add_argument("--target", metavar="X", help="what binary_search looks for")
    group.add_argument(
        "--graph",
        metavar="FILE",
        help="lines of from,to or from,to,weight, with or without a heading; or JSON: a matrix, "
        '[[from, to, weight], ...], {"edges": [...], "directed": true}, {from: [to, ...]} or '
        "{from: {to: weight}}",
    )
    group.add_argument("--source", metavar="NODE", help="where to start in the graph")
    group.add_argument(
        "--weight",
        metavar="NAME",
        help="the column or attribute with the weights of edges; none: every edge weighs 1",
    )
    either = group.add_mutually_exclusive_group()
    for name, value in (("directed", True), ("undirected", False)):
        either.add_argument(
            f"--{name}",
            dest="directed",
            action="store_const",
            const=value,
            help=f"edges are {name} (default: as the graph says, or as the algorithm's usual ones)",
        )
    for name, text in TEXTS.items():
        group.add_argument(f"--{name}", metavar="TEXT", help=text)
    for name, text in LISTS.items():
        group.add_argument(f"--{name}", metavar="A,B,...", help=text)
    group.add_argument(
        "--inputs",
        metavar="FILE",
        help="JSON: an object of all inputs by name, as Python takes them",
    )
    if not random:
        parser.set_defaults(random=None)
        return
    group.add_argument("--random", type=int, metavar="N", help="a random problem of this size")
    group.add_argument("--seed", type=int, help="seed of the random problem (default: 0)")
