"""Solve users' problems with a learner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from algorist.batch import Batch
from algorist.errors import shorten
from algorist.model.inference import REPORTED_STEPS, OnProgress, predict
from algorist.model.net import Net
from algorist.model.solving import memory
from algorist.model.solving.make_solution import make_solution, select_problem
from algorist.model.solving.solution import Solution
from algorist.model.solving.time_estimate import Announce, estimate_seconds
from algorist.model.solving.traced_problem import TracedProblem, trace_problem

if TYPE_CHECKING:
    from algorist.model.learner import Learner


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
    traced = trace_problem(learner.net, algorithm, inputs)
    steps = int(traced.truth.lengths[0])
    for step in forced:
        if not 0 <= step < steps:
            raise ValueError(f"forced: got step {step}, expected 0 to {steps - 1}")
    if announce is not None:
        n = traced.truth.n
        announce(n, steps, estimate_seconds(learner, algorithm, n, steps))
    return _solve_batch(learner, algorithm, [traced], compare, forced, on_progress)[0]


def solve_many(
    learner: Learner, algorithm: str, problems: Sequence[Mapping[str, Any]], *, compare: bool
) -> list[Solution]:
    """The solutions of problems of any sizes; those of one size are computed together."""
    learner, traced = learner.best_replica(), []
    for i, inputs in enumerate(problems):
        if not isinstance(inputs, Mapping):
            raise ValueError(
                f"problem {i}: got {shorten(inputs)}, expected a mapping of names to inputs"
            )
        try:
            traced.append(trace_problem(learner.net, algorithm, inputs))
        except ValueError as error:
            raise ValueError(f"problem {i}: {error}") from error
    learner.net.spec(algorithm)  # refuses what the net does not know, if there are no problems too
    solutions: dict[int, Solution] = {}
    for indices in _group_problems(learner.net, algorithm, traced):
        solved = _solve_batch(learner, algorithm, [traced[i] for i in indices], compare)
        solutions.update(zip(indices, solved, strict=True))
    return [solutions[i] for i in range(len(traced))]


def _group_problems(
    net: Net, algorithm: str, problems: Sequence[TracedProblem]
) -> Iterator[list[int]]:
    """Group problems, by index, into batches of one size that fit into memory."""
    by_size: dict[int, list[int]] = defaultdict(list)
    for i, problem in enumerate(problems):
        by_size[problem.truth.n].append(i)
    for n, indices in by_size.items():
        size = memory.batch_size(net, algorithm, n)
        for start in range(0, len(indices), size):
            yield indices[start : start + size]


def _solve_batch(
    learner: Learner,
    name: str,
    problems: Sequence[TracedProblem],
    compare: bool,
    forced: Collection[int] = (),
    on_progress: OnProgress | None = None,
) -> list[Solution]:
    """The solutions of problems of one size."""
    batch = Batch.joined([problem.seen for problem in problems])
    hints = learner.net.config.hints != "none"
    steps = memory.window_steps(batch.n)
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
        make_solution(
            name, problem, select_problem(predictions, i, problem, forced), compare=compare
        )
        for i, problem in enumerate(problems)
    ]
