"""Sparse graphs of one size side by side, and the trajectories of an algorithm on them.

All graphs are one: a union without edges between its parts, whose nodes are numbered on. What is
stored grows with the edges, not with the square of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorist.spec import Feature, Kind, Location, Spec

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class SparseGraphs:
    """The union of `count` graphs of `n` nodes each.

    Its pairs (row, column) are sorted. They are the edges in both directions, also where an edge
    leads one way only, and each node with itself.
    """

    count: int
    n: int
    rows: np.ndarray  # (E,)
    columns: np.ndarray  # (E,)
    weights: np.ndarray  # (E,): of the edge from row to column, 0 where there is none

    @classmethod
    def of_edges(
        cls, count: int, n: int, ends: np.ndarray, weights: np.ndarray | None = None
    ) -> SparseGraphs:
        """The graphs of edges (M, 2), from and to, each listed once; an undirected one twice."""
        total = count * n
        one, other = ends.astype(np.int64).T
        nodes = np.arange(total)
        given = one * total + other
        codes = np.unique(np.concatenate((given, other * total + one, nodes * total + nodes)))
        found = np.zeros(len(codes))
        found[np.searchsorted(codes, given)] = 1.0 if weights is None else weights
        return cls(count, n, codes // total, codes % total, found)

    @property
    def nodes(self) -> int:
        """The number of nodes of all graphs."""
        return self.count * self.n

    @cached_property
    def starts(self) -> np.ndarray:
        """(nodes + 1,): where the pairs of each row begin."""
        return np.searchsorted(self.rows, np.arange(self.nodes + 1))

    @cached_property
    def reverse(self) -> np.ndarray:
        """(E,): the place of each pair the other way round."""
        return self.places(self.columns, self.rows)

    def places(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The places of pairs that there are; raises a ValueError for others."""
        codes = self.rows * self.nodes + self.columns
        wanted = rows * self.nodes + columns
        found = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        if (codes[found] != wanted).any():
            raise ValueError("a pointer leads to a node that is no neighbour")
        return np.asarray(found)

    def matrix(self, graph: int = 0) -> np.ndarray:
        """The weights of one graph as a matrix, (n, n)."""
        A, first = np.zeros((self.n, self.n)), graph * self.n
        own = slice(self.starts[first], self.starts[first + self.n])
        A[self.rows[own] - first, self.columns[own] - first] = self.weights[own]
        return A


@dataclass(frozen=True)
class SparseBatch:
    """Trajectories on sparse graphs.

    Features of nodes are (nodes, ...), of edges (E,), one for each pair, of graphs (count, ...);
    hints have time in front. Pointers are numbers of nodes of the union.
    """

    spec: Spec
    algorithm: str
    graphs: SparseGraphs
    inputs: Arrays
    hints: Arrays
    """Of all steps, or of the first alone."""
    outputs: Arrays
    lengths: np.ndarray  # (count,)

    def __len__(self) -> int:
        return self.graphs.count

    def __repr__(self) -> str:
        return (
            f"SparseBatch({self.algorithm}: {len(self)} graphs of {self.graphs.n} nodes, "
            f"{len(self.graphs.rows)} pairs, {int(self.lengths.max())} steps)"
        )

    def split(self, most_pairs: int) -> Iterator[SparseBatch]:
        """The same problems in batches of at most this many pairs, or of a single graph."""
        n, starts = self.graphs.n, self.graphs.starts[:: self.graphs.n]
        first = 0
        while first < len(self):
            fitting = int(np.searchsorted(starts, starts[first] + most_pairs, side="right")) - 1
            last = min(max(fitting, first + 1), len(self))
            yield self._graphs(first, last, slice(starts[first], starts[last]), n)
            first = last

    def _graphs(self, first: int, last: int, pairs: slice, n: int) -> SparseBatch:
        nodes, whole = slice(first * n, last * n), self.graphs
        at = {Location.NODE: nodes, Location.EDGE: pairs, Location.GRAPH: slice(first, last)}

        def taken(features: tuple[Feature, ...], values: Arrays, *time: slice) -> Arrays:
            return {
                f.name: values[f.name][(*time, at[f.location])]
                - (first * n if f.kind == Kind.POINTER else 0)
                for f in features
            }

        own = (whole.rows[pairs] - first * n, whole.columns[pairs] - first * n)
        return SparseBatch(
            self.spec,
            self.algorithm,
            SparseGraphs(last - first, n, *own, whole.weights[pairs]),
            taken(self.spec.inputs, self.inputs),
            taken(self.spec.hints, self.hints, slice(None)),
            taken(self.spec.outputs, self.outputs),
            self.lengths[first:last],
        )
