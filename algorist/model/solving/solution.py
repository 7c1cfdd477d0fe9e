"""The solution of a user's problem by a learner, with the algorithm's for comparison."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorist.algorithms.answer_checks import is_close
from algorist.errors import shorten
from algorist.spec import MASKED, Feature, Kind

Arrays = Mapping[str, np.ndarray]

_NODES = (Kind.MASK_ONE, Kind.POINTER, Kind.SHOULD_BE_PERMUTATION)


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The answer of a learner, and how it came to it.

    Arrays hold one number a value: a `mask_one` is the index of its node, a categorical value the
    number of its class, -1 an entry that does not count.
    """

    algorithm: str
    answer: Any
    """In the form that people expect: a sorted array, an index, a mask; by name where nodes have
    names."""
    right: bool
    """Whether it is a right answer, also where the algorithm finds another."""
    outputs: Arrays
    """The output features that make up the answer."""
    hints: Arrays
    """(steps, ...): the predicted trajectory. Its first step is given to the net, not predicted,
    and how long it is is the algorithm's to say."""
    confidence: Arrays
    """How probable the net holds each value that it predicts, from 0 to 1: for outputs and hints by
    their names, in their shapes, of all kinds but scalars; nan at the step that was given."""
    steps: int
    inputs: Arrays
    """The problem."""
    names: tuple[Hashable, ...] | None = None
    """The names of the nodes: the nodes of a graph, the letters of texts."""
    read: str = ""
    """A summary of the input: 5 nodes, 7 undirected edges, weights from 'length'."""
    comparison: Comparison | None = None
    """The algorithm's solution, if asked for."""

    def explain(self) -> str:
        """The answer in the terms of the problem, in several lines.

        What was read, the answer (for shortest paths the distance and the path to each node),
        whether it is right and, with `compare`, what the algorithm says where it differs.
        """
        from algorist.model.solving.solution_text import explanation_text

        return explanation_text(self)

    def __repr__(self) -> str:
        found = "right" if self.right else "wrong"
        return f"Solution({self.algorithm}: {shorten(self.answer)}, {found}; {self.read})"

    def _repr_html_(self) -> str:
        from algorist.model.solving.solution_pictures import solution_html

        return solution_html(self)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The algorithm's own answer and trajectory, and where the learner's differ."""

    answer: Any
    outputs: Arrays
    hints: Arrays
    """(steps, ...): all of the algorithm's, those too that nets are given or not asked for."""
    wrong: Arrays
    """(steps, ...): the predictions that differ; scalars may be off by `TOLERANCE`, 5 %, of the
    largest true one."""
    shares: Arrays
    """(steps,): the share of each hint's values that is right; nan where none counts."""
    first_mistake: Mistake | None
    """The earliest wrong prediction."""

    def __repr__(self) -> str:
        return f"Comparison({shorten(self.answer)}, first_mistake={self.first_mistake})"

    @property
    def share(self) -> float:
        """The share of the hints that is right, over all steps that the net predicts."""
        known = [s for shares in self.shares.values() for s in shares[1:] if not np.isnan(s)]
        return float(np.mean(known)) if known else float("nan")


@dataclass(frozen=True)
class Mistake:
    """A prediction that is wrong."""

    step: int
    hint: str
    where: tuple[Hashable, ...]
    """The node, or the pair of nodes, that it is about; empty if it is about the whole graph."""
    got: Any
    expected: Any


def wrong_values(feature: Feature, got: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """A mask of the values of a hint that differ from the truth and are not masked."""
    if feature.kind == Kind.SCALAR:
        return ~is_close(got, truth)
    return np.asarray((got != truth) & counts(feature, truth))


def counts(feature: Feature, truth: np.ndarray) -> np.ndarray:
    """A mask of the values of a hint or an output that are not masked."""
    masked = feature.kind in (Kind.MASK, Kind.CATEGORICAL)
    return truth != MASKED if masked else np.ones_like(truth, dtype=bool)


def right_shares(feature: Feature, wrong: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The share of right values at each step, (steps,)."""
    counted = counts(feature, truth).reshape(len(truth), -1).sum(1)
    errors = wrong.reshape(len(wrong), -1).sum(1)
    return np.where(counted > 0, 1 - errors / np.maximum(counted, 1), np.nan)


def first_mistake(
    features: Sequence[Feature],
    wrong: Arrays,
    got: Arrays,
    truth: Arrays,
    names: Sequence[Hashable] | None,
) -> Mistake | None:
    """The earliest of all wrong predictions; of several at one step, that of the first hint."""
    found = [(np.argwhere(wrong[f.name])[0], f) for f in features if wrong[f.name].any()]
    if not found:
        return None
    (step, *where), feature = min(found, key=lambda mistake: int(mistake[0][0]))
    place = (step, *where)
    return Mistake(
        int(step),
        feature.name,
        tuple(_node_name(int(i), names) for i in where),
        _plain_value(feature, got[feature.name][place], names),
        _plain_value(feature, truth[feature.name][place], names),
    )


def _node_name(node: int, names: Sequence[Hashable] | None) -> Hashable:
    return names[node] if names is not None and 0 <= node < len(names) else node


def _plain_value(feature: Feature, value: Any, names: Sequence[Hashable] | None) -> Any:
    """A single value as people call it: nodes by their names, masks as truths."""
    if feature.kind in _NODES:
        return _node_name(int(value), names)
    return bool(value > 0) if feature.kind == Kind.MASK else value.item()
