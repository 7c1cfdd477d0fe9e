"""`algorist bench training`: trainings, with data and validation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from algorist.commands.arguments import add_algorithms, add_at_once, compute_config
from algorist.commands.bench_rows import BenchTable, Named, measured, sums
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.bench.training_cost import TrainingCost
    from algorist.training.config import Config
    from algorist.training.job_pool import JobPool

_HELP = {
    "cycles": "measure this many cycles: in each, every task is read once",
    "warm-up": "cycles before those, in which most shapes are captured",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.settings import add_settings
    from algorist.commands.train import add_start

    add_algorithms(parser)
    parser.add_argument(
        "--each", action="store_true", help="a net for each task, one after the other"
    )
    add_at_once(parser, "with --each; default: 1")
    for name, default in (("cycles", 300), ("warm-up", 10)):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=default,
            metavar="N",
            help=f"{_HELP[name]} (default: {default})",
        )
    add_start(parser)
    add_settings(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """A row for all tasks together, or for each of them."""
    from algorist.bench.training_cost import check_cycles, minutes_together
    from algorist.commands.arguments import named_algorithms
    from algorist.commands.settings import make_config
    from algorist.report.costs import TRAINING_HEADINGS, training_cells, training_sums
    from algorist.training.job_pool import JobPool, job_count

    if arguments.at_once is not None and not arguments.each:
        raise ValueError("--at-once: it is for several nets, expected --each too")
    chosen, how = named_algorithms(arguments), compute_config(arguments)
    groups = [[name] for name in chosen] if arguments.each else [chosen]
    configs = [make_config(arguments, group, arguments.seeds) for group in groups]
    check_cycles(configs[0], arguments.warm_up, arguments.cycles)
    at_once = 1 if arguments.at_once is None else arguments.at_once
    count = min(job_count(at_once, how), len(configs))

    def totals(costs: list[TrainingCost]) -> dict[str, float]:
        together = {"at_once": count, "projected_minutes": minutes_together(costs, count)}
        return sums(("ready_s", "late_s", "cycle_ms"), costs) | together

    table = BenchTable(TRAINING_HEADINGS, training_cells, partial(training_sums, count), totals)
    names = [_title(config.algorithms) for config in configs]
    with JobPool(count, how) as pool:
        outcomes = _trained(names, configs, pool, arguments)
        return measured(names, outcomes, table, arguments, terminal)


def _trained(
    names: Sequence[str], configs: Sequence[Config], pool: JobPool, arguments: Namespace
) -> Named:
    """Measure trainings, as many at once as there are pool."""
    from algorist.bench.training_cost import training_cost

    times = {"warm_up": arguments.warm_up, "cycles": arguments.cycles}
    how = compute_config(arguments)
    tasks = [partial(training_cost, config, how, **times) for config in configs]
    with Terminal(stderr=True).status("measuring"):
        for outcome in pool.outcomes(tasks):
            yield names[outcome.number], outcome


def _title(algorithms: Sequence[str]) -> str:
    return algorithms[0] if len(algorithms) == 1 else f"{len(algorithms)} algorithms"
