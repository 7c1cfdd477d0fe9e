"""Random problems for the page: those of `algorist run`, unless there is little to see in them.

The benchmark's sparse graphs of nine nodes often have no edge at all, and its patterns of one
letter match at once. Where that happens another problem is drawn, with more edges or a longer
pattern. Nothing that a net is trained or measured on is drawn here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm
from algorist.algorithms.user_inputs.problems import draw_problem

Inputs = Mapping[str, Any]

_ATTEMPTS = 40
_EDGES_PER_NODE = 1.3
_JOINED = 0.8
"""The share of the nodes that the largest part of a graph should have."""
_REACHED = 0.6
"""The share of the nodes to which there should be a way from the source."""
_FEWEST_STEPS = 5


def draw_interesting(algorithm: Algorithm, n: int, seed: int) -> Inputs:
    """The inputs of a random problem in which there is something to see.

    The first attempt is the problem of `algorist run ... --random n --seed seed`. If none of
    the attempts shows much, the one that shows most is returned.
    """
    best, most = draw_problem(algorithm, n, seed), -1.0
    for attempt in range(_ATTEMPTS):
        options = _denser(algorithm, n) if attempt else {}
        problem = draw_problem(algorithm, n, [seed, attempt], options) if attempt else best
        shown = _interest(algorithm, problem)
        if shown >= 1:
            return problem
        if shown > most:
            best, most = problem, shown
    return best


def _denser(algorithm: Algorithm, n: int) -> dict[str, Any]:
    """Options under which graphs hang together and patterns have several letters."""
    known = algorithm.sampler.options
    wanted: dict[str, Any] = {}
    if "p" in known and "k" not in known:
        share = min(1.0, 2 * _EDGES_PER_NODE / max(n - 1, 1))
        undirected = algorithm.sampler.draw.__name__.startswith(("undirected", "sparse_undirected"))
        # An undirected edge has to be drawn both ways, one of an acyclic graph forward.
        wanted["p"] = (math.sqrt(share) if undirected else share,)
    if "eps" in known:
        wanted["eps"] = 0.1
    if "length_needle" in known and n >= 7:
        wanted["length_needle"] = max(2, n // 4)
    return wanted


def _interest(algorithm: Algorithm, problem: Inputs) -> float:
    """How much there is to see, 1 or more if it is enough."""
    if "string" in problem:
        steps = int(algorithm.trace(**problem).lengths[0])
        return steps / _FEWEST_STEPS
    if "A" not in problem:
        return 1.0
    edges = np.asarray(problem["A"]) != 0
    joined = max(len(_reachable(edges | edges.T, u)) for u in range(len(edges))) / len(edges)
    if "s" not in problem:
        return joined / _JOINED
    source = int(np.argmax(problem["s"]))
    reached = len(_reachable(edges, source)) / len(edges)
    return min(joined / _JOINED, reached / _REACHED)


def _reachable(edges: np.ndarray, start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        new = set(np.flatnonzero(edges[waiting.pop()]).tolist()) - found
        found |= new
        waiting += new
    return found
