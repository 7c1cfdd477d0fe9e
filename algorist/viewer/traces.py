"""Solutions as plain data: all that the page draws, served and exported alike.

Arrays are flat, matrices row by row, and have one number a value, as in a `Solution`. Over time
they are lists of steps, of which one that equals the step before is None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm
from algorist.algorithms.answer_checks import TOLERANCE
from algorist.algorithms.explanations import explanation_of
from algorist.algorithms.feature_descriptions import describe_feature
from algorist.algorithms.graph_layout import place_nodes
from algorist.model.solving.solution import Comparison, Solution, counts, wrong_values
from algorist.model.solving.solution_text import (
    compared,
    explain,
    explain_truth,
    mistake_text,
    verdict,
)
from algorist.spec import MASKED, Feature, Kind
from algorist.viewer.explained import explained, unrepeated

_DIGITS = 4
_LONGEST_NAME = 40
_HUNDREDTHS = ", in hundredths"
"""How meanings end of what is shown as whole numbers."""


def trace(algorithm: Algorithm, solution: Solution) -> dict[str, Any]:
    """A solution, with its comparison, as JSON has it."""
    comparison = compared(solution)
    nodes = len(solution.inputs["pos"])
    names = range(nodes) if solution.names is None else solution.names
    spec, answer = algorithm.spec, explain(solution)
    scales = _scales(algorithm)
    return {
        "algorithm": algorithm.name,
        "family": algorithm.family,
        "description": algorithm.description,
        "nodes": nodes,
        "steps": solution.steps,
        "names": [str(name)[:_LONGEST_NAME] for name in names],
        "named": solution.names is not None,
        "features": [_feature(algorithm, feature, solution) for feature in spec],
        "inputs": {f.name: _flat(f, solution.inputs[f.name]) for f in spec.inputs},
        "hints": {
            f.name: _hint(f, solution, comparison, scales.get(f.name, 1)) for f in spec.hints
        },
        "outputs": {f.name: _output(f, solution, comparison) for f in spec.outputs},
        "share": _number(comparison.share),
        "shares": _mean_shares(comparison),
        "answer": {
            "right": solution.right,
            "verdict": verdict(solution),
            "read": solution.read,
            "pieces": answer.of,
            "net": list(answer.pieces.items()),
            "algorithm": list(explain_truth(solution).pieces.items()),
        },
        "mistake": _mistake(comparison, scales),
        "tolerance": TOLERANCE,
        "places": place_nodes(solution.inputs["A"]) if "A" in solution.inputs else None,
        "explanation": explained(algorithm, solution, comparison),
    }


def _scales(algorithm: Algorithm) -> dict[str, int]:
    """What hints are multiplied by: those that count in hundredths are shown as whole numbers."""
    explanation = explanation_of(algorithm)
    return dict.fromkeys(explanation.clocks, 100) if explanation else {}


def _feature(algorithm: Algorithm, feature: Feature, solution: Solution) -> dict[str, Any]:
    predicted = feature.name in solution.hints or feature.name in solution.outputs
    return {
        "name": feature.name,
        "stage": feature.stage,
        "location": feature.location,
        "kind": feature.kind,
        "classes": feature.classes,
        "meaning": describe_feature(algorithm, feature).removesuffix(_HUNDREDTHS),
        "predicted": predicted,
    }


def _hint(
    feature: Feature, solution: Solution, comparison: Comparison, scale: int
) -> dict[str, Any]:
    name = feature.name
    hint: dict[str, Any] = {"algorithm": _step_values(feature, scale * comparison.hints[name])}
    if name not in solution.hints:
        return hint
    got = _counted(feature, solution.hints[name], comparison.hints[name])
    hint["net"] = _step_values(feature, scale * got)
    hint["wrong"] = [np.flatnonzero(wrong).tolist() for wrong in comparison.wrong[name]]
    hint["shares"] = [_number(share) for share in comparison.shares[name]]
    if name in solution.confidence:
        percents = np.nan_to_num(100 * solution.confidence[name], nan=100)  # given, hence sure
        hint["confidence"] = unrepeated([_whole(step) for step in percents])
    return hint


def _output(feature: Feature, solution: Solution, comparison: Comparison) -> dict[str, Any]:
    name = feature.name
    got, truth = solution.outputs[name], comparison.outputs[name]
    wrong = wrong_values(feature, got, truth) & (not solution.right)
    output = {
        "algorithm": _flat(feature, truth),
        "net": _flat(feature, _counted(feature, got, truth)),
        "wrong": np.flatnonzero(wrong).tolist(),
    }
    if name in solution.confidence:
        output["confidence"] = _whole(100 * solution.confidence[name])
    return output


def _counted(feature: Feature, got: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The net's values, but for those that do not count: they are as in the truth."""
    return np.where(counts(feature, truth), got, MASKED)


def _step_values(feature: Feature, array: np.ndarray) -> list[Any]:
    return unrepeated([_flat(feature, step) for step in array])


def _flat(feature: Feature, array: np.ndarray) -> list[Any]:
    return _rounded(array) if feature.kind == Kind.SCALAR else _whole(array)


def _whole(array: np.ndarray) -> list[int]:
    return np.atleast_1d(np.rint(array)).astype(int).ravel().tolist()


def _rounded(array: np.ndarray) -> list[float | None]:
    """Numbers of a few digits; None for what is none."""
    return [_number(x) for x in np.atleast_1d(array).ravel().tolist()]


def _number(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def _mean_shares(comparison: Comparison) -> list[float | None]:
    """The share of right values at each step, the mean over the hints."""
    if not comparison.shares:
        return []
    over_time = np.array(list(comparison.shares.values()))  # (hints, steps)
    known = ~np.isnan(over_time)
    sums = np.where(known, over_time, 0).sum(0)
    return [_number(s / k) if k else None for s, k in zip(sums, known.sum(0), strict=True)]


def _mistake(comparison: Comparison, scales: Mapping[str, int]) -> dict[str, Any] | None:
    mistake = comparison.first_mistake
    if mistake is None:
        return None
    if scale := scales.get(mistake.hint):
        mistake = replace(mistake, got=scale * mistake.got, expected=scale * mistake.expected)
    return {"step": mistake.step, "hint": mistake.hint, "text": mistake_text(mistake)}
