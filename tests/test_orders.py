"""What nets that execute read of scalar hints: their order, not how large they are."""

import torch
from executing import ENCODING, features_of

from algorist.data import official
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.orders import (
    compare_along_pointers,
    compare_with_limits,
    compare_with_next_selected,
    find_best_edges,
    find_extremes,
    find_next_neighbours,
)
from algorist.model.executing.task_features import TaskFeatures
from algorist.model.feature_values import one_hot_values
from algorist.model.learner import Learner
from algorist.spec import Location
from algorist.training.config import change_settings
from algorist.training.recipes import recipe


def trajectory(name, n=24, seed=3):
    """The values of one problem at all steps, one-hot: (T, ...)."""
    batch = ENCODING.batch(name, official.generate(name, n=n, count=1, seed=seed))
    length = int(batch.lengths[0])
    spec = batch.spec
    read = [*spec.inputs, *spec.hints]
    truths = {f.name: torch.as_tensor(batch.inputs[f.name]) for f in spec.inputs}
    truths = {k: x.expand(length, *x.shape[1:]) for k, x in truths.items()}
    truths |= {f.name: torch.as_tensor(batch.hints[f.name][:length, 0]) for f in spec.hints}
    values = one_hot_values(read, truths, n)
    return {k: x.float() for k, x in values.items()}, read


def has(columns, expected):
    return any(torch.equal(c.bool(), expected) for c in columns.unbind(-1))


def test_scalar_hints_are_compared_with_limits():
    read = features_of("articulation_points", "pos", "child_cnt", "time")
    values = {
        "pos": torch.rand(3),
        "child_cnt": torch.tensor([0.0, 0.01, 0.02]),
        "time": torch.tensor(0.3),
    }
    found = compare_with_limits(read, values)
    (of_nodes,), (of_graph,) = found[Location.NODE], found[Location.GRAPH]
    assert of_nodes.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert of_graph.tolist() == [0, 1, 1]


def test_pointers_compare_scalars_of_both_ends():
    read = features_of("bridges", "pos", "pi_h", "d", "low")
    values = {
        "pos": torch.rand(3),
        "pi_h": torch.tensor([[1.0, 0, 0], [1, 0, 0], [0, 1, 0]]),
        "d": torch.tensor([0.1, 0.2, 0.3]),
        "low": torch.tensor([0.1, 0.1, 0.3]),
    }
    columns = compare_along_pointers(read, values)
    assert has(columns, torch.tensor([False, False, True]))  # low[2] > d[1]
    assert has(columns, torch.tensor([False, True, False]))  # seen from 1


def test_hints_are_compared_with_what_the_next_step_selects():
    read = features_of("bridges", "pos", "d", "low", "v")
    values = {"d": torch.tensor([0.1, 0.2, 0.3]), "low": torch.tensor([0.1, 0.1, 0.3])}
    bits = compare_with_next_selected(read, {"v": torch.tensor([0.0, 1, 0])}, values)
    assert has(bits, values["low"] > 0.2)
    assert has(bits, values["d"] > 0.2)


def test_the_nearest_node_in_the_queue_is_the_next():
    values, read = trajectory("dijkstra")
    bits = find_extremes(TaskFeatures(read), values)
    waiting = values["in_queue"][:-1].any(-1)
    assert waiting.sum() > 10
    assert has(bits[:-1][waiting], values["u"][1:][waiting].bool())


def test_the_best_way_from_reached_nodes_is_the_new_predecessor():
    values, read = trajectory("bellman_ford")
    best = find_best_edges(TaskFeatures(read), values)[:-1]
    new = values["pi_h"][1:].mT
    moved = (values["pi_h"][1:] != values["pi_h"][:-1]).any(-1).unsqueeze(-2)
    assert moved.sum() > 10
    assert has(best.bool() & moved.unsqueeze(-1), new.bool() & moved)


def test_the_next_neighbour_comes_after_the_last_but_for_the_predecessor():
    values, read = trajectory("articulation_points", n=40)
    before, after = ({k: x[t] for k, x in values.items()} for t in (slice(-1), slice(1, None)))
    bits = torch.cat(find_next_neighbours(TaskFeatures(read), before)[Location.NODE], -1)
    # From one edge of u to the next one, both to nodes that were found before.
    went_on = (before["u"] == after["u"]).all(-1) & (before["v"] != after["v"]).any(-1)
    went_on &= (before["v"] != before["u"]).any(-1) & (before["s_last"] == before["u"]).all(-1)
    went_on &= (before["color"] == after["color"]).flatten(1).all(-1)
    assert went_on.sum() > 2
    assert any((c.bool() == after["v"].bool()).all(-1)[went_on].all() for c in bits.unbind(-1))


def test_lighter_edges_are_marked_where_they_end():
    values, read = trajectory("mst_prim")
    found = find_best_edges(TaskFeatures(read), values)
    edges = values["A"] != 0
    assert torch.equal(found[..., 0].bool(), edges & (values["A"] < values["key"].unsqueeze(-2)))


def test_nets_do_not_read_how_large_clocks_are():
    values, read = trajectory("articulation_points", n=8)
    model = recipe("algorist2026", ["articulation_points"]).model
    derived = DerivedFeatures(read, model)
    values["child_cnt"] = values["child_cnt"] / 64  # below all clocks
    later = {k: 8 * x if k in ("d", "f", "low", "time") else x for k, x in values.items()}
    now, then = (
        derived(derived.derive_values(values, None), None),
        derived(derived.derive_values(later, None), None),
    )
    differ = {k for k in now if not torch.equal(now[k].numbers, then[k].numbers)}
    assert differ <= {"limits_graph_", "limits_node_"}
    own = change_settings(recipe("algorist2026", ["articulation_points"]), hidden=16)
    net = Learner.new(["articulation_points"], own.model, own.convention, own.seeds).net
    assert not {"d", "low", "time"} & set(net.encoders["articulation_points"].keys())
