"""A sweep at the command line: what is left of it is done, told and written down."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

import algorist
from algorist.commands import FAILURE
from algorist.commands.arguments import computing
from algorist.commands.conduct import Interrupt
from algorist.commands.conduct_experiment import pack_jobs, score
from algorist.errors import counted
from algorist.experiments.assignments import DONE, FAILED, Assignment, Reply
from algorist.experiments.cluster import Cluster
from algorist.experiments.grid import SWEEP
from algorist.experiments.plan import Part
from algorist.experiments.processes import Processes, Workplace
from algorist.experiments.results import Results
from algorist.experiments.sweep import Failures, Sweep
from algorist.experiments.work import Job, data_prepared, jobs
from algorist.machine import cores
from algorist.plugins import loaded_plugins
from algorist.report.sweep_progress import ProgressOfSweep, sweep_table
from algorist.report.terminal import Terminal, complain

_CORES, _CORES_WITH_GPU = 1, 4
_DEVICES_OF_CLUSTERS = ("auto", "cpu", "cuda")


def conduct_sweep(parts: Sequence[Part], arguments: Namespace, terminal: Terminal) -> int:
    """Train and test all that is left of a sweep; returns the exit code."""
    results, left = _left(parts, arguments)
    results.expect_recipes_of(parts)
    _say_what_is_repeated(parts, terminal)
    if not left:
        _repeat(parts, results)
        terminal.print(sweep_table(results, parts, terminal.plus_minus))
        terminal.print(f"all is done, see {results.file}")
        return 0
    failures = Failures(Path(arguments.out))
    # Before signals are handled, since Ray handles some, too.
    workforce = _workforce(arguments, len(left))
    with Interrupt(after=arguments.stop_after, quiet=terminal.is_terminal) as interrupt:
        replies = _replies(
            left, workforce, results, failures, interrupt.is_due, arguments, terminal
        )
    _repeat(parts, results)
    done = sum(reply.state == DONE for reply in replies.values())
    if done == len(left):
        terminal.print(sweep_table(results, parts, terminal.plus_minus))
    terminal.print(f"{done} of {counted(len(left), 'run')} done, see {results.file}")
    if done < len(left):
        terminal.print("to go on: the same command again")
    failed = {job.title: reply for job, reply in replies.items() if reply.state == FAILED}
    for title, reply in failed.items():
        complain(f"{title}: {reply.message}")
    if failed:
        complain(f"{len(failed)} failed, see {failures.file}")
        return FAILURE
    return interrupt.exit_code if interrupt.came() else 0


def pack_sweep(parts: Sequence[Part], arguments: Namespace, terminal: Terminal) -> int:
    """Write all runs that have begun and are not done in few bytes, to go on elsewhere."""
    _, left = _left(parts, arguments)
    return pack_jobs(left, arguments.pack, ["sweep"], terminal)


def _left(parts: Sequence[Part], arguments: Namespace) -> tuple[Results, list[Job]]:
    """The results of a sweep, and what is left to do."""
    results = Results(arguments.out, SWEEP)
    trained = [part for part in parts if not part.is_repeated]
    left = jobs(
        trained,
        arguments.seeds,
        arguments.samples,
        results,
        _runs(arguments),
        apart=not arguments.lockstep,
    )
    return results, list(left)


def _runs(arguments: Namespace) -> Path:
    return Path(arguments.runs or Path(arguments.out) / "runs")


def _replies(
    left: Sequence[Job],
    workforce: _Workforce,
    results: Results,
    failures: Failures,
    stopping: Callable[[], bool],
    arguments: Namespace,
    terminal: Terminal,
) -> dict[Job, Reply]:
    """Do all jobs, and write down at once what becomes of each."""
    terminal.print(f"{counted(len(left), 'run')} to go, {workforce.workplace.places} at once")
    _runs(arguments).mkdir(parents=True, exist_ok=True)
    if arguments.ray is None:
        with data_prepared(left):
            pass
    assignments = {job: _assignment(job, workforce, arguments) for job in left}
    sweep = Sweep(workforce.workplace, assignments, arguments.retries)
    replies: dict[Job, Reply] = {}
    with ProgressOfSweep(terminal, len(left), stopping) as progress:
        for job, reply in sweep.outcomes(stopping, progress.watch):
            replies[job] = reply
            if reply.state == DONE:
                results.add(reply.results())
            failures.note(job, reply)
            progress.end(job, _outcome(job, reply, results, terminal))
    return replies


def _outcome(job: Job, reply: Reply, results: Results, terminal: Terminal) -> str:
    if reply.state == DONE:
        return score(results, job, terminal)
    return f"failed: {reply.message}" if reply.state == FAILED else reply.message


class _Workforce(NamedTuple):
    """By what runs are done."""

    workplace: Workplace
    computing: Mapping[str, Any]
    cores: int
    """Of each run."""


def _assignment(job: Job, workforce: _Workforce, arguments: Namespace) -> Assignment:
    return Assignment.of(
        job,
        _runs(arguments),
        samples=arguments.samples,
        computing=workforce.computing,
        cores=workforce.cores,
        plugins=tuple(loaded_plugins()),
        version=algorist.__version__,
    )


def _workforce(arguments: Namespace, count: int) -> _Workforce:
    """By what so many runs are done, here or on a cluster."""
    cluster = _cluster(arguments)
    how = _computing(arguments, cluster)
    on_gpu = how["device"].startswith("cuda")
    each = arguments.cores or (_CORES_WITH_GPU if on_gpu else _CORES)
    if on_gpu and not how["workers"]:
        how["workers"] = each
    if cluster is not None:
        cluster.reserve(each, 1 / arguments.per_gpu if on_gpu else 0, arguments.at_once)
        return _Workforce(cluster, how, each)
    devices = _devices(how["device"])
    room = len(devices) * arguments.per_gpu if on_gpu else max(1, cores() // each)
    return _Workforce(Processes(min(arguments.at_once or room, count), devices), how, each)


def _devices(device: str) -> list[str]:
    """The devices that `cuda` stands for, or a certain one."""
    if device != "cuda":
        return [device]
    return [f"cuda:{number}" for number in range(torch.cuda.device_count())]


def _cluster(arguments: Namespace) -> Cluster | None:
    """The machines that are to do the runs, if it is not this one."""
    if arguments.ray is None:
        return None
    if arguments.device not in _DEVICES_OF_CLUSTERS:
        raise ValueError(
            f"--device: got {arguments.device!r}, expected one of "
            f"{', '.join(_DEVICES_OF_CLUSTERS)}: which GPU is for the cluster to say"
        )
    return Cluster(arguments.ray)


def _computing(arguments: Namespace, cluster: Cluster | None) -> dict[str, Any]:
    """How runs are computed: on a cluster, `auto` is what its machines have, not this one."""
    if cluster is None:
        return asdict(computing(arguments))
    here = asdict(computing(Namespace(**{**vars(arguments), "device": "cpu"})))
    own = "cuda" if cluster.has_gpus else "cpu"
    return {**here, "device": own if arguments.device == "auto" else arguments.device}


def _repeat(parts: Sequence[Part], results: Results) -> None:
    """Give parts that are not trained themselves the rows of those that are trained for them."""
    rows = results.rows
    again = [
        replace(row, part=part.name.part)
        for part in parts
        for row in rows
        if part.is_repeated and row.part == part.source.part
    ]
    if again:
        results.add(again)


def _say_what_is_repeated(parts: Sequence[Part], terminal: Terminal) -> None:
    for part in parts:
        if part.is_repeated:
            terminal.print(
                f"{part.name.part}: trained in the same way as {part.source.part}, and only there"
            )
