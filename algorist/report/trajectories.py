"""Tables of what a learner predicts at each step of small problems; wrong values are marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from itertools import islice

import numpy as np

from algorist.algorithms import Algorithm, get
from algorist.algorithms.user_inputs.problems import draw_problem
from algorist.model.learner import Learner
from algorist.model.solving.solution import Comparison, Solution
from algorist.model.solving.solution_text import agreement, compared, verdict
from algorist.report.feature_text import FeatureValues

_USUAL = ("insertion_sort", "bfs", "dijkstra", "binary_search")
"""Shown where they are among those tested: they are short and easily followed."""
_OTHERS = 2
"""How many are shown of other ones."""
_SIZE, _SEED = 6, 1
_LONGEST = 24
"""Steps that are shown, at most."""


def choose_examples(tested: Iterable[str]) -> list[str]:
    """Choose the algorithms whose trajectories a page shows, of those that were tested."""
    tested = list(tested)
    return [name for name in _USUAL if name in tested] or tested[:_OTHERS]


def small_problem(algorithm: Algorithm) -> dict[str, np.ndarray]:
    """The inputs of the problem that is shown."""
    return draw_problem(algorithm, algorithm.size(_SIZE), _SEED)


def trajectory_sections(learners: Mapping[str, Learner], tested: Iterable[str]) -> str:
    """An HTML section for each of a few algorithms, with one small problem."""
    return "".join(_section(learners[name], get(name)) for name in choose_examples(tested))


def _section(learner: Learner, algorithm: Algorithm) -> str:
    solution = learner.run(algorithm.name, compare=True, **small_problem(algorithm))
    comparison = compared(solution)
    told = [algorithm.description, verdict(solution)]
    if solution.hints:
        told.append(agreement(solution))
    content = [
        f"<h3>{escape(algorithm.name)}</h3>",
        f"<p>{escape(' '.join(told))}</p>",
        _inputs(algorithm, solution),
        _steps(algorithm, solution, comparison),
    ]
    return '<section class="trajectory">\n{}\n</section>\n'.format("\n".join(content))


def _inputs(algorithm: Algorithm, solution: Solution) -> str:
    """Those that have a number for each node, or one in all."""
    texts = []
    for feature in algorithm.spec.inputs:
        array = solution.inputs[feature.name]
        if array.ndim < 2 and feature.name != "pos":
            numbers = " ".join(FeatureValues.of_compact(feature, array[None]).texts(0))
            texts.append(f"{escape(feature.name)} <code>{numbers}</code>")
    return f"<p>{', '.join(texts)}</p>" if texts else ""


def _steps(algorithm: Algorithm, solution: Solution, comparison: Comparison) -> str:
    """A row for each step, a column for each hint."""
    hints = [
        FeatureValues.of_compact(algorithm.spec[name], array, comparison.wrong[name])
        for name, array in solution.hints.items()
    ]
    if not hints:
        return ""
    heading = "".join(f"<th>{escape(values.feature.name)}</th>" for values in hints)
    rows = "".join(_row(hints, step) for step in range(min(solution.steps, _LONGEST)))
    return (
        f'<div class="wide"><table class="steps">\n<thead><tr><th>step</th>{heading}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>"
    )


def _row(hints: Iterable[FeatureValues], step: int) -> str:
    cells = "".join(f"<td>{_cell(values, step)}</td>" for values in hints)
    return f"<tr><th>{step}</th>{cells}</tr>\n"


def _cell(values: FeatureValues, step: int) -> str:
    """The values of a step in a line, or of pairs of nodes in a line for each first one."""
    pieces = (
        f"<mark>{text}</mark>" if wrong else text
        for text, wrong in zip(values.texts(step), np.ravel(values.marked(step)), strict=True)
    )
    numbers = values.numbers[step]
    in_line = numbers.shape[-1] if numbers.ndim == 2 else max(numbers.size, 1)
    lines = iter(lambda: " ".join(islice(pieces, in_line)), "")
    return "<br>".join(lines)
