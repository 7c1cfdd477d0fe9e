"""Sparse graphs: families, traces and outputs, against dense traces and networkx."""

import networkx as nx
import numpy as np
import pytest

import algorist
from algorist.algorithms import SALSA, algorithms, get
from algorist.algorithms.graph_families import FAMILIES, draw_graphs, sample_sparse
from algorist.algorithms.sparse_tracing import expect_sparse
from algorist.data.sparse import SparseOnline, sparse_set
from algorist.sparse_batch import SparseGraphs
from algorist.spec import Kind, Location

SIX = algorithms(SALSA)
each = pytest.mark.parametrize("name", SIX)


def to_networkx(graphs, number=0):
    graph = nx.Graph()
    graph.add_nodes_from(range(graphs.n))
    first = number * graphs.n
    own = slice(graphs.starts[first], graphs.starts[first + graphs.n])
    for u, v, w in zip(graphs.rows[own], graphs.columns[own], graphs.weights[own], strict=True):
        if w != 0:
            graph.add_edge(int(u) - first, int(v) - first, weight=float(w))
    return graph


def test_the_two_new_algorithms_are_no_part_of_the_thirty():
    assert len(algorist.algorithms()) == 30
    new = {"eccentricity", "maximal_independent_set"}
    assert set(SIX) == new | {"bfs", "dfs", "dijkstra", "mst_prim"}
    assert not new & set(algorist.algorithms())
    with pytest.raises(ValueError, match="unknown benchmark"):
        algorithms("salza")


@each
def test_sparse_traces_equal_dense_ones(name):
    declared, n = get(name), 11
    batch = sample_sparse(declared, "er", n, 5, seed=3, train=True)
    for g in range(len(batch)):
        own, steps = slice(g * n, (g + 1) * n), int(batch.lengths[g])
        inputs = {
            f.name: batch.inputs[f.name][own]
            for f in declared.spec.inputs
            if f.location == Location.NODE
        }
        dense = declared.trace(A=batch.graphs.matrix(g), **inputs)
        assert dense.lengths[0] == steps
        for f in (*declared.spec.hints, *declared.spec.outputs):
            is_hint = f in declared.spec.hints
            value = batch.hints[f.name][:steps] if is_hint else batch.outputs[f.name][None]
            truth = dense.hints[f.name][:, 0] if is_hint else dense.outputs[f.name]
            value = value[:, g] if f.location == Location.GRAPH else value[:, own]
            value = value - g * n if f.kind == Kind.POINTER else value
            np.testing.assert_array_equal(value, truth, err_msg=f.name)


@each
def test_outputs_equal_those_of_networkx_at_1600_nodes(name):
    batch = sample_sparse(get(name), "er", 1600, 1, seed=0, only_first=True)
    CHECKS[name](to_networkx(batch.graphs), batch)


def _source(batch):
    return int(batch.inputs["s"].argmax())


def _check_bfs(graph, batch):
    depth, pi = nx.single_source_shortest_path_length(graph, _source(batch)), batch.outputs["pi"]
    for v, parent in enumerate(pi):
        nearer = [u for u in graph[v] if depth[u] == depth[v] - 1]
        assert parent == (min(nearer) if nearer else v)


def _check_dfs(graph, batch):
    ordered = nx.Graph()
    ordered.add_nodes_from(range(len(graph)))
    ordered.add_edges_from(sorted(tuple(sorted(edge)) for edge in graph.edges))
    found = nx.dfs_predecessors(ordered, 0, sort_neighbors=sorted)
    assert batch.outputs["pi"].tolist() == [found.get(v, v) for v in range(len(graph))]


def _check_dijkstra(graph, batch):
    distance = nx.single_source_dijkstra_path_length(graph, _source(batch))
    for v, parent in enumerate(batch.outputs["pi"].tolist()):
        if v != _source(batch):
            length = distance[parent] + graph[parent][v]["weight"]
            assert length == pytest.approx(distance[v])


def _check_prim(graph, batch):
    pi = batch.outputs["pi"].tolist()
    found = {frozenset((v, parent)) for v, parent in enumerate(pi) if v != parent}
    tree = {frozenset(edge) for edge in nx.minimum_spanning_edges(graph, data=False)}
    assert found == tree


def _check_eccentricity(graph, batch):
    assert batch.outputs["eccentricity"] == [nx.eccentricity(graph, _source(batch))]


def _check_set(graph, batch):
    chosen = set(np.flatnonzero(batch.outputs["in_set"]).tolist())
    assert not graph.subgraph(chosen).edges
    assert nx.is_dominating_set(graph, chosen)
    greedy: set[int] = set()
    for v in np.argsort(batch.inputs["priority"]).tolist():
        if not greedy & set(graph[v]):
            greedy.add(v)
    assert chosen == greedy


CHECKS = {
    "bfs": _check_bfs,
    "dfs": _check_dfs,
    "dijkstra": _check_dijkstra,
    "mst_prim": _check_prim,
    "eccentricity": _check_eccentricity,
    "maximal_independent_set": _check_set,
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [16, 160])
def test_families_have_the_parameters_of_the_paper(family, n):
    graphs = draw_graphs(family, n, 20, np.random.RandomState(0))
    drawn = [to_networkx(graphs, g) for g in range(20)]
    assert all(nx.is_connected(graph) and len(graph) == n for graph in drawn)
    edges = np.array([graph.number_of_edges() for graph in drawn])
    if family == "er":
        p = edges / (n * (n - 1) / 2)
        assert 0.7 * np.log(n) / n < p.min() < p.max() < 3.6 * np.log(n) / n
    elif family == "ws":
        assert set(edges) <= {2 * n, 3 * n, 4 * n}
    else:
        assert (edges <= 3 * n - 6).all()
        assert all(nx.check_planarity(graph)[0] for graph in drawn)


def test_a_family_that_there_is_not_and_sizes_too_small_are_refused():
    rng = np.random.RandomState(0)
    with pytest.raises(ValueError, match="unknown family of graphs 'es'"):
        draw_graphs("es", 16, 1, rng)
    with pytest.raises(ValueError, match="n: got 4, expected at least 5 for ws graphs"):
        draw_graphs("ws", 4, 1, rng)
    with pytest.raises(ValueError, match="expected a family and a size, such as er_1600"):
        sparse_set("bfs", "er-16")
    with pytest.raises(ValueError, match="bellman_ford: it does not run on sparse graphs"):
        expect_sparse(get("bellman_ford"))


def test_memory_grows_with_the_edges():
    graphs = draw_graphs("er", 1600, 1, np.random.RandomState(0))
    batch = sample_sparse(get("bfs"), "er", 1600, 1, seed=0)
    arrays = [*batch.inputs.values(), *batch.hints.values(), *batch.outputs.values()]
    assert sum(x.nbytes for x in arrays) < 1600**2 < 64 * len(graphs.rows) * 2


def test_training_data_is_a_pure_function_of_the_step():
    source = SparseOnline("bfs", seed=1, sizes=(5, 7), batch_size=3, family="er+ws")
    first, again = (
        source.batch(3),
        SparseOnline("bfs", seed=1, sizes=(5, 7), batch_size=3, family="er+ws").batch(3),
    )
    assert first.graphs.n == 7
    np.testing.assert_array_equal(first.graphs.columns, again.graphs.columns)
    np.testing.assert_array_equal(first.inputs["pos"], again.inputs["pos"])
    assert (np.diff(first.inputs["pos"].reshape(3, 7)) > 0).all()
    assert source.batch(1).graphs.columns.tolist() != first.graphs.columns.tolist()


def test_batches_are_split_and_put_together_again():
    batch = sample_sparse(get("mst_prim"), "er", 9, 6, seed=0)
    parts = list(batch.split(2 * len(batch.graphs.rows) // 6))
    assert len(parts) > 2
    assert sum(map(len, parts)) == 6
    firsts = np.cumsum([0, *(len(part) for part in parts)]) * 9
    pi = [part.outputs["pi"] + first for part, first in zip(parts, firsts, strict=False)]
    np.testing.assert_array_equal(np.concatenate(pi), batch.outputs["pi"])
    rows = [part.graphs.rows + first for part, first in zip(parts, firsts, strict=False)]
    np.testing.assert_array_equal(np.concatenate(rows), batch.graphs.rows)


def test_an_edge_that_leads_one_way_has_weight_0_back():
    graphs = SparseGraphs.of_edges(1, 3, np.array([[0, 1], [2, 1]]), np.array([0.5, 2.0]))
    np.testing.assert_array_equal(graphs.matrix(), [[0, 0.5, 0], [0, 0, 0], [0, 2, 0]])
    assert len(graphs.rows) == 4 + 3
    np.testing.assert_array_equal(graphs.rows[graphs.reverse], graphs.columns)
    with pytest.raises(ValueError, match="no neighbour"):
        graphs.places(np.array([0]), np.array([2]))
