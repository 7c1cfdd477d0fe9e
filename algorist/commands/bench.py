"""`algorist bench`: what training and evaluation cost on this machine."""

from __future__ import annotations

import json
import shlex
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from algorist.commands import Command
from algorist.commands.arguments import add_computing, add_tasks, computing, tasks
from algorist.data import official
from algorist.report.lines import Lines
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.training.config import Config
    from algorist.training.measuring import StepCost

USUAL = ("bfs", "insertion_sort", "dfs", "floyd_warshall", "matrix_chain_order")
_SHOWN_KERNELS = 25
FAILED = 1
"""The exit code when something could not be measured."""


class Notes:
    """The numbers so far, written after each: whatever ends the command, they are there."""

    def __init__(self, arguments: Namespace):
        from algorist.report.machine import machine

        self._file, self._what = arguments.json, arguments.what
        self._rows: list[dict[str, Any]] = []
        self._head = {
            "command": shlex.join(["algorist", *arguments.words]),
            "machine": {**machine(), "gpu": _gpu(computing(arguments).device)},
        }
        self.failed = False
        self._write()

    def measured(self, lines: Lines, name: str, measure: Callable[[], Any]) -> Any:
        """Measure something and keep it; None if that fails, which does not end the others."""
        try:
            with Terminal(stderr=True).status(f"measuring {name}"):
                result = measure()
        except Exception as error:
            self.failed = True
            (reason, *_) = str(error).splitlines() or [""]
            lines.remark(name, f"failed: {type(error).__name__}: {reason}")
            traceback.print_exc()
            self._add({"algorithm": name, "error": traceback.format_exc()})
            return None
        self._add(asdict(result))
        return result

    def _add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._write()

    def _write(self) -> None:
        if self._file:
            text = json.dumps({**self._head, self._what: self._rows}, indent=2)
            Path(self._file).write_text(text + "\n")


def _gpu(device: str) -> str | None:
    import torch

    return None if device == "cpu" else torch.cuda.get_device_name(device)


# Training steps


def _add_steps(parser: ArgumentParser) -> None:
    from algorist.commands.settings import add_recipe, add_settings, whole_numbers

    add_tasks(parser, f"one after the other (default: {' '.join(USUAL)})")
    for name, default in (("size", 16), ("replicas", 1)):
        parser.add_argument(
            f"--{name}",
            type=whole_numbers,
            default=(default,),
            metavar="N,N",
            help=f"{_STEP_HELP[name]} (default: {default})",
        )
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="take the median of so many (default: 5)"
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
    add_settings(parser, ("model", "convention", "data", "optimiser"), but=("sizes",))


_STEP_HELP = {"size": "sizes of the problems", "replicas": "nets that are trained at once"}
_STEP_HEADINGS = (
    "n",
    "nets",
    "steps of\nalgorithm",
    "ms a\ntraining step",
    "ms an\nalgorithm step",
    "the same\nper net",
    "samples\na second",
    "first\nstep s",
    "once\nmore s",
    "peak\nMB",
)


def _steps(arguments: Namespace, terminal: Terminal) -> int:
    """A row for each algorithm, size and number of replicas."""
    from algorist.training.measuring import Pace, step_cost

    how, pace = computing(arguments), Pace(arguments.rounds, arguments.seconds)
    if arguments.profile and not how.on_gpu:
        raise ValueError(f"--profile: got {how.device} as the device, expected a GPU")
    configs = _step_configs(arguments)
    notes = Notes(arguments)
    lines = Lines(terminal, [config.algorithms[0] for config in configs], _STEP_HEADINGS)
    for config in configs:
        name = config.algorithms[0]
        measure = partial(step_cost, config, how, pace, profile=arguments.profile)
        cost = notes.measured(lines, name, measure)
        if cost is not None:
            lines.add(name, _step_cells(cost))
            _show_kernels(terminal, cost)
    return FAILED if notes.failed else 0


def _step_configs(arguments: Namespace) -> list[Config]:
    from dataclasses import replace

    from algorist.commands.settings import configured

    configs = []
    for algorithm in tasks(arguments) or USUAL:
        for size in arguments.size:
            for replicas in arguments.replicas:
                seeds = range(official.positive("replicas", replicas))
                config = configured(arguments, [algorithm], seeds)
                fixed = official.SPLITS["train"].n
                if not config.data.online and size != fixed:
                    raise ValueError(
                        f"--size: got {size}, but the fixed training set has size {fixed}"
                    )
                data = replace(config.data, sizes=(official.positive("size", size),))
                configs.append(replace(config, data=data))
    return configs


def _step_cells(cost: StepCost) -> list[str]:
    padded = f" ({cost.padded_steps})" if cost.padded_steps > cost.steps else ""
    return [
        str(cost.n),
        str(cost.replicas),
        f"{cost.steps}{padded}",
        f"{cost.ms:.3f}",
        f"{cost.ms_per_algorithm_step:.4f}",
        f"{cost.ms_per_algorithm_step_and_replica:.4f}",
        f"{cost.samples_per_second:.0f}",
        f"{cost.first_s:.2f}",
        f"{cost.again_s:.2f}",
        f"{cost.peak_mb:.0f}",
    ]


def _show_kernels(terminal: Terminal, cost: StepCost) -> None:
    if not cost.kernels:
        return
    total = sum(kernel.microseconds for kernel in cost.kernels)
    calls = sum(kernel.calls for kernel in cost.kernels)
    terminal.print(f"\n{calls:.0f} kernels in {total:.0f} us of a training step:")
    terminal.print(f"{'us':>9}  {'%':>5}  {'calls':>6}")
    for kernel in cost.kernels[:_SHOWN_KERNELS]:
        share = 100 * kernel.microseconds / total
        numbers = f"{kernel.microseconds:9.1f}  {share:5.1f}  {kernel.calls:6.0f}"
        terminal.print(f"{numbers}  {kernel.name[:80]}", soft_wrap=True)
    terminal.print()


# The command


class Part(NamedTuple):
    """One of the things that can be measured."""

    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Terminal], int]


PARTS = {
    "steps": Part(
        "training steps of single algorithms, on one window again and again", _add_steps, _steps
    ),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be measured, and how."""
    parts = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, part in PARTS.items():
        sub = parts.add_parser(
            name, help=part.help, description=f"Measure {part.help}.", allow_abbrev=False
        )
        part.add_arguments(sub)
        sub.add_argument("--json", metavar="FILE", help="write all numbers to this file too")
        add_computing(sub, training=name != "evaluation")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print a table, a row as soon as it is known."""
    return PARTS[arguments.what].run(arguments, terminal)


command = Command(
    help="measure what training and evaluation cost on this machine",
    examples="""\
algorist bench steps
algorist bench steps bfs dfs --size 4,16 --replicas 1,10 --json steps.json
algorist bench steps --all --chunk 16 --processor triplet_mpnn
algorist bench steps floyd_warshall --profile""",
    add_arguments=add_arguments,
    run=run,
)
