"""`algorist train`: start a run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

import algorist
from algorist.commands import Command
from algorist.commands.arguments import add_computing, computing, names, of_family
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.training.config import Config


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given: every setting of a configuration is an option."""
    from algorist.commands.conduct import add_logs, add_stop
    from algorist.commands.settings import add_settings, whole_numbers
    from algorist.training.recipes import IMPROVEMENTS, RECIPES

    parser.usage = "algorist train [ALGORITHM ...] --out FOLDER [OPTION ...]"
    parser.add_argument("algorithms", nargs="*", default=[], metavar="ALGORITHM", help="the tasks")
    parser.add_argument("--family", help="train on all algorithms of this family")
    parser.add_argument("--all", action="store_true", help="train on all algorithms")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where the run is kept")
    parser.add_argument(
        "--recipe",
        default="generalist",
        help=f"where all settings start: {' or '.join(RECIPES)} (default: generalist)",
    )
    parser.add_argument(
        "--without",
        type=names,
        action="extend",
        default=[],
        metavar="A,B",
        help=f"take away improvements of the paper: {', '.join(IMPROVEMENTS)}",
    )
    parser.add_argument(
        "--seeds",
        "--seed",
        type=whole_numbers,
        default=(0,),
        metavar="N,N",
        help="one net is trained for each seed, all at once (default: 0)",
    )
    add_stop(parser)
    add_computing(parser, training=True)
    add_logs(parser)
    add_settings(parser)


def configuration(arguments: Namespace) -> Config:
    """What the arguments ask for: a recipe, less some improvements, with some settings changed."""
    from dataclasses import replace

    from algorist.commands.settings import with_settings
    from algorist.training.recipes import recipe, without

    tasks = list(arguments.algorithms)
    tasks += of_family(arguments.family) if arguments.family else []
    tasks += algorist.algorithms() if arguments.all else []
    if not tasks:
        raise ValueError("algorithms: got none, expected names, --family or --all")
    config = recipe(arguments.recipe, list(dict.fromkeys(tasks)))
    config = replace(without(config, *arguments.without), seeds=arguments.seeds)
    return with_settings(config, arguments)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Start a run and see it through."""
    from algorist.commands.conduct import check_logs, conduct
    from algorist.training.run import Run

    check_logs(arguments)
    started = Run.start(arguments.out, configuration(arguments), computing(arguments))
    return conduct(started, arguments, terminal)


command = Command(
    help="train a net on one algorithm, on several or on all",
    examples="""\
algorist train bfs --out runs/bfs
algorist train bfs --out runs/small --steps 1000 --hidden 64 --seeds 0,1,2
algorist train --family sorting --out runs/sorting --chunk 8
algorist train dfs --out runs/plain --without gating,triplets --no-layer-norm
algorist train dijkstra --out runs/transfer --processor-from runs/bfs --freeze-processor
algorist train --all --out runs/generalist --seeds 0,1,2 --device cuda --stop-after 9m""",
    add_arguments=add_arguments,
    run=run,
)
