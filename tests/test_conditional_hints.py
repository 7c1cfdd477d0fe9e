"""Hints given the choices for the next step, and what does not count in a free run."""

from dataclasses import replace

import numpy as np
import pytest
import small
import torch
from executing import (
    ENCODING,
    LOCATIONS,
    columns_of,
    derived_features,
    features_of,
    hot,
    learner,
    seen,
    sum_logits,
)

from algorist.model.decoders import BuiltInDecoder
from algorist.model.executing.comparisons import LEAST, compare_with_pointing_nodes
from algorist.model.executing.decoder_features import DecoderFeatures
from algorist.model.executing.decoders import ConditionalDecoder
from algorist.model.executing.selection import min_of_pointing_nodes
from algorist.model.kinds import row
from algorist.model.net import Net
from algorist.model.window import split_window
from algorist.spec import MASKED, Feature, Kind, Location, Stage
from algorist.training.config import change_settings
from algorist.training.recipes import recipe


class Indifferent(BuiltInDecoder):
    """All logits are 0."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape

    def forward(self, nodes, edges, graph):
        return torch.zeros(1, 1, *self.shape)


ONE_EDGE = torch.zeros(4, 4)
ONE_EDGE[0, 3] = 1
CASES = {
    "node mask": ((Location.NODE, Kind.MASK), torch.tensor([1.0, 0, 0, 1]), (0, 0), (1,)),
    "node class": ((Location.NODE, Kind.CATEGORICAL, 3), hot([0, 0, 1, 2], 3), (0, 2), (1, 2)),
    "node pointer": ((Location.NODE, Kind.POINTER), hot([0, 1, 2, 3], 4), (0, 1), (1, 2)),
    "edge mask": ((Location.EDGE, Kind.MASK), ONE_EDGE, (0, 1), (1, 2)),
}
"""What a feature is, its present value, a weight from the first mask to the second or to a class,
and the place that this is about if the masks select the nodes 1 and 2."""


def decoder_and_decision(case):
    """A decoder whose masks say nothing yet, and what it decides: a tensor like the old value."""
    kind, old, *_ = CASES[case]
    feature = Feature("x", Stage.HINT, *kind)
    decoder = ConditionalDecoder(1, Indifferent(old.shape), feature, masks=3)
    for layer in (decoder.change, decoder.keep):
        layer.reset(0, torch.Generator().manual_seed(0))
        layer.weight.data.zero_()
    masks = torch.cat((hot([1, 2], 4).mT, torch.ones(4, 1)), -1)[None, None]

    def decide():
        logits = decoder(None, None, None, masks, old[None, None])
        return row(feature).ops.feedback(logits, True)[0, 0]

    return decoder, decide


@pytest.mark.parametrize("case", CASES)
def test_present_values_are_kept_but_where_masks_select(case):
    _, old, weight, place = CASES[case]
    decoder, decide = decoder_and_decision(case)
    assert torch.equal(decide(), old)
    decoder.change.weight.data[0][weight] = 20.0
    new = decide()
    assert old[place] == 0
    assert new[place] == 1
    others = torch.arange(4) != place[0]
    assert torch.equal(new[others], old[others])


@pytest.mark.parametrize("case", CASES)
def test_masks_may_take_the_head_start_away(case):
    _, old, weight, place = CASES[case]
    decoder, decide = decoder_and_decision(case)
    decoder.keep.weight.data[0][weight if case == "edge mask" else (0, 0)] = -10.0
    changes = (decide() != old).nonzero()
    assert changes[:, 0].unique().tolist() == [place[0]]


def conditional_features(name, **settings):
    decoders = learner(name, **settings).net.decoders[name]
    return {name for name, x in decoders.items() if isinstance(x, ConditionalDecoder)}


def test_discrete_hints_are_conditional_where_that_is_asked_for():
    """Not one-hot masks, scalars and hints of the graph."""
    hints = {"is_bridge_h", "pi_h", "color", "s_prev"}
    assert conditional_features("bridges", outputs_from_hints=False) == hints
    assert conditional_features("mst_kruskal") == {"in_mst_h", "in_mst", "pi", "mask_u", "mask_v"}
    assert not conditional_features("bridges", conditional_hints=False)


def test_outputs_go_on_from_the_hint_that_they_end():
    assert "is_bridge" in conditional_features("bridges")
    assert "is_cut" in conditional_features("articulation_points")
    assert "min" not in conditional_features("minimum")  # a one-hot mask


@pytest.mark.parametrize("hints", ["decoded_only", "none"])
def test_hints_that_are_not_read_cannot_be_conditional(hints):
    with pytest.raises(ValueError, match=f"conditional_hints: got hints {hints}, expected encod"):
        change_settings(recipe("ibarz2022", ["bfs"]), conditional_hints=True, hints=hints)
    with pytest.raises(ValueError, match=f"conditional_hints: got hints {hints}, expected encod"):
        Net(["bfs"], conditional_hints=True, hints=hints)


@pytest.mark.parametrize("hints", ["decoded_only", "none"])
def test_scalars_that_are_not_read_cannot_be_kept(hints):
    with pytest.raises(ValueError, match=f"gated_scalars: got hints {hints}, expected encod"):
        Net(["dijkstra"], encoding=ENCODING, hints=hints)


def share_kept(hint, **settings):
    """How often a fresh net predicts that a hint of dfs stays as it is."""
    net, batch = learner("dfs", **settings).net.eval(), seen("dfs")
    window = ENCODING.window([batch])
    forced = window.with_forced(np.ones(tuple(window.follows.shape), bool))
    predicted = net.rollout("dfs", forced).hints[hint][:-1, 0].argmax(-1).numpy()
    present = batch.hints[hint][: len(predicted)]
    return (predicted == (present if present.ndim == 3 else present.argmax(-1))).mean()


@pytest.mark.parametrize("hint", ["pi_h", "color"])
def test_a_fresh_net_keeps_what_it_reads(hint):
    assert share_kept(hint) > 0.8
    assert share_kept(hint, conditional_hints=False, orders=False) < 0.6


def first_step():
    """Problems of dfs of which only the first step is left."""
    batch = seen("dfs", count=2)
    hints = {name: x[:2] for name, x in batch.hints.items()}
    return replace(batch, hints=hints, lengths=np.array([2, 2]))


def predictions(net, batch, *, training):
    """Those of hints for the next step."""
    net.train(training)
    hints = net.rollout("dfs", ENCODING.window([batch])).hints
    return {name: x[0].detach() for name, x in hints.items()}


def with_next(batch, **hints):
    """The same problems with other true hints after the first step."""
    change_settings = {name: x.copy() for name, x in batch.hints.items()}
    for name, value in hints.items():
        change_settings[name][1] = value
    return replace(batch, hints=change_settings)


def test_in_training_hints_are_decoded_given_the_true_masks():
    net, batch = small.lively(learner("dfs").net), first_step()
    other = with_next(batch, v=np.roll(batch.hints["v"][1], 1, -1))
    before, after = (predictions(net, x, training=True) for x in (batch, other))
    for hint in ("color", "pi_h"):
        assert not torch.allclose(before[hint], after[hint], atol=1e-3)
    for hint in ("u", "v", "s_last"):
        assert torch.equal(before[hint], after[hint])
    before, after = (predictions(net, x, training=False) for x in (batch, other))
    small.assert_identical(after, before)


def test_in_a_free_run_hints_are_decoded_given_the_masks_that_the_net_predicts():
    net, batch = small.lively(learner("dfs").net), first_step()
    own = predictions(net, batch, training=False)
    masks = [f for f in batch.spec.hints if f.kind == Kind.MASK_ONE]
    decided = {f.name: row(f).ops.final(own[f.name])[0].numpy() for f in masks}
    assert any((decided[f.name] != batch.hints[f.name][1]).any() for f in masks)
    told = predictions(net, with_next(batch, **decided), training=True)
    for hint in ("color", "pi_h"):
        torch.testing.assert_close(told[hint], own[hint])


# Gated scalars


@pytest.fixture
def of_dfs():
    return DecoderFeatures(derived_features("dfs"))


def test_decoders_of_scalars_read_the_next_hints_and_what_changes(of_dfs):
    blank = of_dfs.blank(3)
    values = blank | {"color": hot([[0, 0, 0]], 3), "pi_h": hot([[0, 1, 2]], 3)}
    next_hints = values | {"color": hot([[0, 2, 0]], 3), "v": hot([1], 3)}
    next_hints["pi_h"] = hot([[0, 1, 0]], 3)
    of_nodes = columns_of(of_dfs.next_hint_features(Location.NODE, values, next_hints)[0])
    for expected in ([0, 1, 0], [1, 0, 1], [0, 0, 1]):  # new and changed; still white; pi changes
        assert expected in of_nodes
    assert of_nodes.count([0, 1, 0]) == 4, "color changes, it is black, v changes, it is there"
    of_graph = of_dfs.next_hint_features(Location.GRAPH, values, next_hints)[0]
    assert of_graph.sum() == 3, "color, v and pi change somewhere"
    of_edges = of_dfs.next_hint_features(Location.EDGE, values, next_hints)[0]
    assert torch.equal(of_edges, of_graph.expand(3, 3, -1))
    assert not of_dfs.next_hint_features(Location.GRAPH, values, values).any()


def test_decoders_read_as_many_numbers_as_they_expect(of_dfs):
    blank = of_dfs.blank(5)
    for location in LOCATIONS:
        read = of_dfs.next_hint_features(location, blank, blank)
        assert read.shape == (1, *location.shape(5), of_dfs.next_hint_width(location))
    assert of_dfs.mask_features(blank, blank).shape == (1, 5, of_dfs.mask_width)


def test_masks_of_both_steps_are_followed_along_pointers(of_dfs):
    values = of_dfs.blank(4) | {"u": hot([2], 4), "pi_h": hot([[0, 0, 1, 3]], 4)}
    masks = columns_of(of_dfs.mask_features(values, values | {"u": hot([1], 4)})[0])
    for expected in ([0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]):
        assert expected in masks


def test_gates_depend_on_what_is_chosen():
    """The clock ticks where a color changes, so it is told whether one does."""
    net, batch = small.lively(learner("dfs").net), first_step()
    now = batch.hints["color"][0]
    one, other = (with_next(batch, color=x) for x in (now, np.roll(now, 1, -1)))
    gates = [predictions(net, x, training=True)["time"][..., 0] for x in (one, other)]
    assert not torch.allclose(*gates, atol=1e-3)


def test_a_sum_that_makes_the_present_number_keeps_it():
    old = torch.full((1, 1), 0.3)
    assert sum_logits(20.0, 0, 1, terms=(0.2, 0.1)).loss(old, old)[0].item() < 1e-3
    assert sum_logits(20.0, 1, 1, terms=(0.2, 0.1)).loss(old, old)[0].item() > 10
    # 1 / 4 + 0.05 would be the same number, but what is chosen is the one that is predicted.
    predicted = sum_logits(20.0, 6, 0, terms=(0.05, 0.1))
    assert predicted.loss(old, old)[0].item() > 10


def test_the_least_of_the_nodes_that_point_to_a_node():
    read = features_of("articulation_points", "pos", "d", "low", "pi_h")
    values = {
        "pos": torch.rand(4),
        "d": torch.tensor([0.1, 0.2, 0.3, 0.4]),
        "low": torch.tensor([0.5, 0.4, 0.2, 0.1]),
        "pi_h": hot([0, 0, 0, 1], 4),
    }
    values[LEAST] = min_of_pointing_nodes(read, values)
    d, low = (x.tolist() for x in values[LEAST].unbind(-1))
    assert d == pytest.approx([0.2, 0.4, 0.3, 0.4])
    assert low == pytest.approx([0.2, 0.1, 0.2, 0.1])  # children 1 and 2, child 3, none, none
    is_less = columns_of(compare_with_pointing_nodes(read, values))
    assert is_less == [[False] * 4, [True, True, False, False]]


def test_half_a_pointer_and_less_does_not_point():
    read = features_of("articulation_points", "pos", "low", "pi_h")
    low = torch.tensor([0.5, 0.4, 0.2])
    soft = torch.tensor([[1.0, 0, 0], [0.6, 0.4, 0], [0.5, 0, 0.5]])
    least = min_of_pointing_nodes(read, {"pos": torch.rand(3), "low": low, "pi_h": soft})
    assert least.squeeze(-1).tolist() == pytest.approx([0.4, 0.4, 0.2])


def test_the_least_of_pointing_nodes_is_a_term_and_compared():
    derived = derived_features("articulation_points")
    low, pi = torch.tensor([[0.5, 0.4, 0.2, 0.1]]), hot([[0, 0, 0, 1]], 4)
    values = derived.derive_values(derived.blank(4) | {"low": low, "pi_h": pi}, None)
    terms = DecoderFeatures(derived).scalar_terms(values, values).at(Location.NODE)[0]
    least = torch.tensor([0.2, 0.1, 0.2, 0.1])
    assert any(torch.equal(x, least) for x in terms.unbind(-1))
    compared = derived(values, None)["least_"].numbers[0]
    assert [1, 1, 0, 0] in columns_of(compared)


# What does not count


@pytest.mark.parametrize(("name", "hint"), [("bridges", "is_bridge_h"), ("lcs_length", "b_h")])
def test_what_does_not_count_stays_so_in_a_free_run(name, hint):
    """The net reads it as it does in training, at every step."""
    net, batch = small.lively(learner(name).net).eval(), seen(name)
    first = torch.from_numpy(batch.hints[hint][0]).float()
    does_not_count = (first == MASKED).reshape(*first.shape[:3], -1).any(-1)
    assert does_not_count.any()
    carry, values = None, []
    for piece in split_window(ENCODING.window([batch]), 1):
        carry = net.rollout(name, piece, carry).carry
        values.append(carry.read[hint][0])
    for value in values:
        assert torch.equal(value[does_not_count], first[does_not_count])
    assert len(values) > 2
    assert not torch.equal(values[0], values[-1]), "all else is predicted"


@pytest.mark.parametrize(("name", "hint"), [("bridges", "is_bridge_h"), ("lcs_length", "b_h")])
def test_next_hints_that_do_not_count_change_nothing(name, hint):
    features = DecoderFeatures(derived_features(name))
    values = features.blank(3)
    values[hint][:, 0, 1].view(1, -1)[..., -1] = MASKED
    chosen = {**values, hint: values[hint].clone()}
    chosen[hint][:, 0, 1] = 1
    for location in LOCATIONS:
        read = [features.next_hint_features(location, values, x) for x in (values, chosen)]
        assert torch.equal(*read)
