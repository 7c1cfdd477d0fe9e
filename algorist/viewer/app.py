"""What the page asks for, as plain data: which algorithms there are, and a problem solved."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence, Sized
from dataclasses import asdict
from typing import Any, Protocol

from algorist.algorithms import Algorithm, get
from algorist.algorithms.own import own_problem
from algorist.algorithms.own_graphs import nodes_of
from algorist.errors import shortened, unknown
from algorist.model.learner import Learner
from algorist.model.solving import solve
from algorist.viewer.draws import draw_interesting
from algorist.viewer.first_problems import first_problem
from algorist.viewer.traces import trace

MOST_NODES = 64
"""Pictures of more are hard to read, and nets take long for them."""
MOST_VALUES = 2_000_000
"""Of all hints at all steps together: a browser has to hold and draw them."""
MOST_BYTES = 128 * 1024
"""Of what the page may ask."""
_PATIENCE = 60.0
"""Seconds in which the last computation should end."""
FIRST = {"algorithm": "dijkstra", "random": {"n": 9, "seed": 4}}
"""What the page begins with, unless somebody says what else."""

Inputs = Mapping[str, Any]


class Forms(Protocol):
    """How problems are typed, drawn and written down."""

    def fields(self, algorithm: Algorithm) -> Sequence[Any]:
        """The fields of a form: dataclasses."""

    def read(self, algorithm: Algorithm, texts: Mapping[str, str]) -> Inputs:
        """The problem that filled fields give."""

    def written(self, algorithm: Algorithm, problem: Inputs) -> dict[str, str]:
        """The fields that give a drawn problem."""


class App:
    """Learners, and all that the page may do with them; what makes no sense is a `ValueError`."""

    def __init__(self, learners: Mapping[str, Learner], forms: Forms, model: str):
        self._learners, self._forms, self._model = learners, forms, model
        self._first: Mapping[str, Any] = FIRST
        self._one_at_a_time = threading.Lock()

    def end(self) -> None:
        """Wait for what is being computed, and compute nothing more: the process is to end."""
        self._one_at_a_time.acquire(timeout=_PATIENCE)

    def begin_with(self, asked: Mapping[str, Any]) -> None:
        """Let the page begin with an algorithm, and with a problem of it if there is one."""
        first = {**FIRST, **asked}
        size = len(json.dumps(first))
        if size > MOST_BYTES:
            raise ValueError(f"the problem: got {size:,} bytes, expected at most {MOST_BYTES:,}")
        self.solve(first)
        self._first = {**first, "drawn": "random" in asked}

    def algorithms(self) -> dict[str, Any]:
        """What the learners know, by family, and the form of each; and what to begin with."""
        known = sorted(map(get, self._learners), key=lambda a: (a.family, a.name))
        return {
            "model": self._model,
            "most_nodes": MOST_NODES,
            "first": self._first,
            "algorithms": [
                {
                    "name": algorithm.name,
                    "family": algorithm.family,
                    "description": algorithm.description,
                    "fields": [asdict(field) for field in self._forms.fields(algorithm)],
                    "first": first_problem(algorithm),
                }
                for algorithm in known
            ],
        }

    def solve(self, asked: Any) -> dict[str, Any]:
        """The trace of a problem: `algorithm`, and `fields` or else `random` with n and seed."""
        if not isinstance(asked, Mapping):
            raise ValueError(f"got {shortened(asked)}, expected an object")
        name = asked.get("algorithm")
        if not isinstance(name, str) or name not in self._learners:
            raise ValueError(unknown("algorithm", shortened(name).strip("'"), self._learners))
        algorithm = get(name)
        if "fields" in asked:
            return self.trace(algorithm, self._forms.read(algorithm, _texts(asked["fields"])))
        n, seed = _draw(asked.get("random"))
        problem = draw_interesting(algorithm, n, seed)
        return {
            **self.trace(algorithm, problem),
            "fields": self._forms.written(algorithm, problem),
        }

    def trace(self, algorithm: Algorithm, problem: Inputs) -> dict[str, Any]:
        """The trace of a problem, if it is not too large to be shown."""
        with self._one_at_a_time:
            check_size(algorithm, problem)
            solution = solve(self._learners[algorithm.name], algorithm.name, problem, compare=True)
        return trace(algorithm, solution)


def check_size(algorithm: Algorithm, problem: Inputs) -> None:
    """Refuse what is too large to be shown, before anybody computes with it."""
    for name, value in problem.items():
        _check_nodes(name, len(value) if isinstance(value, Sized) else 1)
        _check_nodes(name, len(nodes_of(value) or ()) if name == "A" else 1)
    arrays = own_problem(algorithm, problem).arrays
    _check_nodes(algorithm.name, len(arrays["pos"]))
    traced = algorithm.trace_arrays(arrays)
    values = sum(array.size for array in traced.hints.values())
    if values > MOST_VALUES:
        raise ValueError(
            f"{algorithm.name}: got {traced.lengths[0]:,} steps with {values:,} values in all, "
            f"expected at most {MOST_VALUES:,}: try a smaller problem"
        )


def _check_nodes(what: str, nodes: int) -> None:
    if nodes > MOST_NODES:
        raise ValueError(f"{what}: got {nodes:,} nodes, expected at most {MOST_NODES} to be shown")


def _texts(fields: Any) -> dict[str, str]:
    if not isinstance(fields, Mapping) or not all(
        isinstance(text, str) for pair in fields.items() for text in pair
    ):
        raise ValueError(f"fields: got {shortened(fields)}, expected texts by name")
    return dict(fields)


def _draw(random: Any) -> tuple[int, int]:
    """The size and the seed of a random problem."""
    if not isinstance(random, Mapping):
        raise ValueError(f"random: got {shortened(random)}, expected n and seed")
    n, seed = random.get("n"), random.get("seed", 0)
    if type(n) is not int or not 1 <= n <= MOST_NODES:
        raise ValueError(f"n: got {shortened(n)}, expected a whole number from 1 to {MOST_NODES}")
    if type(seed) is not int or not 0 <= seed < 2**32:
        raise ValueError(f"seed: got {shortened(seed)}, expected a whole number from 0 to 2**32-1")
    return n, seed
