"""Users' graphs, in every form in which people hold them, with one meaning each.

`read_graph` is the only way in: for Python, files, the command line and the page alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from algorist.algorithms.user_inputs.edge_lists import EdgeList, GraphOptions
from algorist.algorithms.user_inputs.graph_forms import list_edges
from algorist.errors import format_count, shorten


class EdgeError(ValueError):
    """An edge cannot be used: the text has two places for its ends, which are given by index."""

    def __init__(self, text: str, *ends: int):
        super().__init__(f"A: {text.format(*ends)}")
        self._text, self.ends = text, ends

    def with_names(self, names: Sequence[Hashable] | None, place: str = "A") -> str:
        """The message with the ends as the user calls them, and where the edge is."""
        ends = (i if names is None else shorten(names[i]) for i in self.ends)
        return f"{place}: {self._text.format(*ends)}"


@dataclass(frozen=True)
class UserGraph:
    """A graph as it was read."""

    names: tuple[Hashable, ...] | None
    """What the nodes are called; None: they are numbered."""
    n: int
    edges: EdgeList
    directed: bool
    options: GraphOptions

    def to_matrix(self) -> np.ndarray:
        """The weights, or 1 for each edge, (n, n); 0 where there is no edge."""
        ends, weights = self.to_entries()
        matrix = np.zeros((self.n, self.n))
        matrix[tuple(ends.T)] = weights
        return matrix

    def to_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges from, to (M, 2), each once, undirected ones in both directions; their weights.

        What a matrix cannot hold is refused: an edge of weight 0, and two edges from one node to
        another that differ. Of a multigraph's parallel edges the lightest counts.
        """
        edges, weights = self.edges, self._edge_weights()
        present = np.isfinite(weights)
        zeros = np.flatnonzero(weights == 0)
        if len(zeros):
            edges.refuse(
                int(zeros[0]),
                "an edge of weight 0",
                "expected other weights: 0 means that there is no edge",
            )
        u, v = edges.ends[present].T
        there = u * self.n + v
        codes = there if self.directed else np.concatenate((there, v * self.n + u))
        found, places = np.unique(codes, return_inverse=True)
        lightest = np.full(len(found), np.inf)
        np.minimum.at(lightest, places, np.resize(weights[present], len(codes)))
        if not edges.parallel:
            kept = np.full(len(weights), np.inf)
            kept[present] = lightest[places[: len(there)]]
            self._refuse_differing(kept, weights)
        return np.stack((found // self.n, found % self.n), 1), lightest

    def _edge_weights(self) -> np.ndarray:
        used = self.options.weighted and self.edges.weights is not None
        return self.edges.weights if used else np.ones(len(self.edges.ends))  # type: ignore

    def _refuse_differing(self, kept: np.ndarray, weights: np.ndarray) -> None:
        """Refuse edges that weigh something else than what was kept for their ends."""
        u, v = self.edges.ends.T
        differ = np.flatnonzero(np.isfinite(weights) & (weights != kept))
        if not len(differ):
            return
        edge = int(differ[0])
        same = np.flatnonzero((u == u[edge]) & (v == v[edge]) & np.isfinite(weights))
        weight, other = weights[edge], kept[edge]
        if (weights[same] == weight).all():
            self.edges.refuse(
                edge,
                f"the weight {weight:g}, but {other:g} for the way back,",
                "expected one weight for an undirected edge; directed=True (--directed) keeps both",
            )
        second = int(same[1])
        self.edges.refuse(
            second,
            f"a second edge, of weight {weights[second]:g},",
            "expected at most one, or a multigraph, of which the lightest counts",
        )

    def place_of(self, one: int, other: int) -> str:
        """Where the edge between two nodes is listed, for error messages."""
        u, v = self.edges.ends.T
        found = np.flatnonzero(((u == one) & (v == other)) | ((u == other) & (v == one)))
        return self.edges.place(int(found[0])) if len(found) else self.options.place

    def describe(self, ends: np.ndarray, weights: np.ndarray) -> str:
        """What was read, in a few words: 5 nodes, 7 undirected edges, weights from 'length'.

        The edges are as `to_entries` has them.
        """
        turned = np.lexsort(ends.T)  # by the second end, then by the first
        undirected = np.array_equal(ends[turned][:, ::-1], ends) and np.array_equal(
            weights[turned], weights
        )
        loops = int(np.count_nonzero(ends[:, 0] == ends[:, 1]))
        count = len(ends) - loops
        kind = "undirected" if undirected else "directed"
        edges = format_count(count // 2 if undirected else count, f"{kind} edge")
        parts = [format_count(self.n, "node"), edges]
        if loops:
            parts.append(format_count(loops, "self-loop"))
        parts += self._describe_weights()
        return ", ".join(parts)

    def _describe_weights(self) -> list[str]:
        edges, parts = self.edges, []
        if not self.options.weighted:
            has_weights = edges.unused or (edges.weights is not None and (edges.weights != 1).any())
            return ["weights not used"] if has_weights else []
        if edges.weights is None:
            unused = f" ({', '.join(map(repr, edges.unused))} not used)" if edges.unused else ""
            return [f"every weight 1{unused}"]
        parts.append(f"weights from {edges.weights_from}")
        infinite = int(np.isposinf(edges.weights).sum())
        if infinite:
            parts.append(f"{infinite} of weight inf left out")
        if edges.parallel and len(np.unique(edges.ends, axis=0)) < len(edges.ends):
            parts.append("of parallel edges the lightest")
        return parts


def read_graph(graph: object, options: GraphOptions, *, usually_directed: bool) -> UserGraph:
    """The graph that a user gave, in any of the forms that `list_edges` knows.

    `usually_directed` says which way edges lead where neither the user nor the graph says it.
    """
    edges = list_edges(graph, options)
    asked, says = options.directed, edges.directed
    if says is False and asked is True:
        raise ValueError(
            f"{options.place}: got an undirected graph with directed=True, "
            "expected a directed graph, or no directed=True"
        )
    if says is not None:
        directed = says and asked is not False
    else:
        directed = usually_directed if asked is None else asked
    return UserGraph(edges.names, edges.n, edges, directed, options)
