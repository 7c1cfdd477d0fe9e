"""Answers to problems on graphs in their own terms: distances, paths, trees, components."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from algorist.algorithms.answer_explanations import (
    Answered,
    AnswerExplanation,
    missing_text,
    single,
)
from algorist.algorithms.array_answers import walk
from algorist.algorithms.format_answers import list_edges

_ARROW = " > "


def _path(pi: np.ndarray, source: int, node: int) -> list[int] | None:
    """The nodes from the source to a node along its pointers; None if they do not lead there."""
    back = walk(pi, node)
    return back[::-1] if back[-1] == source else None


def _explain_path(
    answered: Answered, A: np.ndarray, pi: np.ndarray, source: int, node: int
) -> tuple[str, float | None, list[str] | None]:
    """A path in words, its length, and its nodes; the last two are None where there is none."""
    if node == source:
        return "0, the source", 0.0, [answered.name(node)]
    path = _path(pi, source, node)
    if path is None:
        alone = pi[node] in (node, source) and pi[node] == node
        circle = "not reached: the pointers do not lead to the source"
        return ("not reached" if alone else circle), None, None
    names = [answered.name(i) for i in path]
    for u, v in itertools.pairwise(path):
        if A[u, v] == 0:
            one, other = answered.name(u), answered.name(v)
            return f"{_ARROW.join(names)}, but no edge leads from {one} to {other}", None, None
    length = float(sum(A[u, v] for u, v in itertools.pairwise(path)))
    return f"{length:g}: {_ARROW.join(names)}", length, names


def _shortest_paths(answered: Answered, *, weighted: bool) -> AnswerExplanation:
    """The distance of each node from the source, and the path."""
    A = answered.inputs["A"] if weighted else (answered.inputs["A"] != 0).astype(float)
    pi, source = answered.outputs["pi"].astype(int), int(answered.inputs["s"])
    pieces, facts = {}, []
    for node in range(answered.n):
        text, distance, path = _explain_path(answered, A, pi, source, node)
        pieces[answered.name(node)] = text
        facts.append({"node": answered.name(node), "distance": distance, "path": path})
    return AnswerExplanation("node", pieces, facts)


def _all_shortest_paths(answered: Answered) -> AnswerExplanation:
    """From each node: every other one with its distance and the node before it on the path."""
    A, pointers = answered.inputs["A"], answered.outputs["Pi"].astype(int)
    pieces, facts = {}, []
    for source in range(answered.n):
        texts = []
        for node in range(answered.n):
            if node == source:
                continue
            pi = pointers[source].copy()
            pi[source] = source  # the diagonal does not count
            no_path = pi[node] == source and A[source, node] == 0
            text, distance, path = _explain_path(answered, A, pi, source, node)
            if no_path:  # what has no path points to the source
                text, distance, path = "not reached", None, None
            ends = {"from": answered.name(source), "to": answered.name(node)}
            facts.append({**ends, "distance": distance, "path": path})
            if path is not None:
                via = "" if len(path) == 2 else f" via {path[-2]}"
                text = f"{distance:g}{via}"
            texts.append(f"{answered.name(node)} {text.partition(':')[0]}")
        pieces[answered.name(source)] = "; ".join(texts) or "alone"
    return AnswerExplanation("from", pieces, facts)


def _search_forest(answered: Answered) -> AnswerExplanation:
    """From which node a depth-first search found each."""
    pi = answered.outputs["pi"].astype(int)
    names = [answered.name(i) for i in range(answered.n)]
    pieces = {
        names[i]: "root" if pi[i] == i else f"found from {names[pi[i]]}" for i in range(answered.n)
    }
    facts = [
        {"node": names[i], "found_from": None if pi[i] == i else names[pi[i]]}
        for i in range(answered.n)
    ]
    return AnswerExplanation("node", pieces, facts)


def _topological_order(answered: Answered) -> AnswerExplanation:
    order = walk(answered.outputs["topo"].astype(int), int(answered.outputs["topo_head"]))
    missing = [answered.name(i) for i in range(answered.n) if i not in order]
    names = [answered.name(i) for i in order]
    text = _ARROW.join(names) + missing_text("node", missing, answered.n)
    return single(text, order=names, missing=missing)


def _components(answered: Answered) -> AnswerExplanation:
    ids = answered.outputs["scc_id"].astype(int)
    groups = [
        [answered.name(int(i)) for i in np.flatnonzero(ids == leader)]
        for leader in dict.fromkeys(ids.tolist())
    ]
    text = " ".join("{" + ", ".join(group) + "}" for group in groups)
    return single(text, components=groups)


def _cut_nodes(answered: Answered) -> AnswerExplanation:
    names = [answered.name(int(i)) for i in np.flatnonzero(answered.outputs["is_cut"] > 0)]
    return single(", ".join(names) or "none", nodes=names)


def _marked_edges(answered: Answered, marked: np.ndarray) -> list[tuple[str, str]]:
    return [(answered.name(int(u)), answered.name(int(v))) for u, v in list_edges(marked)]


def _bridges(answered: Answered) -> AnswerExplanation:
    marked = (answered.outputs["is_bridge"] > 0) & (answered.inputs["A"] != 0)
    edges = _marked_edges(answered, marked)
    return single(", ".join(map("-".join, edges)) or "none", edges=edges)


def _spanning_forest(answered: Answered) -> AnswerExplanation:
    """The edges of the forest, with their weights and the sum of these."""
    A, marked = answered.inputs["A"], answered.outputs["in_mst"] > 0
    ends = list_edges(marked)
    weights = [float(A[u, v]) for u, v in ends]
    edges = _marked_edges(answered, marked)
    texts = [
        f"{u}-{v} {w:g}" if w else f"{u}-{v} (no edge)"
        for (u, v), w in zip(edges, weights, strict=True)
    ]
    total = float(sum(weights))
    return single(f"{', '.join(texts) or 'none'}; weight {total:g}", edges=edges, weight=total)


def _spanning_tree(answered: Answered) -> AnswerExplanation:
    """The node that each joins, the weight of that edge, and the weight of the tree."""
    A, pi, source = answered.inputs["A"], answered.outputs["pi"].astype(int), answered.inputs["s"]
    pieces: dict[str, str] = {}
    facts: list[dict[str, Any]] = []
    total = 0.0
    for node in range(answered.n):
        parent, weight = int(pi[node]), float(A[pi[node], node])
        name, joined = answered.name(node), answered.name(parent)
        if parent == node:
            text = "the source" if node == int(source) else "not reached"
        elif weight == 0:
            text = f"joins {joined}, but there is no such edge"
        else:
            text, total = f"joins {joined}, weight {weight:g}", total + weight
        pieces[name] = text
        is_edge = parent != node and weight != 0
        parents = {"parent": joined, "weight": weight} if is_edge else {"parent": None}
        facts.append({"node": name, **parents})
    return AnswerExplanation("node", {**pieces, "(weight)": f"{total:g}"}, facts)


GRAPHS: dict[str, Callable[[Answered], AnswerExplanation]] = {
    "bfs": partial(_shortest_paths, weighted=False),
    **dict.fromkeys(
        ("dijkstra", "bellman_ford", "dag_shortest_paths"), partial(_shortest_paths, weighted=True)
    ),
    "floyd_warshall": _all_shortest_paths,
    "dfs": _search_forest,
    "topological_sort": _topological_order,
    "strongly_connected_components": _components,
    "articulation_points": _cut_nodes,
    "bridges": _bridges,
    "mst_kruskal": _spanning_forest,
    "mst_prim": _spanning_tree,
}
