"""`algorist reproduce`: the paper's experiments, in pieces of any length."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.commands import Command
from algorist.commands.arguments import add_at_once, add_compute_options, parse_names
from algorist.commands.experiment_output import scores_text, show_packed
from algorist.commands.output_files import check_output_folder
from algorist.errors import expect_positive, format_count
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.commands.train_each import Work
    from algorist.experiments.executors import ShouldStop
    from algorist.experiments.overview import Remaining
    from algorist.experiments.plan import Plan
    from algorist.experiments.run_requests import Reply
    from algorist.report.progress import MultiRunProgress
    from algorist.training.job_pool import GpuContext

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
    from algorist.commands.settings import add_settings
    from algorist.commands.train_one import add_stop

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
        help="train nothing; pack unfinished runs, to continue them elsewhere (--runs FOLDER)",
    )
    add_at_once(parser, "default: 1, or 3 on a GPU")
    add_stop(parser)
    smaller = parser.add_argument_group("smaller than the paper's", "Results tell what was done.")
    smaller.add_argument("--algorithms", type=parse_names, metavar="A,B", help="only these")
    smaller.add_argument(
        "--samples", type=int, metavar="K", help="test on the first K samples of each algorithm"
    )
    add_compute_options(parser, training=True)
    add_settings(parser, ("schedule", "model", "data"), but=_DECIDED)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """List the experiments, or do what is left of one."""
    from algorist.commands.settings import check_sizes

    for option in ("out", "runs", "pack"):
        check_output_folder(f"--{option}", getattr(arguments, option))
    expect_positive("--seeds", arguments.seeds)
    if arguments.samples is not None:
        expect_positive("--samples", arguments.samples)
    plan = _plan(arguments)
    if arguments.name is None:
        return _list(plan, arguments, terminal)
    check_sizes(arguments, (part.config for part in plan.of(arguments.name)))
    if arguments.pack is not None:
        left = _remaining(plan, arguments.name, arguments).jobs
        return show_packed(left, arguments.pack, ["reproduce", arguments.name], terminal)
    return _reproduce(plan, arguments, terminal)


def _reproduce(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    """Train and test all that is left of an experiment; returns the exit code."""
    from algorist.commands.train_each import run_in_threads
    from algorist.experiments.jobs import prepare_data
    from algorist.experiments.overview import shared_parts
    from algorist.training.parallel import expect_alone

    expect_alone()
    name = arguments.name
    left = _remaining(plan, name, arguments)
    left.results.expect_recipes_of(plan.trained_for(name))
    for other, count in shared_parts(plan, name).items():
        terminal.print(f"shared with {other}: {count} (algorist reproduce {other})")
    if not plan.trained_for(name):
        terminal.print(f"{name}: nothing is trained for it alone")
        return 0
    if not left.jobs:
        terminal.print(f"{name}: all is done, see {left.results.file}")
        return 0
    titles = [job.title for job in left.jobs]
    work = _work(left, arguments, terminal)
    ending = run_in_threads(titles, {}, prepare_data(left.jobs), work, arguments, terminal)
    done = f"{len(ending.summary.done)} of {format_count(len(titles), 'run')} done"
    terminal.print(f"{done}, see {left.results.file}" if ending.summary.done else done)
    if ending.summary.can_go_on:
        terminal.print("to go on: the same command again")
    return ending.report()


def _work(left: Remaining, arguments: Namespace, terminal: Terminal) -> Work:
    """A function that trains and tests a run and shows its progress."""
    from algorist.commands.arguments import compute_config
    from algorist.experiments.evaluate_runs import RunEvaluator
    from algorist.experiments.run_requests import train_and_evaluate

    evaluator, how = RunEvaluator(left.results, arguments.samples), compute_config(arguments)
    by_title = {job.title: job for job in left.jobs}

    def work(
        title: str, context: GpuContext, progress: MultiRunProgress, should_stop: ShouldStop
    ) -> Reply:
        job = by_title[title]
        run = job.run(how, context)
        with progress.watching(title, run.trainer) as observe:
            reply = train_and_evaluate(job, run, evaluator, should_stop, observe)
        progress.end(title, reply.message or scores_text(left.results, job, terminal))
        return reply

    return work


def _remaining(plan: Plan, name: str, arguments: Namespace) -> Remaining:
    from algorist.experiments.overview import remaining
    from algorist.experiments.results import Results

    results, runs = Results(arguments.out, name), Path(arguments.runs)
    return remaining(plan.of(name), results, range(arguments.seeds), arguments.samples, runs)


def _plan(arguments: Namespace) -> Plan:
    from algorist.commands.settings import apply_settings
    from algorist.experiments.plan import ALGORITHMS, Plan

    chosen = ALGORITHMS if arguments.algorithms is None else arguments.algorithms
    return Plan(chosen, lambda config: apply_settings(config, arguments))


def _list(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    from algorist.experiments.overview import experiment_progress
    from algorist.experiments.plan import EXPERIMENTS
    from algorist.report.experiment_table import experiment_table

    if arguments.pack is not None:
        raise ValueError("--pack: which experiment? expected its name before it")
    experiments = [
        experiment_progress(plan, name, _remaining(plan, name, arguments)) for name in EXPERIMENTS
    ]
    terminal.print(experiment_table(experiments))
    if any(each.others for each in experiments):
        terminal.print("\nothers: results of other settings, which are kept apart")
    terminal.print(f"\ndone: parts with all results of {format_count(arguments.seeds, 'seed')}")
    terminal.print(f"to continue one: algorist reproduce NAME --seeds {arguments.seeds}")
    return 0


command = Command(
    help="run or continue one of the paper's experiments; without a name, list them",
    examples="""\
algorist reproduce
algorist reproduce specialists --seeds 3 --at-once 3 --stop-after 9m
algorist reproduce generalist --pack packed
algorist reproduce specialists --algorithms bfs,dfs --steps 100 --samples 2 --out small""",
    add_arguments=add_arguments,
    run=run,
)
