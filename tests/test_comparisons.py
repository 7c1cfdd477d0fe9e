"""How scalars of nodes, edges and graphs compare."""

import numpy as np
import pytest
import torch
from executing import ENCODING, LOCATIONS, columns_of, config, features_of, hot, seen

from algorist.model.executing.comparisons import (
    compare_distances,
    compare_paths,
    find_first_neighbours,
    find_next_in_order,
)
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.task_features import TaskFeatures
from algorist.model.feature_values import one_hot_values
from algorist.model.net import ModelConfig
from algorist.spec import Location


def test_ranks_count_smaller_values():
    ranks = features_of("task_scheduling", "pos").ranks(
        {"pos": torch.tensor([[0.3, 0.1, 0.2, 0.9]])}
    )
    assert ranks[..., 0].tolist() == [[0.5, 0.0, 0.25, 0.75]]


def test_the_next_in_order_is_marked():
    read = features_of("task_scheduling", "pos", "w", "i")
    values = {"pos": torch.tensor([0.0, 0.25, 0.5, 0.75]), "w": torch.tensor([0.4, 0.9, 0.1, 0.6])}
    bits = columns_of(find_next_in_order(read, values | {"i": hot(0, 4)}))
    assert [0, 0, 0, 1] in bits  # the next larger weight
    assert [0, 0, 1, 0] in bits  # the next smaller one


def test_distances_are_compared_with_the_length_of_the_needle():
    """Four letters and a needle of two: at i = 2 the last window that is whole begins at 1."""
    read = features_of("kmp_matcher", "pos", "string", "s", "i")
    values = {"pos": torch.arange(6) / 6, "string": torch.tensor([0.0, 0, 0, 0, 1, 1])}
    for s, i, expected in ((0, 0, [0, 0, 0]), (0, 1, [1, 0, 0]), (0, 2, [1, 1, 0])):
        bits = compare_distances(read, values | {"s": hot(s, 6), "i": hot(i, 6)}).view(3, 2, 2)
        assert bits[:, 1, 0].tolist() == expected


STRING_MATCHERS = ["kmp_matcher", "naive_string_matcher", "lcs_length"]


def derived_at_steps(batch, pos):
    """What a net derives at the steps that all samples have if nodes have these positions."""
    spec, n = batch.spec, batch.n
    derived = DerivedFeatures((*spec.inputs, *spec.hints), config(batch.algorithm).model)
    arrays = {**batch.inputs, "pos": pos}
    truths = {f.name: torch.from_numpy(arrays[f.name]).float() for f in spec.inputs}
    inputs = one_hot_values(spec.inputs, truths, n)
    truths = {f.name: torch.from_numpy(batch.hints[f.name]) for f in spec.hints}
    hints = one_hot_values(spec.hints, truths, n)
    for t in range(batch.lengths.min()):
        values = inputs | {name: x[t] for name, x in hints.items()}
        yield (
            derived(derived.derive_values(values, None), None),
            derived.features.node_scalars(values, ranks=True),
        )


@pytest.mark.parametrize("name", STRING_MATCHERS)
def test_the_second_string_is_compared_as_if_positions_went_on(name):
    """The benchmark's start anew in it, those of training are sorted."""
    batch = seen(name)
    starts_anew = batch.inputs["pos"]
    goes_on = np.sort(np.random.RandomState(0).uniform(size=starts_anew.shape), -1)
    assert (np.diff(starts_anew) < 0).any(-1).all()
    steps = list(zip(*(derived_at_steps(batch, x) for x in (starts_anew, goes_on)), strict=True))
    assert len(steps) > 1
    scalars = {f"selected_{location}_" for location in LOCATIONS}  # positions themselves
    for (own, own_nodes), (expected, nodes) in steps:
        for group in own.keys() - scalars:
            assert torch.equal(own[group].numbers, expected[group].numbers), group
        assert {"comparisons_", "ranks_"} < own.keys()
        assert torch.equal(own_nodes[..., -1], nodes[..., -1]), "ranks that masks select"


def test_positions_without_a_second_string_are_compared_as_they_are():
    spec = ENCODING.spec("heapsort")
    read, values = (
        TaskFeatures(spec.inputs),
        {"pos": torch.rand(4), "key": torch.rand(4)},
    )
    assert read.with_continued_positions(values) is values


def test_the_ends_of_the_next_edge_are_marked():
    """Of one that goes both ways the first end by position, then the second."""
    read = features_of("mst_kruskal", "pos", "A", "u", "v")
    weights = torch.tensor([[0, 0.2, 0.5, 0], [0.2, 0, 0.3, 0], [0.5, 0.3, 0, 0.9], [0, 0, 0.9, 0]])
    values = {"A": weights, "u": hot(0, 4), "v": hot(1, 4)}
    both = {"pos": torch.arange(4) / 4} | values
    first, second = [0, 1, 0, 0], [0, 0, 1, 0]
    assert columns_of(find_next_in_order(read, both))[-2:] == [first, second]
    with_loop = {**both, "A": weights + torch.diag(torch.tensor([0.1, 0, 0.25, 0]))}
    assert columns_of(find_next_in_order(read, with_loop))[-2:] == [first, second]
    turned = {**both, "pos": 1 - both["pos"]}
    assert columns_of(find_next_in_order(read, turned))[-2:] == [second, first]
    one_way = {**both, "A": weights.tril()}
    one_way["A"][0, 1] = 0.2
    assert columns_of(find_next_in_order(read, one_way))[-2:] == [second, first]


def test_the_first_white_neighbour_is_marked():
    read = features_of("dfs", "pos", "adj", "color", "u")
    adj = torch.tensor([[0.0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    values = {"pos": torch.arange(4) / 4, "adj": adj, "color": hot([1, 2, 0, 0], 3), "u": hot(0, 4)}
    found = find_first_neighbours(read, values)
    (nodes,), (graph,) = found[Location.NODE], found[Location.GRAPH]
    assert columns_of(nodes) == [[0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]  # white, grey, black
    assert graph.tolist() == [1, 0, 1]


def test_shorter_paths_are_marked():
    d, weights = torch.tensor([0.0, 0.9, 0.4]), torch.full((3, 3), 0.5)
    read = features_of("dijkstra", "pos", "A", "d")
    bits = compare_paths(read, {"pos": d, "A": weights, "d": d})
    assert bits.squeeze(-1).tolist() == [[0, 1, 0], [0] * 3, [0] * 3]
    bits = compare_paths(read, {"pos": d, "A": weights.round(), "d": d})
    assert not bits.any(), "a graph without weights has no lengths"


def test_shorter_paths_lead_over_the_selected_node():
    lengths = torch.tensor([[0, 0.9, 0.2], [0.9, 0, 0.3], [0.2, 0.3, 0]])
    read = features_of("floyd_warshall", "pos", "D", "k")
    bits = compare_paths(read, {"pos": torch.rand(3), "D": lengths, "k": hot(2, 3)})
    assert bits.squeeze(-1).nonzero().tolist() == [[0, 1], [1, 0]]


def test_nodes_are_compared_with_the_one_that_a_mask_selects():
    spec = ENCODING.spec("minimum")
    config = ModelConfig(dereference=True, comparisons=True)
    derived = DerivedFeatures((*spec.inputs, *spec.hints), config)
    key = torch.tensor([[0.5, 0.2, 0.9]])
    values = derived.blank(3) | {"key": key, "min_h": torch.tensor([[1.0, 0, 0]])}
    bits = derived(derived.derive_values(values, None), None)["selected_sides_"].numbers[0]
    columns = [column.tolist() for column in bits.unbind(-1)]
    assert [0, 1, 0] in columns
    assert [0, 0, 1] in columns


def test_nets_without_comparisons_only_select():
    spec = ENCODING.spec("dijkstra")
    read = (*spec.inputs, *spec.hints)
    groups = DerivedFeatures(read, ModelConfig(dereference=True, orders=True)).groups
    locations = {name.removeprefix("selected_").removeprefix("bits_") for name in groups}
    assert locations == {"node_", "edge_", "graph_"}
