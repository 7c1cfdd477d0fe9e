"""Several runs in threads of one command: `train --each` and `reproduce`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import torch

import algorist
from algorist.commands import FAILURE
from algorist.commands.arguments import compute_config
from algorist.commands.train_one import open_logs
from algorist.data.prepare import prepare_in_background
from algorist.errors import format_count
from algorist.experiments.executors import ShouldStop, Summary, ThreadExecutor
from algorist.experiments.run_control import Interrupt
from algorist.experiments.run_requests import DONE, FAILED, STOPPED, Reply
from algorist.plugins import shell
from algorist.report.format_numbers import format_scores
from algorist.report.progress import MultiRunProgress
from algorist.report.terminal import Terminal, print_error
from algorist.training.job_pool import NOT_RUN, GpuContext, job_count
from algorist.training.multi_run import MultiRun
from algorist.training.parallel import expect_alone

Work = Callable[[str, GpuContext, MultiRunProgress, ShouldStop], Reply]
"""Continues the run of that name in a context until it is to stop, and shows how it ended."""


def check_at_once(arguments: Namespace) -> None:
    """Raise a `ValueError` for an impossible `--at-once`, before a run begins."""
    expect_alone()
    count = job_count(arguments.at_once, compute_config(arguments))
    if arguments.wandb and count > 1:
        raise ValueError(
            f"--wandb: it follows one run at a time, got {count}, expected --at-once 1"
        )


def train_each(each: MultiRun, arguments: Namespace, terminal: Terminal) -> int:
    """Train all runs that are not done; returns the exit code."""
    how = compute_config(arguments)
    progress_of = {name: each.progress(name) for name in each.algorithms}
    done = {name: p for name, p in progress_of.items() if p and p.step >= each.steps}
    if len(done) == len(each.algorithms):
        terminal.print(
            f"all is done, {format_count(len(done), 'run')}: "
            f"{shell('resume', each.folder, '--steps', 'N')} goes on to N"
        )
        return 0

    def work(
        name: str, context: GpuContext, progress: MultiRunProgress, should_stop: ShouldStop
    ) -> Reply:
        run = each.run(name, how, context)
        with progress.watching(name, run.trainer) as observe:
            reached = run.train(
                logs=open_logs(run, arguments), observe=observe, should_stop=should_stop
            )
        best, step = run.trainer.best_scores, run.trainer.step
        progress.end(name, _best(name, best, terminal) if reached else f"saved at step {step}")
        return Reply(DONE if reached else STOPPED)

    ended = {name: _best(name, own.best, terminal) for name, own in done.items()}
    left = [name for name in each.algorithms if name not in done]
    preparation = prepare_in_background(left, each.config.splits)
    ending = run_in_threads(each.algorithms, ended, preparation, work, arguments, terminal)
    count = len(done) + len(ending.summary.done)
    terminal.print(f"{count} of {format_count(len(each.algorithms), 'run')} done")
    if ending.summary.can_go_on:
        terminal.print(f"to go on: {shell('resume', each.folder)}")
    else:
        terminal.print(f"to test them: {shell('eval', each.folder)}")
    return ending.report()


class RunsEnding(NamedTuple):
    """How several runs have ended."""

    summary: Summary
    interrupt: Interrupt

    def report(self) -> int:
        """Say what has failed; returns the exit code."""
        failed = self.summary.failed
        not_begun = [name for name, reply in failed.items() if reply.message == NOT_RUN]
        for name, reply in failed.items():
            if reply.trace:
                print(reply.trace, file=sys.stderr)
            if name not in not_begun:
                print_error(f"{name}: {reply.message}")
        if not_begun:
            print_error(f"{NOT_RUN}: {', '.join(not_begun)}")
        if failed:
            return FAILURE
        return self.interrupt.exit_code if self.interrupt.came() else 0


def run_in_threads(
    names: Sequence[str],
    ended: Mapping[str, str],
    preparation: AbstractContextManager[Any],
    work: Work,
    arguments: Namespace,
    terminal: Terminal,
) -> RunsEnding:
    """Execute all runs but those that have ended, some at once, until told to stop."""
    how = compute_config(arguments)
    left = [name for name in names if name not in ended]
    count = min(job_count(arguments.at_once, how), len(left))
    terminal.print(f"{len(left)} of {format_count(len(names), 'run')} to go, {count} at once")
    with preparation:
        pass
    with (
        Interrupt(after=arguments.stop_after, quiet=terminal.is_terminal) as interrupt,
        ThreadExecutor(count, how) as executor,
        MultiRunProgress(terminal, names, stopping=interrupt.came) as progress,
    ):
        for name, text in ended.items():
            progress.end(name, text)

        def in_thread(name: str, context: GpuContext, should_stop: ShouldStop) -> Reply:
            try:
                return work(name, context, progress, should_stop)
            except torch.OutOfMemoryError:
                progress.end(name, "the GPU's memory is full")
                raise

        def on_end(name: str, reply: Reply) -> None:
            if reply.state == FAILED:
                progress.end(name, "failed")

        tasks = {name: partial(in_thread, name) for name in left}
        return RunsEnding(executor.run_all(tasks, interrupt.is_due, on_end), interrupt)


def _best(name: str, best: Sequence[float], terminal: Terminal) -> str:
    error = algorist.get(name).spec.scored_by_error
    return f"done, best validation {format_scores(best, terminal.plus_minus, error=error)}"
