"""Solve users' problems with a learner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from algorist.algorithms import Algorithm, get
from algorist.algorithms.answer_checks import check_answers
from algorist.algorithms.format_answers import compact, format_outputs
from algorist.algorithms.scaling import Scale, Scaled
from algorist.algorithms.user_inputs import Problem, read_problem
from algorist.batch import Batch
from algorist.errors import shortened
from algorist.machine import memory
from algorist.model.inference import REPORTED_STEPS, WINDOW_STEPS, OnProgress, Predictions, predict
from algorist.model.kinds import raw_width, row
from algorist.model.net import Net
from algorist.model.solving.solution import (
    Arrays,
    Comparison,
    Solution,
    first_mistake,
    right_shares,
    wrong_values,
)
from algorist.model.solving.time_estimate import Announce, estimate_seconds
from algorist.spec import Feature, Kind, Location

if TYPE_CHECKING:
    from algorist.model.learner import Learner

_COPIES = 8
"""An upper bound of the numbers that a step allocates for each channel of a pair of nodes."""
_LARGE_NODES = 64
"""From how many nodes on fewer than `WINDOW_STEPS` steps are computed at once."""
_UNSCALED = Scaled(Scale(()))


def solve(
    learner: Learner,
    algorithm: str,
    inputs: Mapping[str, Any],
    *,
    compare: bool,
    forced: Collection[int] = (),
    announce: Announce | None = None,
    on_progress: OnProgress | None = None,
) -> Solution:
    """The solution of one problem, by the best of the replicas.

    At the steps `forced` the net reads the true hints, as it does at the first. `announce` is
    called first, with nodes, steps and an estimate of their seconds; `on_progress` after each
    window. What they raise ends the computation.
    """
    learner = learner.best_replica()
    task = _trace(learner.net, algorithm, inputs)
    steps = int(task.truth.lengths[0])
    for step in forced:
        if not 0 <= step < steps:
            raise ValueError(f"forced: got step {step}, expected 0 to {steps - 1}")
    if announce is not None:
        n = task.truth.n
        announce(n, steps, estimate_seconds(learner, algorithm, n, steps))
    return _solve_batch(learner, algorithm, [task], compare, forced, on_progress)[0]


def solve_many(
    learner: Learner, algorithm: str, problems: Sequence[Mapping[str, Any]], *, compare: bool
) -> list[Solution]:
    """The solutions of problems of any sizes; those of one size are computed together."""
    learner, tasks = learner.best_replica(), []
    for i, inputs in enumerate(problems):
        if not isinstance(inputs, Mapping):
            raise ValueError(
                f"problem {i}: got {shortened(inputs)}, expected a mapping of names to inputs"
            )
        try:
            tasks.append(_trace(learner.net, algorithm, inputs))
        except ValueError as error:
            raise ValueError(f"problem {i}: {error}") from error
    learner.net.spec(algorithm)  # refuses what the net does not know, if there are no problems too
    solutions: dict[int, Solution] = {}
    for places in _group_tasks(learner.net, algorithm, tasks):
        solved = _solve_batch(learner, algorithm, [tasks[i] for i in places], compare)
        solutions.update(zip(places, solved, strict=True))
    return [solutions[i] for i in range(len(tasks))]


@dataclass(frozen=True)
class _Task:
    """A problem, and what the algorithm does with it."""

    problem: Problem
    truth: Batch  # of one sample, in the user's numbers
    seen: Batch  # the same in numbers that nets know
    scaled: Scaled
    more: Arrays = field(default_factory=dict)
    """The factor by which breaking ties has enlarged the hints."""


def _trace(net: Net, name: str, inputs: Mapping[str, Any]) -> _Task:
    net.spec(name)  # refuses what the net does not know
    algorithm = get(name)
    problem = read_problem(algorithm, inputs)
    _check_size(net, name, len(problem.arrays["pos"]))
    truth = algorithm.trace_arrays(problem.arrays)
    scaled = _scale_of(algorithm, problem.arrays, truth)
    ranked = rank_inputs(algorithm, problem.arrays, truth)
    if ranked is not None:
        return _Task(problem, replace(ranked, inputs=truth.inputs), ranked, _UNSCALED)
    without_ties = _trace_without_ties(algorithm, problem, truth)
    return without_ties or _Task(problem, truth, _scale(truth, scaled), scaled)


def _trace_without_ties(algorithm: Algorithm, problem: Problem, truth: Batch) -> _Task | None:
    """A problem on numbers without ties, if there are such with a right answer."""
    arrays = problem.arrays
    for changed, unit in algorithm.separate(arrays) if algorithm.separate else ():
        separated = _right_run(algorithm, arrays, changed, truth)
        if separated is None:
            continue
        scaled = _scale_of(algorithm, {**arrays, **changed}, separated)
        names = algorithm.scale.degrees if algorithm.scale and unit else ()
        more = {name: _above_multiples(separated.hints[name], unit) for name in names}
        hints = {name: x - more.get(name, 0) for name, x in separated.hints.items()}
        shown = replace(separated, inputs=truth.inputs, hints=hints)
        return _Task(problem, shown, _scale(separated, scaled), scaled, more)
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


def _bytes(net: Net, algorithm: str, n: int) -> int:
    """About what one problem of `n` nodes takes while a net computes it."""
    spec = net.spec(algorithm)
    edge_pointers = any(f.kind == Kind.POINTER and f.location == Location.EDGE for f in spec)
    of_pairs = [
        f
        for f in net.encoded_features(spec)
        if row(f).decoder_type.encode_location == Location.EDGE
    ]
    derived = net.derived[algorithm].groups.values()
    kept = sum(map(raw_width, of_pairs)) + net.bound_processor().kept_per_edge(net.config.hidden)
    kept += sum(x.numbers.shape[-1] for x in derived if x.location == Location.EDGE)
    step = _COPIES * net.config.hidden + (2 * n if edge_pointers else 0)
    return 4 * n * n * (step + 2 * _steps_at_once(n) * kept)  # twice: outputs are read all at once


def _steps_at_once(n: int) -> int:
    """The number of steps in one window: fewer for many nodes, to bound the memory."""
    return max(1, min(WINDOW_STEPS, WINDOW_STEPS * _LARGE_NODES**2 // n**2))


def _room(net: Net) -> float:
    """The bytes that a solution may allocate: half of the memory."""
    if net.device.type == "cuda":
        return float(torch.cuda.get_device_properties(net.device).total_memory / 2)
    return memory() / 2


def _check_size(net: Net, algorithm: str, n: int) -> None:
    room = _room(net)
    if _bytes(net, algorithm, n) <= room:
        return
    most = next(k for k in range(n, -1, -1) if _bytes(net, algorithm, k) <= room)
    raise ValueError(
        f"{algorithm}: got {n} nodes, expected at most {most}: "
        "a net needs more memory for more than there is"
    )


def _group_tasks(net: Net, algorithm: str, tasks: Sequence[_Task]) -> Iterator[list[int]]:
    """Group tasks into batches of one size that fit into memory."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for i, task in enumerate(tasks):
        by_size[task.truth.n].append(i)
    for n, places in by_size.items():
        at_once = max(1, int(_room(net) // _bytes(net, algorithm, n)))
        for start in range(0, len(places), at_once):
            yield places[start : start + at_once]


def _solve_batch(
    learner: Learner,
    name: str,
    tasks: Sequence[_Task],
    compare: bool,
    forced: Collection[int] = (),
    on_progress: OnProgress | None = None,
) -> list[Solution]:
    """The solutions of problems of one size."""
    batch = Batch.joined([task.seen for task in tasks])
    hints = learner.net.config.hints != "none"
    steps = _steps_at_once(batch.n)
    (predictions,) = predict(
        learner,
        name,
        batch,
        hints=hints,
        confidence=True,
        forced=forced,
        window_steps=steps if on_progress is None else min(steps, REPORTED_STEPS),
        on_progress=on_progress,
    )
    return [
        _make_solution(learner.net, name, task, _select(predictions, i, task, forced), compare)
        for i, task in enumerate(tasks)
    ]


def _select(
    predictions: Predictions, i: int, task: _Task, forced: Collection[int] = ()
) -> Predictions:
    """The predictions for one of the problems, in its own unit, with the given moments."""
    outputs = {name: task.scaled.outwards(name, x[i]) for name, x in predictions.outputs.items()}
    steps = int(task.truth.lengths[0])
    hints = {
        name: np.concatenate(
            (task.truth.hints[name][:1, 0], task.scaled.outwards(name, x[: steps - 1, i]))
        )
        for name, x in predictions.hints.items()
    }
    for name, more in task.more.items():
        hints[name][1:] -= more[1:steps, 0]
    sure = {name: x[i] for name, x in predictions.output_confidence.items()}
    hints_sure = {
        name: np.concatenate((np.full((1, *x.shape[2:]), np.nan), x[: steps - 1, i]))
        for name, x in predictions.hint_confidence.items()
    }
    given = list(forced)
    for name, array in hints.items():
        array[given] = task.truth.hints[name][given, 0]
    for array in hints_sure.values():
        array[given] = np.nan
    return Predictions(outputs, hints, sure, hints_sure)


def _make_solution(
    net: Net, name: str, task: _Task, predicted: Predictions, compare: bool
) -> Solution:
    algorithm, truth, names = get(name), task.truth, task.problem.names
    outputs = {name: array[None] for name, array in predicted.outputs.items()}
    features = {f.name: f for f in algorithm.spec}
    got = _compact(features, predicted.hints)
    inputs = {name: array[0] for name, array in truth.inputs.items()}
    solution = Solution(
        algorithm=name,
        answer=_format_answer(algorithm, task, predicted.outputs),
        right=bool(check_answers(algorithm, truth.inputs, outputs, truth.outputs)[0]),
        outputs=_compact(features, predicted.outputs),
        hints=got,
        confidence={**predicted.output_confidence, **predicted.hint_confidence},
        steps=int(truth.lengths[0]),
        inputs=_compact(features, inputs),
        names=names,
        read=task.problem.description,
    )
    return replace(solution, comparison=_compare(algorithm, task, got)) if compare else solution


def _format_answer(algorithm: Algorithm, task: _Task, outputs: Arrays) -> Any:
    inputs = {name: array[0] for name, array in task.truth.inputs.items()}
    names = task.problem.names
    if algorithm.answer:
        return algorithm.answer(inputs, outputs, names)
    return format_outputs(algorithm.spec, outputs, names if "A" in inputs else None)


def _compact(features: Mapping[str, Feature], arrays: Arrays) -> Arrays:
    return {name: compact(features[name], array) for name, array in arrays.items()}


def _compare(algorithm: Algorithm, task: _Task, got: Arrays) -> Comparison:
    features = {f.name: f for f in algorithm.spec}
    outputs = {name: array[0] for name, array in task.truth.outputs.items()}
    hints = {name: array[:, 0] for name, array in task.truth.hints.items()}
    truth = _compact(features, hints)
    compared = [f for f in algorithm.spec.hints if f.name in got]
    wrong = {f.name: wrong_values(f, got[f.name], truth[f.name]) for f in compared}
    names = task.problem.names if "A" in task.truth.inputs else None
    return Comparison(
        answer=_format_answer(algorithm, task, outputs),
        outputs=_compact(features, outputs),
        hints=truth,
        wrong=wrong,
        shares={f.name: right_shares(f, wrong[f.name], truth[f.name]) for f in compared},
        first_mistake=first_mistake(compared, wrong, got, truth, names),
    )
