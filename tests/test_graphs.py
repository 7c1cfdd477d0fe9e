"""Graph algorithms on small graphs of every kind, against networkx and plain recursion."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

import algorist

UNWEIGHTED = [
    "articulation_points",
    "bfs",
    "bridges",
    "dfs",
    "strongly_connected_components",
    "topological_sort",
]
WEIGHTED = [
    "bellman_ford",
    "dag_shortest_paths",
    "dijkstra",
    "floyd_warshall",
    "mst_kruskal",
    "mst_prim",
]
ACYCLIC = ["dag_shortest_paths", "topological_sort"]
SYMMETRIC = ["articulation_points", "bridges", "mst_kruskal", "mst_prim"]
FROM_SOURCE = ["bellman_ford", "bfs", "dag_shortest_paths", "dijkstra", "mst_prim"]

some = settings(max_examples=60, deadline=None)


@st.composite
def matrices(draw, weights=(1,), symmetric=False, acyclic=False):
    """Empty, sparse, dense and complete graphs of 1 to 7 nodes; few weights, so many ties."""
    n = draw(st.integers(1, 7))
    absent = draw(st.sampled_from([0, 1, 4]))
    present = draw(st.sampled_from([0, 1, 2])) if absent else 1
    entries = st.sampled_from([*(0,) * absent * len(weights), *weights * present])
    A = np.array(draw(st.lists(entries, min_size=n * n, max_size=n * n)), float).reshape(n, n)
    if symmetric:
        A = np.triu(A) + np.triu(A, 1).T
    if acyclic:
        order = draw(st.permutations(range(n)))
        A = np.triu(A, 1)[order][:, order]
    return A


@st.composite
def with_source(draw, graphs):
    A = draw(graphs)
    return A, draw(st.integers(0, len(A) - 1))


@st.composite
def without_negative_cycle(draw):
    """Directed graphs with negative weights: a potential moves weight along every path alike."""
    A = draw(matrices(weights=(1, 2, 3)))
    potential = np.array(draw(st.lists(st.integers(-3, 3), min_size=len(A), max_size=len(A))))
    return np.where(A != 0, A - 1 + potential[:, None] - potential, 0)


def outputs(name, **inputs):
    return {key: value[0] for key, value in algorist.get(name).trace(**inputs).outputs.items()}


def undirected(A):
    """The networkx graph without self-loops, which neither cut nor span anything."""
    return nx.from_numpy_array(A - np.diag(np.diag(A)))


def path_length(A, pi, v, source):
    """The length of the way along the pointers from v back to the source."""
    length = 0
    for _ in range(len(A)):
        if v == source:
            return length
        assert A[pi[v], v] != 0, "a pointer along no edge"
        length, v = length + A[pi[v], v], pi[v]
    raise AssertionError("the pointers go round in a circle")


def assert_shortest(A, pi, source, expected):
    """The paths are as long as expected; nodes without one point to themselves."""
    for v in range(len(A)):
        if v in expected:
            assert path_length(A, pi, v, source) == pytest.approx(expected[v])
        else:
            assert pi[v] == v
    assert pi[source] == source


@some
@given(with_source(matrices()))
def test_bfs_finds_paths_of_fewest_edges(problem):
    A, s = problem
    graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
    expected = nx.single_source_shortest_path_length(graph, s)
    assert_shortest(A, outputs("bfs", A=A, s=s)["pi"], s, expected)


def recursive_dfs(A):
    """Parents, and the moments of discovery and finishing."""
    n, clock = len(A), iter(range(1, 2 * len(A) + 1))
    pi, d, f = np.arange(n), np.zeros(n), np.zeros(n)

    def visit(u):
        d[u] = next(clock)
        for v in np.flatnonzero(A[u]):
            if not d[v]:
                pi[v] = u
                visit(v)
        f[u] = next(clock)

    for root in range(n):
        if not d[root]:
            visit(root)
    return pi, d, f


@some
@given(matrices())
def test_dfs_visits_as_recursion_does(A):
    trace = algorist.get("dfs").trace(A=A)
    pi, d, f = recursive_dfs(A)
    assert np.array_equal(trace.outputs["pi"][0], pi)
    assert trace.hints["d"][-1, 0] == pytest.approx(d / 100)
    assert trace.hints["f"][-1, 0] == pytest.approx(f / 100)
    assert (trace.hints["color"][-1, 0].argmax(-1) == 2).all()


@some
@given(matrices(acyclic=True))
def test_topological_sort_lets_all_edges_go_forward(A):
    found = outputs("topological_sort", A=A)
    order = [int(found["topo_head"].argmax())]
    while found["topo"][order[-1]] != order[-1]:
        order.append(int(found["topo"][order[-1]]))
        assert len(order) <= len(A)
    assert sorted(order) == list(range(len(A)))
    assert not np.tril(A[order][:, order]).any()


@some
@given(matrices())
def test_strongly_connected_components_are_networkxs(A):
    scc_id = outputs("strongly_connected_components", A=A)["scc_id"]
    for component in nx.strongly_connected_components(nx.DiGraph(A)):
        assert {v for v in range(len(A)) if scc_id[v] in component} == component
        assert len({scc_id[v] for v in component}) == 1


@some
@given(matrices(symmetric=True))
def test_articulation_points_are_networkxs(A):
    is_cut = outputs("articulation_points", A=A)["is_cut"]
    assert set(np.flatnonzero(is_cut)) == set(nx.articulation_points(undirected(A)))


@some
@given(matrices(symmetric=True))
def test_bridges_are_networkxs(A):
    is_bridge = outputs("bridges", A=A)["is_bridge"]
    expected = np.where((A != 0) | np.eye(len(A), dtype=bool), 0, -1)
    for u, v in nx.bridges(undirected(A)):
        expected[u, v] = expected[v, u] = 1
    assert np.array_equal(is_bridge, expected)


@some
@given(with_source(matrices(weights=(1, 2, 0.5))))
def test_dijkstra_finds_shortest_paths(problem):
    A, s = problem
    expected = nx.single_source_dijkstra_path_length(nx.DiGraph(A), s)
    assert_shortest(A, outputs("dijkstra", A=A, s=s)["pi"], s, expected)


RETURN_TO_0 = np.array([[0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 5], [0, 0, 0, 0]])


@some
@given(with_source(without_negative_cycle() | matrices(weights=(1, 2, 0.5), symmetric=True)))
@example((RETURN_TO_0, 0))
def test_bellman_ford_finds_shortest_paths_with_negative_weights_too(problem):
    A, s = problem
    expected = nx.single_source_bellman_ford_path_length(nx.DiGraph(A), s)
    assert_shortest(A, outputs("bellman_ford", A=A, s=s)["pi"], s, expected)


@some
@given(with_source(matrices(weights=(1, 2, 0.5, -1), acyclic=True)))
@example((RETURN_TO_0, 0))
def test_dag_shortest_paths_finds_shortest_paths(problem):
    A, s = problem
    expected = nx.single_source_bellman_ford_path_length(nx.DiGraph(A), s)
    assert_shortest(A, outputs("dag_shortest_paths", A=A, s=s)["pi"], s, expected)


@some
@given(without_negative_cycle() | matrices(weights=(1, 2, 0.5), symmetric=True))
def test_floyd_warshall_finds_shortest_paths_between_all_nodes(A):
    Pi = outputs("floyd_warshall", A=A)["Pi"]
    for i, expected in nx.all_pairs_bellman_ford_path_length(nx.DiGraph(A)):
        for j in set(range(len(A))) - {i}:
            if j in expected:
                assert path_length(A, Pi[i], j, i) == pytest.approx(expected[j])
            else:
                assert Pi[i, j] == i
        if not A[i, i]:
            assert Pi[i, i] == i


def tree_weight(graph):
    return sum(weight for _, _, weight in nx.minimum_spanning_tree(graph).edges(data="weight"))


@some
@given(matrices(weights=(1, 2, 0.5, -1), symmetric=True))
def test_kruskal_spans_every_component_at_least_weight(A):
    in_mst, graph = outputs("mst_kruskal", A=A)["in_mst"], undirected(A)
    forest = nx.from_numpy_array(in_mst)
    assert np.array_equal(in_mst, in_mst.T)
    assert not in_mst[A == 0].any()
    assert nx.number_of_edges(forest) == len(A) - nx.number_connected_components(graph)
    assert list(nx.connected_components(forest)) == list(nx.connected_components(graph))
    assert (A * in_mst).sum() / 2 == pytest.approx(tree_weight(graph))


@some
@given(with_source(matrices(weights=(1, 2, 0.5, -1), symmetric=True)))
def test_prim_spans_the_component_of_the_source_at_least_weight(problem):
    A, s = problem
    pi, graph = outputs("mst_prim", A=A, s=s)["pi"], undirected(A)
    component = nx.node_connected_component(graph, s)
    for v in component:
        path_length(A, pi, v, s)  # every node has its way to the source
    weight = sum(A[pi[v], v] for v in component - {s})
    assert weight == pytest.approx(tree_weight(graph.subgraph(component)))
    others = np.array(sorted({*range(len(A))} - component | {s}))
    assert np.array_equal(pi[others], others)


def own_graph(name):
    """A graph of five nodes that the algorithm takes, and its networkx type."""
    A = np.zeros((5, 5))
    A[0, 1], A[0, 3], A[1, 3], A[2, 3], A[2, 4] = (
        (1,) * 5 if name in UNWEIGHTED else (5, 1, 2, 4, 3)
    )
    return (A, nx.DiGraph) if name in ACYCLIC else (A + A.T, nx.Graph)


def assert_same(batch, other):
    assert np.array_equal(batch.lengths, other.lengths)
    for stage in algorist.Stage:
        for name, array in batch.at(stage).items():
            assert np.array_equal(array, other.at(stage)[name]), name


@pytest.mark.parametrize("name", UNWEIGHTED + WEIGHTED)
def test_networkx_graphs_and_sparse_matrices_trace_as_the_matrix_does(name):
    A, kind = own_graph(name)
    algorithm = algorist.get(name)
    dense = algorithm.trace(A=A, **({"s": 2} if name in FROM_SOURCE else {}))
    sparse = algorithm.trace(
        A=scipy.sparse.csr_array(A), **({"s": 2} if name in FROM_SOURCE else {})
    )
    named = nx.relabel_nodes(nx.from_numpy_array(A, create_using=kind), dict(enumerate("vwxyz")))
    by_name = algorithm.trace(A=named, **({"s": "x"} if name in FROM_SOURCE else {}))
    assert_same(sparse, dense)
    assert_same(by_name, dense)


def refused(name, A):
    A = np.array(A, float)
    with pytest.raises(ValueError, match=r"^A: got .*, expected"):
        algorist.get(name).trace(A=A, **({"s": 0} if name in FROM_SOURCE else {}))


@pytest.mark.parametrize("name", UNWEIGHTED + WEIGHTED)
def test_what_is_no_square_matrix_of_numbers_is_refused(name):
    refused(name, [[0, 1, 0], [0, 0, 1]])
    refused(name, [0, 1])
    refused(name, [[0, np.nan], [0, 0]])
    refused(name, [[0, np.inf], [0, 0]])


@pytest.mark.parametrize("name", SYMMETRIC)
def test_directed_graphs_are_refused_by_algorithms_for_undirected_ones(name):
    refused(name, [[0, 1], [0, 0]])


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_weights_are_refused_where_they_would_be_ignored(name):
    refused(name, [[0, 2], [2, 0]])


@pytest.mark.parametrize("name", ACYCLIC)
@pytest.mark.parametrize("A", [[[0, 1], [1, 0]], [[1]], [[0, 1, 0], [0, 0, 1], [0, 1, 0]]])
def test_cycles_are_refused_where_the_nodes_must_be_sorted(name, A):
    refused(name, A)


def test_negative_weights_are_refused_by_dijkstra():
    refused("dijkstra", [[0, 1, 2], [0, 0, 0], [0, -1, 0]])


@pytest.mark.parametrize("name", ["bellman_ford", "floyd_warshall"])
@pytest.mark.parametrize(
    "A", [[[0, -1], [-1, 0]], [[-1]], [[0, 1, 0], [0, 0, 1], [-2.5, 0, 0]]], ids=str
)
def test_negative_cycles_are_refused(name, A):
    refused(name, A)


@pytest.mark.parametrize(
    ("name", "n", "options"),
    [
        ("strongly_connected_components", 3, {}),
        ("strongly_connected_components", 8, {"k": 9}),
        ("strongly_connected_components", 8, {"k": 0}),
        ("strongly_connected_components", 8, {"eps": 1.5}),
        ("bfs", 8, {"p": (0.5, -0.1)}),
        ("dag_shortest_paths", 8, {"low": 2.0, "high": 1.0}),
        ("bellman_ford", 8, {"low": -1.0}),
        ("mst_kruskal", 8, {"low": -1.0}),
    ],
)
def test_options_that_no_graph_can_have_are_refused(name, n, options):
    with pytest.raises(ValueError, match=r"^options? .*: got .*, expected"):
        algorist.get(name).sample(n, 1, 0, options)
