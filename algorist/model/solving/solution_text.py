"""Solutions in words: what was read, the answer in its problem's terms, and how right it is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms import get
from algorist.algorithms.answer_checks import TOLERANCE_TEXT
from algorist.algorithms.answer_explanations import AnswerExplanation
from algorist.algorithms.explain_answers import explain_outputs
from algorist.spec import Kind

if TYPE_CHECKING:
    from algorist.model.solving.solution import Comparison, Mistake, Solution


def compared(solution: Solution) -> Comparison:
    """The comparison of a solution; raises a `ValueError` if there is none."""
    if solution.comparison is None:
        raise ValueError("solution: got one without a comparison, expected run(..., compare=True)")
    return solution.comparison


def explain(solution: Solution) -> AnswerExplanation:
    """The net's answer in the terms of the problem."""
    return explain_outputs(
        get(solution.algorithm), solution.inputs, solution.outputs, solution.names
    )


def explain_truth(solution: Solution) -> AnswerExplanation:
    """The algorithm's answer in the terms of the problem."""
    outputs = compared(solution).outputs
    return explain_outputs(get(solution.algorithm), solution.inputs, outputs, solution.names)


def explanation_text(solution: Solution) -> str:
    """A solution in words: what was read, the answer, the true one if it differs, the verdict."""
    explained = explain(solution)
    lines = [f"{solution.algorithm}: {solution.read}"]
    truth = explain_truth(solution).pieces if solution.comparison else explained.pieces
    width = max(map(len, explained.pieces))
    for about, text in explained.pieces.items():
        beside = "" if truth.get(about) == text else f"  (algorithm: {truth.get(about, 'nothing')})"
        lines.append(f"{about:{width}}  {text}{beside}".strip())
    lines.append(verdict(solution))
    if solution.comparison and solution.comparison.shares:
        lines.append(agreement(solution))
    return "\n".join(lines)


def answer_texts(outputs: Mapping[str, np.ndarray], solution: Solution) -> dict[str, str]:
    """The net's outputs, or the algorithm's, in words: by node or output, or one piece under ''."""
    algorithm = get(solution.algorithm)
    return dict(explain_outputs(algorithm, solution.inputs, outputs, solution.names).pieces)


def verdict(solution: Solution) -> str:
    """Whether the answer is right, in a sentence."""
    if not solution.right:
        return "The answer is wrong."
    if solution.comparison is None:
        return "The answer is right."
    if answer_texts(solution.outputs, solution) == answer_texts(
        compared(solution).outputs, solution
    ):
        return "The answer is right."
    return "The answer is right, though it is not the algorithm's."


def agreement(solution: Solution) -> str:
    """The share of right hints, the first mistake, and the tolerance."""
    comparison = compared(solution)
    mistake = comparison.first_mistake
    spec = get(solution.algorithm).spec
    has_scalars = any(spec[name].kind == Kind.SCALAR for name in comparison.shares)
    rule = f" Numbers count as right {TOLERANCE_TEXT}." if has_scalars else ""
    if mistake is None:
        return f"All hints are right.{rule}"
    return (
        f"Hints are {math.floor(1000 * comparison.share) / 10} % right. "
        f"First mistake: {mistake_text(mistake)}.{rule}"
    )


def mistake_text(mistake: Mistake) -> str:
    """A mistake in a few words."""
    about = f" of {'-'.join(map(str, mistake.where))}" if mistake.where else ""
    return (
        f"step {mistake.step}, {mistake.hint}{about} is {_text(mistake.got)}, "
        f"not {_text(mistake.expected)}"
    )


def _text(value: Any) -> str:
    """One value of a hint."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
