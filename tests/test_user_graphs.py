"""Graphs in every form that people hold them in: what is read, and the true answer to it."""

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch

import algorist
from algorist.algorithms.user_inputs import read_problem
from algorist.problems import files

try:
    from pandas import DataFrame
except ImportError:

    class DataFrame:
        """As much of pandas' as is read; the package does not need pandas, nor do its tests."""

        def __init__(self, rows, index=None, columns=None):
            self.rows = [list(row) for row in rows]
            width = len(self.rows[0])
            self.index = range(len(self.rows)) if index is None else index
            self.columns = list(range(width) if columns is None else columns)

        def __len__(self):
            return len(self.rows)

        def assign(self, **new):
            rows = [[*row, *new.values()] for row in self.rows]
            return DataFrame(rows, self.index, [*self.columns, *new])

        def itertuples(self, index, name):
            return map(tuple, self.rows)

        def to_numpy(self):
            return np.array(self.rows)


PAIRS = [("home", "shop", 1), ("home", "park", 3), ("shop", "park", 1), ("park", "sea", 4)]
NUMBERED = [(0, 1, 1), (0, 2, 3), (1, 2, 1), (2, 3, 4)]
NAMES = ["home", "shop", "park", "sea"]
ONE_WAY = np.array([[0, 1, 3, 0], [0, 0, 1, 0], [0, 0, 0, 4], [0, 0, 0, 0]], float)
BOTH_WAYS = ONE_WAY + ONE_WAY.T
NAMED_ROWS = list(zip(NAMES, BOTH_WAYS, strict=True))
INDEX = np.array([(u, v) for u, v, _ in NUMBERED]).T
BOTH_INDEX = np.concatenate((INDEX, INDEX[::-1]), 1)
WEIGHTS = np.array([w for *_, w in NUMBERED], float)


def frame(*columns, rows=PAIRS):
    return DataFrame(rows, columns=list(columns))


def networkx(kind=nx.Graph, attribute="weight"):
    graph = kind()
    graph.add_edges_from((u, v, {attribute: w}) for u, v, w in PAIRS)
    return graph


def data(**attributes):
    """What PyTorch Geometric's `Data` looks like from outside."""
    made = SimpleNamespace(**attributes)
    made.keys = lambda: list(attributes)
    return made


def compressed(matrix):
    with warnings.catch_warnings(action="ignore"):  # PyTorch calls this layout a beta
        return torch.tensor(matrix).to_sparse_csr()


def in_file(text, name="roads.csv"):
    return files.graph(name, text)


def lines(separator=",", heading=None, rows=PAIRS):
    listed = [separator.join(map(str, row)) for row in rows]
    return "\n".join([*([separator.join(heading)] if heading else []), *listed])


NEIGHBOURS = {
    "home": {"shop": 1, "park": 3},
    "shop": {"home": 1, "park": 1},
    "park": {"home": 3, "shop": 1, "sea": 4},
    "sea": {"park": 4},
}
LINKS = [{"source": u, "target": v, "length": w} for u, v, w in PAIRS]
SHUFFLED = [(w, v, u) for u, v, w in PAIRS]

UNDIRECTED = {
    "matrix": (BOTH_WAYS, {}, "the matrix"),
    "integer matrix": (BOTH_WAYS.astype(int), {}, "the matrix"),
    "matrix of lists": (BOTH_WAYS.astype(int).tolist(), {}, "the matrix"),
    "matrix of tuples": (tuple(map(tuple, BOTH_WAYS)), {}, "the matrix"),
    "triangular matrix": (ONE_WAY, {"directed": False}, "the matrix"),
    "infinite matrix": (np.where(BOTH_WAYS == 0, np.inf, BOTH_WAYS), {}, "the matrix"),
    "said matrix": ({"matrix": BOTH_WAYS.tolist(), "nodes": NAMES}, {}, "the matrix"),
    "csr": (scipy.sparse.csr_matrix(BOTH_WAYS), {}, "the matrix"),
    "coo array": (scipy.sparse.coo_array(BOTH_WAYS), {}, "the matrix"),
    "lil": (scipy.sparse.lil_matrix(ONE_WAY), {"directed": False}, "the matrix"),
    "tensor": (torch.tensor(BOTH_WAYS), {}, "the matrix"),
    "half tensor": (torch.tensor(BOTH_WAYS).half(), {}, "the matrix"),
    "bfloat16": (torch.tensor(BOTH_WAYS).bfloat16(), {}, "the matrix"),
    "sparse bfloat16": (torch.tensor(BOTH_WAYS).bfloat16().to_sparse(), {}, "the matrix"),
    "tensor with gradients": (torch.tensor(BOTH_WAYS, requires_grad=True), {}, "the matrix"),
    "sparse tensor": (torch.tensor(BOTH_WAYS).to_sparse(), {}, "the matrix"),
    "sparse csr tensor": (compressed(BOTH_WAYS), {}, "the matrix"),
    "sparse with gradients": (
        torch.tensor(BOTH_WAYS, requires_grad=True).to_sparse(),
        {},
        "the matrix",
    ),
    "adjacency frame": (DataFrame(BOTH_WAYS, NAMES, NAMES), {}, "the matrix"),
    "numbered frame": (DataFrame(BOTH_WAYS), {}, "the matrix"),
    "matrix in csv": (in_file(lines(rows=BOTH_WAYS)), {}, "the matrix"),
    "named matrix in csv": (
        in_file(lines(heading=["", *NAMES], rows=[(n, *r) for n, r in NAMED_ROWS])),
        {},
        "the matrix",
    ),
    "networkx": (networkx(), {}, "'weight'"),
    "networkx by length": (networkx(attribute="length"), {"weight": "length"}, "'length'"),
    "networkx both ways": (networkx().to_directed(), {}, "'weight'"),
    "networkx one way": (networkx(nx.DiGraph), {"directed": False}, "'weight'"),
    "multigraph": (networkx(nx.MultiGraph), {}, "'weight'"),
    "networkx edges": (networkx().edges(data=True), {}, "'weight'"),
    "networkx weights": (list(networkx().edges(data="weight")), {}, "the third column"),
    "tuples": (PAIRS, {}, "the third column"),
    "lists": (list(map(list, PAIRS)), {}, "the third column"),
    "numbered tuples": (NUMBERED, {}, "the third column"),
    "edge array of names": (np.array(PAIRS), {}, "the third column"),
    "edge array": (np.array(NUMBERED), {}, "the third column"),
    "float edge array": (np.array(NUMBERED, float), {}, "the third column"),
    "edge tensor": (torch.tensor(NUMBERED), {}, "the third column"),
    "said edges": ({"edges": PAIRS}, {}, "the third column"),
    "said undirected": ({"edges": PAIRS, "directed": False}, {}, "the third column"),
    "records": (LINKS, {"weight": "length"}, "'length'"),
    "records from to": ([{"from": u, "to": v, "weight": w} for u, v, w in PAIRS], {}, "'weight'"),
    "node link": (
        {"directed": False, "graph": {}, "nodes": [{"id": n} for n in NAMES], "links": LINKS},
        {"weight": "length"},
        "'length'",
    ),
    "said weight": ({"links": LINKS, "weight": "length"}, {}, "'length'"),
    "frame": (frame("from", "to", "weight"), {}, "'weight'"),
    "frame of cities": (frame("city1", "city2", "km"), {}, "'km'"),
    "frame source target": (frame("cost", "target", "source", rows=SHUFFLED), {}, "'cost'"),
    "wide frame": (frame("from", "to", "km").assign(lanes=2), {"weight": "km"}, "'km'"),
    "mapping": (NEIGHBOURS, {}, "the mapping"),
    "mapping one way": (
        {"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {"sea": 4}},
        {"directed": False},
        "the mapping",
    ),
    "mapping of attributes": (
        {u: {v: {"length": w} for v, w in n.items()} for u, n in NEIGHBOURS.items()},
        {"weight": "length"},
        "'length'",
    ),
    "edge_index": (BOTH_INDEX, {"edge_weight": np.tile(WEIGHTS, 2)}, "'edge_weight'"),
    "edge_index once": (INDEX, {"edge_weight": WEIGHTS, "directed": False}, "'edge_weight'"),
    "edge_index tensors": (
        torch.tensor(BOTH_INDEX),
        {"edge_weight": torch.tensor(np.tile(WEIGHTS, 2), requires_grad=True)},
        "'edge_weight'",
    ),
    "edge_index lists": (
        BOTH_INDEX.tolist(),
        {"edge_weight": np.tile(WEIGHTS, 2).tolist()},
        "'edge_weight'",
    ),
    "said edge_index": (
        {"edge_index": INDEX.tolist(), "edge_weight": WEIGHTS.tolist()},
        {"directed": False},
        "'edge_weight'",
    ),
    "said edge_index, weights beside it": (
        {"edge_index": INDEX.tolist()},
        {"directed": False, "edge_weight": WEIGHTS},
        "'edge_weight'",
    ),
    "said edge_index with names": (
        {"edge_index": BOTH_INDEX, "edge_weight": np.tile(WEIGHTS, 2), "nodes": NAMES},
        {},
        "'edge_weight'",
    ),
    "records in capitals": (
        [{"Source": u, "Target": v, "Weight": w, "Toll": 9} for u, v, w in PAIRS],
        {},
        "'Weight'",
    ),
    "data without weights": (
        data(edge_index=BOTH_INDEX, num_nodes=4),
        {"edge_weight": np.tile(WEIGHTS, 2)},
        "'edge_weight'",
    ),
    "data": (
        data(edge_index=BOTH_INDEX, edge_weight=torch.tensor(np.tile(WEIGHTS, 2)), num_nodes=4),
        {},
        "'edge_weight'",
    ),
    "data with edge_attr": (
        data(edge_index=torch.tensor(INDEX), edge_attr=torch.tensor(WEIGHTS)[:, None], num_nodes=4),
        {"weight": "edge_attr", "directed": False},
        "'edge_attr'",
    ),
    "any object with an edge_index": (
        SimpleNamespace(edge_index=BOTH_INDEX, edge_weight=np.tile(WEIGHTS, 2), num_nodes=4),
        {},
        "'edge_weight'",
    ),
    "csv": (in_file(lines()), {}, "the third column"),
    "csv with heading": (in_file(lines(heading=("from", "to", "weight"))), {}, "'weight'"),
    "csv of cities": (in_file(lines(heading=("Stadt", "Ziel", "km"))), {}, "'km'"),
    "csv with four columns": (
        in_file(lines(heading=("city1", "city2", "km", "lanes"), rows=[(*p, 2) for p in PAIRS])),
        {"weight": "km"},
        "'km'",
    ),
    "semicolons": (
        in_file("from;to;weight\nhome;shop;1,0\nhome;park;3,0e0\nshop;park;1\npark;sea;+4,0"),
        {},
        "'weight'",
    ),
    "tabs": (in_file("# roads\n" + lines("\t")), {}, "the third column"),
    "spaces": (in_file(lines(" ")), {}, "the third column"),
    "both ways in csv": (in_file(lines() + "\nshop,home,1"), {}, "the third column"),
    "twice in csv": (in_file(lines() + "\nhome,shop,1"), {}, "the third column"),
    "json edges": (in_file(json.dumps(PAIRS), "r.json"), {}, "the third column"),
    "json neighbours": (in_file(json.dumps(NEIGHBOURS), "r.json"), {}, "the mapping"),
    "json numbers": (in_file(json.dumps(BOTH_WAYS.tolist()), "r.json"), {}, "the matrix"),
    "infinite edge": ([*PAIRS, ("sea", "home", float("inf"))], {}, "the third column"),
    "self-loop": ([*PAIRS, ("sea", "sea", 7)], {}, "the third column"),
}  # fmt: skip


@pytest.mark.parametrize("form", UNDIRECTED)
@pytest.mark.parametrize("name", ["dijkstra", "mst_prim", "bellman_ford"])
def test_every_form_is_the_same_graph_with_the_same_answer(form, name):
    graph, options, source = UNDIRECTED[form]
    algorithm = algorist.get(name)
    names = read_problem(algorist.get("floyd_warshall"), {"A": graph, **options}).names
    assert names in (None, tuple(NAMES), (0, 1, 2, 3))
    start = names[0] if names else 0
    problem = read_problem(algorithm, {"A": graph, "s": start, **options})
    A = problem.arrays["A"] - np.diag(np.diag(problem.arrays["A"]))
    assert A.tolist() == BOTH_WAYS.tolist()
    assert problem.description.startswith("4 nodes, 4 undirected edges")
    assert f"weights from {source}" in problem.description
    assert algorithm.trace_arrays(problem.arrays).outputs["pi"][0].tolist() == [0, 0, 1, 2]


DIRECTED = {
    "matrix": (ONE_WAY, {}),
    "mapping": ({"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {"sea": 4}}, {}),
    "mapping in json": (
        in_file('{"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {"sea": 4}}'),
        {},
    ),
    "mapping of lists": (
        {"home": ["shop", "park"], "shop": ["park"], "park": ["sea"]},
        {"weight": None},
    ),
    "numbers in json keys": ({"0": [1, 2], "1": [2], "2": [3]}, {}),
    "digraph": (networkx(nx.DiGraph), {}),
    "multidigraph": (networkx(nx.MultiDiGraph), {}),
    "edge_index": (INDEX, {}),
    "tuples": (PAIRS, {"directed": True}),
    "pairs": ([p[:2] for p in PAIRS], {"directed": True}),
    "csv": (in_file(lines()), {"directed": True}),
    "frame": (frame("from", "to", "weight"), {"directed": True}),
    "said": ({"edges": PAIRS, "directed": True}, {}),
    "triplets": (scipy.sparse.coo_matrix((WEIGHTS, INDEX), (4, 4)), {}),
}


@pytest.mark.parametrize("form", DIRECTED)
def test_directed_forms_agree_with_networkx(form):
    graph, options = DIRECTED[form]
    problem = read_problem(algorist.get("floyd_warshall"), {"A": graph, **options})
    A = problem.arrays["A"]
    assert (A != 0).tolist() == (ONE_WAY != 0).tolist()
    assert "4 directed edges" in problem.description
    other = nx.from_numpy_array(A, create_using=nx.DiGraph)
    paths = dict(nx.all_pairs_dijkstra_path_length(other))
    found = algorist.get("floyd_warshall").trace_arrays(problem.arrays)
    D = found.hints["D"][-1, 0]
    for u, lengths in paths.items():
        for v, length in lengths.items():
            assert D[u, v] == pytest.approx(length)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", ["networkx", "tuples", "frame", "sparse", "neighbours", "csv"])
def test_random_graphs_have_networkx_distances(form, seed):
    made = nx.gnp_random_graph(9, 0.3, seed=seed, directed=seed % 2 == 1)
    rng = np.random.RandomState(seed)
    for u, v in made.edges:
        made[u][v]["cost"] = int(rng.randint(1, 20))
    rows = [(u, v, c) for u, v, c in made.edges(data="cost")]
    lone = [(u,) for u in made if made.degree(u) == 0]
    forms = {
        "networkx": (made, "cost"),
        "tuples": ({"edges": rows, "nodes": list(made)}, None),
        "frame": (DataFrame(rows, columns=["from", "to", "cost"]), None),
        "sparse": (nx.to_scipy_sparse_array(made, weight="cost"), None),
        "neighbours": ({u: {v: made[u][v]["cost"] for v in made[u]} for u in made}, None),
        "csv": (in_file(lines(rows=[*lone, *rows])), None),
    }  # fmt: skip
    graph, weight = forms[form]
    said = {"weight": weight} if weight else {}
    source = rows[0][0]
    given = {"A": graph, "s": source, "directed": made.is_directed() or None, **said}
    given = {key: value for key, value in given.items() if value is not None}
    problem = read_problem(algorist.get("dijkstra"), given)
    names = problem.names or tuple(range(9))
    found = algorist.get("dijkstra").trace_arrays(problem.arrays)
    expected = nx.single_source_dijkstra_path_length(made, source, weight="cost")
    distances = {int(name): d for name, d in zip(names, found.hints["d"][-1, 0], strict=True)}
    reached = found.hints["mark"][-1, 0] > 0
    assert {int(n) for n, r in zip(names, reached, strict=True) if r} == set(expected)
    for node, length in expected.items():
        assert distances[node] == pytest.approx(length)


REFUSED = [
    (networkx(), {"edge_weight": WEIGHTS}, "edge_weight: got weights beside a graph that holds"),
    (scipy.sparse.csr_matrix(BOTH_WAYS), {"edge_weight": WEIGHTS}, "edge_weight: got weights"),
    (torch.tensor(BOTH_WAYS).to_sparse(), {"edge_weight": WEIGHTS}, "edge_weight: got weights"),
    (NEIGHBOURS, {"edge_weight": WEIGHTS}, "edge_weight: got weights beside a graph that holds"),
    (frame("from", "to", "km"), {"edge_weight": WEIGHTS}, "edge_weight: got weights beside"),
    ({"edges": PAIRS}, {"edge_weight": WEIGHTS}, "edge_weight: got weights beside a graph"),
    ({"edges": PAIRS, "edge_weight": WEIGHTS}, {}, "got edge_weight beside 'edges'"),
    (
        {"edge_index": INDEX, "edge_weight": WEIGHTS},
        {"edge_weight": WEIGHTS},
        "edge_weight: got weights beside a graph that holds its own",
    ),
    (INDEX, {"edge_weight": WEIGHTS, "weight": "length"}, "beside edge_weight, expected one of"),
    ({"edge_index": INDEX}, {"weight": "length"}, "got 'length' with an edge_index"),
    ({"edge_index": INDEX, "num_nodes": -1}, {}, "got -1 for num_nodes"),
    ({"edges": PAIRS, "num_nodes": 6}, {}, "got 4 nodes and num_nodes 6"),
    ({"edges": PAIRS, "weight": [1, 2]}, {}, "got [1, 2] for weight, expected the name"),
    ({"edges": [["a", "b"]], "Directed": True}, {}, "key 'Directed': did you mean 'directed'?"),
    ({"matrix": BOTH_WAYS, "nodes": ["a", "b", "a", "c"]}, {}, "got the node 'a' twice"),
    (np.array([[0, 1j], [1j, 0]]), {}, "an array of complex128, expected real numbers"),
    ([("a", "b", 2**53 + 1)], {}, "edge 1: got 9007199254740993, expected whole numbers up to"),
    (in_file("a,b,9007199254740993\nb,c,1"), {}, "line 1: got 9007199254740993, expected whole"),
    ({"matrix": [[0, 2**53 + 1], [1, 0]]}, {}, "A: got 9007199254740993, expected whole numbers"),
    ([[0, 1, 2], [1, 2, 3], [2, 0, 1]], {}, "can be the rows of a matrix or 3 edges"),
    ([(0, 1, 2), (1, 2, 3), (2, 0, 1)], {}, "can be the rows of a matrix or 3 edges"),
    (np.array([[0, 1, 2], [1, 2, 3], [2, 0, 1]]), {}, "{'matrix': [...]} or {'edges': [...]}"),
    (torch.tensor([[0, 1], [1, 2]]), {}, "can be an edge_index, a matrix or two edges"),
    (torch.tensor([[0, 0], [1, 2]]), {}, "A={'edge_index': A}, A={'matrix': A} or"),
    ({"edgs": [["a", "b"]]}, {}, "names of its neighbours, or 'edges' for 'edgs'"),
    (in_file("[[0, 1, 2], [1, 2, 3], [2, 0, 1]]", "r.json"), {}, "r.json: got"),
    (np.array([[0, 1, 2], [1, 2, 0]]), {}, "edge_index of three edges or two edges with weights"),
    (networkx(attribute="length"), {}, "got edges with 'length' and no 'weight'"),
    (networkx(attribute="Distance"), {}, "weight='Distance' (--weight Distance)"),
    ({"links": LINKS}, {}, "got edges with 'length' and no 'weight'"),
    (networkx(), {"weight": "length"}, "unknown edge attribute 'length': known: weight"),
    (frame("from", "to", "km").assign(lanes=2), {}, "got edges with 'km' and no 'weight'"),
    (frame("from", "to", "km"), {"weight": "miles"}, "unknown column 'miles'"),
    (frame("a", "b", "c").assign(d=2), {}, "expected one called from and one called to"),
    (frame("from", "to", "w", rows=[("a", "b", "x")]), {}, "row 0: got 'x' for 'w'"),
    (frame("from", "to", rows=[("a", None)]), {}, "row 0: got the node None"),
    (data(edge_index=INDEX, edge_attr=WEIGHTS, num_nodes=4), {}, "weight='edge_attr'"),
    (data(edge_index=INDEX, num_nodes=3), {}, "got the node 3, expected nodes from 0 to 2"),
    (INDEX, {"edge_weight": [1.0]}, "edge_weight: got 1 weights, expected one for each of the 4"),
    (networkx(), {"directed": True}, "got an undirected graph with directed=True"),
    (PAIRS, {"directed": "no"}, "directed: got 'no', expected True or False"),
    (BOTH_WAYS, {"weight": "length"}, "with a matrix, expected none: its entries are the weights"),
    ([("a", "b", 1), ("b", "a", 2)], {}, "directed=True (--directed) keeps both"),
    ([("a", "b", 1), ("a", "b", 2)], {}, "edge 2: got a second edge, of weight 2, from 'a' to 'b'"),
    ([("a", "b", 0)], {}, "edge 1: got an edge of weight 0 from 'a' to 'b'"),
    ([("a", "b", float("nan"))], {}, "edge 1: got nan, expected a finite number"),
    ([("a", "b", -np.inf)], {}, "edge 1: got -inf, expected a finite number"),
    ([("a", "b", "1e400")], {}, "edge 1: got '1e400', expected a finite number"),
    ([("a", "b", 1), ("b", "c")], {}, "edge 2: got 2 values, expected 3 as before"),
    ([("a", "b", 1, 2)], {}, "edge 1: got ('a', 'b', 1, 2), expected [from, to]"),
    ([], {}, "got no edges, expected a graph"),
    ("roads", {}, "got 'roads', expected a graph"),
    ("roads.csv", {}, "read the file first, with pandas.read_csv"),
    (Path("roads.csv"), {}, "read the file first, with pandas.read_csv"),
    (7, {}, "got 7, expected a graph"),
    ([(1, "a", 2), ("1", "b", 2)], {}, "two nodes that read the same, 1 and '1'"),
    ({"a": [("b", 2)], "b": []}, {}, "got the neighbour ('b', 2) of 'a', which can be a node of"),
    ({"a": [["b", 2]]}, {}, "expected {'a': {'b': 2}} for weights, or the names alone"),
    ({"a": {"b": 1}, "b": ["a"]}, {}, "got no 'weight' for the edge from 'b' to 'a'"),
    (np.array([[0, np.nan], [1, 0.5]]), {}, "A: got nan from 0 to 1, expected finite numbers"),
    (np.zeros((3, 4)) + 0.5, {}, "got shape (3, 4), expected a square matrix"),
    (scipy.sparse.coo_matrix(([0.0], ([0], [1])), (2, 2)), {}, "edge of weight 0 from 0 to 1"),
    (in_file("city1,city2,km\na,b,1\na,b,2"), {}, "roads.csv, line 3: got a second edge"),
    (in_file("city1,city2,km\na,b,1\nb,c,far"), {}, "roads.csv, line 3: got 'far' for 'km'"),
    (in_file("a,b,1\nb,c,-1"), {"s": "a"}, "roads.csv, line 2: got the negative weight -1"),
    (in_file('{"edges": [["a", "b", 1], ["b", "c"]]}'), {}, "roads.csv, edge 2: got 2 values"),
    ({"edges": PAIRS, "directed": True}, {"directed": False}, "expected them to agree"),
    ({"matrix": BOTH_WAYS, "nodes": ["a"]}, {}, "got 1 names for nodes, expected 4"),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_could_be_misread_is_refused(graph, options, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_problem(algorist.get("dijkstra"), {"A": graph, "s": 0, **options})
    assert "\n" not in str(error.value)


def test_a_small_matrix_with_infinity_is_read_without_a_warning():
    with warnings.catch_warnings(action="error"):
        problem = read_problem(algorist.get("floyd_warshall"), {"A": [[0, np.inf], [1, 0]]})
    assert problem.description.endswith("1 of weight inf left out")


def test_an_edge_index_is_given_as_the_graph():
    with pytest.raises(ValueError, match=r"unknown input 'edge_index': .*; give it as A"):
        read_problem(algorist.get("bfs"), {"edge_index": INDEX, "s": 0})


@pytest.mark.parametrize("line", ["from,to,weight", "source;target"])
def test_a_heading_alone_is_refused_as_one(line):
    with pytest.raises(ValueError, match="alone, which can be a heading or an edge"):
        in_file(line)


HEADINGS = [
    ("city1,city2\nBonn,Ulm\nUlm,Jena", ["Bonn", "Ulm", "Jena"]),
    ("from,to\na,b", ["a", "b"]),
    ("Source;Target;Length\na;b;2,5", ["a", "b"]),
    ("u v\na b", ["a", "b"]),
    ("source_id,target_id\na,b", ["a", "b"]),
    ("left,right\n1,2\n2,3", ["1", "2", "3"]),
    ("eins,zwei,drei\na,b,1", ["a", "b"]),
    ("start,a,1\nstart,b,9\nb,a,1", ["start", "a", "b"]),
    ("start,end,1\nstart,b,9", ["start", "end", "b"]),
    ("u,v\nv,w", ["u", "v", "w"]),
    ("from,there\nthere,here", ["from", "there", "here"]),
    ("u,v", ["u", "v"]),
    ("1,2\n3,4", ["1", "2", "3", "4"]),
    ("home\nhome, shop, 2\nshop, park, 3", ["home", "shop", "park"]),
    ("Berlin, Mitte;Bonn;1,5", ["Berlin, Mitte", "Bonn"]),
    ("# Stadt,Ziel\nBonn,Ulm\nJena,Halle", None),
]


@pytest.mark.parametrize(("text", "names"), HEADINGS, ids=[text for text, _ in HEADINGS])
def test_a_first_line_is_a_heading_an_edge_or_refused(text, names):
    if names is None:
        with pytest.raises(ValueError, match="line 2: got 'Bonn,Ulm', which can be a heading or"):
            in_file(text)
        return
    problem = read_problem(algorist.get("floyd_warshall"), {"A": in_file(text)})
    assert list(problem.names) == names


SAID = [
    ({"A": networkx(), "s": "home"}, "4 nodes, 4 undirected edges, weights from 'weight'"),
    (
        {"A": [*PAIRS, ("sea", "sea", 2), ("sea", "home", np.inf)], "s": "home"},
        "4 nodes, 4 undirected edges, 1 self-loop, weights from the third column, "
        "1 of weight inf left out",
    ),
    ({"A": [p[:2] for p in PAIRS], "s": "home"}, "4 nodes, 4 undirected edges, every weight 1"),
    (
        {"A": networkx(attribute="lanes"), "s": "home"},
        "4 nodes, 4 undirected edges, every weight 1 ('lanes' not used)",
    ),
    (
        {"A": nx.MultiGraph([("a", "b", {"weight": 3}), ("a", "b", {"weight": 2})]), "s": "a"},
        "2 nodes, 1 undirected edge, weights from 'weight', of parallel edges the lightest",
    ),
]


@pytest.mark.parametrize(("given", "text"), SAID, ids=[text for _, text in SAID])
def test_what_was_read_is_said(given, text):
    assert read_problem(algorist.get("dijkstra"), given).description == text


def test_weights_that_an_algorithm_does_not_use_are_said_to_be_unused():
    for graph in (networkx(), PAIRS, BOTH_WAYS, networkx(attribute="length")):
        source = 0 if graph is BOTH_WAYS else "home"
        problem = read_problem(algorist.get("bfs"), {"A": graph, "s": source})
        assert problem.description == "4 nodes, 4 undirected edges, weights not used"
        assert np.isin(problem.arrays["A"], (0, 1)).all()


def test_the_lightest_of_parallel_edges_counts():
    graph = nx.MultiGraph([("a", "b", {"weight": 3}), ("b", "a", {"weight": 2})])
    assert read_problem(algorist.get("dijkstra"), {"A": graph, "s": "a"}).arrays["A"][0, 1] == 2


def test_small_matrices_that_can_be_nothing_else_are_matrices():
    for A in ([[0, 1], [1, 0]], [[0, 3, 1], [3, 0, 1], [1, 1, 0]], [[0, 0.5], [0.5, 0]], [[0]]):
        problem = read_problem(algorist.get("floyd_warshall"), {"A": A})
        assert problem.arrays["A"].tolist() == A


def test_three_lines_of_three_numbers_are_a_matrix_edges_or_refused():
    rows = "0,1,2\n1,2,3\n2,0,1"
    with pytest.raises(
        ValueError, match=r"roads\.csv: got three lines of three numbers, which can"
    ):
        in_file(rows)
    edges = read_problem(algorist.get("floyd_warshall"), {"A": in_file(f"from,to,weight\n{rows}")})
    assert edges.description == "3 nodes, 3 undirected edges, weights from 'weight'"
    for text in ("0,1,0\n1,0,1\n0,1,0", "0,2,5\n2,0,3\n5,3,0", "0,0.5,1\n0.5,0,1\n1,1,0"):
        matrix = read_problem(algorist.get("floyd_warshall"), {"A": in_file(text)})
        expected = [[float(x) for x in line.split(",")] for line in text.splitlines()]
        assert matrix.arrays["A"].tolist() == expected


def test_neighbours_that_are_pairs_can_be_nodes_of_a_grid():
    grid = {(0, 0): [(0, 1)], (0, 1): [(0, 0), (1, 1)], (1, 1): []}
    problem = read_problem(algorist.get("floyd_warshall"), {"A": grid})
    assert problem.names == ((0, 0), (0, 1), (1, 1))


def test_which_reading_is_meant_can_be_said():
    rows = [[0, 1, 2], [1, 2, 3], [2, 0, 1]]
    matrix = read_problem(algorist.get("floyd_warshall"), {"A": {"matrix": rows}})
    assert matrix.arrays["A"].tolist() == rows
    edges = read_problem(algorist.get("floyd_warshall"), {"A": {"edges": rows}})
    assert edges.description.startswith("3 nodes, 3 undirected edges")


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", ["bfs", "dfs", "dijkstra", "mst_kruskal", "articulation_points"])
def test_drawn_problems_are_never_taken_for_edges(name, n):
    for seed in range(30):
        drawn = {k: x[0] for k, x in algorist.get(name).sample(n, 1, seed).inputs.items()}
        for given in (drawn, {k: x for k, x in drawn.items() if k not in ("adj", "pos")}):
            problem = read_problem(algorist.get(name), given)
            assert np.array_equal(problem.arrays["A"], drawn["A"])
