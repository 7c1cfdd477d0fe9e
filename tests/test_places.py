"""Places along chains of pointers, nodes halfway between two, and scalars of the graph in order."""

import torch
from executing import ENCODING, features_of, hot

from algorist.model.executing.decoder_features import DecoderFeatures
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.places import (
    compare_graph_scalars,
    compute_places,
    find_middle_nodes,
    select_places,
)
from algorist.spec import Location
from algorist.training.recipes import recipe


def test_a_place_is_the_number_of_nodes_before():
    chain = hot([0, 3, 1, 0, 2], 5)  # 0, 3, 1, 2, 4: each points to the one before
    assert torch.equal(compute_places(chain) * 5, torch.tensor([0.0, 2, 3, 1, 4]))


def test_places_of_selected_nodes_are_terms_where_the_graph_counts():
    read = features_of("quickselect", "pos", "pred_h", "p", "r", "i_rank", "target")
    values = {
        "pos": torch.rand(4),
        "pred_h": hot([0, 0, 1, 2], 4),
        "p": hot(1, 4),
        "r": hot(3, 4),
        "i_rank": torch.tensor(0.25),
        "target": torch.tensor(0.5),
    }
    middle, along = select_places(read, values)
    assert middle.tolist() == [0.5]
    assert along.tolist() == [0.25, 0.75]
    assert select_places(features_of("insertion_sort", "pos", "pred_h", "i"), values) == []


def test_the_node_between_two_is_found_by_position():
    read = features_of("binary_search", "pos", "low", "high")
    pos = torch.tensor([0.1, 0.2, 0.5, 0.6, 0.9])
    for low, high, first, second in [(0, 4, 2, 2), (0, 3, 1, 2), (1, 2, 1, 2), (3, 3, 3, 3)]:
        values = {"pos": pos, "low": hot(low, 5), "high": hot(high, 5)}
        bits = find_middle_nodes(read, values)
        assert torch.equal(bits, torch.stack((hot(first, 5), hot(second, 5)), -1))


def test_one_mask_has_no_node_between():
    assert find_middle_nodes(features_of("minimum", "pos", "i"), {}) is None


def test_scalars_of_the_graph_are_compared_with_a_margin():
    read = features_of("quickselect", "i_rank", "target")
    rounded = torch.tensor(0.3) + 1e-7
    for first, expected in [(0.2, [1, 0]), (rounded, [0, 0]), (0.4, [0, 1])]:
        values = {"i_rank": torch.as_tensor(first), "target": torch.tensor(0.3)}
        assert [int(x) for x in compare_graph_scalars(read, values)] == expected


def test_nets_without_places_have_no_such_encoders():
    spec = ENCODING.spec("quickselect")
    read = (*spec.inputs, *spec.hints)
    config = recipe("algorist2026", ["quickselect"]).model
    names = {"selected_between_", "graph_order_"}
    assert names <= set(DerivedFeatures(read, config).groups)
    without = DerivedFeatures(read, type(config)(comparisons=True, dereference=True))
    assert not names & set(without.groups)
    derived = DerivedFeatures(read, config), without
    widths = [DecoderFeatures(x).terms_width(Location.GRAPH) for x in derived]
    assert widths[0] != widths[1]
