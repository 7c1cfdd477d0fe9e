"""Solutions, printed in a terminal and as JSON data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from algorist.algorithms import Algorithm
from algorist.algorithms.answer_checks import TOLERANCE
from algorist.errors import format_count
from algorist.model.solving.solution_text import (
    agreement,
    compared,
    explain,
    explain_truth,
    verdict,
)
from algorist.report.feature_text import FeatureValues
from algorist.report.format_numbers import to_json
from algorist.report.terminal import Terminal, bare_table
from algorist.report.trace import show_steps
from algorist.spec import Location
from algorist.version import __version__

if TYPE_CHECKING:
    from algorist.model.solving.solution import Solution


def solution_json(solution: Solution, *, steps: bool) -> dict[str, Any]:
    """A solution as JSON data, with all hints if `steps` is set."""
    comparison = compared(solution)
    mistake = comparison.first_mistake
    described: dict[str, Any] = {
        "algorithm": solution.algorithm,
        "read": solution.read,
        "answer": to_json(solution.answer),
        "right": solution.right,
        "true_answer": to_json(comparison.answer),
        "steps": solution.steps,
        "hints_right": to_json(comparison.share),
        "tolerance": TOLERANCE,
        "explanation": to_json(explain(solution).facts),
        "true_explanation": to_json(explain_truth(solution).facts),
        "version": __version__,
        "first_mistake": mistake and {name: to_json(x) for name, x in vars(mistake).items()},
    }
    if steps:
        described["nodes"] = to_json(solution.names)
        described["hints"] = to_json(solution.hints)
        described["true_hints"] = to_json(comparison.hints)
        described["shares_right"] = to_json(comparison.shares)
    return described


def show_solution(
    terminal: Terminal,
    algorithm: Algorithm,
    solution: Solution,
    *,
    steps: bool,
    problem: Sequence[str] = (),
) -> None:
    """Print the answer beside the true one, whether it is right, and where it first went wrong.

    Before them come the lines of a problem that nobody has seen yet.
    """
    comparison = compared(solution)
    terminal.prose(f"{algorithm.name}: {algorithm.description}")
    terminal.print(f"{solution.read}; {format_count(solution.steps, 'step')}")
    for line in problem:
        terminal.print(line)
    terminal.print()
    if steps and solution.hints:
        _show_steps(terminal, algorithm, solution)
    elif steps:
        terminal.print("The net predicts no hints: there are no steps to show.\n")
    _show_answers(terminal, solution)
    terminal.print()
    terminal.print(verdict(solution))
    if comparison.shares:
        terminal.print(agreement(solution))


def _show_answers(terminal: Terminal, solution: Solution) -> None:
    explained, truth = explain(solution), explain_truth(solution)
    ours, theirs = explained.pieces, truth.pieces
    table = bare_table()
    if not explained.of:  # a single answer each: one above the other
        table.show_header = False
        table.add_row("net", ours[""])
        table.add_row("algorithm", theirs[""])
        terminal.print(table)
        return
    for heading in (explained.of, "net", "algorithm"):
        table.add_column(heading, overflow="fold")
    for key in dict.fromkeys([*ours, *theirs]):
        table.add_row(key, ours.get(key, ""), theirs.get(key, ""))
    terminal.print(table)


def _show_steps(terminal: Terminal, algorithm: Algorithm, solution: Solution) -> None:
    """Each hint of the net beside the algorithm's, what is wrong in it marked."""
    show_legend(terminal, solution.names)
    comparison = compared(solution)
    values = []
    for name, got in solution.hints.items():
        feature, wrong = algorithm.spec[name], comparison.wrong[name]
        is_pairs = feature.location == Location.EDGE
        sides = (("net", got, wrong), ("algorithm", comparison.hints[name], wrong & is_pairs))
        for side, numbers, marked in sides:
            values.append(FeatureValues.of_compact(feature, numbers, marked, side))
    show_steps(terminal, values, range(solution.steps))


def show_legend(terminal: Terminal, names: Sequence[Hashable] | None) -> None:
    """Print which node has which name, if they have names."""
    if names is not None:
        legend = "  ".join(f"{i} {name}" for i, name in enumerate(names))
        terminal.print(f"nodes: {legend}\n")
