"""The edges of a user's graph, whatever form they came in, and the choice of their weights."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from algorist.errors import LARGEST_WHOLE, expect_exact, shorten, unknown


class Unset:
    """The type of `UNSET`: `weight=None` has a meaning of its own."""


UNSET = Unset()

WEIGHT_LIKE = (
    *("length", "len", "distance", "dist", "cost", "price", "time", "travel_time", "duration"),
    *("w", "wt", "value", "capacity", "km", "miles", "metres", "meters", "minutes", "hours"),
    *("seconds", "edge_attr", "weight", "weights", "edge_weight", "edge_weights"),
)
"""Attributes that look like weights: where one of these is not named, the graph is refused."""


@dataclass(frozen=True)
class GraphOptions:
    """What a user says about a graph beside the graph itself."""

    weight: str | Unset | None = UNSET
    """The attribute or column that holds the weights; None: every edge weighs 1."""
    directed: bool | None = None
    edge_weight: Any = None
    """The weights of an `edge_index`, one for each of its columns."""
    weighted: bool = True
    """Whether the algorithm uses weights."""
    place: str = "A"
    """What error messages call the graph: the input, or the name of a file."""


@dataclass(frozen=True)
class FileGraph:
    """A graph in a file: a value of one of the other forms, and what messages call the file."""

    path: str
    value: Any


@dataclass(frozen=True)
class EdgeList:
    """The edges as they are listed."""

    names: tuple[Hashable, ...] | None
    """What the nodes are called; None: they are numbered."""
    n: int
    ends: np.ndarray
    """(E, 2): from and to, by index."""
    weights: np.ndarray | None = None
    """(E,); None: there are none."""
    weights_from: str = ""
    directed: bool | None = None
    """True: every edge is listed in the direction in which it leads. False: the graph says that its
    edges lead both ways. None: nobody has said."""
    place: Callable[[int], str] = lambda edge: "A"
    """Where an edge is, for error messages."""
    parallel: bool = False
    """Whether several edges between two nodes are meant to be there."""
    unused: tuple[str, ...] = ()
    """Numeric attributes that are no weights."""

    def name(self, node: int) -> Hashable:
        """What the user calls a node."""
        return int(node) if self.names is None else self.names[node]

    def refuse(self, edge: int, got: str, expected: str) -> NoReturn:
        """Raise an error that names the edge and where it is."""
        one, other = (shorten(self.name(node)) for node in self.ends[edge])
        raise ValueError(f"{self.place(edge)}: got {got} from {one} to {other}, {expected}")


def index_nodes(
    ends: Sequence[Sequence[Hashable]],
    place: Callable[[int], str],
    first: Iterable[tuple[Hashable, str]] = (),
) -> tuple[tuple[Hashable, ...], np.ndarray]:
    """The names of all nodes, in order of appearance, and the edges by their indices.

    Nodes in `first`, each with its place, come first, in their order, with or without edges. Two
    names that read the same, such as 1 and '1', are refused.
    """
    index: dict[Hashable, int] = {}
    where = "A"
    for name, where in first:
        index.setdefault(_checked_name(name, where), len(index))
    numbered = np.zeros((len(ends), 2), np.int64)
    for i, pair in enumerate(ends):
        for side, name in enumerate(pair):
            checked = _checked_name(name, place(i))
            numbered[i, side] = index.setdefault(checked, len(index))
    _refuse_twins(index, place(0) if ends else where)
    return tuple(index), numbered


def _checked_name(name: Any, place: str) -> Hashable:
    name = name.item() if isinstance(name, np.generic) else name
    missing = name is None or name == "" or (isinstance(name, float) and name != name)
    if missing or not isinstance(name, Hashable) or isinstance(name, bool):
        raise ValueError(f"{place}: got the node {shorten(name)}, expected a name or a number")
    return name


def _refuse_twins(names: Iterable[Hashable], place: str) -> None:
    seen: dict[str, Hashable] = {}
    for name in names:
        twin = seen.setdefault(str(name), name)
        if twin != name:
            raise ValueError(
                f"{place}: got two nodes that read the same, {twin!r} and {name!r}, "
                "expected one or the other"
            )


def parse_weight(value: Any, place: str, what: str = "") -> float:
    """A weight as a number; inf stands for no edge."""
    weight = value.item() if hasattr(value, "item") else value
    text = str(weight).strip().lower().lstrip("+")
    try:
        number = float(weight)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    is_infinite = number == np.inf and text not in ("inf", "infinity")
    if np.isnan(number) or number == -np.inf or is_infinite or isinstance(weight, bool):
        raise ValueError(f"{place}: got {shorten(weight)}{what}, expected a finite number")
    if abs(number) >= LARGEST_WHOLE and (isinstance(weight, int) or text.lstrip("-").isdecimal()):
        expect_exact(place, int(weight), "use a larger unit")
    return number


def choose_weights(
    columns: Mapping[str, Sequence[Any]],
    options: GraphOptions,
    refuse_edge: Callable[[int, str, str], NoReturn],
) -> tuple[str | None, tuple[str, ...]]:
    """Which attribute holds the weights, if any, and which numeric ones are not used.

    `columns` has a value for each edge, `UNSET` where an edge lacks the attribute.
    """
    numeric = tuple(name for name, values in columns.items() if any(map(_is_number, values)))
    chosen = options.weight
    if chosen is None or (not options.weighted and isinstance(chosen, Unset)):
        return None, numeric
    if isinstance(chosen, Unset):
        alike = [name for name in columns if str(name).lower() == "weight"]  # Weight, as From
        chosen = "weight" if "weight" in columns else alike[0] if len(alike) == 1 else None
    elif chosen not in columns:
        message = unknown("edge attribute", chosen, map(str, columns))
        raise ValueError(f"{options.place}: weight: {message}")
    if chosen is None:
        like = [name for name in numeric if str(name).lower() in WEIGHT_LIKE]
        if like:
            raise ValueError(
                f"{options.place}: got edges with {like[0]!r} and no 'weight', expected "
                f"weight={like[0]!r} (--weight {like[0]}) if these are the weights, or weight=None "
                "(--weight none) if every edge weighs 1"
            )
        return None, numeric
    for edge, value in enumerate(columns[chosen]):
        if value is UNSET:
            refuse_edge(edge, f"no {chosen!r} for the edge", "expected one for every edge")
    return chosen, tuple(name for name in numeric if name != chosen)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
