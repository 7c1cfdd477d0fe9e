"""`algorist train`: start a run."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.commands import Command
from algorist.commands.arguments import (
    add_algorithms,
    add_at_once,
    add_compute_options,
    named_algorithms,
    parse_integers,
)
from algorist.commands.output_files import check_output_folder
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.training.config import Config


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given: every setting of a configuration is an option."""
    from algorist.commands.settings import add_settings
    from algorist.commands.train_one import add_logs, add_stop

    parser.usage = "algorist train [ALGORITHM ...] [--out FOLDER] [OPTION ...]"
    add_algorithms(parser)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="where the run is kept (default: runs/NAME, after the tasks, or runs/NAME-2, ...)",
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="a run for each task, in a folder of its own below FOLDER, as if started alone",
    )
    add_at_once(parser, "with --each; default: 1, or 3 on a GPU")
    add_start(parser)
    add_stop(parser)
    add_compute_options(parser, training=True)
    add_logs(parser)
    add_settings(parser)


def add_start(parser: ArgumentParser) -> None:
    """Declare what settings a training starts from, and its seeds."""
    from algorist.commands.settings import add_recipe

    add_recipe(parser)
    parser.add_argument(
        "--seeds",
        "--seed",
        type=parse_integers,
        default=(0,),
        metavar="N,N",
        help="one net is trained for each seed, all at once (default: 0)",
    )


def configuration(arguments: Namespace) -> Config:
    """The training that the arguments ask for."""
    from algorist.commands.settings import make_config

    return make_config(arguments, named_algorithms(arguments), arguments.seeds)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Start a run and see it through."""
    from algorist.commands.train_one import check_logs, joined_processes, train_run
    from algorist.training.run import Run

    is_asked = arguments.out is not None
    arguments.out = arguments.out if is_asked else free_folder(arguments)
    check_output_folder("--out", arguments.out)
    check_logs(arguments)
    if arguments.each:
        return run_each(arguments, terminal)
    if arguments.at_once is not None:
        raise ValueError("--at-once: it is for several runs, expected --each too")
    with joined_processes(arguments, terminal) as (how, peers):
        started = Run.start(arguments.out, configuration(arguments), how, peers=peers)
        if not is_asked:
            terminal.print(f"the run is kept in {arguments.out}")
        return train_run(started, arguments, terminal)


def free_folder(arguments: Namespace) -> str:
    """Where a run is kept if nobody says where: a folder that is not there, named by its tasks."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError("--out: got nothing, expected the folder that all processes share")
    named = named_algorithms(arguments)
    if arguments.all or arguments.family:
        name = "all" if arguments.all else arguments.family
    else:
        name = named[0] if len(named) == 1 else f"{named[0]}-and-{len(named) - 1}-more"
    wanted = Path("runs", name)
    numbered = (wanted.with_name(f"{name}-{number}") for number in count(2))
    return str(next(folder for folder in chain([wanted], numbered) if not folder.exists()))


def run_each(arguments: Namespace, terminal: Terminal) -> int:
    """Start a run for each task and see them all through."""
    from dataclasses import replace

    from algorist.commands.settings import make_config
    from algorist.commands.train_each import check_at_once, train_each
    from algorist.training.multi_run import MultiRun

    check_at_once(arguments)
    (first, *others) = named_algorithms(arguments)
    config = make_config(arguments, [first], arguments.seeds)  # which knows of no others
    each = MultiRun.start(arguments.out, replace(config, algorithms=(first, *others)))
    return train_each(each, arguments, terminal)


command = Command(
    help="train a net on one algorithm, on several or on all",
    examples="""\
algorist train bfs --out runs/bfs
algorist train bfs --out runs/small --steps 1000 --hidden 64 --seeds 0,1,2
algorist train --family sorting --out runs/sorting --chunk 8
algorist train --family sorting --each --out runs/specialists --at-once 3
algorist train dfs --out runs/plain --without gating,triplets --no-layer-norm
algorist train bfs --recipe salsa2023 --out runs/sparse --seeds 0,1,2
algorist train dijkstra --out runs/transfer --processor-from runs/bfs --freeze-processor
algorist train --all --out runs/generalist --seeds 0,1,2 --device cuda --stop-after 9m
torchrun --nproc-per-node 2 -m algorist train bfs --out runs/wide --hidden 512 --batch-size 256""",
    add_arguments=add_arguments,
    run=run,
)
