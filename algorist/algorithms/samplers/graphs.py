"""How the graphs are drawn.

The order of the draws is part of the benchmark: changing it changes every published data set.
"""

from __future__ import annotations

import math

import numpy as np

from algorist.algorithms.compiling import compiled
from algorist.algorithms.random import below, fill_coins, fill_uniform, permutation, uniform
from algorist.algorithms.samplers.arrays import checked_range
from algorist.algorithms.sampling import Options, checked_shares, sampler
from algorist.errors import format_count
from algorist.spec import edge, node

GRAPH = {"pos": node.scalar, "A": edge.scalar, "adj": edge.mask}
GRAPH_AND_SOURCE = {
    "pos": node.scalar,
    "s": node.mask_one,
    "A": edge.scalar,
    "adj": edge.mask,
}
"""The inputs that graph algorithms have, in the benchmark's order."""

HEAVIEST = 0.99999
"""The largest weight that users' weights are scaled to. Nets that execute take a graph whose
weights are all 0 or 1 for one without weights."""

TRAIN_P = tuple(0.1 + 0.1 * i for i in range(9))
"""The edge probabilities of the paper's training graphs."""
SPARSE_TRAIN_P = tuple(p / 2 for p in TRAIN_P)
"""The same where dense graphs would leave few answers to find."""


def _checked(n: int, options: Options) -> Options:
    checked_shares(options)
    return checked_range(n, options) if "low" in options else options


def _checked_undirected(n: int, options: Options) -> Options:
    """The weight of an undirected edge is the geometric mean of two, which needs equal signs."""
    if options["low"] < 0 < options["high"]:
        raise ValueError(
            f"options low, high: got {options['low']} and {options['high']}, "
            "expected the same sign: the weights of undirected graphs are geometric means"
        )
    return _checked(n, options)


def _checked_communities(n: int, options: Options) -> Options:
    k = options["k"]
    if n < k == communities.options["k"]:  # as usual: it is n that was chosen
        raise ValueError(
            f"n: got {format_count(n, 'node')}, expected at least {k}: one per community"
        )
    if not 1 <= k <= n:
        raise ValueError(
            f"option k: got {k} communities, expected 1 to {n} for {format_count(n, 'node')}"
        )
    return _checked(n, options)


@compiled
def draw_edges(rng, A, p):
    """Draw one of the probabilities in p, and each directed edge with it."""
    fill_coins(rng, A, p[below(rng, len(p))])


@compiled
def draw_undirected(rng, A, p):
    """Draw edges and keep those for which both directions were drawn."""
    draw_edges(rng, A, p)
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = A[j, i] = A[i, j] * A[j, i]


@compiled
def draw_either(rng, A, p, ood_share):
    """Draw an undirected graph or, with a probability, a directed one; returns whether it is one.

    Where that is 0, as in the benchmark, nothing more is drawn.
    """
    if ood_share > 0 and uniform(rng, 0.0, 1.0) < ood_share:
        draw_edges(rng, A, p)
        return True
    draw_undirected(rng, A, p)
    return False


@compiled
def draw_acyclic(rng, A, p):
    """Draw edges, keep those that go forward, and shuffle the nodes."""
    n = len(A)
    drawn = np.empty((n, n))
    draw_edges(rng, drawn, p)
    shuffled = permutation(rng, n)
    for i in range(n):
        for j in range(n):
            A[i, j] = drawn[shuffled[i], shuffled[j]] if shuffled[i] < shuffled[j] else 0


@compiled
def draw_weights(rng, A, low, high, undirected):
    """Give each edge a weight from U[low, high)."""
    n = len(A)
    weights = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            weights[i, j] = uniform(rng, low, high)
    for i in range(n):
        for j in range(n):
            if undirected:
                A[i, j] *= math.sqrt(weights[i, j] * weights[j, i] + 1e-3)
            else:
                A[i, j] *= weights[i, j]


@compiled
def draw_either_weighted(rng, A, p, low, high, ood_share):
    """Draw a graph as `draw_either` does, and weights; returns whether it is directed."""
    is_directed = draw_either(rng, A, p, ood_share)
    draw_weights(rng, A, low, high, not is_directed)
    return is_directed


@compiled
def add_potentials(rng, A, low, high):
    """Add to each weight the difference of the potentials of its ends, from U[low, high).

    Weights may become negative, but the lengths of cycles do not change.
    """
    n = len(A)
    potentials = np.empty(n)
    fill_uniform(rng, potentials, low, high)
    for i in range(n):
        for j in range(n):
            if i != j and A[i, j] != 0:
                A[i, j] += potentials[j] - potentials[i]


@sampler(settle=_checked)
def directed(rng, A, p=(0.5,)):
    """A directed graph."""
    draw_edges(rng, A, p)


@sampler(settle=_checked)
def directed_acyclic(rng, A, p=(0.5,)):
    """A directed graph without cycles."""
    draw_acyclic(rng, A, p)


@sampler(settle=_checked)
def undirected_with_source(rng, A, s, p=(0.5,)):
    """An undirected graph and a source node."""
    draw_undirected(rng, A, p)
    s[0] = below(rng, len(A))


@sampler(settle=_checked)
def with_source(rng, A, s, p=(0.5,), ood_share=0.0):
    """A graph, undirected in the benchmark, and a source node."""
    draw_either(rng, A, p, ood_share)
    s[0] = below(rng, len(A))


@sampler(settle=_checked)
def sparse_undirected(rng, A, p=(0.2,)):
    """An undirected graph of few edges."""
    draw_undirected(rng, A, p)


@sampler(settle=_checked)
def sparse_undirected_with_priorities(rng, A, priority, p=(0.2,)):
    """An undirected graph of few edges, and a random number for each node."""
    draw_undirected(rng, A, p)
    for v in range(len(priority)):
        priority[v] = uniform(rng, 0.0, 1.0)


@sampler(settle=_checked_undirected)
def sparse_undirected_weighted(rng, A, p=(0.2,), low=0.0, high=1.0):
    """An undirected graph of few edges, with weights."""
    draw_undirected(rng, A, p)
    draw_weights(rng, A, low, high, True)


@sampler(settle=_checked_undirected)
def weighted(rng, A, p=(0.5,), low=0.0, high=1.0, ood_share=0.0):
    """A graph with weights, undirected in the benchmark.

    Half of the directed ones have negative weights, but no negative cycles.
    """
    is_directed = draw_either_weighted(rng, A, p, low, high, ood_share)
    if is_directed and uniform(rng, 0.0, 1.0) < 0.5:
        add_potentials(rng, A, low, high)


@sampler(settle=_checked_undirected)
def undirected_weighted_with_source(rng, A, s, p=(0.5,), low=0.0, high=1.0):
    """An undirected graph with weights, and a source node."""
    draw_undirected(rng, A, p)
    draw_weights(rng, A, low, high, True)
    s[0] = below(rng, len(A))


@sampler(settle=_checked_undirected)
def weighted_with_source(rng, A, s, p=(0.5,), low=0.0, high=1.0, ood_share=0.0):
    """A graph with weights, undirected in the benchmark, and a source node."""
    draw_either_weighted(rng, A, p, low, high, ood_share)
    s[0] = below(rng, len(A))


@sampler(settle=_checked)
def acyclic_weighted_with_source(rng, A, s, p=(0.5,), low=0.0, high=1.0):
    """A directed graph without cycles, with weights, and a source node."""
    draw_acyclic(rng, A, p)
    draw_weights(rng, A, low, high, False)
    s[0] = below(rng, len(A))


@sampler(settle=_checked_communities)
def communities(rng, A, k=4, p=(0.5,), eps=0.01):
    """k communities in a row, a few edges toggled inside and forward, and the nodes shuffled.

    Backward edges between communities are left out: they would close new cycles.
    """
    n = len(A)
    size = n // k  # the last one takes the rest
    chance = p[below(rng, len(p))]
    drawn = np.zeros((n, n))
    for c in range(k):
        first, end = c * size, (c + 1) * size if c < k - 1 else n
        fill_coins(rng, drawn[first:end, first:end], chance)
    toggled = np.empty((n, n))
    fill_coins(rng, toggled, eps)
    shuffled = permutation(rng, n)
    for i in range(n):
        for j in range(n):
            u, v = shuffled[i], shuffled[j]
            backward = min(u // size, k - 1) > min(v // size, k - 1)
            A[i, j] = drawn[u, v] if backward or not toggled[u, v] else 1 - drawn[u, v]
