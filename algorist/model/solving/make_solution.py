"""Solutions, made of the predictions for users' problems."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm, get
from algorist.algorithms.answer_checks import check_answers
from algorist.algorithms.format_answers import compact, format_outputs
from algorist.model.inference import Predictions
from algorist.model.solving.solution import (
    Arrays,
    Comparison,
    Solution,
    first_mistake,
    right_shares,
    wrong_values,
)
from algorist.model.solving.traced_problem import TracedProblem
from algorist.spec import Feature


def make_solution(
    name: str, traced: TracedProblem, predicted: Predictions, *, compare: bool
) -> Solution:
    """The solution of a problem, with the algorithm's beside it if `compare`."""
    algorithm, truth, names = get(name), traced.truth, traced.problem.names
    outputs = {name: array[None] for name, array in predicted.outputs.items()}
    features = {f.name: f for f in algorithm.spec}
    got = _compact(features, predicted.hints)
    inputs = {name: array[0] for name, array in truth.inputs.items()}
    solution = Solution(
        algorithm=name,
        answer=_format_answer(algorithm, traced, predicted.outputs),
        right=bool(check_answers(algorithm, truth.inputs, outputs, truth.outputs)[0]),
        outputs=_compact(features, predicted.outputs),
        hints=got,
        confidence={**predicted.output_confidence, **predicted.hint_confidence},
        steps=int(truth.lengths[0]),
        inputs=_compact(features, inputs),
        names=names,
        read=traced.problem.description,
    )
    return replace(solution, comparison=_compare(algorithm, traced, got)) if compare else solution


def select_problem(
    predictions: Predictions, i: int, traced: TracedProblem, forced: Collection[int] = ()
) -> Predictions:
    """The predictions for problem `i` of a batch, in its unit; at steps `forced` the true hints."""
    outputs = {name: traced.scaled.outwards(name, x[i]) for name, x in predictions.outputs.items()}
    steps = int(traced.truth.lengths[0])
    hints = {
        name: np.concatenate(
            (traced.truth.hints[name][:1, 0], traced.scaled.outwards(name, x[: steps - 1, i]))
        )
        for name, x in predictions.hints.items()
    }
    for name, offset in traced.tie_offsets.items():
        hints[name][1:] -= offset[1:steps, 0]
    confidence = {name: x[i] for name, x in predictions.output_confidence.items()}
    hint_confidence = {
        name: np.concatenate((np.full((1, *x.shape[2:]), np.nan), x[: steps - 1, i]))
        for name, x in predictions.hint_confidence.items()
    }
    given = list(forced)
    for name, array in hints.items():
        array[given] = traced.truth.hints[name][given, 0]
    for array in hint_confidence.values():
        array[given] = np.nan
    return Predictions(outputs, hints, confidence, hint_confidence)


def _format_answer(algorithm: Algorithm, traced: TracedProblem, outputs: Arrays) -> Any:
    inputs = {name: array[0] for name, array in traced.truth.inputs.items()}
    names = traced.problem.names
    if algorithm.answer:
        return algorithm.answer(inputs, outputs, names)
    return format_outputs(algorithm.spec, outputs, names if "A" in inputs else None)


def _compact(features: Mapping[str, Feature], arrays: Arrays) -> Arrays:
    return {name: compact(features[name], array) for name, array in arrays.items()}


def _compare(algorithm: Algorithm, traced: TracedProblem, got: Arrays) -> Comparison:
    features = {f.name: f for f in algorithm.spec}
    outputs = {name: array[0] for name, array in traced.truth.outputs.items()}
    hints = {name: array[:, 0] for name, array in traced.truth.hints.items()}
    truth = _compact(features, hints)
    compared = [f for f in algorithm.spec.hints if f.name in got]
    wrong = {f.name: wrong_values(f, got[f.name], truth[f.name]) for f in compared}
    names = traced.problem.names if "A" in traced.truth.inputs else None
    return Comparison(
        answer=_format_answer(algorithm, traced, outputs),
        outputs=_compact(features, outputs),
        hints=truth,
        wrong=wrong,
        shares={f.name: right_shares(f, wrong[f.name], truth[f.name]) for f in compared},
        first_mistake=first_mistake(compared, wrong, got, truth, names),
    )
