"""`algorist sample`: run an algorithm on your problem or a drawn one, and show every step."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import algorist
from algorist.algorithms import Algorithm
from algorist.algorithms.explain_answers import explain_outputs
from algorist.algorithms.format_answers import compact
from algorist.algorithms.user_inputs.problems import Problem, read_problem
from algorist.atomic import named_errors
from algorist.batch import Batch
from algorist.commands import Command
from algorist.commands.arguments import add_sampler_options, parse_sampler_options
from algorist.commands.output_files import check_output_file
from algorist.commands.problem_options import add_problem_options
from algorist.errors import format_count, unknown
from algorist.problems import inputs
from algorist.report.solutions import show_legend
from algorist.report.terminal import Terminal, bare_table
from algorist.report.trace import show_trace

DRAWN = {"n": 8, "seed": 0, "count": 1}
"""What a problem is drawn with, unless options say otherwise."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("algorithm", help="a name that `algorist list` shows")
    drawn = parser.add_argument_group("a drawn problem")
    drawn.add_argument("--n", type=int, help="size of the problem (default: 8)")
    drawn.add_argument("--seed", type=int, help="seed of the draws (default: 0)")
    drawn.add_argument(
        "--count", type=int, help="problems to draw; the first is shown (default: 1)"
    )
    add_sampler_options(parser)
    add_problem_options(parser, random=False)
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--hints", metavar="A,B", help="only these hints, in this order")
    shown.add_argument("--steps", default=":", metavar="A:B", help="only these steps, like 0:10")
    shown.add_argument("--out", metavar="FILE.npz", help="also write all arrays to this file")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print the trace of a problem, one's own or a drawn one."""
    algorithm = algorist.get(arguments.algorithm)
    steps = _slice(arguments.steps)
    hints = _hints(algorithm, arguments.hints)
    check_output_file("--out", arguments.out)
    given = [name for name in inputs.given(arguments) if name != "seed"]
    problem = _read_problem(algorithm, arguments) if given else None
    batch = (
        _draw(algorithm, arguments) if problem is None else algorithm.trace_arrays(problem.arrays)
    )
    _expect_steps(arguments.steps, steps, int(batch.lengths[0]))
    written = save(batch, arguments.out) if arguments.out else None
    terminal.prose(f"{algorithm.name}: {algorithm.description}")
    length = format_count(int(batch.lengths[0]), "step")
    if problem is None:
        seed = DRAWN["seed"] if arguments.seed is None else arguments.seed
        terminal.print(f"{format_count(batch.n, 'node')}, seed {seed}, {length}\n")
    else:
        terminal.print(f"{problem.description}; {length}\n")
        show_legend(terminal, problem.names)
    show_trace(terminal, batch, hints=hints, steps=steps)
    if problem is not None:
        _show_answer(terminal, algorithm, batch, problem.names)
    if written:
        terminal.print(
            f"{len(batch)} {'drawn' if problem is None else 'problem'}, written to {written}"
        )


def _read_problem(algorithm: Algorithm, arguments: Namespace) -> Problem:
    """The problem that the command line gives, which then cannot say how to draw one."""
    for name in (*DRAWN, "option"):
        if getattr(arguments, name):
            raise ValueError(f"--{name}: got it with a problem of your own, which is not drawn")
    return read_problem(algorithm, inputs.problem(algorithm, arguments))


def _draw(algorithm: Algorithm, arguments: Namespace) -> Batch:
    said = {name: getattr(arguments, name) for name in DRAWN}
    drawn = {name: DRAWN[name] if value is None else value for name, value in said.items()}
    return algorithm.sample(**drawn, options=parse_sampler_options(arguments.option))


def _show_answer(
    terminal: Terminal, algorithm: Algorithm, batch: Batch, names: Sequence[Hashable] | None
) -> None:
    """The algorithm's answer in the terms of the problem."""
    first = {f.name: compact(f, batch.inputs[f.name])[0] for f in algorithm.spec.inputs}
    outputs = {f.name: compact(f, batch.outputs[f.name])[0] for f in algorithm.spec.outputs}
    table = bare_table(show_header=False)
    for about, text in explain_outputs(algorithm, first, outputs, names).pieces.items():
        table.add_row(about or "answer", text)
    terminal.print(table)


def save(batch: Batch, path: str | Path) -> Path:
    """Write a batch as an npz file with the keys `input/...`, `hint/...`, `output/...`, `lengths`.

    And `version`, which is that of this library.

    As NumPy does, the file's name is made to end in `.npz`.
    """
    path = Path(path)
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    arrays: dict[str, Any] = batch.arrays()
    with named_errors(path):
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
        run = format_count(length, "step")
        raise ValueError(f"--steps: got {text!r}, but the run has {run}, counted from 0")


command = Command(
    help="run an algorithm on your problem or a drawn one, and show every step",
    examples="""\
algorist sample insertion_sort
algorist sample heapsort 5 2 9 1
algorist sample dijkstra --graph roads.csv --source home
algorist sample dijkstra --n 6 --seed 3 --option p=0.4
algorist sample dijkstra --n 16 --hints u,d --steps 0:5
algorist sample dijkstra --n 64 --count 100 --steps 0:0 --out graphs.npz""",
    add_arguments=add_arguments,
    run=run,
)
