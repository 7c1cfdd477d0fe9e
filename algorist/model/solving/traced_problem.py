"""A user's problem as a net sees it, and the algorithm's run on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm, get
from algorist.algorithms.answer_checks import check_answers
from algorist.algorithms.user_inputs.problems import Problem, read_problem
from algorist.algorithms.user_inputs.scaling import Scale, Scaled
from algorist.batch import Batch
from algorist.model.net import Net
from algorist.model.solving.memory import expect_enough_memory
from algorist.model.solving.solution import Arrays

_UNSCALED = Scaled(Scale(()))


@dataclass(frozen=True)
class TracedProblem:
    """A problem, and the algorithm's run on it."""

    problem: Problem
    truth: Batch
    """The run in the user's numbers; one sample, as `seen` is."""
    seen: Batch
    """The run in numbers as nets know them from training."""
    scaled: Scaled
    tie_offsets: Arrays = field(default_factory=dict)
    """(steps, 1, ...) by the names of hints: what breaking ties has added to them."""


def trace_problem(net: Net, name: str, inputs: Mapping[str, Any]) -> TracedProblem:
    """Read a problem and run the algorithm on it; raises a `ValueError` if it cannot be solved."""
    net.spec(name)  # refuses what the net does not know
    algorithm = get(name)
    problem = read_problem(algorithm, inputs)
    expect_enough_memory(net, name, len(problem.arrays["pos"]))
    truth = algorithm.trace_arrays(problem.arrays)
    scaled = _scale_of(algorithm, problem.arrays, truth)
    ranked = rank_inputs(algorithm, problem.arrays, truth)
    if ranked is not None:
        return TracedProblem(problem, replace(ranked, inputs=truth.inputs), ranked, _UNSCALED)
    without_ties = _trace_without_ties(algorithm, problem, truth)
    return without_ties or TracedProblem(problem, truth, _scale(truth, scaled), scaled)


def _trace_without_ties(
    algorithm: Algorithm, problem: Problem, truth: Batch
) -> TracedProblem | None:
    """A problem on numbers without ties, if there are such with a right answer."""
    arrays = problem.arrays
    for changed, unit in algorithm.separate(arrays) if algorithm.separate else ():
        separated = _right_run(algorithm, arrays, changed, truth)
        if separated is None:
            continue
        scaled = _scale_of(algorithm, {**arrays, **changed}, separated)
        names = algorithm.scale.degrees if algorithm.scale and unit else ()
        offsets = {name: _above_multiples(separated.hints[name], unit) for name in names}
        hints = {name: x - offsets.get(name, 0) for name, x in separated.hints.items()}
        shown = replace(separated, inputs=truth.inputs, hints=hints)
        return TracedProblem(problem, shown, _scale(separated, scaled), scaled, offsets)
    return None


def _right_run(algorithm: Algorithm, arrays: Arrays, changed: Arrays, truth: Batch) -> Batch | None:
    """The algorithm's run on changed inputs, if its answer is right for them as they were."""
    run = algorithm.trace_arrays({**arrays, **changed})
    right = check_answers(algorithm, truth.inputs, run.outputs, truth.outputs)
    return run if right.all() else None


def _scale_of(algorithm: Algorithm, arrays: Arrays, truth: Batch) -> Scaled:
    scale = algorithm.scale
    if scale is None:
        return _UNSCALED
    return scale.within_reach(scale.of(arrays), truth.hints)


def rank_inputs(algorithm: Algorithm, arrays: Arrays, truth: Batch) -> Batch | None:
    """The algorithm's run on ranks in place of numbers that it only compares.

    It is the same run but for ties that the algorithm breaks now one way, now the other (heapsort
    does): these are then broken one way throughout. None if there is nothing to rank, or if the
    ranks would have another answer that is not as good.
    """
    if algorithm.rank is None:
        return None
    last = {name: x[int(truth.lengths[0]) - 1, 0] for name, x in truth.hints.items()}
    return _right_run(algorithm, arrays, algorithm.rank(arrays, last), truth)


def _above_multiples(values: np.ndarray, unit: float) -> np.ndarray:
    """The distances of numbers to the nearest multiples of a unit."""
    return np.asarray(values - np.round(values / unit) * unit)


def _scale(truth: Batch, scaled: Scaled) -> Batch:
    return replace(
        truth,
        inputs={name: scaled.input(name, x) for name, x in truth.inputs.items()},
        hints={name: scaled.inwards(name, x) for name, x in truth.hints.items()},
        outputs={name: scaled.inwards(name, x) for name, x in truth.outputs.items()},
    )
