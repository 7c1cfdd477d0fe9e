"""`algorist reproduce`: the paper's experiments, in pieces of any length."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from algorist.commands import Command
from algorist.commands.arguments import add_at_once, add_computing, expect_place_of_folder, names
from algorist.errors import counted, positive
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.experiments.plan import Plan

_SEEDS = 3
_RUNS, _RESULTS = "runs/reproduce", "results"
_DECIDED = (
    "processor",
    "hints",
    "feedback",
    "scalar_hint_init",
    "online",
    "varied",
    "random_positions",
    "chunk",
    "average",
)
"""Settings in which experiments differ."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.conduct import add_stop
    from algorist.commands.settings import add_settings

    parser.usage = "algorist reproduce [NAME] [OPTION ...]"
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="the experiment; without it, all are listed"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=_SEEDS,
        metavar="K",
        help=f"seeds 0 to K - 1 of each net; the paper has 10 (default: {_SEEDS})",
    )
    parser.add_argument(
        "--out", default=_RESULTS, metavar="FOLDER", help=f"for results (default: {_RESULTS})"
    )
    parser.add_argument(
        "--runs", default=_RUNS, metavar="FOLDER", help=f"for runs (default: {_RUNS})"
    )
    parser.add_argument(
        "--pack",
        metavar="FOLDER",
        help="train nothing: write what has begun in few bytes, to go on elsewhere (--runs FOLDER)",
    )
    add_at_once(parser, "default: 1, or 3 on a GPU")
    add_stop(parser)
    smaller = parser.add_argument_group("smaller than the paper's", "Results tell what was done.")
    smaller.add_argument("--algorithms", type=names, metavar="A,B", help="only these")
    smaller.add_argument(
        "--samples", type=int, metavar="K", help="test on the first K samples of each algorithm"
    )
    add_computing(parser, training=True)
    add_settings(parser, ("schedule", "model", "data"), but=_DECIDED)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """List the experiments, or do what is left of one."""
    from algorist.commands.conduct_experiment import conduct_experiment, pack_experiment
    from algorist.commands.settings import check_sizes

    for option in ("out", "runs", "pack"):
        expect_place_of_folder(f"--{option}", getattr(arguments, option))
    positive("--seeds", arguments.seeds)
    if arguments.samples is not None:
        positive("--samples", arguments.samples)
    plan = _plan(arguments)
    if arguments.name is None:
        return _list(plan, arguments, terminal)
    check_sizes(arguments, (part.config for part in plan.of(arguments.name)))
    if arguments.pack is not None:
        return pack_experiment(plan, arguments, terminal)
    return conduct_experiment(plan, arguments, terminal)


def _plan(arguments: Namespace) -> Plan:
    from algorist.commands.settings import with_settings
    from algorist.experiments.plan import ALGORITHMS, Plan

    chosen = ALGORITHMS if arguments.algorithms is None else arguments.algorithms
    return Plan(chosen, lambda config: with_settings(config, arguments))


def _list(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    from algorist.commands.conduct_experiment import standing
    from algorist.experiments.plan import EXPERIMENTS
    from algorist.report.experiments import experiment_table

    if arguments.pack is not None:
        raise ValueError("--pack: which experiment? expected its name before it")
    standings = [standing(plan, name, arguments) for name in EXPERIMENTS]
    terminal.print(experiment_table(standings))
    if any(each.others for each in standings):
        terminal.print("\nothers: results of other settings, which are kept apart")
    terminal.print(f"\ndone: parts with all results of {counted(arguments.seeds, 'seed')}")
    terminal.print(f"to go on with one: algorist reproduce NAME --seeds {arguments.seeds}")
    return 0


command = Command(
    help="do an experiment of the paper, or go on with it; without a name, list them",
    examples="""\
algorist reproduce
algorist reproduce specialists --seeds 3 --at-once 3 --stop-after 9m
algorist reproduce generalist --pack packed
algorist reproduce specialists --algorithms bfs,dfs --steps 100 --samples 2 --out small""",
    add_arguments=add_arguments,
    run=run,
)
