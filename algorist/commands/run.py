"""`algorist run`: let a net solve your problem, and see whether and where it goes wrong."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import algorist
from algorist.algorithms import Algorithm
from algorist.atomic import replace_text
from algorist.commands import Command, run_sparse
from algorist.commands.arguments import add_compute_options
from algorist.commands.load_models import add_model, load_models
from algorist.commands.output_files import check_output_file
from algorist.commands.problem_options import add_problem_options
from algorist.problems import inputs
from algorist.problems.form_texts import problem_lines
from algorist.report.format_numbers import to_json
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.model.learner import Learner


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("algorithm", metavar="ALGORITHM", help="a name that `algorist list` shows")
    add_model(parser)
    add_problem_options(parser)
    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--steps",
        action="store_true",
        help="also each step of the net and of the algorithm, side by side",
    )
    shown.add_argument("--json", action="store_true", help="print JSON")
    shown.add_argument("--out", metavar="FILE.json", help="also write the JSON to this file")
    add_compute_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print the net's answer beside the algorithm's."""
    from algorist.model.solving.solver import solve
    from algorist.report.solutions import show_solution, solution_json
    from algorist.report.solving_progress import SolvingProgress

    algorithm = algorist.get(arguments.algorithm)
    check_output_file("--out", arguments.out)
    problem = inputs.problem(algorithm, arguments)
    learners = load_models([algorithm.name], arguments.model, arguments)
    if learners[algorithm.name].encoding.sparse:
        _run_sparse(learners[algorithm.name], algorithm, problem, arguments, terminal)
        return
    progress = SolvingProgress(Terminal(stderr=True))
    try:
        solution = solve(
            learners[algorithm.name],
            algorithm.name,
            problem,
            compare=True,
            announce=progress.begin,
            on_progress=progress,
        )
    finally:
        progress.end()
    is_drawn = arguments.random is not None
    described = solution_json(solution, steps=arguments.steps)
    drawn_inputs = {"inputs": to_json(problem)} if is_drawn else {}
    if not _printed_json({**described, **drawn_inputs}, arguments):
        drawn = problem_lines(algorithm, problem) if is_drawn else []
        show_solution(terminal, algorithm, solution, steps=arguments.steps, problem=drawn)
        _say_where(arguments, terminal)


def _run_sparse(
    learner: Learner,
    algorithm: Algorithm,
    problem: Mapping[str, Any],
    arguments: Namespace,
    terminal: Terminal,
) -> None:
    solution = run_sparse.solve(learner, algorithm, problem, arguments)
    if not _printed_json(run_sparse.plain(solution), arguments):
        run_sparse.show(terminal, algorithm, solution)
        _say_where(arguments, terminal)


def _printed_json(described: Mapping[str, Any], arguments: Namespace) -> bool:
    """Write and print JSON where that is asked for; whether it was printed."""
    text = json.dumps(described, indent=2)
    if arguments.out:
        replace_text(Path(arguments.out), f"{text}\n")
    if arguments.json:
        print(text)
    return bool(arguments.json)


def _say_where(arguments: Namespace, terminal: Terminal) -> None:
    if arguments.out:
        terminal.print(f"written to {arguments.out}")


command = Command(
    help="let a net solve your problem, and see whether and where it goes wrong",
    examples="""\
algorist run heapsort 5 2 9 1
algorist run dijkstra --graph roads.csv --source A
algorist run kmp_matcher --text abcabca --pattern abca
algorist run graham_scan --points points.csv --steps
algorist run activity_selector 1,4 3,5 0,6 5,7
algorist run quicksort 5 2 9 1 --model specialists
algorist run bfs --graph edges.csv --source A --model sparse
algorist run bfs --random 20 --seed 1 --model runs/bfs --json""",
    add_arguments=add_arguments,
    run=run,
)
