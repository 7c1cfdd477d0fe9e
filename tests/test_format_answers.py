"""Answers as people expect them, against independent ones; numbers of any size brought to scale."""

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import algorist
from algorist.algorithms.format_answers import format_outputs
from algorist.algorithms.sampling import adjacency
from algorist.algorithms.user_inputs.problems import read_problem
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.spec import Kind, Spec, edge, graph, node

SCALED = [name for name in algorist.algorithms() if algorist.get(name).scale]


def natural(name, outputs=None, **inputs):
    """The answer that the algorithm itself, or the given outputs, make to a problem."""
    algorithm = algorist.get(name)
    problem = read_problem(algorithm, inputs)
    batch = algorithm.trace_arrays(problem.arrays)
    first = {key: array[0] for key, array in batch.inputs.items()}
    truth = {key: array[0] for key, array in batch.outputs.items()}
    given = truth if outputs is None else {**truth, **outputs}
    if algorithm.answer:
        return algorithm.answer(first, given, problem.names)
    return format_outputs(algorithm.spec, given, problem.names)


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_sparse_matrices_of_all_forms_are_graphs(form, kind):
    weights = [[0, 2.0, 0], [2, 0, 1], [0, 1, 0]]
    sparse = getattr(scipy.sparse, f"{form}_{kind}")(weights)
    problem = read_problem(algorist.get("dijkstra"), {"A": sparse, "s": 0})
    assert problem.arrays["A"].tolist() == weights
    assert problem.names is None


def test_stored_zeros_of_sparse_matrices_are_refused_as_those_of_other_graphs():
    ends = ([0, 1, 1, 2], [1, 0, 2, 1])
    sparse = scipy.sparse.coo_matrix(([1.0, 1, 0, 0], ends))
    with pytest.raises(ValueError, match="A: got an edge of weight 0 from 1 to 2, expected other"):
        read_problem(algorist.get("dijkstra"), {"A": sparse, "s": 0})


@pytest.mark.parametrize("name", ["insertion_sort", "bubble_sort", "heapsort", "quicksort"])
def test_sorts_answer_with_the_sorted_keys(name):
    keys = [3.0, -1.0, 20.0, 3.0, 0.5]
    assert natural(name, key=keys).tolist() == sorted(keys)


def test_a_broken_chain_is_followed_as_far_as_it_leads():
    broken = {"pred": np.array([1, 0, 0, 3])}
    assert natural("heapsort", broken, key=[5, 6, 7, 8]).tolist() == [6, 5, 7]


def test_searches_answer_with_an_index():
    assert natural("minimum", key=[3, 1, 2]) == 1
    assert natural("quickselect", key=[3, 1, 2]) == 2
    assert natural("binary_search", key=[1, 2, 5], target=5) == 2


def test_a_subarray_is_its_first_and_last_index():
    assert natural("find_maximum_subarray_kadane", key=[-1, 4, -1, 3, -9]) == (1, 3)


@pytest.mark.parametrize("name", ["naive_string_matcher", "kmp_matcher"])
@pytest.mark.parametrize("pattern", ["ab", "ca", "cc", "abcab"])
def test_matchers_answer_as_find_does(name, pattern):
    text = "aabcabcab"
    assert natural(name, text=text, pattern=pattern) == text.find(pattern)


def subsequences(word):
    picks = itertools.product((False, True), repeat=len(word))
    return {"".join(itertools.compress(word, pick)) for pick in picks}


def test_a_common_subsequence_is_a_text_or_class_numbers():
    common = subsequences("abcbdab") & subsequences("bdcaba")
    found = natural("lcs_length", x="abcbdab", y="bdcaba")
    assert found in common
    assert len(found) == max(map(len, common))
    assert natural("lcs_length", x=[0, 1, 2], y=[1, 2]).tolist() == [1, 2]


def cost(product, p):
    """Rows, columns and multiplications of nested products."""
    if isinstance(product, int):
        return p[product], p[product + 1], 0
    (rows, inner, left), (_, columns, right) = (cost(part, p) for part in product)
    return rows, columns, left + right + rows * inner * columns


def test_the_textbooks_chain_is_multiplied_as_the_textbook_does():
    p = [30, 35, 15, 5, 10, 20, 25]
    found = natural("matrix_chain_order", p=p)
    assert found == ((0, (1, 2)), ((3, 4), 5))
    assert cost(found, p)[2] == 15125


def test_a_chain_that_is_split_outside_of_itself_stays_flat():
    assert natural("matrix_chain_order", {"s": np.zeros((4, 4), int)}, p=[1, 2, 3, 4]) == (0, 1, 2)


def test_the_textbooks_search_tree_has_the_textbooks_parents():
    p, q = [0.15, 0.10, 0.05, 0.10, 0.20], [0.05, 0.10, 0.05, 0.05, 0.05, 0.10]
    assert natural("optimal_bst", p=p, q=q).tolist() == [1, 1, 3, 4, 1]


def test_choices_are_masks():
    intervals = {"s": [1, 3, 0, 5], "f": [4, 5, 6, 7]}
    assert natural("activity_selector", **intervals).tolist() == [True, False, False, True]
    square = [(0, 0), (2, 0), (1, 1), (2, 2), (0, 2)]
    assert natural("graham_scan", points=square).tolist() == [True, True, False, True, True]
    assert natural("segments_intersect", points=[(0, 0), (4, 3), (0, 3), (4, 0)]) is True


TOWN = nx.Graph([("home", "shop"), ("shop", "park"), ("home", "park"), ("park", "sea")])


def test_nodes_that_have_names_are_answered_by_name():
    assert natural("bfs", A=TOWN, s="home") == {
        "home": "home",
        "shop": "home",
        "park": "home",
        "sea": "park",
    }
    assert natural("articulation_points", A=TOWN) == list(nx.articulation_points(TOWN))
    assert natural("bridges", A=TOWN) == list(nx.bridges(TOWN))
    paths = natural("floyd_warshall", A=TOWN)
    assert paths["home"]["sea"] == "park"
    assert len(natural("mst_kruskal", A=TOWN)) == 3
    order = natural("topological_sort", A=nx.DiGraph([("b", "a"), ("c", "b")]))
    assert order == ["c", "b", "a"]


def test_nodes_without_names_are_numbered():
    A = nx.to_numpy_array(TOWN)
    assert natural("bfs", A=A, s=0).tolist() == [0, 0, 0, 2]
    assert natural("bridges", A=A)[2, 3]
    assert natural("bridges", A=A).sum() == 2
    assert natural("topological_sort", A=[[0, 0], [1, 0]]) == [1, 0]


def test_several_outputs_are_answered_by_their_names():
    spec = Spec.of(
        inputs={},
        hints={},
        outputs={"sum": graph.scalar, "who": node.mask_one, "kind": node.categorical(2)},
    )
    outputs = {
        "sum": np.array(2.5),
        "who": np.array([0, 1]),
        "kind": np.array([[1, 0], [0, 1]]),
    }
    found = format_outputs(spec, outputs, ("a", "b"))
    assert found["sum"] == 2.5
    assert found["who"] == "b"
    assert found["kind"].tolist() == [0, 1]


def test_edges_that_are_marked_one_way_keep_their_direction():
    spec = Spec.of(inputs={}, hints={}, outputs={"tree": edge.mask})
    tree = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 0]])
    assert format_outputs(spec, {"tree": tree}, "abc") == [("b", "a"), ("b", "c")]


@pytest.mark.parametrize(
    "neighbours",
    [
        {"a": {"b": 2, "c": 1}, "b": {}, "c": {"b": 0.5}},
        {"a": {"b": 2, "c": 1}, "c": {"b": 0.5}},
    ],
)
def test_a_mapping_of_neighbours_is_a_graph(neighbours):
    paths = natural("dijkstra", A=neighbours, s="a")
    assert paths == {"a": "a", "b": "c", "c": "a"}


def test_neighbours_without_weights_are_a_graph_too():
    assert natural("bfs", A={1: [2], 2: [1, 3], 3: (2,)}, s=1) == {1: 1, 2: 1, 3: 2}


# ------------------------------------------------------------------ scales


def in_another_unit(scale, inputs):
    """The same problem in a unit, and from an origin, far from the benchmark's."""
    named = {name for group in scale.groups for name in group}
    return {
        name: array[0] * 48.0 + (100.0 if scale.shifts else 0.0) if name in named else array[0]
        for name, array in inputs.items()
    }


@pytest.mark.parametrize("name", SCALED)
def test_the_steps_do_not_depend_on_the_unit(name):
    algorithm = algorist.get(name)
    drawn = algorithm.sample(9, 1, seed=4)
    own = algorithm.trace(**in_another_unit(algorithm.scale, drawn.inputs))
    scaled = algorithm.scale.of(own.inputs)
    seen = {key: scaled.input(key, array)[0] for key, array in own.inputs.items()}
    again = algorithm.trace(**seen)
    assert np.array_equal(own.lengths, again.lengths)
    for feature in (*algorithm.spec.hints, *algorithm.spec.outputs):
        stage = feature.stage
        expected = scaled.inwards(feature.name, own.at(stage)[feature.name])
        got = again.at(stage)[feature.name]
        if feature.kind == Kind.SCALAR:
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)
            back = scaled.outwards(feature.name, got)
            np.testing.assert_allclose(back, own.at(stage)[feature.name], rtol=1e-6, atol=1e-6)
        else:
            assert np.array_equal(got, expected), feature.name


@pytest.mark.parametrize("name", SCALED)
def test_scaled_numbers_lie_where_the_benchmarks_do(name):
    scale = algorist.get(name).scale
    drawn = algorist.get(name).sample(9, 1, seed=4).inputs
    own = {key: array[None] for key, array in in_another_unit(scale, drawn).items()}
    scaled = scale.of(own)
    seen = np.concatenate(
        [np.ravel(scaled.input(key, own[key])) for group in scale.groups for key in group]
    )
    assert seen.max() <= scale.high + 1e-9
    assert seen.min() >= (scale.low if scale.shifts else -scale.high) - 1e-9
    assert (seen.sum() if scale.total else np.abs(seen).max()) == pytest.approx(scale.high)


@pytest.mark.parametrize("name", SCALED)
def test_the_benchmarks_problems_stay_as_they_are(name):
    algorithm = algorist.get(name)
    drawn = algorithm.sample(12, 5, seed=1).inputs
    for i in range(5):
        assert not algorithm.scale.of({key: array[i] for key, array in drawn.items()}).origins


@pytest.mark.parametrize(
    "keys", [[7.0, 7.0], [0.0, 0.0], [1e100, -1e100], [1e-100, 0.0], [1e-320, 0.0], [1e9, 1e9 + 1]]
)
def test_extreme_keys_are_brought_into_the_range(keys):
    scale = Scale((("key",),), shifts=True)
    key = np.array(keys)
    seen = scale.of({"key": key}).input("key", key)
    assert ((seen >= 0) & (seen <= 1)).all()
    assert np.array_equal(np.argsort(seen, kind="stable"), np.argsort(key, kind="stable"))


def test_edges_by_name_need_a_mask_over_pairs():
    spec = Spec.of(inputs={}, hints={}, outputs={"taken": edge.mask})
    taken = {"taken": np.array([[0, 1], [1, 0]])}
    assert format_outputs(spec, taken, ("a", "b")) == [("a", "b")]
    assert format_outputs(spec, taken).tolist() == [[False, True], [True, False]]


def test_every_node_is_its_own_neighbour():
    weights = np.array([[-1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 5.0]])
    assert adjacency(weights).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
