"""Short runs of the thirty algorithms, which the gallery plays in small pictures.

They are traces as the page has them, of the algorithm alone, and are made once
(`benchmarks/previews.py`): to trace all thirty takes longer than anybody waits for a page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm
from algorist.algorithms.format_answers import compact
from algorist.algorithms.user_inputs.problems import read_problem
from algorist.model.solving.solution import Comparison, Solution
from algorist.viewer.traces import trace

FILE = Path(__file__).parent / "static" / "previews.json"
_NOT_DRAWN = ("family", "description", "share", "shares", "answer", "mistake")
"""Parts of traces that pictures do without, as they do without the meanings of features."""
_NOT_SAID = ("pseudocode", "lines", "sentences")


@cache
def previews() -> dict[str, Any]:
    """All that were made, by algorithm."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def preview(algorithm: Algorithm, problem: Mapping[str, Any]) -> dict[str, Any]:
    """The run of an algorithm on a problem: a trace without a net."""
    found = trace(algorithm, _true_solution(algorithm, problem))
    shown = {name: part for name, part in found.items() if name not in _NOT_DRAWN}
    shown["explanation"] = {
        name: part for name, part in found["explanation"].items() if name not in _NOT_SAID
    }
    shown["features"] = [{**feature, "meaning": ""} for feature in found["features"]]
    shown["hints"] = {
        name: {"algorithm": hint["algorithm"]} for name, hint in found["hints"].items()
    }
    shown["outputs"] = {
        name: dict.fromkeys(("net", "algorithm"), output["algorithm"])
        for name, output in found["outputs"].items()
    }
    return shown


def _true_solution(algorithm: Algorithm, problem: Mapping[str, Any]) -> Solution:
    """What a net that makes no mistake would answer."""
    given = read_problem(algorithm, problem)
    truth = algorithm.trace_arrays(given.arrays)
    inputs, outputs = (
        {f.name: compact(f, arrays[f.name][0]) for f in features}
        for features, arrays in (
            (algorithm.spec.inputs, truth.inputs),
            (algorithm.spec.outputs, truth.outputs),
        )
    )
    hints = {f.name: compact(f, truth.hints[f.name][:, 0]) for f in algorithm.spec.hints}
    return Solution(
        algorithm=algorithm.name,
        answer={},
        right=True,
        outputs=outputs,
        hints=hints,
        confidence={},
        steps=int(truth.lengths[0]),
        inputs=inputs,
        names=given.names,
        comparison=Comparison(
            answer={},
            outputs=outputs,
            hints=hints,
            wrong={name: np.zeros_like(array, dtype=bool) for name, array in hints.items()},
            shares={name: np.ones(len(array)) for name, array in hints.items()},
            first_mistake=None,
        ),
    )
