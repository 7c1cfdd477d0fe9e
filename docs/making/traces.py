"""What pictures are drawn from: a run on a small problem, and ways to name some of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import algorist
from algorist.algorithms.format_answers import compact

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Trace:
    """A run of an algorithm, with one number for each value: nodes and classes by their index."""

    algorithm: algorist.Algorithm
    inputs: Arrays
    hints: Arrays
    """(steps, ...)."""
    steps: int

    @classmethod
    def of(cls, name: str, problem: Mapping[str, Any]) -> Trace:
        """The run on a problem of one's own."""
        algorithm = algorist.get(name)
        batch = algorithm.trace(**problem)
        inputs = {f.name: compact(f, batch.inputs[f.name])[0] for f in algorithm.spec.inputs}
        hints = {f.name: compact(f, batch.hints[f.name])[:, 0] for f in algorithm.spec.hints}
        return cls(algorithm, inputs, hints, int(batch.lengths[0]))

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.inputs["pos"])

    def node(self, hint: str, step: int) -> int:
        """The node that a `mask_one` has at a step."""
        return int(self.hints[hint][step])

    def order(self, hint: str | None, step: int) -> list[int]:
        """The nodes as a hint chains them, each pointing to the one before; else as numbered."""
        if hint is None:
            return list(range(self.n))
        before = self.hints[hint][step]
        (first,) = np.flatnonzero(before == np.arange(self.n))
        after = {int(b): a for a, b in enumerate(before) if a != b}
        order = [int(first)]
        while order[-1] in after:
            order.append(after[order[-1]])
        return order


Where = Callable[[Trace, int], Collection[int]]
"""Some nodes of a trace, at a step."""


@dataclass(frozen=True)
class Tone:
    """How some nodes are shown, and what that says; of several, the last that fits has its way."""

    style: str
    where: Where
    means: str


def at(hint: str) -> Where:
    """The one node that a hint names."""
    return lambda trace, step: {trace.node(hint, step)}


def marked(hint: str) -> Where:
    """The nodes of a mask."""
    return lambda trace, step: np.flatnonzero(trace.hints[hint][step] > 0).tolist()


def of_class(hint: str, number: int) -> Where:
    """The nodes of a class."""
    return lambda trace, step: np.flatnonzero(trace.hints[hint][step] == number).tolist()


def span(first: str, last: str, order: str | None = None) -> Where:
    """The nodes from one hint's to another's, both included, in an order."""

    def between(trace: Trace, step: int) -> Collection[int]:
        nodes = trace.order(order, step)
        start, stop = (nodes.index(trace.node(hint, step)) for hint in (first, last))
        return nodes[start : stop + 1]

    return between


def before(hint: str, order: str | None = None) -> Where:
    """The nodes before a hint's, in an order."""

    def nodes_before(trace: Trace, step: int) -> Collection[int]:
        nodes = trace.order(order, step)
        return nodes[: nodes.index(trace.node(hint, step))]

    return nodes_before


def after(hint: str, order: str | None = None) -> Where:
    """The nodes after a hint's, in an order."""

    def nodes_after(trace: Trace, step: int) -> Collection[int]:
        nodes = trace.order(order, step)
        return nodes[nodes.index(trace.node(hint, step)) + 1 :]

    return nodes_after


def style_of(tones: Collection[Tone], trace: Trace, step: int) -> dict[int, str]:
    """The style of each node at a step."""
    styles = dict.fromkeys(range(trace.n), "plain")
    for tone in tones:
        styles |= dict.fromkeys(tone.where(trace, step), tone.style)
    return styles


def tags_of(hints: Collection[str], trace: Trace, step: int) -> dict[int, str]:
    """The names of the hints that name each node at a step."""
    tags: dict[int, list[str]] = {}
    for hint in hints:
        tags.setdefault(trace.node(hint, step), []).append(hint)
    return {node: " ".join(names) for node, names in tags.items()}
