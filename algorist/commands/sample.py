"""`algorist sample`: draw a problem, run it, show every step."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

import algorist
from algorist.algorithms import Algorithm
from algorist.batch import Batch
from algorist.commands import Command
from algorist.commands.arguments import add_options, expect_place_of_file, options
from algorist.errors import counted, unknown
from algorist.report.terminal import Terminal
from algorist.report.trace import show_trace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("algorithm", help="a name that `algorist list` shows")
    parser.add_argument("--n", type=int, default=8, help="size of the problem (default: 8)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    parser.add_argument(
        "--count", type=int, default=1, help="problems to draw; the first is shown (default: 1)"
    )
    add_options(parser)
    parser.add_argument("--hints", metavar="A,B", help="only these hints, in this order")
    parser.add_argument("--steps", default=":", metavar="A:B", help="only these steps, like 0:10")
    parser.add_argument("--out", metavar="FILE.npz", help="also write all arrays to this file")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print the trace of a drawn problem."""
    algorithm = algorist.get(arguments.algorithm)
    steps = _slice(arguments.steps)
    hints = _hints(algorithm, arguments.hints)
    expect_place_of_file("--out", arguments.out)
    drawn = (arguments.n, arguments.count, arguments.seed, options(arguments.option))
    batch = algorithm.sample(*drawn)
    _expect_steps(arguments.steps, steps, int(batch.lengths[0]))
    written = save(batch, arguments.out) if arguments.out else None
    terminal.prose(f"{algorithm.name}: {algorithm.description}")
    nodes, length = counted(batch.n, "node"), counted(int(batch.lengths[0]), "step")
    terminal.print(f"{nodes}, seed {arguments.seed}, {length}\n")
    show_trace(terminal, batch, hints=hints, steps=steps)
    if written:
        terminal.print(f"{len(batch)} drawn, written to {written}")


def save(batch: Batch, path: str | Path) -> Path:
    """Write a batch as an npz file with the keys `input/...`, `hint/...`, `output/...`, `lengths`.

    And `version`, which is that of this library.

    As NumPy does, the file's name is made to end in `.npz`.
    """
    path = Path(path)
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    arrays: dict[str, Any] = batch.arrays()
    np.savez_compressed(path, version=algorist.__version__, **arrays)
    return path


def _hints(algorithm: Algorithm, text: str | None) -> list[str] | None:
    if text is None:
        return None
    known = [feature.name for feature in algorithm.spec.hints]
    for name in text.split(","):
        if name not in known:
            raise ValueError(unknown("hint", name, known))
    return text.split(",")


def _slice(text: str) -> slice:
    """`0:10`, `5:`, `:-1` or a single `3`, counted as Python does."""
    try:
        bounds = [int(part) if part else None for part in text.split(":")]
        if len(bounds) == 1 and bounds[0] is not None:
            return slice(bounds[0], bounds[0] + 1 or None)
        start, stop = bounds
    except ValueError:
        raise ValueError(f"--steps: got {text!r}, expected FIRST:END, for example 0:10") from None
    return slice(start, stop)


def _expect_steps(text: str, steps: slice, length: int) -> None:
    """Complain about steps of which there is none, unless it is none that was asked for."""
    if not range(length)[steps] and steps not in (slice(0, 0), slice(None, 0)):
        run = counted(length, "step")
        raise ValueError(f"--steps: got {text!r}, but the run has {run}, counted from 0")


command = Command(
    help="draw a problem, run the algorithm on it and show every step",
    examples="""\
algorist sample insertion_sort
algorist sample dijkstra --n 6 --seed 3 --option p=0.4
algorist sample dijkstra --n 16 --hints u,d --steps 0:5
algorist sample dijkstra --n 64 --count 100 --steps 0:0 --out graphs.npz""",
    add_arguments=add_arguments,
    run=run,
)
