"""Graphs as compiled code reads them: a matrix, or the lists of neighbours of a sparse graph.

An algorithm that looks at the edges of a node through these functions runs on both. The slots of a
node are what it may have edges to: in a matrix all nodes, in a list its neighbours, in the order of
their numbers. A slot of weight 0 is no edge.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload


class Neighbours(NamedTuple):
    """The neighbours of all nodes of a graph, side by side: those of node u from starts[u] on."""

    starts: np.ndarray  # (n + 1,)
    ends: np.ndarray  # (slots,)
    weights: np.ndarray  # (slots,)


def slots(A: Any, u: int) -> int:
    """How many slots node u has."""
    return A.shape[1] if isinstance(A, np.ndarray) else A.starts[u + 1] - A.starts[u]


def slot_after(A: Any, u: int, v: int) -> int:
    """The first slot of node u that leads to a node after v."""
    if isinstance(A, np.ndarray):
        return v + 1
    here = A.ends[A.starts[u] : A.starts[u + 1]]
    return int(np.searchsorted(here, v, side="right"))


def end_of(A: Any, u: int, slot: int) -> int:
    """The node that a slot of node u leads to."""
    return slot if isinstance(A, np.ndarray) else A.ends[A.starts[u] + slot]


def weight_of(A: Any, u: int, slot: int) -> float:
    """The weight of the edge in a slot of node u, 0 if there is none."""
    return A[u, slot] if isinstance(A, np.ndarray) else A.weights[A.starts[u] + slot]


@overload(slots)
def _slots(A, u):
    if isinstance(A, types.Array):
        return lambda A, u: A.shape[1]
    return lambda A, u: A.starts[u + 1] - A.starts[u]


@overload(slot_after)
def _slot_after(A, u, v):
    if isinstance(A, types.Array):
        return lambda A, u, v: v + 1

    def search(A, u, v):
        low, high = A.starts[u], A.starts[u + 1]
        while low < high:
            middle = (low + high) // 2
            if A.ends[middle] <= v:
                low = middle + 1
            else:
                high = middle
        return low - A.starts[u]

    return search


@overload(end_of)
def _end_of(A, u, slot):
    if isinstance(A, types.Array):
        return lambda A, u, slot: slot
    return lambda A, u, slot: A.ends[A.starts[u] + slot]


@overload(weight_of)
def _weight_of(A, u, slot):
    if isinstance(A, types.Array):
        return lambda A, u, slot: A[u, slot]
    return lambda A, u, slot: A.weights[A.starts[u] + slot]
