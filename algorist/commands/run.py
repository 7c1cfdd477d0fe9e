"""`algorist run`: let a net solve your problem, and see whether and where it goes wrong."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

import algorist
from algorist.atomic import replace_text
from algorist.commands import Command, forms, inputs
from algorist.commands.arguments import (
    add_computing,
    add_model,
    expect_place_of_file,
    loaded_for,
)
from algorist.report.numbers import as_json
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("algorithm", metavar="ALGORITHM", help="a name that `algorist list` shows")
    add_model(parser)
    inputs.add_arguments(parser)
    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--steps",
        action="store_true",
        help="also each step of the net and of the algorithm, side by side",
    )
    shown.add_argument("--json", action="store_true", help="print JSON")
    shown.add_argument("--out", metavar="FILE.json", help="also write the JSON to this file")
    add_computing(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print the net's answer beside the algorithm's."""
    from algorist.model.solving import solve
    from algorist.report.solutions import plain, show_solution
    from algorist.report.solving_progress import SolvingProgress

    algorithm = algorist.get(arguments.algorithm)
    expect_place_of_file("--out", arguments.out)
    problem = inputs.problem(algorithm, arguments)
    learners = loaded_for([algorithm.name], arguments.model, arguments)
    progress = SolvingProgress(Terminal(stderr=True))
    try:
        solution = solve(
            learners[algorithm.name],
            algorithm.name,
            problem,
            compare=True,
            announce=progress.begin,
            watch=progress,
        )
    finally:
        progress.end()
    is_drawn = arguments.random is not None
    described = plain(solution, steps=arguments.steps)
    drawn_inputs = {"inputs": as_json(problem)} if is_drawn else {}
    text = json.dumps({**described, **drawn_inputs}, indent=2)
    if arguments.out:
        replace_text(Path(arguments.out), f"{text}\n")
    if arguments.json:
        print(text)
    else:
        drawn = forms.lines(algorithm, problem) if is_drawn else []
        show_solution(terminal, algorithm, solution, steps=arguments.steps, problem=drawn)
        if arguments.out:
            terminal.print(f"written to {arguments.out}")


command = Command(
    help="let a net solve your problem, and see where it goes wrong",
    examples="""\
algorist run heapsort 5 2 9 1
algorist run dijkstra --graph roads.csv --source A
algorist run kmp_matcher --text abcabca --pattern abca
algorist run graham_scan --points points.csv --steps
algorist run activity_selector 1,4 3,5 0,6 5,7
algorist run quicksort 5 2 9 1 --model specialists
algorist run bfs --random 20 --seed 1 --model runs/bfs --json""",
    add_arguments=add_arguments,
    run=run,
)
