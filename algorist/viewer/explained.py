"""What the page says about a run: pseudocode and its lines, sentences, and the roles of nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm
from algorist.algorithms.explanations import Explanation, explanation_of
from algorist.algorithms.explanations.explaining import Sentence
from algorist.algorithms.explanations.runs import Role, TracedRun, marked, of_class
from algorist.algorithms.feature_descriptions import describe_feature
from algorist.errors import shorten
from algorist.model.solving.solution import Comparison, Solution
from algorist.model.solving.solution_text import answer_texts
from algorist.spec import Feature, Kind, Location

_SIDES = ("algorithm", "net")
_STYLES = ("known", "done", "other")
_LONGEST_ANSWER = 84


def explained(algorithm: Algorithm, solution: Solution, comparison: Comparison) -> dict[str, Any]:
    """The explanation of both sides, over all steps and for the answer, as JSON has it.

    A plug-in's explanation that fails is a `ValueError` that says where.
    """
    explanation = explanation_of(algorithm) or default_explanation(algorithm)
    try:
        return _explained(explanation, solution, comparison)
    except Exception as error:
        if algorithm.is_part_of_the_package:
            raise
        message = f"{type(error).__name__}: {shorten(str(error))}"
        raise ValueError(
            f"algorithm {algorithm.name}: its explanation failed with {message}"
        ) from error


def _explained(
    explanation: Explanation, solution: Solution, comparison: Comparison
) -> dict[str, Any]:
    names = _names(solution)
    hints = {"algorithm": comparison.hints, "net": {**comparison.hints, **solution.hints}}
    runs = {side: TracedRun(solution.inputs, hints[side], names) for side in _SIDES}
    steps = range(solution.steps)
    own = runs["algorithm"]
    return {
        "pseudocode": explanation.lines,
        "tags": explanation.tags,
        "number": explanation.number,
        "badges": explanation.badges,
        "lines": [explanation.lines_at(own, step) for step in steps],
        "sentences": _sentences(explanation, runs, solution, comparison),
        "roles": [_role(role, runs, steps) for role in explanation.roles],
        "answer": _answer_roles(explanation, solution, comparison, names),
        "shifts": explanation.shift
        and {side: [explanation.shift(run, step) for step in steps] for side, run in runs.items()},
    }


def _names(solution: Solution) -> list[str]:
    """What sentences call the nodes: by letters, in strings."""
    if solution.names is not None:
        return [str(name) for name in solution.names]
    if "string" in solution.inputs:
        return ["abcd"[int(letter)] for letter in solution.inputs["key"]]
    return [str(node) for node in range(len(solution.inputs["pos"]))]


def _sentences(
    explanation: Explanation,
    runs: Mapping[str, TracedRun],
    solution: Solution,
    comparison: Comparison,
) -> dict[str, list[Sentence]] | None:
    """For each side one for each step and one for the answer; none of a net without hints."""
    tell = explanation.tell
    if tell is None:
        return None
    answers = {"algorithm": comparison.outputs, "net": solution.outputs}
    return {
        side: [
            *(tell(run, step) for step in range(solution.steps)),
            ("the answer: {}", _answer(answers[side], solution)),
        ]
        for side, run in runs.items()
        if side == "algorithm" or solution.hints
    }


def _answer(outputs: Mapping[str, np.ndarray], solution: Solution) -> str:
    """As many pieces of an answer as a sentence has room for."""
    texts = answer_texts(outputs, solution)
    pieces = [_piece(name, text) for name, text in texts.items()]
    count = next(k for k in range(len(pieces), 0, -1) if k == 1 or _fits(pieces[:k]))
    more = [f"and {len(pieces) - count} more"] if count < len(pieces) else []
    whole = " · ".join([*pieces[:count], *more])
    return whole if _fits([whole]) or more else f"{whole[:_LONGEST_ANSWER]}…"


def _piece(name: str, text: str) -> str:
    """Of a path, `3: A > B` becomes `3 by A > B`: there is a colon behind the name."""
    if not name:
        return text
    return f"{name}: " + re.sub(r"^(\S+): ", r"\1 by ", text)


def _fits(pieces: Sequence[str]) -> bool:
    return len(" · ".join(pieces)) <= _LONGEST_ANSWER


def _role(role: Role, runs: Mapping[str, TracedRun], steps: Sequence[int]) -> dict[str, Any]:
    """Its nodes at each step, on each side; those that equal the step before are None."""
    return {
        "style": role.style,
        "means": role.means,
        "features": role.nodes.hints,
        **{side: unrepeated([_nodes(role, run, t) for t in steps]) for side, run in runs.items()},
    }


def _nodes(role: Role, run: TracedRun, step: int) -> list[int]:
    return sorted(int(node) for node in role.nodes(run, step) if 0 <= node < run.n)


def unrepeated(steps: list[Any]) -> list[Any]:
    """The values of steps, each that equals the one before it as None."""
    repeated = [False, *(a == b for a, b in pairwise(steps))]
    return [None if same else step for step, same in zip(steps, repeated, strict=True)]


def _answer_roles(
    explanation: Explanation, solution: Solution, comparison: Comparison, names: list[str]
) -> list[dict[str, Any]]:
    outputs = {"algorithm": comparison.outputs, "net": solution.outputs}
    runs = {
        side: TracedRun(solution.inputs, {k: np.asarray(v)[None] for k, v in arrays.items()}, names)
        for side, arrays in outputs.items()
    }
    return [_role(role, runs, range(1)) for role in explanation.answer]


def default_explanation(algorithm: Algorithm) -> Explanation:
    """Of a plug-in that declares none: masks and classes are roles, and tags are told."""
    return Explanation(
        tell=lambda run, step: _tell_tags(algorithm, run, step),
        roles=_default_roles(algorithm, algorithm.spec.hints),
        answer=_default_roles(algorithm, algorithm.spec.outputs),
    )


def _default_roles(algorithm: Algorithm, features: Sequence[Feature]) -> list[Role]:
    styles, found = cycle(_STYLES), []
    for feature in features:
        if feature.location != Location.NODE:
            continue
        means = f"{feature.name}: {describe_feature(algorithm, feature)}"
        if feature.kind == Kind.MASK:
            found.append(Role(next(styles), marked(feature.name), means))
        elif feature.kind == Kind.CATEGORICAL:
            for number in range(1, feature.classes):
                text = f"{feature.name} is {number}"
                found.append(Role(next(styles), of_class(feature.name, number), text))
    return found


def _tell_tags(algorithm: Algorithm, run: TracedRun, step: int) -> Sentence:
    tags = [f.name for f in algorithm.spec.hints if f.kind == Kind.MASK_ONE]
    if not tags:
        return ("step {}", str(step))
    text = ", ".join(f"{name.replace('{', '').replace('}', '')} is {{}}" for name in tags)
    return (text, *(run.called(name, step) for name in tags))
