"""`algorist run`: let a net solve your problem, and see whether and where it goes wrong."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

import algorist
from algorist.commands import Command, forms, inputs
from algorist.commands.arguments import add_computing, add_model, loaded_for
from algorist.report.numbers import as_json
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("algorithm", metavar="ALGORITHM", help="a name that `algorist list` shows")
    add_model(parser)
    inputs.add_arguments(parser)
    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--steps", action="store_true", help="also what the net predicts at each step"
    )
    shown.add_argument("--json", action="store_true", help="print JSON")
    add_computing(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print the net's answer beside the algorithm's."""
    from algorist.model.solving import solve
    from algorist.report.solutions import plain, show_solution

    algorithm = algorist.get(arguments.algorithm)
    problem = inputs.problem(algorithm, arguments)
    learners = loaded_for([algorithm.name], arguments.model, arguments)
    solution = solve(learners[algorithm.name], algorithm.name, problem, compare=True)
    is_drawn = arguments.random is not None
    if arguments.json:
        described = plain(solution, steps=arguments.steps)
        own = {"inputs": as_json(problem)} if is_drawn else {}
        print(json.dumps({**described, **own}, indent=2))
    else:
        drawn = forms.lines(algorithm, problem) if is_drawn else []
        show_solution(terminal, algorithm, solution, steps=arguments.steps, problem=drawn)


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
