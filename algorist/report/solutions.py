"""Solutions as people read them in a terminal, and as plain data for programs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms import Algorithm, get
from algorist.algorithms.answer_checks import TOLERANCE, TOLERANCE_TEXT
from algorist.algorithms.explain_answers import explain_outputs
from algorist.algorithms.explanations import Explanation
from algorist.errors import counted
from algorist.report.notation import Values
from algorist.report.numbers import as_json
from algorist.report.terminal import Terminal, bare_table
from algorist.report.trace import show_steps
from algorist.spec import Kind, Location

if TYPE_CHECKING:
    from algorist.model.solution import Comparison, Mistake, Solution


def explain(solution: Solution) -> Explanation:
    """What the net's answer means in the terms of the problem."""
    return explain_outputs(
        get(solution.algorithm), solution.inputs, solution.outputs, solution.names
    )


def explain_truth(solution: Solution) -> Explanation:
    """What the algorithm's answer means."""
    outputs = compared(solution).outputs
    return explain_outputs(get(solution.algorithm), solution.inputs, outputs, solution.names)


def explanation_text(solution: Solution) -> str:
    """A solution in words: what was read, the answer, the true one if it differs, the verdict."""
    explained = explain(solution)
    lines = [f"{solution.algorithm}: {solution.read}"]
    truth = explain_truth(solution).pieces if solution.comparison else explained.pieces
    width = max(map(len, explained.pieces))
    for about, text in explained.pieces.items():
        beside = "" if truth.get(about) == text else f"  (algorithm: {truth.get(about, 'nothing')})"
        lines.append(f"{about:{width}}  {text}{beside}".strip())
    lines.append(verdict(solution))
    if solution.comparison and solution.comparison.shares:
        lines.append(agreement(solution))
    return "\n".join(lines)


def plain(solution: Solution, *, steps: bool) -> dict[str, Any]:
    """A solution as JSON has it, with all hints if `steps` says so."""
    comparison = compared(solution)
    mistake = comparison.first_mistake
    described: dict[str, Any] = {
        "algorithm": solution.algorithm,
        "read": solution.read,
        "answer": as_json(solution.answer),
        "right": solution.right,
        "true_answer": as_json(comparison.answer),
        "steps": solution.steps,
        "hints_right": as_json(comparison.share),
        "tolerance": TOLERANCE,
        "explanation": as_json(explain(solution).facts),
        "true_explanation": as_json(explain_truth(solution).facts),
        "first_mistake": mistake and {name: as_json(x) for name, x in vars(mistake).items()},
    }
    if steps:
        described["nodes"] = as_json(solution.names)
        described["hints"] = as_json(solution.hints)
        described["true_hints"] = as_json(comparison.hints)
        described["shares_right"] = as_json(comparison.shares)
    return described


def compared(solution: Solution) -> Comparison:
    """What a solution was compared with."""
    if solution.comparison is None:
        raise ValueError("solution: got one without a comparison, expected run(..., compare=True)")
    return solution.comparison


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
    terminal.print(f"{solution.read}; {counted(solution.steps, 'step')}")
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


def verdict(solution: Solution) -> str:
    """Whether the answer is right, in a sentence."""
    if not solution.right:
        return "The answer is wrong."
    if solution.comparison is None:
        return "The answer is right."
    if answer_texts(solution.outputs, solution) == answer_texts(
        compared(solution).outputs, solution
    ):
        return "The answer is right."
    return "The answer is right: another answer than the algorithm's, and as good."


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


def answer_texts(outputs: Mapping[str, np.ndarray], solution: Solution) -> dict[str, str]:
    """The net's outputs, or the algorithm's, in words: by node or output, or one piece under ''."""
    algorithm = get(solution.algorithm)
    return dict(explain_outputs(algorithm, solution.inputs, outputs, solution.names).pieces)


def _text(value: Any) -> str:
    """One value of a hint."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def agreement(solution: Solution) -> str:
    """How much of the hints is right, what first went wrong, and what counts as right."""
    comparison = compared(solution)
    mistake = comparison.first_mistake
    spec = get(solution.algorithm).spec
    has_scalars = any(spec[name].kind == Kind.SCALAR for name in comparison.shares)
    rule = f" Numbers count as right {TOLERANCE_TEXT}." if has_scalars else ""
    if mistake is None:
        return f"All hints are right.{rule}"
    return (
        f"Hints are {math.floor(1000 * comparison.share) / 10} % right. "
        f"First mistake: {mistake_text(mistake)}.{rule}"
    )


def mistake_text(mistake: Mistake) -> str:
    """A mistake in a few words."""
    about = f" of {'-'.join(map(str, mistake.where))}" if mistake.where else ""
    return (
        f"step {mistake.step}, {mistake.hint}{about} is {_text(mistake.got)}, "
        f"not {_text(mistake.expected)}"
    )


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
            values.append(Values.of_compact(feature, numbers, marked, side))
    show_steps(terminal, values, range(solution.steps))


def show_legend(terminal: Terminal, names: Sequence[Hashable] | None) -> None:
    """Print which node has which name, if they have names."""
    if names is not None:
        legend = "  ".join(f"{i} {name}" for i, name in enumerate(names))
        terminal.print(f"nodes: {legend}\n")
