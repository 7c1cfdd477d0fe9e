"""Nets that execute: derived features, gated scalars, whole pointers of edges, single steps."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small
import torch
from torch.nn.functional import one_hot

import algorist
from algorist.data import official
from algorist.model.comparisons import (
    compare_distances,
    compare_paths,
    find_first_neighbours,
    find_next_in_order,
)
from algorist.model.decoder_features import DecoderFeatures
from algorist.model.derived import VISITED, DerivedFeatures, changed_hints
from algorist.model.encoders import dense_values
from algorist.model.exact_sums import SumLogits, with_constants
from algorist.model.kinds import row
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.losses import feature_losses
from algorist.model.net import ModelConfig
from algorist.model.pairwise import rank
from algorist.model.predicting import predict
from algorist.model.selection import select, select_bits, select_by_edges, select_orientations
from algorist.model.task_features import TaskFeatures
from algorist.model.transitions import draw_transitions
from algorist.spec import Feature, Kind, Location, Stage
from algorist.training.config import changed
from algorist.training.recipes import IMPROVEMENTS, recipe, without
from algorist.training.trainer import Trainer

ENCODING = TaskEncoding(gated_scalars=True, output_step=True)
SMALL = {"hidden": 16, "triplet_features": 4, "transitions": 24, "batch_size": 8, "sizes": (4, 5)}
LOCATIONS = (Location.NODE, Location.EDGE, Location.GRAPH)


def config(*names, **settings):
    return changed(recipe("algorist2026", names), **{**SMALL, **settings})


def learner(name, **settings):
    own = config(name, **settings)
    return Learner.new([name], own.model, own.convention, own.seeds)


def seen(name, n=5, count=3, seed=5):
    n = 16 if algorist.get(name).stretch != 1 else n
    return ENCODING.batch(name, official.generate(name, n=n, count=count, seed=seed))


@pytest.mark.parametrize("name", algorist.algorithms())
def test_hints_and_which_of_them_changed_determine_the_next_hints(name):
    batch = seen(name, n=8, count=8)
    hints = [batch.hints[f.name] for f in batch.spec.hints]
    for i, length in enumerate(batch.lengths):
        states = [b"".join(h[t, i].tobytes() for h in hints) for t in range(length)]
        changes = [tuple((h[t, i] != h[t - 1, i]).any() for h in hints) for t in range(length)]
        changes[0] = None
        following = {}
        for t in range(length - 1):
            assert following.setdefault((states[t], changes[t]), states[t + 1]) == states[t + 1]


def test_without_the_changes_a_state_of_heapsort_comes_twice():
    batch = seen("heapsort")
    assert all(np.array_equal(x[0], x[1]) for x in batch.hints.values())
    assert not all(np.array_equal(x[1], x[2]) for x in batch.hints.values())


def test_changes_name_the_hints_that_differ():
    before = {"i": torch.tensor([[1, 0], [1, 0]]), "d": torch.tensor([0.5, 0.5])}
    now = {"i": torch.tensor([[1, 0], [0, 1]]), "d": torch.tensor([0.5, 0.7])}
    assert changed_hints(now, before, 1).tolist() == [[0, 0, 0], [1, 1, 0]]
    assert changed_hints(now, None, 1).tolist() == [[0, 0, 1], [0, 0, 1]]


def test_ranks_count_smaller_values():
    assert rank(torch.tensor([[0.3, 0.1, 0.2, 0.9]])).tolist() == [[0.5, 0.0, 0.25, 0.75]]


def test_selection_reads_scalars_where_pointers_and_masks_point():
    n, nodes = 6, torch.arange(6)
    spec = ENCODING.spec("dijkstra")
    names = ("pos", "A", "d", "pi_h", "u")
    d, weights, pointers = torch.rand(n), torch.rand(n, n), torch.tensor([1, 1, 0, 2, 3, 0])
    values = {"pos": torch.rand(n), "A": weights, "d": d}
    next_hints = {"pi_h": one_hot(pointers, n).float(), "u": one_hot(torch.tensor(4), n).float()}
    found = select(TaskFeatures([spec[name] for name in names]), next_hints, values)

    def has(location, expected):
        columns = torch.cat(found[location], -1).unbind(-1)
        return any(torch.allclose(column, expected) for column in columns)

    assert has(Location.NODE, d[pointers])
    assert has(Location.NODE, weights[pointers, nodes])
    assert has(Location.NODE, weights[nodes, pointers])
    assert has(Location.NODE, weights[4])
    assert has(Location.NODE, weights[:, 4])
    assert has(Location.GRAPH, d[4])
    assert has(Location.EDGE, weights[pointers])
    assert has(Location.EDGE, weights[:, pointers])
    assert has(Location.EDGE, weights[pointers][:, pointers])
    assert not has(Location.GRAPH, d[3])


def columns_of(numbers):
    """The columns of numbers (..., F), as lists."""
    return [column.tolist() for column in numbers.unbind(-1)]


def features_of(name, *names):
    spec = ENCODING.spec(name)
    return TaskFeatures([spec[n] for n in names])


def hot(index, n):
    return one_hot(torch.as_tensor(index), n).float()


def test_masks_read_bits_also_along_pointers():
    """Letters at k, before it and after it, and whether two of these nodes have the same one."""
    read = features_of("kmp_matcher", "pos", "key", "pred", "k")
    letters = torch.tensor([2, 0, 2, 3])
    values = {"pos": torch.rand(4), "key": hot(letters, 4), "pred": hot([0, 0, 1, 2], 4)}
    found = select_bits(read, values | {"k": hot(1, 4)})
    of_graph = torch.cat(found[Location.GRAPH], -1)
    at, before, after = of_graph[:15].view(3, 5)[:, :4]
    assert [x.argmax().item() for x in (at, before, after)] == [0, 2, 2]
    assert of_graph[15:].tolist() == [0, 0, 1]  # at k and before it, at k and after it, around it
    assert [0, 0, 1, 0] in columns_of(torch.cat(found[Location.NODE], -1))


def test_edge_pointers_split_problems():
    read = features_of("optimal_bst", "pos", "pred", "root_h", "e")
    n, e, pos = 5, torch.rand(5, 5), torch.rand(5)
    roots = torch.randint(0, 4, (n, n))
    values = {"pos": pos, "e": e}
    next_hints = {"root_h": hot(roots, n), "pred": hot([0, 0, 1, 2, 3], n)}
    found = torch.cat(select_by_edges(read, next_hints, values), -1)
    i, j = 1, 3
    root = roots[i, j]
    expected = {
        "x[P]": pos[root],
        "x[i] x[P] x[j]": pos[i] * pos[root] * pos[j],
        "x[i - 1] x[P] x[j]": pos[i - 1] * pos[root] * pos[j],
        "S[i, P]": e[i, root],
        "S[P, j]": e[root, j],
        "S[i, P] + S[P, j]": e[i, root] + e[root, j],
        "S[P + 1, j]": e[root + 1, j],
        "S[i, P] + S[P + 1, j]": e[i, root] + e[root + 1, j],
    }
    for name, value in expected.items():
        assert any(torch.isclose(x, value) for x in found[i, j]), name


def test_a_mask_reads_to_which_nodes_edges_point():
    read = features_of("floyd_warshall", "pos", "Pi_h", "k")
    pointers = torch.randint(0, 4, (4, 4))
    values = {"pos": torch.rand(4), "Pi_h": hot(pointers, 4), "k": hot(2, 4)}
    rows = torch.cat(select_bits(read, values)[Location.EDGE], -1)
    assert torch.equal(rows[..., 0].argmax(-1), pointers[2])
    assert torch.equal(rows[..., 1].argmax(-1), pointers[:, 2])


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
    inputs = dense_values(spec.inputs, truths, n)
    truths = {f.name: torch.from_numpy(batch.hints[f.name]) for f in spec.hints}
    hints = dense_values(spec.hints, truths, n)
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


def test_shorter_ways_are_marked():
    d, weights = torch.tensor([0.0, 0.9, 0.4]), torch.full((3, 3), 0.5)
    read = features_of("dijkstra", "pos", "A", "d")
    (bits,) = compare_paths(read, {"pos": d, "A": weights, "d": d})
    assert bits.tolist() == [[False, True, False], [False] * 3, [False] * 3]
    (bits,) = compare_paths(read, {"pos": d, "A": weights.round(), "d": d})
    assert not bits.any(), "a graph without weights has no lengths"


def test_shorter_ways_lead_over_the_selected_node():
    lengths = torch.tensor([[0, 0.9, 0.2], [0.9, 0, 0.3], [0.2, 0.3, 0]])
    read = features_of("floyd_warshall", "pos", "D", "k")
    (bits,) = compare_paths(read, {"pos": torch.rand(3), "D": lengths, "k": hot(2, 3)})
    assert bits.nonzero().tolist() == [[0, 1], [1, 0]]


def test_turns_and_directions_of_points():
    read = features_of("jarvis_march", "pos", "x", "y", "last_point", "endpoint")
    x, y = torch.tensor([0.0, 1.0, 1.0, 1.0]), torch.tensor([0.0, 0.0, 1.0, -1.0])
    values = {"pos": torch.rand(4), "x": x, "y": y, "last_point": hot(0, 4), "endpoint": hot(1, 4)}
    assert select_orientations(read, values, values).squeeze(-1).tolist() == [0, 0, 1, -1]
    columns = torch.cat(select(read, values, values)[Location.NODE], -1)
    assert any(torch.allclose(c, torch.atan2(y, x)) for c in columns.unbind(-1))


def test_what_was_selected_before_is_remembered():
    """On its own and in steps that are drawn from a trajectory."""
    batch = seen("quicksort", n=4, count=1)
    window = draw_transitions([batch], 200, [np.random.RandomState(0)])
    visited, masks = window.visited[0], [f for f in batch.spec.hints if f.kind == Kind.MASK_ONE]
    assert visited.shape[1:] == (4, len(masks))
    last = np.stack([batch.hints[f.name][:, 0].max(0) for f in masks], -1)
    np.testing.assert_array_equal(visited[-1], last)  # the last lane is the end of the trajectory
    derived = learner("quicksort").net.derived["quicksort"]
    blank = derived.blank(4)
    first = derived.derive_values(blank | {"p": hot([1], 4)}, None)[VISITED]
    second = derived.derive_values(blank | {"p": hot([2], 4)}, first)[VISITED]
    assert second.amax(-1).tolist() == [[0, 1, 1, 0]]


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


def test_known_scalars_follow_the_choices_of_the_next_step():
    spec = ENCODING.spec("dijkstra")
    derived = DerivedFeatures((*spec.inputs, *spec.hints), ModelConfig(dereference=True))
    reads = DecoderFeatures(derived)
    batch = seen("dijkstra", n=4, count=1)
    values = {
        f.name: row(f).ops.dense(torch.from_numpy(np.asarray(x)), 4)
        for f in (*spec.inputs, *spec.hints)
        for x in [batch.inputs[f.name] if f.stage == Stage.INPUT else batch.hints[f.name][1]]
    }
    values = derived.derive_values(values, None)
    same, other = (
        reads.scalar_terms(values, {**values, "pi_h": one_hot(torch.tensor([[to] * 4]), 4).float()})
        for to in (0, 1)
    )
    assert not torch.equal(same.at(Location.NODE), other.at(Location.NODE))
    for location in LOCATIONS:
        assert same.at(location).shape[-1] == reads.terms_width(location)


@pytest.mark.parametrize("location", LOCATIONS)
def test_closed_gates_keep_scalars_exactly(location):
    ops = row(Feature("d", Stage.HINT, location, Kind.GATED_SCALAR)).ops
    shape = location.shape(3)
    old, new, no_loss = torch.full(shape, 0.3), torch.full(shape, 9.0), torch.zeros(shape)
    shut, wide = (torch.stack((torch.full(shape, g), new, old, no_loss), -1) for g in (-1.0, 1.0))
    assert torch.equal(ops.feedback(shut, True), old)
    assert torch.equal(ops.final(wide), new)


def test_a_learnt_value_counts_alike_whether_one_entry_changes_or_all():
    ops = row(Feature("d", Stage.HINT, Location.NODE, Kind.GATED_SCALAR)).ops
    old, truth = torch.zeros(2, 4), torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 1]])
    prediction = torch.stack((old, torch.full((2, 4), 0.5), old, old), -1)
    loss = ops.loss(prediction, truth).mean(1)
    torch.testing.assert_close(loss[0], loss[1])
    assert loss[0] > 0


def is_gated(feature):
    return feature.kind == Kind.GATED_SCALAR


def sum_logits(gate, first, second, terms=(0.3, 0.5)):
    """A choice of one entry, in whose favour a logit of 20 is: terms are known, 0, .01, 1, 1/4."""
    terms = with_constants(torch.tensor(terms).view(1, 1, -1), 4)
    count = terms.shape[-1]
    options, addends = torch.zeros(1, 1, count + 1), torch.zeros(1, 1, 2 * count)
    options[..., first], addends[..., second] = 20.0, 20.0
    return SumLogits(torch.full((1, 1), gate), options, addends, terms)


def test_the_likeliest_terms_make_the_new_value():
    predicted = torch.full((1, 1), 7.0)
    assert sum_logits(1.0, 0, 1).decide(predicted).item() == pytest.approx(0.8)
    assert sum_logits(1.0, 0, 3).decide(predicted).item() == pytest.approx(0.31)
    assert sum_logits(1.0, 1, 6).decide(predicted).item() == pytest.approx(0.2)
    assert sum_logits(1.0, 6, 3).decide(predicted).item() == 7.0


def test_every_pair_of_terms_that_makes_the_truth_is_right():
    old, truth = torch.full((1, 1), 0.3), torch.full((1, 1), 0.8)
    for first, second in ((0, 1), (1, 0)):
        loss, is_no_sum = sum_logits(20.0, first, second).loss(old, truth)
        assert loss.item() < 1e-3
        assert is_no_sum.item() == 0
    assert sum_logits(20.0, 0, 2).loss(old, truth)[0].item() > 10
    assert sum_logits(-20.0, 0, 1).loss(old, truth)[0].item() > 10


def test_what_no_sum_makes_is_predicted():
    old, truth = torch.full((1, 1), 0.3), torch.full((1, 1), 0.777)
    loss, is_no_sum = sum_logits(20.0, 6, 0).loss(old, truth)
    assert loss.item() < 1e-3
    assert is_no_sum.item() == 1


def test_to_keep_a_number_and_to_copy_the_same_one_are_both_right():
    old = torch.full((1, 1), 0.3)
    assert sum_logits(-20.0, 1, 1).loss(old, old)[0].item() < 1e-3
    assert sum_logits(20.0, 0, 2).loss(old, old)[0].item() < 1e-3
    assert sum_logits(20.0, 1, 2).loss(old, old)[0].item() > 10


@pytest.mark.parametrize(
    "name",
    [name for name in algorist.algorithms() if any(map(is_gated, ENCODING.spec(name).hints))],
)
def test_all_changes_of_scalars_are_sums_of_two_known_numbers(name):
    batch = seen(name, n=8, count=2)
    spec, n = batch.spec, batch.n
    derived = DerivedFeatures((*spec.inputs, *spec.hints), config(name).model)
    arrays = {f.name: batch.inputs[f.name] for f in spec.inputs}
    inputs = dense_values(spec.inputs, {k: torch.from_numpy(x) for k, x in arrays.items()}, n)
    truths = {f.name: torch.from_numpy(batch.hints[f.name]) for f in spec.hints}
    hints = dense_values(spec.hints, truths, n)
    for t in range(batch.steps - 1):
        values = derived.derive_values(inputs | {name: x[t] for name, x in hints.items()}, None)
        following = {name: x[t + 1] for name, x in hints.items()}
        scalars = DecoderFeatures(derived).scalar_terms(values, following)
        for f in filter(is_gated, spec.hints):
            terms = with_constants(scalars.at(f.location), n)
            changed = (following[f.name] - values[f.name]).abs() > 1e-7
            first, true = terms[changed], following[f.name][changed][:, None, None]
            sums = first.unsqueeze(-1) + torch.cat((first, -first), -1).unsqueeze(-2)
            assert ((sums - true).abs() < 2e-6).flatten(1).any(1).all()


@pytest.mark.parametrize("name", ["dijkstra", "floyd_warshall", "heapsort", "kmp_matcher"])
def test_drawn_steps_have_the_losses_that_they_have_in_a_trajectory(name):
    """Drawn from a trajectory of one step, transitions are that step and its end."""
    batch = seen(name, count=1)
    first = replace(batch, hints={k: x[:2] for k, x in batch.hints.items()}, lengths=np.array([2]))
    net = small.lively(learner(name).net)
    net.train()
    drawn = draw_transitions([first], 3, [np.random.RandomState(0)])
    losses = []
    for window in (drawn, ENCODING.window([first])):
        window = window.with_noise(np.zeros((1, 1, batch.n, batch.n), np.float32))
        forced = window.with_forced(np.ones(tuple(window.follows.shape), bool))
        losses.append(feature_losses(net.specs[name], net.rollout(name, forced), forced))
    for key, part in losses[0].items():
        torch.testing.assert_close(part, losses[1][key], msg=key, rtol=1e-4, atol=1e-4)


def test_rare_steps_are_drawn_more_often():
    """One step in twenty changes a hint, drawn by its kind it is one in five."""
    batch = seen("bfs", n=4, count=1)
    hints = {name: np.repeat(x[:1], 21, 0) for name, x in batch.hints.items()}
    hints["reach_h"][1:] = 1 - hints["reach_h"][0]
    rare = replace(batch, hints=hints, lengths=np.array([21]))
    window = draw_transitions([rare], 4000, [np.random.RandomState(1)])
    now, following = window.hints["reach_h"][:, 0, :4000]
    share = float((now != following).any(-1).float().mean())
    kinds = np.sqrt([1, 19])
    assert share == pytest.approx((1 / 20 + kinds[0] / kinds.sum()) / 2, abs=0.02)


@pytest.mark.parametrize("name", ["floyd_warshall", "heapsort", "lcs_length", "kmp_matcher"])
def test_every_switch_can_be_left_out(name):
    batch = official.generate(name, n=16 if name == "kmp_matcher" else 4, count=2, seed=5)
    whole = config(name)
    for improvement in ("", *IMPROVEMENTS):
        own = without(whole, *([improvement] if improvement else []))
        if improvement and own == whole:
            continue
        net = Learner.new([name], own.model, own.convention, own.seeds)
        assert 0 <= algorist.evaluate(net, name, batch).score <= 1


@pytest.mark.parametrize(
    ("name", "output"), [("matrix_chain_order", "s"), ("bridges", "is_bridge")]
)
def test_replicas_do_not_see_each_other(name, output):
    own, batch = config(name), official.generate(name, n=4, count=2, seed=5)

    def predictions(*seeds):
        return predict(Learner.new([name], own.model, own.convention, seeds), name, batch)

    for together, seed in zip(predictions(3, 4), (3, 4), strict=True):
        (alone,) = predictions(seed)
        np.testing.assert_array_equal(together.outputs[output], alone.outputs[output])


def test_a_run_goes_on_exactly():
    own = config("dijkstra", steps=4, validate_every=2)
    once, first = Trainer(own), Trainer(own)
    steps = first.run()
    next(steps)
    next(steps)
    again = Trainer.resume(first.checkpoint())
    for trainer in (once, again):
        for _ in trainer.run():
            pass
    small.assert_identical(small.weights(again.net), small.weights(once.net))


def test_a_small_net_learns_the_steps_of_bfs():
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    import laboratory

    small_net = ["--set", "hidden=16", "--set", "average=20"]
    sizes = ["--sizes", "4,6", "--measure", "6"]
    means = laboratory.main(["bfs", "--steps", "200", *sizes, *small_net])
    assert means[6].one_step > 94


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"carry_state": True}, "carry_state"),
        ({"chunk": 4}, "chunks"),
        ({"output_step": False}, "output_step"),
        ({"teacher_forcing": 0.5}, "teacher_forcing"),
        ({"hints": "decoded_only", "validate_by": "outputs"}, "gated_scalars"),
    ],
)
def test_settings_that_contradict_transitions_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        config("bfs", **settings)
