"""Several runs at the command line, some of them at once, until all are done or told to stop."""

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
from algorist.commands.arguments import computing
from algorist.commands.conduct import Interrupt, open_logs
from algorist.data.preparing import prepared
from algorist.errors import counted
from algorist.plugins import shell
from algorist.report.numbers import scored
from algorist.report.progress import ProgressOfEach
from algorist.report.terminal import Terminal, complain
from algorist.training.job_pool import NOT_TAKEN_UP, GpuContext, JobPool, Outcome, job_count
from algorist.training.multi_run import MultiRun
from algorist.training.parallel import expect_alone
from algorist.training.trainer import DivergedError

_EXPECTED = (DivergedError, ValueError, OSError, MemoryError)
"""Errors that say in one line what is wrong."""
_FOR_GOOD = (DivergedError, ValueError)
"""Those that come again when the same is tried again."""


def check_at_once(arguments: Namespace) -> None:
    """Complain about what cannot be done at once before a run begins."""
    expect_alone()
    count = job_count(arguments.at_once, computing(arguments))
    if arguments.wandb and count > 1:
        raise ValueError(
            f"--wandb: it follows one run at a time, got {count}, expected --at-once 1"
        )


def conduct_each(each: MultiRun, arguments: Namespace, terminal: Terminal) -> int:
    """Train all runs that are not done; returns the exit code."""
    how = computing(arguments)
    standings = {name: each.standing(name) for name in each.algorithms}
    done = {name: s for name, s in standings.items() if s and s.step >= each.steps}
    if len(done) == len(each.algorithms):
        terminal.print(
            f"all is done, {counted(len(done), 'run')}: "
            f"{shell('resume', each.folder, '--steps', 'N')} goes on to N"
        )
        return 0

    def work(
        name: str, context: GpuContext, progress: ProgressOfEach, stopping: Callable[[], bool]
    ) -> bool:
        run = each.run(name, how, context)
        with progress.watching(name, run.trainer) as observe:
            reached = run.train(
                logs=open_logs(run, arguments), observe=observe, should_stop=stopping
            )
        best, step = run.trainer.best_scores, run.trainer.step
        progress.end(name, _best(name, best, terminal) if reached else f"saved at step {step}")
        return reached

    ended = {name: _best(name, standing.best, terminal) for name, standing in done.items()}
    left = [name for name in each.algorithms if name not in done]
    preparation = prepared(left, each.config.data.splits)
    conducted = conduct_in_slots(each.algorithms, ended, preparation, work, arguments, terminal)
    count = len(done) + len(conducted.done)
    terminal.print(f"{count} of {counted(len(each.algorithms), 'run')} done")
    if conducted.can_go_on:
        terminal.print(f"to go on: {shell('resume', each.folder)}")
    else:
        terminal.print(f"to test them: {shell('eval', each.folder)}")
    conducted.complain()
    return conducted.exit_code


Work = Callable[[str, GpuContext, ProgressOfEach, Callable[[], bool]], bool]
"""Goes on with the run of that name in a context, until it is to stop; whether it is done then."""


class Conducted(NamedTuple):
    """What has become of several runs."""

    names: Sequence[str]
    outcomes: Mapping[str, Outcome]
    interrupt: Interrupt

    @property
    def done(self) -> list[str]:
        """Those that have come to their end."""
        return [name for name, outcome in self.outcomes.items() if outcome.value]

    @property
    def failed(self) -> dict[str, Outcome]:
        """Those that ended with an error."""
        return {name: outcome for name, outcome in self.outcomes.items() if outcome.error}

    @property
    def forgotten(self) -> list[str]:
        """Those that nobody has taken up."""
        return [name for name in self.names if name not in self.outcomes]

    @property
    def can_go_on(self) -> bool:
        """Whether some are left that would not fail in the same way again."""
        in_vain = [n for n, o in self.failed.items() if isinstance(o.error, _FOR_GOOD)]
        return len(self.done) + len(in_vain) < len(self.names)

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if self.failed or self.forgotten:
            return FAILURE
        return self.interrupt.exit_code if self.interrupt.came() else 0

    def complain(self) -> None:
        """Say what has failed."""
        for name, outcome in self.failed.items():
            if not isinstance(outcome.error, _EXPECTED):
                print(outcome.trace, file=sys.stderr)
            complain(f"{name}: {outcome.error}")
        if self.forgotten:
            complain(f"{NOT_TAKEN_UP}: {', '.join(self.forgotten)}")


def conduct_in_slots(
    names: Sequence[str],
    ended: Mapping[str, str],
    preparation: AbstractContextManager,
    work: Work,
    arguments: Namespace,
    terminal: Terminal,
) -> Conducted:
    """Do the work of all runs but those that have ended, some at once, until told to stop."""
    how = computing(arguments)
    left = [name for name in names if name not in ended]
    count = min(job_count(arguments.at_once, how), len(left))
    terminal.print(f"{len(left)} of {counted(len(names), 'run')} to go, {count} at once")
    with preparation:
        pass
    with (
        Interrupt(after=arguments.stop_after, quiet=terminal.is_terminal) as interrupt,
        JobPool(count, how) as pool,
        ProgressOfEach(terminal, names, stopping=interrupt.came) as progress,
    ):
        for name, text in ended.items():
            progress.end(name, text)

        def task(name: str, context: GpuContext) -> bool:
            try:
                return not interrupt.is_due() and work(name, context, progress, interrupt.is_due)
            except torch.OutOfMemoryError:
                progress.end(name, "the GPU's memory is full")
                raise

        tasks: list[Callable[[GpuContext], Any]] = [partial(task, name) for name in left]
        outcomes = {}
        for outcome in pool.outcomes(tasks):
            outcomes[left[outcome.place]] = outcome
            if outcome.error is not None:
                progress.end(left[outcome.place], "failed")
    return Conducted(left, outcomes, interrupt)


def _best(name: str, best: Sequence[float], terminal: Terminal) -> str:
    error = algorist.get(name).spec.scored_by_error
    return f"done, best validation {scored(best, terminal.plus_minus, error=error)}"
