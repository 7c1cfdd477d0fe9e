"""What explanations and pictures are made from: a traced run, and rules that find its nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class TracedRun:
    """A trajectory with one number for each value: nodes and classes are given by their index.

    It may be an algorithm's or a net's. A net's need not make sense, so nothing here raises on
    pointers that form no order or on a `mask_one` of -1.
    """

    inputs: Arrays
    hints: Arrays
    """(steps, ...)."""
    names: Sequence[str]
    """What the nodes are called; letters, for strings."""
    _orders: dict[tuple[str, int], list[int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.names)

    @property
    def steps(self) -> int:
        """How many steps were recorded."""
        return len(next(iter(self.hints.values())))

    def node(self, hint: str, step: int) -> int:
        """The node that a `mask_one` has at a step, or the class of the whole graph."""
        return int(self.hints[hint][step])

    def called(self, hint: str, step: int) -> str:
        """The name of the node that a `mask_one` has at a step."""
        return self.name(self.node(hint, step))

    def name(self, node: int) -> str:
        """What a node is called."""
        return self.names[node] if 0 <= node < self.n else "none"

    def number(self, feature: str, node: int, step: int | None = None) -> str:
        """A node's number as text: that of a hint at a step, or that of an input."""
        values = self.inputs[feature] if step is None else self.hints[feature][step]
        return format_number(float(values[node]))

    def is_set(self, hint: str, step: int, *place: int) -> bool:
        """Whether a mask is set, of the whole graph, at a node or at a pair of nodes."""
        return bool(self.hints[hint][step][place] > 0)

    def changed(self, hint: str, step: int) -> list[int]:
        """The nodes at which a hint differs from the step before."""
        if step == 0:
            return []
        now, before = self.hints[hint][step], self.hints[hint][step - 1]
        return np.flatnonzero(now != before).tolist()

    def added(self, mask: str, step: int) -> list[int]:
        """The nodes that a mask has, and at the step before had not."""
        return [node for node in self.changed(mask, step) if self.is_set(mask, step, node)]

    def order(self, hint: str | None, step: int) -> list[int]:
        """The nodes as a pointer chains them, each to the one before it; else as numbered.

        Nodes that the chain leaves out come last.
        """
        if hint is None:
            return list(range(self.n))
        if (hint, step) not in self._orders:
            self._orders[hint, step] = _chained(self.hints[hint][step].tolist())
        return self._orders[hint, step]


def _chained(pointers: list[int]) -> list[int]:
    after: dict[int, int] = {}
    node = next((node for node, pointee in enumerate(pointers) if node == pointee), -1)
    for each, pointee in enumerate(pointers):
        if each != pointee:
            after.setdefault(pointee, each)
    order: dict[int, None] = {}
    while node >= 0 and node not in order:
        order[node] = None
        node = after.get(node, -1)
    return [*order, *(other for other in range(len(pointers)) if other not in order)]


def format_number(value: float) -> str:
    """A number with as many digits as a sentence needs."""
    return f"{value:.3g}" if abs(value) >= 5e-4 else "0"


_MOST_WORDS = 4
"""As many as a list in a sentence has at most."""


def listed(words: Iterable[str]) -> str:
    """Words as a sentence has them: A, B and C; A, B, C and 5 more."""
    *most, last = list(words) or ["nothing"]
    if len(most) >= _MOST_WORDS:
        return f"{', '.join(most[: _MOST_WORDS - 1])} and {len(most) + 2 - _MOST_WORDS} more"
    return f"{', '.join(most)} and {last}" if most else last


@dataclass(frozen=True)
class Nodes:
    """A rule that finds some nodes of a run at a step."""

    find: Callable[[TracedRun, int], Collection[int]]
    hints: tuple[str, ...] = ()
    """The hints that it looks at."""

    def __call__(self, run: TracedRun, step: int) -> Collection[int]:
        """The nodes at a step."""
        return self.find(run, step)


@dataclass(frozen=True)
class Role:
    """What some nodes are to the algorithm at a step; of several, the last that fits is shown."""

    style: str
    """`known` (waiting, reached, possible), `busy` (at hand), `done` (final), `other` or, for the
    parts of an answer, `group0` to `group5`."""
    nodes: Nodes
    means: str


def at(*hints: str) -> Nodes:
    """The nodes that hints name, one each."""
    return Nodes(lambda run, step: {run.node(hint, step) for hint in hints}, hints)


def marked(mask: str) -> Nodes:
    """The nodes of a mask."""
    return Nodes(lambda run, step: np.flatnonzero(run.hints[mask][step] > 0).tolist(), (mask,))


def of_class(hint: str, number: int) -> Nodes:
    """The nodes of a class."""
    return Nodes(
        lambda run, step: np.flatnonzero(run.hints[hint][step] == number).tolist(), (hint,)
    )


def newly_marked(mask: str) -> Nodes:
    """The nodes that a mask has since this step."""
    return Nodes(lambda run, step: run.added(mask, step), (mask,))


def span(first: str, last: str, order: str | None = None) -> Nodes:
    """The nodes from one hint's to another's, both included, in an order."""

    def find(run: TracedRun, step: int) -> Collection[int]:
        nodes = run.order(order, step)
        start, stop = (_place(nodes, run.node(hint, step)) for hint in (first, last))
        return nodes[start : stop + 1]

    return Nodes(find, (first, last))


def before(hint: str, order: str | None = None) -> Nodes:
    """The nodes before a hint's, in an order."""

    def find(run: TracedRun, step: int) -> Collection[int]:
        nodes = run.order(order, step)
        return nodes[: _place(nodes, run.node(hint, step))]

    return Nodes(find, (hint,))


def after(hint: str, order: str | None = None) -> Nodes:
    """The nodes after a hint's, in an order."""

    def find(run: TracedRun, step: int) -> Collection[int]:
        nodes = run.order(order, step)
        return nodes[_place(nodes, run.node(hint, step)) + 1 :]

    return Nodes(find, (hint,))


def up_to(hint: str, order: str | None = None) -> Nodes:
    """The nodes up to a hint's and with it, in an order."""

    def find(run: TracedRun, step: int) -> Collection[int]:
        nodes = run.order(order, step)
        return nodes[: _place(nodes, run.node(hint, step)) + 1]

    return Nodes(find, (hint,))


def group(pointer: str, turn: int, turns: int) -> Nodes:
    """The nodes of every `turns`-th group: those that point to the same node, from `turn` on."""

    def find(run: TracedRun, step: int) -> Collection[int]:
        pointers = run.hints[pointer][step]
        heads = list(dict.fromkeys(pointers.tolist()))
        chosen = [head for i, head in enumerate(heads) if i % turns == turn]
        return np.flatnonzero(np.isin(pointers, chosen)).tolist()

    return Nodes(find, (pointer,))


def _place(nodes: list[int], node: int) -> int:
    return nodes.index(node) if node in nodes else 0


def style_of(roles: Collection[Role], run: TracedRun, step: int) -> dict[int, str]:
    """The style of each node at a step; `plain` for those that have no role."""
    styles = dict.fromkeys(range(run.n), "plain")
    for role in roles:
        styles |= dict.fromkeys(role.nodes(run, step), role.style)
    return styles


def tags_of(hints: Collection[str], run: TracedRun, step: int) -> dict[int, str]:
    """The names of the hints that name each node at a step."""
    tags: dict[int, list[str]] = {}
    for hint in hints:
        tags.setdefault(run.node(hint, step), []).append(hint)
    return {node: " ".join(names) for node, names in tags.items()}
