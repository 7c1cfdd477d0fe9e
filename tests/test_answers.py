"""Which answers count as right: against enumerations of all answers, and over the registry."""

from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

import algorist
from algorist.algorithms.answer_checks import check_answers
from algorist.spec import Kind

ALL = algorist.algorithms()
SEVERAL = [name for name in ALL if algorist.get(name).accepts]
ONE = [name for name in ALL if name not in SEVERAL]
PROBLEMS = 12  # how many each enumeration is tried on


def sample(name, n, count, **options):
    return algorist.get(name).sample(algorist.get(name).size(n), count, 7, options)


def right(name, batch, outputs):
    return check_answers(algorist.get(name), batch.inputs, outputs, batch.outputs)


def test_scalars_may_be_off_a_little(euclid):
    batch = euclid.trace(value=[12, 18])
    for gcd, expected in ((6.0, True), (6.29, True), (5.71, True), (6.31, False), (np.nan, False)):
        assert right("euclid", batch, {"gcd": np.array([gcd])}) == [expected]


def answer(name, problem, **outputs):
    """Whether the algorithm accepts an answer to a problem of one's own."""
    batch = algorist.get(name).trace(**problem)
    outputs = {key: np.array([value]) for key, value in outputs.items()}
    return bool(right(name, batch, outputs)[0])


def one_hot(node, n):
    return np.arange(n) == node


# All algorithms


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [4, 5, 16])
def test_the_truth_is_right(name, n):
    batch = sample(name, n, 20)
    assert right(name, batch, batch.outputs).all()


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("n", [4, 5, 16])
def test_the_truth_is_accepted_without_being_compared(name, n):
    batch = sample(name, n, 20)
    for i in range(len(batch)):
        inputs = {key: value[i] for key, value in batch.inputs.items()}
        outputs = {key: value[i] for key, value in batch.outputs.items()}
        assert algorist.get(name).accepts(inputs, outputs) is True


def meaningless(feature, shape, n, rng):
    """Outputs that fit their kind, drawn at random, all zeros, all ones, or in circles."""
    if feature.kind in (Kind.MASK_ONE, Kind.CATEGORICAL):
        one_hots = np.eye(shape[-1], dtype=int)
        return [one_hots[rng.integers(shape[-1], size=shape[:-1])]] + [
            np.broadcast_to(one_hot, shape) for one_hot in (one_hots[0], one_hots[-1])
        ]
    constant = [np.zeros(shape, int), np.ones(shape, int)]
    if feature.kind == Kind.MASK:
        return [rng.integers(2, size=shape), *constant]
    circle = np.broadcast_to(np.roll(np.arange(n), 1), shape)
    pairs = np.broadcast_to((np.arange(n) ^ 1) % n, shape)
    return [rng.integers(n, size=shape), circle, pairs, *constant]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [4, 16])
def test_meaningless_outputs_are_judged_and_mostly_wrong(name, n):
    batch, rng = sample(name, n, 20), np.random.default_rng(0)
    values = [meaningless(f, batch.outputs[f.name].shape, batch.n, rng) for f in batch.spec.outputs]
    shares = [
        right(name, batch, dict(zip(batch.outputs, chosen, strict=True))).mean()
        for chosen in product(*values)
    ]
    assert np.mean(shares) < 0.6


@pytest.mark.parametrize("name", ALL)
def test_outputs_that_do_not_fit_their_kind_are_wrong(name):
    batch = sample(name, 16, 10)
    for number in (-1, batch.n):
        outputs = {key: np.full_like(value, number) for key, value in batch.outputs.items()}
        assert not right(name, batch, outputs).any()


def test_nothing_and_everything_are_no_choices():
    problem = {"key": [0.5, 0.7, 0.9]}
    assert answer("minimum", problem, min=[1, 0, 0])
    assert not answer("minimum", problem, min=[0, 0, 0])
    assert not answer("minimum", problem, min=[1, 1, 1])


@pytest.fixture(scope="module")
def learner():
    from algorist.model.learner import Learner, TaskEncoding
    from algorist.model.net import ModelConfig

    return Learner.new(["bubble_sort", "dfs"], ModelConfig(hidden=16), TaskEncoding(), (0, 1))


@pytest.mark.parametrize("name", ["bubble_sort", "dfs"])
def test_the_share_of_right_answers_is_part_of_an_evaluation(name, learner, monkeypatch):
    from algorist.evaluation import evaluator as room

    batch = sample(name, 4, 10)
    evaluations = room.evaluate(learner, name, batch)
    for predictions, evaluation in zip(
        room.predict(learner, name, batch), evaluations, strict=True
    ):
        assert evaluation.correct == right(name, batch, predictions.outputs).mean()

    truth = room.Predictions(batch.outputs, {})
    monkeypatch.setattr(room, "predict", lambda *args, **options: [truth])
    assert room.evaluate(learner, name, batch)[0].correct == 1.0


@pytest.mark.parametrize("name", ["bubble_sort", "dijkstra", "mst_prim", "bellman_ford"])
def test_one_other_pointer_is_wrong_where_nothing_is_tied(name):
    batch = sample(name, 16, 10)
    (key,) = batch.outputs
    for node in range(16):
        changed = batch.outputs[key].copy()
        changed[:, node] = (changed[:, node] + 1 + node % 15) % 16
        assert not right(name, batch, {key: changed}).any()


@pytest.mark.parametrize("name", ONE)
def test_where_one_answer_is_right_another_entry_is_wrong(name):
    batch = sample(name, 16, 10)
    (key,) = batch.outputs
    value = batch.outputs[key]
    if batch.spec[key].kind == Kind.MASK_ONE:
        assert not right(name, batch, {key: np.roll(value, 1, -1)}).any()
    else:
        counts = np.argwhere(value != -1)[0]
        changed = value.copy()
        changed[tuple(counts)] ^= 1
        assert right(name, batch, {key: changed}).tolist() == [False] + [True] * 9


def test_entries_that_do_not_count_may_be_anything():
    batch = sample("bridges", 16, 10)
    predicted = np.where(batch.outputs["is_bridge"] == -1, 1, batch.outputs["is_bridge"])
    assert right("bridges", batch, {"is_bridge": predicted}).all()


def test_a_later_match_of_the_needle_is_wrong():
    problem = {"text": "abab", "pattern": "ab"}
    assert answer("naive_string_matcher", problem, match=one_hot(0, 6))
    assert not answer("kmp_matcher", problem, match=one_hot(2, 6))


# Arrays: few different keys, so that many answers are right


def key_lists(n):
    return np.random.default_rng(n).integers(3, size=(PROBLEMS, n))


@pytest.mark.parametrize("name", ["insertion_sort", "bubble_sort", "heapsort", "quicksort"])
def test_equal_keys_are_sorted_in_any_order(name):
    for key in key_lists(4):
        orders = [order for order in permutations(range(4)) if (np.diff(key[[*order]]) >= 0).all()]
        chains = {tuple(chain(order)) for order in orders}
        for pred in product(range(4), repeat=4):
            assert answer(name, {"key": key}, pred=pred) == (pred in chains)


def chain(order):
    """Pointers from each node to the one before it, from the first to itself."""
    pointers = [0] * len(order)
    for before, node in zip((order[0], *order), order, strict=False):
        pointers[node] = before
    return pointers


def test_any_of_equal_keys_is_found():
    for key in key_lists(5):
        for node in range(5):
            chosen = one_hot(node, 5)
            assert answer("minimum", {"key": key}, min=chosen) == (key[node] == min(key))
            median = sorted(key)[2]
            assert answer("quickselect", {"key": key}, median=chosen) == (key[node] == median)
            ascending = np.sort(key)
            for target in (-1, 0, 0.5, 1, 2, 2.5):
                found = min((k for k in key if k >= target), default=max(key))
                problem = {"key": ascending, "target": target}
                assert answer("binary_search", problem, **{"return": chosen}) == (
                    ascending[node] == found
                )


def test_any_subarray_of_greatest_sum_is_right():
    for key in key_lists(5) - 1:
        sums = {(i, j): key[i : j + 1].sum() for i in range(5) for j in range(i, 5)}
        for i, j in product(range(5), repeat=2):
            given = answer(
                "find_maximum_subarray_kadane",
                {"key": key},
                start=one_hot(i, 5),
                end=one_hot(j, 5),
            )
            assert given == (sums.get((i, j)) == max(sums.values()))


def test_any_largest_selection_of_activities_is_right():
    rng = np.random.default_rng(0)
    for _ in range(PROBLEMS):
        s, f = np.sort(rng.integers(6, size=(2, 5)), axis=0)

        def overlap(a, b, s=s, f=f):
            return s[a] < f[b] and s[b] < f[a]

        sets = {
            chosen: not any(
                overlap(a, b) for a in range(5) for b in range(a) if chosen[a] * chosen[b]
            )
            for chosen in product((0, 1), repeat=5)
        }
        most = max(sum(chosen) for chosen, fits in sets.items() if fits)
        for chosen, fits in sets.items():
            expected = fits and sum(chosen) == most
            assert answer("activity_selector", {"s": s, "f": f}, selected=chosen) == expected


def test_any_tasks_that_meet_their_deadlines_and_weigh_enough_are_right():
    rng = np.random.default_rng(0)
    for _ in range(PROBLEMS):
        problem = {"d": rng.integers(1, 6, size=5), "w": rng.integers(1, 4, size=5)}
        d, w = problem.values()
        benchmark = algorist.get("task_scheduling").trace(**problem).outputs["selected"][0]
        for chosen in product((0, 1), repeat=5):
            tasks = np.flatnonzero(chosen)
            fits = any(
                all(d[task] > slot for slot, task in enumerate(order))
                for order in permutations(tasks)
            )
            expected = fits and w[tasks].sum() >= w @ benchmark
            assert answer("task_scheduling", problem, selected=chosen) == expected


def test_a_schedule_that_outweighs_the_benchmark_is_right():
    problem = {"d": [2, 1], "w": [2, 1]}  # the heavy task takes the first slot, which it need not
    assert algorist.get("task_scheduling").trace(**problem).outputs["selected"][0].tolist() == [
        1,
        0,
    ]
    assert answer("task_scheduling", problem, selected=[1, 1])


# Tables: random entries, evaluated by what one finds when one follows them


def cost_of_splits(split, i, j, alone, joining):
    """The cost of a range, infinite where a split is outside of its range."""
    if i == j:
        return alone(i)
    k = split[i, j]
    if not i <= k < j:
        return np.inf
    parts = ((i, k), (k + 1, j))
    return sum(cost_of_splits(split, *part, alone, joining) for part in parts) + joining(i, k, j)


def random_splits(rng, n):
    """Most of them inside of their ranges."""
    i, j = np.indices((n, n))
    inside = i + rng.integers(n, size=(n, n)) % np.maximum(j - i, 1)
    return np.where(rng.random((n, n)) < 0.1, rng.integers(n, size=(n, n)), inside)


def assert_cheapest_splits_are_right(name, problem, output, first, costs):
    rng = np.random.default_rng(0)
    tables = [random_splits(rng, 5) for _ in range(150)]
    found = [cost_of_splits(table, first, 4, *costs) for table in tables]
    truth = algorist.get(name).trace(**problem).outputs[output][0]
    least = min(*found, cost_of_splits(truth, first, 4, *costs))
    given = [answer(name, problem, **{output: table}) for table in tables]
    assert given == [cost == least for cost in found]
    assert any(given)


def test_splits_of_least_cost_are_right():
    for p in key_lists(5) + 1:
        costs = (lambda i: 0, lambda i, k, j, p=p: p[i - 1] * p[k] * p[j])
        assert_cheapest_splits_are_right("matrix_chain_order", {"p": p}, "s", 1, costs)


def test_roots_of_least_cost_are_right():
    for values in key_lists(9):
        p, q = values[:4], values[4:]
        costs = (
            lambda i, q=q: q[i],
            lambda i, k, j, p=p, q=q: p[i:j].sum() + q[i : j + 1].sum(),
        )
        assert_cheapest_splits_are_right("optimal_bst", {"p": p, "q": q}, "root", 0, costs)


def common_subsequences(x, y):
    return set.intersection(
        *({"".join(c) for k in range(len(w) + 1) for c in combinations(w, k)} for w in (x, y))
    )


def read_back(x, y, ways):
    """The letters to which the table leads, None where it says that different ones match."""
    i, j, letters = len(x) - 1, len(y) - 1, ""
    while i >= 0 and j >= 0:
        way = ways[i, len(x) + j]
        if way == 3 or (way == 0 and x[i] != y[j]):
            return None
        letters = x[i] + letters if way == 0 else letters
        i, j = i - (way != 2), j - (way != 1)
    return letters


def test_tables_that_lead_along_a_longest_common_subsequence_are_right():
    rng, accepted = np.random.default_rng(0), set()
    x, y = "abca", "bacb"
    longest = max(map(len, common_subsequences(x, y)))
    for _ in range(2000):
        ways = rng.choice(4, p=[0.3, 0.34, 0.34, 0.02], size=(8, 8))
        letters = read_back(x, y, ways)
        expected = letters is not None and len(letters) == longest
        assert answer("lcs_length", {"x": x, "y": y}, b=np.eye(4, dtype=int)[ways]) == expected
        accepted |= {letters} if expected else set()
    assert accepted == {c for c in common_subsequences(x, y) if len(c) == longest}


# Graphs: all pointers that four nodes can have


def graphs(weights=(1,), symmetric=False, acyclic=False, n=4):
    rng = np.random.default_rng(n)
    for p in np.linspace(0.2, 0.9, PROBLEMS):
        A = np.where(rng.random((n, n)) < p, rng.choice(weights, size=(n, n)), 0)
        if symmetric:
            A = np.triu(A) + np.triu(A, 1).T
        if acyclic:
            order = rng.permutation(n)
            A = np.triu(A, 1)[order][:, order]
        yield A


def depth_first_forests(A):
    """The pointers that some depth-first search leaves, for all its choices."""
    found = set()

    def search(stack, pi):
        if stack:
            here = stack[-1]
            white = [v for v in np.flatnonzero(A[here]) if pi[v] is None]
            for v in white:
                search((*stack, v), (*pi[:v], here, *pi[v + 1 :]))
            if not white:
                search(stack[:-1], pi)
        elif None in pi:
            for root in range(len(A)):
                if pi[root] is None:
                    search((root,), (*pi[:root], root, *pi[root + 1 :]))
        else:
            found.add(tuple(map(int, pi)))

    search((), (None,) * len(A))
    return found


def test_every_depth_first_forest_is_right_and_nothing_else():
    for A in graphs():
        forests = depth_first_forests(A)
        for pi in product(range(4), repeat=4):
            assert answer("dfs", {"A": A}, pi=pi) == (pi in forests)


def is_tree_of(A, pi, s, lengths):
    """Whether every node's way back to s is as long as it should be; others point to themselves."""
    for v in range(len(A)):
        if v not in lengths:
            if pi[v] != v:
                return False
            continue
        length, node = 0, v
        for _ in range(len(A)):
            if node != s:
                if A[pi[node], node] == 0:
                    return False
                length, node = length + A[pi[node], node], pi[node]
        if node != s or length != lengths[v]:
            return False
    return pi[s] == s


@pytest.mark.parametrize("name", ["bfs", "bellman_ford", "dijkstra", "dag_shortest_paths"])
def test_every_tree_of_shortest_paths_is_right_and_nothing_else(name):
    weights, accepted = (1,) if name == "bfs" else (1, 2), 0
    for A in graphs(weights, acyclic=name == "dag_shortest_paths"):
        graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
        s = int((A != 0).sum(1).argmax())  # has many edges
        lengths = nx.single_source_dijkstra_path_length(graph, s)
        for pi in product(range(4), repeat=4):
            expected = is_tree_of(A, pi, s, lengths)
            assert answer(name, {"A": A, "s": s}, pi=pi) == expected
            accepted += expected
    assert accepted > PROBLEMS  # some problems have several trees


def test_a_circle_of_length_zero_is_no_path():
    A = np.zeros((4, 4))
    A[0, 1], A[1, 2], A[2, 1], A[2, 3] = 1, 1, -1, 1
    assert answer("bellman_ford", {"A": A, "s": 0}, pi=[0, 0, 1, 2])
    assert not answer("bellman_ford", {"A": A, "s": 0}, pi=[0, 2, 1, 2])


def test_every_choice_of_shortest_paths_between_all_is_right_and_nothing_else():
    off_diagonal = ~np.eye(3, dtype=bool)
    for A in graphs((1, 2, 3), n=3):
        graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
        lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
        for pointers in product(range(3), repeat=6):
            Pi = np.zeros((3, 3), int)
            Pi[off_diagonal] = pointers
            rows = [
                np.where([v in lengths[s] and v != s for v in range(3)], Pi[s], range(3))
                for s in range(3)
            ]
            expected = all(is_tree_of(A, rows[s], s, lengths[s]) for s in range(3)) and all(
                Pi[s, v] == s for s in range(3) for v in range(3) if v not in lengths[s]
            )
            assert answer("floyd_warshall", {"A": {"matrix": A}}, Pi=Pi) == expected


def test_every_topological_order_is_right_and_nothing_else():
    for A in graphs(acyclic=True):
        graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
        orders = {
            (order[0], tuple(chain(order[::-1]))) for order in nx.all_topological_sorts(graph)
        }
        for head, topo in product(range(4), product(range(4), repeat=4)):
            given = answer("topological_sort", {"A": A}, topo=topo, topo_head=one_hot(head, 4))
            assert given == ((head, topo) in orders)


def test_strong_components_may_point_to_any_of_their_nodes():
    for A in graphs():
        graph = nx.from_numpy_array(A, create_using=nx.DiGraph)
        named = product(*([(c, v) for v in c] for c in nx.strongly_connected_components(graph)))
        ids = {tuple(v for u in range(4) for c, v in names if u in c) for names in named}
        for scc_id in product(range(4), repeat=4):
            given = answer("strongly_connected_components", {"A": A}, scc_id=scc_id)
            assert given == (scc_id in ids)


def spanning_weight(A, edges, nodes):
    """The weight of edges that span the nodes' part of the graph as a forest, otherwise None."""
    graph = nx.from_numpy_array(A - np.diag(np.diag(A))).subgraph(nodes)
    forest = nx.Graph([*edges])
    forest.add_nodes_from(nodes)
    if not all(graph.has_edge(*e) for e in edges) or not nx.is_forest(forest):
        return None
    if nx.number_connected_components(forest) != nx.number_connected_components(graph):
        return None
    return sum(A[e] for e in edges)


def least_spanning_weight(A, nodes):
    graph = nx.from_numpy_array(A - np.diag(np.diag(A))).subgraph(nodes)
    return nx.minimum_spanning_tree(graph).size("weight")


def test_every_minimum_spanning_forest_is_right_and_nothing_else():
    pairs = [(i, j) for j in range(4) for i in range(j)]
    for A in graphs((1, 2), symmetric=True):
        for chosen in product((0, 1), repeat=6):
            edges = [pair for pair, taken in zip(pairs, chosen, strict=True) if taken]
            in_mst = np.zeros((4, 4), int)
            for i, j in edges:
                in_mst[i, j] = in_mst[j, i] = 1
            expected = spanning_weight(A, edges, range(4)) == least_spanning_weight(A, range(4))
            assert answer("mst_kruskal", {"A": A}, in_mst=in_mst) == expected
            if edges:
                assert not answer("mst_kruskal", {"A": A}, in_mst=np.triu(in_mst))


def test_every_minimum_spanning_tree_from_the_source_is_right_and_nothing_else():
    for A in graphs((1, 2), symmetric=True):
        part = nx.node_connected_component(nx.from_numpy_array(A), 1)
        for pi in product(range(4), repeat=4):
            edges = [(v, pi[v]) for v in sorted(part) if v != 1]
            expected = (
                all(pi[v] == v for v in range(4) if v == 1 or v not in part)
                and len({frozenset(e) for e in edges}) == len(edges)
                and spanning_weight(A, edges, part) == least_spanning_weight(A, part)
            )
            assert answer("mst_prim", {"A": A, "s": 1}, pi=pi) == expected
