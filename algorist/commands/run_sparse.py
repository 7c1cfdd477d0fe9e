"""`algorist run` with a net for sparse graphs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from algorist.algorithms import Algorithm
from algorist.errors import format_count
from algorist.report.format_numbers import to_json
from algorist.report.terminal import Terminal, bare_table

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.model.solving.sparse import SparseSolution

_MOST_ROWS = 20
"""Longer answers are not printed: `--json` and `--out` have them."""


def solve(
    learner: Learner, algorithm: Algorithm, problem: Mapping[str, Any], arguments: Namespace
) -> SparseSolution:
    """The net's solution; how far it is goes to standard error."""
    from algorist.model.solving.sparse import solve_sparse
    from algorist.report.solving_progress import SolvingProgress

    if arguments.steps:
        raise ValueError("--steps: a net for sparse graphs shows its answer alone, expected none")
    progress = SolvingProgress(Terminal(stderr=True))
    progress.announced = True
    try:
        return solve_sparse(learner, algorithm.name, problem, progress)
    finally:
        progress.end()


def plain(solution: SparseSolution) -> dict[str, Any]:
    """A solution as JSON has it."""
    evaluation = solution.evaluation
    return {
        "algorithm": solution.algorithm,
        "read": solution.read,
        "answer": to_json(solution.answer),
        "right": solution.right,
        "true_answer": to_json(solution.true_answer),
        "steps": solution.steps,
        "node_accuracy": evaluation.node_accuracy,
        "squared_error": evaluation.squared_error,
    }


def show(terminal: Terminal, algorithm: Algorithm, solution: SparseSolution) -> None:
    """Print how much is right, and a short answer as a whole."""
    terminal.prose(f"{algorithm.name}: {algorithm.description}")
    terminal.print(f"{solution.read}; {format_count(solution.steps, 'step')}\n")
    if isinstance(solution.answer, dict) and len(solution.answer) > _MOST_ROWS:
        terminal.print(f"the answers of {len(solution.answer)} nodes are in --json and --out FILE")
    elif isinstance(solution.answer, dict):
        table = bare_table()
        for heading in ("node", "net", "algorithm"):
            table.add_column(heading)
        for node, found in solution.answer.items():
            table.add_row(str(node), str(found), str(solution.true_answer[node]))
        terminal.print(table)
    else:
        for who, answer in (("net", solution.answer), ("algorithm", solution.true_answer)):
            terminal.print(f"{who}: {_short(answer)}")
    share = solution.evaluation.node_accuracy
    if share is not None:
        terminal.print(f"\n{100 * share:.2f} % of the nodes are as the algorithm has them.")
    terminal.print("The answer is right." if solution.right else "The answer is not all right.")


def _short(answer: Any) -> str:
    if not isinstance(answer, list):
        return f"{answer:g}"
    more = f", ... ({len(answer)} in all)" if len(answer) > _MOST_ROWS else ""
    return ", ".join(map(str, answer[:_MOST_ROWS])) + more
