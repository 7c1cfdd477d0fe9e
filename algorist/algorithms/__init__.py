"""The thirty algorithms of CLRS-30, two more of SALSA-CLRS, and those that users add."""

from __future__ import annotations

from algorist.algorithms import (
    distributed,
    divide_and_conquer,
    dynamic_programming,
    geometry,
    graph_search,
    greedy,
    searching,
    shortest_paths,
    sorting,
    spanning_trees,
    strings,
)
from algorist.algorithms.declaring import CLRS30, SALSA, Algorithm, algorithm
from algorist.errors import UnregisteredError, shorten, unknown
from algorist.registry import registry

_FAMILIES = (
    sorting,
    searching,
    divide_and_conquer,
    greedy,
    dynamic_programming,
    graph_search,
    shortest_paths,
    spanning_trees,
    strings,
    geometry,
    distributed,
)

_BENCHMARKS = (CLRS30, SALSA)

_registry: dict[str, Algorithm] = registry("algorithm", {})


def register(new: Algorithm) -> Algorithm:
    """Make an algorithm known by its name, to `get` and to every command."""
    if not isinstance(new, Algorithm):
        raise ValueError(f"register: got {shorten(new)}, expected what @algorithm(...) makes")
    if new.name in _registry and _registry[new.name] is not new:
        raise ValueError(f"there is an algorithm {new.name!r} already: give yours another name")
    _registry[new.name] = new
    return new


def algorithms(benchmark: str = CLRS30) -> list[str]:
    """The names of the algorithms of a benchmark, in alphabetical order.

    Those that users add stand with the thirty of CLRS-30.
    """
    if benchmark not in _BENCHMARKS:
        raise ValueError(unknown("benchmark", benchmark, _BENCHMARKS))
    return sorted(name for name, own in _registry.items() if benchmark in own.benchmarks)


def names() -> list[str]:
    """The names of all algorithms, of whichever benchmark, in alphabetical order."""
    return sorted(_registry)


def get(name: str) -> Algorithm:
    """The declaration of an algorithm."""
    if name not in _registry:
        raise UnregisteredError("algorithm", name, _registry)
    return _registry[name]


def declared(algorithm: str | Algorithm) -> Algorithm:
    """The declaration of an algorithm that is given by itself or by its name."""
    return algorithm if isinstance(algorithm, Algorithm) else get(algorithm)


for _family in _FAMILIES:
    for _value in vars(_family).values():
        if isinstance(_value, Algorithm):
            register(_value)

__all__ = [
    "CLRS30",
    "SALSA",
    "Algorithm",
    "algorithm",
    "algorithms",
    "declared",
    "get",
    "names",
    "register",
]
