"""Several runs at the command line, some of them at once, until all are done or told to stop."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from typing import Any

from algorist.commands.arguments import computing
from algorist.commands.conduct import FAILED, Interrupt, open_logs
from algorist.data.preparing import prepared
from algorist.report.numbers import percent
from algorist.report.progress import ProgressOfEach
from algorist.report.terminal import Terminal
from algorist.training.each import Each
from algorist.training.slots import Outcome, Slot, Slots, number_of_slots
from algorist.training.trainer import DivergedError

_EXPECTED = (DivergedError, ValueError, OSError, MemoryError)
"""Errors that say in one line what is wrong."""


def check_at_once(arguments: Namespace) -> None:
    """Complain about what cannot be done at once before a run begins."""
    count = number_of_slots(arguments.at_once, computing(arguments))
    if arguments.wandb and count > 1:
        raise ValueError(
            f"--wandb: it follows one run at a time, got {count}, expected --at-once 1"
        )


def conduct_each(each: Each, arguments: Namespace, terminal: Terminal) -> int:
    """Train all runs that are not done; returns the exit code."""
    how, end = computing(arguments), time.monotonic() + (arguments.stop_after or float("inf"))
    standings = {name: each.standing(name) for name in each.algorithms}
    done = {name: s for name, s in standings.items() if s and s.step >= each.steps}
    left = [name for name in each.algorithms if name not in done]
    if not left:
        terminal.print(
            f"all {len(done)} runs are done: algorist resume {each.folder} --steps N goes on to N"
        )
        return 0
    count = min(number_of_slots(arguments.at_once, how), len(left))
    terminal.print(f"{len(left)} of {len(each.algorithms)} runs to go, {count} at once")
    with prepared(left, each.config.data.splits):
        pass
    with (
        Interrupt(quiet=terminal.is_terminal) as interrupt,
        Slots(count, how) as slots,
        ProgressOfEach(terminal, each.algorithms, stopping=interrupt.came) as progress,
    ):
        for name, standing in done.items():
            progress.end(name, _best(standing.best, terminal))

        def stopping() -> bool:
            return interrupt.came() or time.monotonic() >= end

        def task(name: str, slot: Slot) -> bool:
            """Train a run; whether it is done."""
            if stopping():
                return False
            run = each.run(name, how, slot)
            with progress.watching(name, run.trainer) as observe:
                reached = run.train(
                    logs=open_logs(run, arguments), observe=observe, should_stop=stopping
                )
            best, step = run.trainer.best_scores, run.trainer.step
            progress.end(name, _best(best, terminal) if reached else f"saved at step {step}")
            return reached

        tasks: list[Callable[[Slot], Any]] = [partial(task, name) for name in left]
        outcomes = {}
        for outcome in slots.outcomes(tasks):
            outcomes[left[outcome.place]] = outcome
            if outcome.error is not None:
                progress.end(left[outcome.place], "failed")
    return _summary(each, left, outcomes, interrupt, terminal)


def _best(best: Any, terminal: Terminal) -> str:
    return f"done, best validation {percent(best, 1, terminal.plus_minus)} %"


def _summary(
    each: Each,
    left: list[str],
    outcomes: dict[str, Outcome],
    interrupt: Interrupt,
    terminal: Terminal,
) -> int:
    """Say what has become of all runs; returns the exit code."""
    failed = {name: outcome for name, outcome in outcomes.items() if outcome.error}
    done = [name for name, outcome in outcomes.items() if outcome.value]
    total = len(each.algorithms)
    terminal.print(f"{total - len(left) + len(done)} of {total} runs are done")
    if len(done) < len(left):
        terminal.print(f"to go on: algorist resume {each.folder}")
    else:
        terminal.print(f"to test one: algorist eval {each.folder / each.algorithms[0]}")
    for name, outcome in failed.items():
        if not isinstance(outcome.error, _EXPECTED):
            print(outcome.trace, file=sys.stderr)
        print(f"algorist: error: {name}: {outcome.error}", file=sys.stderr)
    forgotten = [name for name in left if name not in outcomes]
    if forgotten:
        print(
            f"algorist: error: not begun, since processes that prepare data have ended: "
            f"{', '.join(forgotten)}",
            file=sys.stderr,
        )
    if failed or forgotten:
        return FAILED
    return interrupt.exit_code if interrupt.came() else 0
