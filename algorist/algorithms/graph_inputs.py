"""How the graphs are drawn.

The order of the draws is part of the benchmark: changing it changes every published data set.
"""

from __future__ import annotations

import math

import numpy as np

from algorist.algorithms.array_inputs import checked_range
from algorist.algorithms.compiling import compiled
from algorist.algorithms.random import below, fill_coins, uniform
from algorist.algorithms.sampling import Options, sampler

TRAIN_P = tuple(0.1 + 0.1 * i for i in range(9))
"""The edge probabilities of the paper's training graphs."""


def _checked(n: int, options: Options) -> Options:
    if any(not 0 <= p <= 1 for p in options["p"]):
        raise ValueError(f"option p: got {options['p']}, expected probabilities from 0 to 1")
    return checked_range(n, options) if "low" in options else options


@compiled
def make_undirected(A):
    """Keep an edge only where both directions were drawn."""
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = A[j, i] = A[i, j] * A[j, i]


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


@sampler(settle=_checked)
def undirected_weighted_with_source(rng, A, s, p=(0.5,), low=0.0, high=1.0):
    """An undirected graph with weights, and a source node."""
    fill_coins(rng, A, p[below(rng, len(p))])
    make_undirected(A)
    draw_weights(rng, A, low, high, True)
    s[0] = below(rng, len(A))
