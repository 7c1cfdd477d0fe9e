"""`algorist bench steps`: training steps, on the same window again and again."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from algorist.commands.arguments import (
    add_algorithms,
    chosen_algorithms,
    compute_config,
    parse_integers,
)
from algorist.commands.bench_rows import BenchTable, one_by_one
from algorist.data import official
from algorist.errors import expect_positive
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.training.config import Config

USUAL = ("bfs", "insertion_sort", "dfs", "floyd_warshall", "matrix_chain_order")
_HELP = {"size": "sizes of the problems", "replicas": "nets that are trained at once"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.settings import add_recipe, add_settings

    add_algorithms(parser, f"one after the other (default: {' '.join(USUAL)})")
    for name, default in (("size", 16), ("replicas", 1)):
        parser.add_argument(
            f"--{name}",
            type=parse_integers,
            default=(default,),
            metavar="N,N",
            help=f"{_HELP[name]} (default: {default})",
        )
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        metavar="N",
        help="take the median of this many rounds (default: 5)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.2,
        metavar="X",
        help="how long a round lasts, with one step at least (default: 0.2)",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="also show the kernels by time, on a GPU; later rows may become a little slower",
    )
    add_recipe(parser)
    add_settings(parser, ("model", "convention", "data", "optimizer"), but=("sizes",))


def run(arguments: Namespace, terminal: Terminal) -> int:
    """A row for each algorithm, size and number of replicas."""
    from algorist.bench.step_cost import step_cost
    from algorist.bench.timing import TimingConfig
    from algorist.report.costs import STEP_HEADINGS, show_kernels, step_cells

    how, timing = compute_config(arguments), TimingConfig(arguments.rounds, arguments.seconds)
    if arguments.profile and not how.on_gpu:
        raise ValueError(f"--profile: got {how.device} as the device, expected a GPU")
    measures = [
        (config.algorithms[0], partial(step_cost, config, how, timing, profile=arguments.profile))
        for config in _configs(arguments)
    ]
    details = partial(show_kernels, terminal) if arguments.profile else None
    table = BenchTable(STEP_HEADINGS, step_cells, details=details)
    return one_by_one(measures, table, arguments, terminal)


def _configs(arguments: Namespace) -> list[Config]:
    from algorist.commands.settings import make_config

    configs = []
    for algorithm in chosen_algorithms(arguments) or USUAL:
        for size in arguments.size:
            for replicas in arguments.replicas:
                seeds = range(expect_positive("replicas", replicas))
                config = make_config(arguments, [algorithm], seeds)
                fixed = official.SPLITS["train"].n
                if not config.data.online and size != fixed:
                    raise ValueError(
                        f"--size: got {size}, but the fixed training set has size {fixed}"
                    )
                data = replace(config.data, sizes=(expect_positive("size", size),))
                configs.append(replace(config, data=data))
    return configs
