"""Distributed algorithms of the SALSA-CLRS benchmark (Minder et al., 2023).

Every node does what its neighbours' messages tell it, all at the same time: a step is a round.
"""

import numpy as np

from algorist.algorithms.compiling import clear, compiled, copy
from algorist.algorithms.declaring import SALSA, algorithm
from algorist.algorithms.neighbours import end_of, slots, weight_of
from algorist.algorithms.samplers.graphs import (
    GRAPH,
    GRAPH_AND_SOURCE,
    SPARSE_TRAIN_P,
    TRAIN_P,
    sparse_undirected_with_priorities,
    undirected_with_source,
)
from algorist.algorithms.textbook import point_to_self
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.graph_checks import symmetric, unweighted
from algorist.spec import graph, node


@compiled
def _flood(A, reached_before, reach_h, pi_h, d):
    """Reach the neighbours of all that is reached; whether there were new ones."""
    grown = False
    for u in range(len(reach_h)):
        if not reached_before[u]:
            continue
        for slot in range(slots(A, u)):
            v = end_of(A, u, slot)
            if weight_of(A, u, slot) != 0 and not reach_h[v]:
                reach_h[v] = 1
                pi_h[v] = u
                d[v] = d[u] + 1
                grown = True
    return grown


@compiled
def _echo(flooded_before, done_before, pi_h, d, done, echo):
    """Let nodes answer whose children have all answered; whether one did."""
    n = len(done)
    waits = np.zeros(n, np.int8)
    largest = d.copy()
    for child in range(n):
        parent = pi_h[child]
        if parent != child:
            waits[parent] |= not done_before[child]
            largest[parent] = max(largest[parent], echo[child])
    answered = False
    for v in range(n):
        if flooded_before[v] and not done_before[v] and not waits[v]:
            done[v] = 1
            echo[v] = largest[v]
            answered = True
    return answered


@algorithm(
    "graphs",
    inputs=GRAPH_AND_SOURCE,
    hints={
        "reach_h": node.mask,
        "pi_h": node.pointer,
        "d": node.scalar,
        "flooded": node.mask,
        "done": node.mask,
        "echo": node.scalar,
    },
    outputs={"eccentricity": graph.scalar},
    sampler=undirected_with_source,
    requires=(unweighted, symmetric),
    train_options={"p": TRAIN_P},
    benchmarks=(SALSA,),
    sparse=True,
)
def eccentricity(A, s, reach_h, pi_h, d, flooded, done, echo, eccentricity, trace):
    """Flood the graph from the source, and let the largest distance come back as an echo."""
    n = len(reach_h)
    point_to_self(pi_h)
    reach_h[s[0]] = 1
    reached_before, done_before = np.empty(n, reach_h.dtype), np.empty(n, done.dtype)
    flooded_before = np.empty(n, flooded.dtype)
    changed = True
    while changed:
        record(trace)
        copy(reached_before, reach_h)
        copy(flooded_before, flooded)
        copy(done_before, done)
        answered = _echo(flooded_before, done_before, pi_h, d, done, echo)
        grown = _flood(A, reached_before, reach_h, pi_h, d)
        copy(flooded, reached_before)
        changed = grown or answered or not done[s[0]]
    record(trace)  # once more as it was: the answer is read off what is known
    eccentricity[0] = echo[s[0]]


@compiled
def _join(A, priority, alive, in_set):
    """Let nodes join whose priority is the smallest among their living neighbours'."""
    for u in range(len(alive)):
        joins = alive[u] == 1
        for slot in range(slots(A, u)):
            v = end_of(A, u, slot)
            if u == v or weight_of(A, u, slot) == 0 or not alive[v]:
                continue
            is_smaller = priority[v] < priority[u] or (priority[v] == priority[u] and v < u)
            if is_smaller:
                joins = False
        if joins:
            in_set[u] = 1


@compiled
def _die(A, in_set, alive):
    """Let the members of the set and their neighbours die; whether one is left."""
    left = False
    for u in range(len(alive)):
        dies = in_set[u] == 1
        for slot in range(slots(A, u)):
            if weight_of(A, u, slot) != 0 and in_set[end_of(A, u, slot)]:
                dies = True
        if dies:
            alive[u] = 0
        left |= alive[u] == 1
    return left


@algorithm(
    "graphs",
    inputs={**GRAPH, "priority": node.scalar},
    hints={"alive": node.mask, "in_set_h": node.mask, "phase": graph.mask},
    outputs={"in_set": node.mask},
    sampler=sparse_undirected_with_priorities,
    requires=(unweighted, symmetric),
    train_options={"p": SPARSE_TRAIN_P},
    benchmarks=(SALSA,),
    sparse=True,
)
def maximal_independent_set(A, priority, alive, in_set_h, phase, in_set, trace):
    """Let local minima join the set and their neighbours die, until none is left (Luby, 1986).

    Every node keeps the number that it drew at the start, so the set is that of the greedy
    algorithm in the order of these numbers.
    """
    clear(in_set_h)
    for v in range(len(alive)):
        alive[v] = 1
    left = True
    while left:
        record(trace)
        _join(A, priority, alive, in_set_h)
        phase[0] = 1
        record(trace)
        left = _die(A, in_set_h, alive)
        phase[0] = 0
    record(trace)
    copy(in_set, in_set_h)
