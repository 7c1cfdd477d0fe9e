"""Drawn problems as the texts of a form, which read back give the problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from algorist.algorithms import Algorithm
from algorist.problems.forms import fields
from algorist.problems.inputs import Inputs
from algorist.report.format_numbers import to_json

_MOST_ENTRIES = 100
"""How many edges, keys or points of a drawn problem are shown."""


def form_texts(algorithm: Algorithm, problem: Inputs) -> dict[str, str]:
    """The text of each field that gives a drawn problem, with numbers of a few digits."""
    return {
        field.name: _WRITERS.get(field.name, _as_json)(algorithm, problem)
        for field in fields(algorithm)
    }


def problem_lines(algorithm: Algorithm, problem: Inputs) -> list[str]:
    """A line for each field that a drawn problem fills in; of many entries the first."""
    texts = form_texts(algorithm, problem)
    return [
        f"{re.split(r': | [(]', field.label)[0]}: {_joined(texts[field.name].splitlines())}"
        for field in fields(algorithm)
        if texts[field.name]
    ]


def _joined(entries: Sequence[str]) -> str:
    left = len(entries) - _MOST_ENTRIES
    return "; ".join([*entries[:_MOST_ENTRIES], *([f"and {left:,} more"] if left > 0 else [])])


Writer = Callable[[Algorithm, Inputs], str]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _as_json(algorithm: Algorithm, problem: Inputs) -> str:
    return json.dumps(to_json(problem))


def _numbers(algorithm: Algorithm, problem: Inputs) -> str:
    values = next(np.asarray(value) for value in problem.values() if np.ndim(value) == 1)
    return " ".join(map(_number, values))


def _pairs(first: str, second: str) -> Writer:
    return lambda algorithm, problem: "\n".join(
        f"{_number(a)},{_number(b)}" for a, b in zip(problem[first], problem[second], strict=True)
    )


def _edges(algorithm: Algorithm, problem: Inputs) -> str:
    """Nodes in their order, each when the first of its edges, or it alone, is written down."""
    A = np.asarray(problem["A"])
    if not A.any():
        return json.dumps({"nodes": list(range(len(A))), "edges": []})
    return "\n".join(_edge_lines(A, weighted=bool((A.astype(bool) != A).any())))


def _edge_lines(A: np.ndarray, *, weighted: bool) -> Iterator[str]:
    symmetric = np.array_equal(A, A.T)
    for new in range(len(A)):
        pairs = [(new, old) for old in range(new + 1)]
        if not symmetric:
            pairs += [(old, new) for old in range(new)]
        edges = [(u, v) for u, v in pairs if A[u, v] != 0]
        if not edges:
            yield str(new)
        for u, v in edges:
            yield f"{u} {v} {_number(A[u, v])}" if weighted else f"{u} {v}"


def _word(second: bool) -> Writer:
    def write(algorithm: Algorithm, problem: Inputs) -> str:
        classes = np.asarray(problem["key"]).argmax(-1)
        chosen = classes[(np.asarray(problem["string"]) > 0) == second]
        return "".join("abcd"[letter] for letter in chosen)

    return write


def _list(name: str, *, short_by: int = 0) -> Writer:
    return lambda algorithm, problem: ",".join(
        map(_number, problem[name][: len(problem[name]) - short_by])
    )


_WRITERS: dict[str, Writer] = {
    "numbers": _numbers,
    "points": _pairs("x", "y"),
    "intervals": _pairs("s", "f"),
    "tasks": _pairs("d", "w"),
    "target": lambda algorithm, problem: _number(float(problem["target"])),
    "graph": _edges,
    "source": lambda algorithm, problem: str(int(np.argmax(problem["s"]))),
    "weight": lambda algorithm, problem: "",
    "directed": lambda algorithm, problem: (
        "undirected" if np.array_equal(problem["A"], np.transpose(problem["A"])) else "directed"
    ),
    "text": _word(False),
    "pattern": _word(True),
    "x": _word(False),
    "y": _word(True),
    "p": _list("p", short_by=1),
    "q": _list("q"),
}
