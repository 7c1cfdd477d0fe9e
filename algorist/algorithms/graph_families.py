"""Families of sparse graphs, with the parameters of SALSA-CLRS (Minder et al., 2023).

All graphs are connected: those that are not are drawn again.

- `er` (Erdős and Rényi): each edge with probability p, from ln n / n to 3 ln n / n. Training graphs
  have the p of n = 16 at all sizes.
- `ws` (Watts and Strogatz): a ring whose nodes have 4, 6 or 8 neighbours each; an edge leads
  elsewhere with probability p, from 0.05 to 0.2.
- `delaunay`: the Delaunay triangulation of random points in a square.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from algorist.algorithms.declaring import Algorithm
from algorist.algorithms.sparse_tracing import expect_sparse, trace_graphs
from algorist.errors import expect_positive, unknown
from algorist.sparse_batch import SparseBatch, SparseGraphs
from algorist.spec import Kind, Location

Draw = Callable[[np.random.RandomState, int], np.ndarray]

TRAIN_N = 16
"""The size that decides the edge probability of training graphs."""
_RING_DEGREES = (4, 6, 8)
_REWIRED = (0.05, 0.2)
_FEWEST = {"er": 2, "ws": _RING_DEGREES[0] + 1, "delaunay": 4}
_ATTEMPTS = 1000


def _er_pairs(rng: np.random.RandomState, n: int, density_n: int) -> np.ndarray:
    """Pairs i < j, each with a probability that is drawn first; gaps between them are geometric."""
    base = math.log(density_n) / density_n
    p = min(rng.uniform(base, 3 * base), 1.0)
    pairs = n * (n - 1) // 2
    if p >= 1:
        codes = np.arange(pairs)
    else:
        enough = int(pairs * p + 6 * math.sqrt(pairs * p) + 8)
        gaps = np.log(1 - rng.uniform(size=enough)) / math.log1p(-p)
        codes = np.cumsum(gaps.astype(np.int64) + 1) - 1
        codes = codes[codes < pairs]
    j = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) // 2).astype(np.int64)
    j -= j * (j - 1) // 2 > codes  # where the root was rounded up
    j += j * (j + 1) // 2 <= codes
    return np.stack((codes - j * (j - 1) // 2, j), 1)


def _ws_pairs(rng: np.random.RandomState, n: int) -> np.ndarray:
    degrees = [k for k in _RING_DEGREES if k < n]
    k, p = degrees[rng.randint(len(degrees))], rng.uniform(*_REWIRED)
    ring = [(u, (u + hop) % n) for hop in range(1, k // 2 + 1) for u in range(n)]
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for u, v in ring:
        neighbours[u].add(v)
        neighbours[v].add(u)
    rewired = rng.uniform(size=len(ring)) < p
    for (u, v), elsewhere in zip(ring, rewired, strict=True):
        if not elsewhere or len(neighbours[u]) >= n - 1:
            continue
        w = rng.randint(n)
        while w == u or w in neighbours[u]:
            w = rng.randint(n)
        neighbours[u].remove(v)
        neighbours[v].remove(u)
        neighbours[u].add(w)
        neighbours[w].add(u)
    return np.array([(u, v) for u in range(n) for v in sorted(neighbours[u]) if u < v])


def _delaunay_pairs(rng: np.random.RandomState, n: int) -> np.ndarray:
    from matplotlib.tri import Triangulation  # takes long to import

    x, y = rng.uniform(size=(2, n))
    return np.sort(Triangulation(x, y).edges.astype(np.int64), 1)


FAMILIES = ("er", "ws", "delaunay")
"""All families, in the order in which SALSA-CLRS reports them."""


def draw_graphs(
    family: str, n: int, count: int, rng: np.random.RandomState, *, density_n: int | None = None
) -> SparseGraphs:
    """Connected graphs of a family. `er` has the edge probability of size `density_n`, if given."""
    if family not in FAMILIES:
        raise ValueError(unknown("family of graphs", family, FAMILIES))
    if n < _FEWEST[family]:
        raise ValueError(f"n: got {n}, expected at least {_FEWEST[family]} for {family} graphs")
    draw: Draw = {
        "er": lambda rng, n: _er_pairs(rng, n, density_n or n),
        "ws": _ws_pairs,
        "delaunay": _delaunay_pairs,
    }[family]
    found = [_connected(draw, rng, n) + i * n for i in range(expect_positive("count", count))]
    pairs = np.concatenate(found)
    return SparseGraphs.of_edges(count, n, np.concatenate((pairs, pairs[:, ::-1])))


def _connected(draw: Draw, rng: np.random.RandomState, n: int) -> np.ndarray:
    for _ in range(_ATTEMPTS):
        pairs = draw(rng, n)
        if len(pairs) >= n - 1 and _is_connected(pairs, n):
            return pairs
    raise ValueError(f"n: got {n}, at which no connected graph was drawn in {_ATTEMPTS} attempts")


def _is_connected(pairs: np.ndarray, n: int) -> bool:
    """Whether the smallest number of a node spreads to all of them."""
    labels = np.arange(n)
    u, v = pairs.T
    while True:
        before = labels.copy()
        np.minimum.at(labels, u, labels[v])
        np.minimum.at(labels, v, labels[u])
        labels = labels[labels]
        if np.array_equal(labels, before):
            return not labels.any()


def _weighted(graphs: SparseGraphs, rng: np.random.RandomState) -> SparseGraphs:
    """Weights as the benchmark's undirected graphs have them: geometric means of two draws."""
    drawn = rng.uniform(size=len(graphs.rows))
    weights = np.sqrt(drawn * drawn[graphs.reverse] + 1e-3) * (graphs.weights != 0)
    return SparseGraphs(graphs.count, graphs.n, graphs.rows, graphs.columns, weights)


def sample_sparse(
    algorithm: Algorithm,
    family: str,
    n: int,
    count: int,
    seed: int | list[int],
    *,
    train: bool = False,
    only_first: bool = False,
) -> SparseBatch:
    """Draw `count` problems on sparse graphs and trace them.

    `train` draws Erdős–Rényi graphs with the edge probability of n = 16; `only_first` is as for
    `trace_graphs`.
    """
    expect_sparse(algorithm)
    rng = np.random.RandomState(seed)
    graphs = draw_graphs(family, n, count, rng, density_n=TRAIN_N if train else None)
    if algorithm.scale is not None:  # weights count
        graphs = _weighted(graphs, rng)
    inputs: dict[str, np.ndarray] = {}
    for feature in algorithm.spec.inputs:
        if feature.kind == Kind.MASK_ONE:
            inputs[feature.name] = rng.randint(n, size=count)
        elif feature.location == Location.NODE and feature.name != "pos":
            inputs[feature.name] = rng.uniform(size=(count, n))
    return trace_graphs(algorithm, graphs, inputs, only_first=only_first)
