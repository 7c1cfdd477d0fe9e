"""Solutions as people read them in a terminal, and as plain data for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms import Algorithm, get
from algorist.algorithms.format_answers import list_edges
from algorist.errors import counted
from algorist.report.notation import Values
from algorist.report.numbers import as_json
from algorist.report.terminal import Terminal, bare_table
from algorist.report.trace import show_steps
from algorist.spec import Feature, Kind

if TYPE_CHECKING:
    from algorist.model.solution import Comparison, Mistake, Solution

_NONE = "none"


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
    _show_answers(terminal, algorithm, solution)
    terminal.print()
    terminal.print(verdict(solution))
    if comparison.shares:
        terminal.print(agreement(comparison))


def verdict(solution: Solution) -> str:
    """Whether the answer is right, in a sentence."""
    if not solution.right:
        return "The answer is wrong."
    theirs = answer_texts(compared(solution).answer, solution)
    if answer_texts(solution.answer, solution) == theirs:
        return "The answer is right."
    return "The answer is right: another answer than the algorithm's, and as good."


def _show_answers(terminal: Terminal, algorithm: Algorithm, solution: Solution) -> None:
    ours, theirs = (
        answer_texts(solution.answer, solution),
        answer_texts(compared(solution).answer, solution),
    )
    table = bare_table()
    keys = list(dict.fromkeys([*ours, *theirs]))
    headings = (what_pieces_are(algorithm, keys), "net", "algorithm")
    if keys == [""]:  # a single answer each: one above the other
        table.show_header = False
        table.add_row(headings[1], ours[""])
        table.add_row(headings[2], theirs[""])
        terminal.print(table)
        return
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for key in keys:
        table.add_row(key, ours.get(key, ""), theirs.get(key, ""))
    terminal.print(table)


def what_pieces_are(algorithm: Algorithm, keys: Sequence[str]) -> str:
    """Of what an answer has several pieces, which have names."""
    outputs = [feature.name for feature in algorithm.spec.outputs]
    return "output" if list(keys) == outputs else "node"


def answer_texts(answer: Any, solution: Solution) -> dict[str, str]:
    """An answer in pieces: one for each node or output, or a single one under the name ''."""
    algorithm = get(solution.algorithm)
    outputs = algorithm.spec.outputs
    if isinstance(answer, Mapping) and what_pieces_are(algorithm, list(answer)) == "output":
        return {f.name: _piece(f, answer[f.name], solution) for f in outputs}
    if isinstance(answer, Mapping):
        return {str(node): _row(value) for node, value in answer.items()}
    if isinstance(answer, np.ndarray) and answer.dtype != bool and answer.ndim == 2:
        return {str(i): _row(row) for i, row in enumerate(answer)}
    return {"": _piece(outputs[0], answer, solution)}


def _piece(output: Feature, value: Any, solution: Solution) -> str:
    """The value of an output, or of what an algorithm makes of it."""
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return _marked(value, solution)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return "; ".join(map(_row, value))
    if type(value) is int and output.kind != Kind.CATEGORICAL:
        return _item(value, solution) if value >= 0 else _NONE
    return _row(value)


def _row(value: Any) -> str:
    """One line: numbers side by side, edges as A-B, products in brackets."""
    if isinstance(value, Mapping):
        return " ".join(map(str, value.values()))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, np.ndarray):
        return " ".join(_numbers(value)) or _NONE
    if isinstance(value, list):
        return (
            " ".join("-".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in value)
            or _NONE
        )
    return str(value) or _NONE


def _numbers(array: np.ndarray) -> Iterator[str]:
    """The values of an array; -1 among nodes means that there is none."""
    of_nodes = np.issubdtype(array.dtype, np.integer)
    return (_NONE if of_nodes and x < 0 else f"{x:g}" for x in array.tolist())


def _marked(mask: np.ndarray, solution: Solution) -> str:
    """The nodes, or the edges, where a mask is true: A-B both ways, A>B one way."""
    if mask.ndim == 2:
        texts = (f"{u}{'-' if mask[v, u] else '>'}{v}" for u, v in list_edges(mask))
        return " ".join(texts) or _NONE
    return ", ".join(_item(int(i), solution) for i in np.flatnonzero(mask)) or _NONE


def _item(node: int, solution: Solution) -> str:
    """A node, counted from 0, with the user's numbers for it."""
    numbers = {
        name: array[node]
        for name, array in solution.inputs.items()
        if name != "pos" and array.dtype == np.float64 and array.ndim == 1 and node < len(array)
    }
    described = ", ".join(f"{name} {x:g}" for name, x in numbers.items())
    return f"{node} ({described})" if described else str(node)


def agreement(comparison: Comparison) -> str:
    """How much of the hints is right, and what first went wrong."""
    mistake = comparison.first_mistake
    if mistake is None:
        return "All hints are right."
    return (
        f"Hints are {math.floor(1000 * comparison.share) / 10} % right. "
        f"First mistake: {mistake_text(mistake)}."
    )


def mistake_text(mistake: Mistake) -> str:
    """A mistake in a few words."""
    about = f" of {'-'.join(map(str, mistake.where))}" if mistake.where else ""
    return (
        f"step {mistake.step}, {mistake.hint}{about} is {_value(mistake.got)}, "
        f"not {_value(mistake.expected)}"
    )


def _value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else _row(value)


def _show_steps(terminal: Terminal, algorithm: Algorithm, solution: Solution) -> None:
    """The predicted hints, wrong ones marked."""
    comparison = compared(solution)
    if solution.names is not None:
        legend = "  ".join(f"{i} {name}" for i, name in enumerate(solution.names))
        terminal.print(f"nodes: {legend}\n")
    values = [
        Values.of_compact(algorithm.spec[name], array, comparison.wrong[name])
        for name, array in solution.hints.items()
    ]
    show_steps(terminal, values, range(solution.steps))
