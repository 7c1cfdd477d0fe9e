"""`algorist sweep`: a grid of trainings, on this machine or on a cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.commands import FAILURE, Command
from algorist.commands.arguments import (
    add_algorithms,
    add_at_once,
    add_compute_options,
)
from algorist.commands.output_files import check_output_folder
from algorist.commands.sweep_grid import add_grid, sweep_parts
from algorist.errors import expect_positive, expect_unique, format_count
from algorist.report.terminal import Terminal, print_error

if TYPE_CHECKING:
    from algorist.experiments.executors import Summary
    from algorist.experiments.failures import Failures
    from algorist.experiments.overview import Remaining
    from algorist.experiments.plan import Part
    from algorist.experiments.resources import Resources

_RETRIES = 2


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.settings import add_settings
    from algorist.commands.train_one import add_stop

    parser.usage = "algorist sweep ALGORITHM ... --out FOLDER [OPTION ...]"
    add_algorithms(parser, "a net is trained for each")
    add_grid(parser)
    parser.add_argument(
        "--out", required=True, metavar="FOLDER", help="for results (sweep.csv) and failures"
    )
    parser.add_argument("--runs", metavar="FOLDER", help="for runs (default: runs below --out)")
    parser.add_argument(
        "--samples", type=int, metavar="K", help="test on the first K samples of each algorithm"
    )
    parser.add_argument(
        "--pack",
        metavar="FOLDER",
        help="train nothing; pack unfinished runs, to continue them elsewhere (--runs FOLDER)",
    )
    _add_places(parser)
    add_stop(parser)
    add_compute_options(parser, training=True)
    add_settings(parser)


def _add_places(parser: ArgumentParser) -> None:
    add_at_once(parser, "default: as many as there are cores or GPUs for")
    group = parser.add_argument_group("where", "Every run is a process of its own.")
    group.add_argument(
        "--cores",
        type=int,
        metavar="N",
        help="of each run: threads, or processes that prepare data for a GPU "
        "(default: 1, or 4 with a GPU)",
    )
    group.add_argument(
        "--per-gpu",
        type=int,
        default=1,
        metavar="N",
        help="runs that share a GPU, at the same time under NVIDIA's MPS where it is installed "
        "(default: 1)",
    )
    group.add_argument(
        "--retries",
        type=int,
        default=_RETRIES,
        metavar="N",
        help=f"how often a run whose process dies is tried again (default: {_RETRIES})",
    )
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="use a Ray cluster, whose machines share the folders: auto, local, HOST:PORT or "
        "ray://HOST:PORT",
    )


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Do what is left of the sweep."""
    from algorist.commands.experiment_output import show_packed
    from algorist.training.parallel import expect_alone

    expect_alone()
    for option in ("out", "runs", "pack"):
        check_output_folder(f"--{option}", getattr(arguments, option))
    for option in ("samples", "at_once", "cores", "per_gpu"):
        if getattr(arguments, option) is not None:
            expect_positive(f"--{option.replace('_', '-')}", getattr(arguments, option))
    if arguments.retries < 0:
        raise ValueError(f"--retries: got {arguments.retries}, expected 0 or more")
    expect_unique("--seeds", [str(seed) for seed in arguments.seeds])
    parts = sweep_parts(arguments)
    replace(parts[0].config, seeds=arguments.seeds)  # refuses those that no run can have
    left = _remaining(parts, arguments)
    if arguments.pack is not None:
        return show_packed(left.jobs, arguments.pack, ["sweep"], terminal)
    return _sweep(parts, left, arguments, terminal)


def _remaining(parts: Sequence[Part], arguments: Namespace) -> Remaining:
    """The results of a sweep, and what is left to do."""
    from algorist.experiments.grid import SWEEP
    from algorist.experiments.overview import remaining
    from algorist.experiments.results import Results

    results, runs = Results(arguments.out, SWEEP), _runs(arguments)
    return remaining(
        parts, results, arguments.seeds, arguments.samples, runs, lockstep=arguments.lockstep
    )


def _runs(arguments: Namespace) -> Path:
    return Path(arguments.runs or Path(arguments.out) / "runs")


def _sweep(parts: Sequence[Part], left: Remaining, arguments: Namespace, terminal: Terminal) -> int:
    """Train and test all that is left of a sweep; returns the exit code."""
    from algorist.experiments.failures import Failures
    from algorist.experiments.overview import repeat_rows
    from algorist.experiments.run_control import Interrupt
    from algorist.report.sweep_progress import sweep_table

    results = left.results
    results.expect_recipes_of(parts)
    for part in parts:
        if part.is_repeated:
            terminal.print(
                f"{part.name.part}: trained in the same way as {part.source.part}, and only there"
            )
    if not left.jobs:
        repeat_rows(parts, results)
        terminal.print(sweep_table(results, parts, terminal.plus_minus))
        terminal.print(f"all is done, see {results.file}")
        return 0
    failures = Failures(Path(arguments.out))
    # Before signals are handled, since Ray handles some, too.
    resources = _resources(arguments, len(left.jobs))
    with Interrupt(after=arguments.stop_after, quiet=terminal.is_terminal) as interrupt:
        summary = _run(left, resources, failures, interrupt.is_due, arguments, terminal)
    repeat_rows(parts, results)
    if len(summary.done) == len(left.jobs):
        terminal.print(sweep_table(results, parts, terminal.plus_minus))
    done = f"{len(summary.done)} of {format_count(len(left.jobs), 'run')} done"
    terminal.print(f"{done}, see {results.file}")
    if len(summary.done) < len(left.jobs):
        terminal.print("to go on: the same command again")
    for title, reply in summary.failed.items():
        print_error(f"{title}: {reply.message}")
    if summary.failed:
        print_error(f"{len(summary.failed)} failed, see {failures.file}")
        return FAILURE
    return interrupt.exit_code if interrupt.came() else 0


def _resources(arguments: Namespace, count: int) -> Resources:
    from algorist.commands.arguments import compute_config
    from algorist.experiments.resources import find_resources

    here = compute_config(Namespace(**{**vars(arguments), "device": "cpu"}))
    return find_resources(
        here,
        arguments.device,
        count,
        ray=arguments.ray,
        cores=arguments.cores,
        per_gpu=arguments.per_gpu,
        at_once=arguments.at_once,
    )


def _run(
    left: Remaining,
    resources: Resources,
    failures: Failures,
    should_stop: Callable[[], bool],
    arguments: Namespace,
    terminal: Terminal,
) -> Summary:
    """Execute all runs, and record the result of each as it ends."""
    from algorist.commands.experiment_output import scores_text
    from algorist.experiments.executors import RemoteExecutor
    from algorist.experiments.gpu_sharing import multi_process_service
    from algorist.experiments.jobs import prepare_data
    from algorist.experiments.run_requests import DONE, FAILED, Reply
    from algorist.report.sweep_progress import SweepProgress

    by_title, runs = {job.title: job for job in left.jobs}, _runs(arguments)
    terminal.print(
        f"{format_count(len(by_title), 'run')} to go, {resources.backend.capacity} at once"
    )
    runs.mkdir(parents=True, exist_ok=True)
    if arguments.ray is None:
        with prepare_data(left.jobs):
            pass
    tasks = {
        title: resources.request(job, runs, arguments.samples) for title, job in by_title.items()
    }

    def on_end(title: str, reply: Reply) -> None:
        job, text = by_title[title], reply.message
        if reply.state == DONE:
            left.results.add(reply.results())
            text = scores_text(left.results, job, terminal)
        elif reply.state == FAILED:
            text = f"failed: {reply.message}"
        failures.note(job, reply)
        progress.end(job, text)

    def watch(running: Sequence[str]) -> None:
        progress.watch([by_title[title] for title in running])

    shares_gpu = arguments.per_gpu > 1 and resources.on_gpu and arguments.ray is None
    with (
        multi_process_service() if shares_gpu else nullcontext(),
        RemoteExecutor(resources.backend, arguments.retries, watch) as executor,
        SweepProgress(terminal, len(by_title), should_stop) as progress,
    ):
        return executor.run_all(tasks, should_stop, on_end)


command = Command(
    help="train a grid of algorithms, seeds, recipes and settings, here or on a cluster",
    examples="""\
algorist sweep bfs dfs --seeds 0,1,2 --out sweeps/search
algorist sweep --family sorting --recipes ibarz2022,clrs2022 --seeds 0,1,2 --out sweeps/sorting
algorist sweep dijkstra --set hidden=64,128 --set learning-rate=1e-3,3e-4 --out sweeps/width
algorist sweep --all --seeds 0,1,2 --out sweeps/all --at-once 4 --stop-after 9m
algorist sweep --all --seeds 0,1,2 --out /shared/all --ray auto""",
    add_arguments=add_arguments,
    run=run,
)
