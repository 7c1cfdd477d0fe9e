"""Hints that stay as they are at nodes that no mask selects."""

import numpy as np
import pytest
import small
import torch
from executing import ENCODING, config, derived_features, features_of, hot, learner, seen

import algorist
from algorist.model.executing.decoder_features import DecoderFeatures
from algorist.model.executing.kept_hints import KeptHints
from algorist.model.learner import read
from algorist.training.trainer import Trainer


@pytest.fixture
def kept():
    """The hints of dfs that may be kept: color, d, f, pi_h and s_prev."""
    return KeptHints(1, features_of("dfs", "color", "f", "u", "pi_h"))


VALUES = {
    "color": hot([[[0, 0, 1]]], 3),
    "f": torch.zeros(1, 1, 3),
    "pi_h": hot([[[0, 1, 2]]], 3),
    "u": hot([[0]], 3),
}
UNSELECTED = torch.tensor([[[False, True, True]]])


def changes(kept, **next_hints):
    kept.observe(VALUES, VALUES | next_hints, UNSELECTED)
    return {f.name for f, x in zip(kept.hints, kept.changes[0], strict=True) if x}


def test_hints_that_change_where_nothing_is_selected_are_noted(kept):
    assert changes(kept, color=hot([[[2, 0, 1]]], 3)) == set(), "the first node is selected"
    assert changes(kept, color=hot([[[0, 2, 1]]], 3)) == {"color"}
    assert changes(kept, f=torch.tensor([[[0, 0, 0.01]]])) == {"color", "f"}
    assert changes(kept, pi_h=hot([[[0, 0, 2]]], 3)) == {"color", "f", "pi_h"}


def test_only_hints_that_never_changed_are_kept(kept):
    changes(kept, pi_h=hot([[[0, 0, 2]]], 3))
    of = {f.name: f for f in kept.hints}
    black = torch.zeros(1, 1, 3, 3)
    black[..., 2] = 5.0
    new = kept.keep(of["color"], black, VALUES["color"], UNSELECTED)
    assert new.argmax(-1).tolist() == [[[2, 0, 1]]]
    assert torch.equal(kept.keep(of["pi_h"], black, VALUES["pi_h"], UNSELECTED), black)
    time = torch.full((1, 1, 3, 4), 3.0)
    gate, *others = kept.keep(of["f"], time, VALUES["f"], UNSELECTED).unbind(-1)
    assert (gate > 0).tolist() == [[[True, False, False]]]
    assert all((x == 3).all() for x in others)


def test_nodes_are_selected_by_both_steps_and_along_pointers():
    reads = DecoderFeatures(derived_features("dfs"))
    values = reads.blank(5) | {"u": hot([1], 5), "pi_h": hot([[0, 4, 2, 3, 4]], 5)}
    masks = {name: torch.zeros(1, 5) for name in ("s", "v", "s_last")}
    following = values | masks | {"u": hot([2], 5)}
    selected = reads.mask_features(values | masks, following)
    unselected = reads.unselected_nodes(values | masks, following, selected)
    assert unselected.tolist() == [[True, False, False, True, False]]


def test_nothing_is_unselected_where_a_hint_of_the_graph_changes():
    """The second phase of strongly_connected_components begins with all nodes white."""
    name = "strongly_connected_components"
    reads = DecoderFeatures(derived_features(name))
    values = reads.blank(4)
    selected = torch.zeros(1, 4, 2)  # the last column is no mask
    assert reads.unselected_nodes(values, values, selected).all()
    phase = {"phase": torch.ones(1)}
    assert not reads.unselected_nodes(values, values | phase, selected).any()


def unselected_changes(net, name):
    """How many colors a net changes at nodes that it does not select."""
    window = ENCODING.window([seen(name)])
    forced = window.with_forced(np.ones(tuple(window.follows.shape), bool))
    hints = net.eval().rollout(name, forced).hints
    color, total = seen(name).hints["color"], 0
    for k in range(window.steps):
        new = hints["color"][k, 0].argmax(-1).numpy() != color[k].argmax(-1)
        chosen = [hints[m][k, 0].argmax(-1).numpy() for m in ("s", "u", "v", "s_last")]
        masks = np.stack([np.eye(5)[x] for x in chosen]).any(0)
        masks |= np.any([seen(name).hints[m][k] for m in ("s", "u", "v", "s_last")], 0)
        for pointer in ("pi_h", "s_prev"):
            to = np.eye(5)[seen(name).hints[pointer][k]]
            masks |= (masks[:, :, None] * to).any(1)
        total += (new & ~masks).sum()
    return total


def test_a_net_changes_no_color_where_it_selects_nothing():
    lively = small.lively(learner("dfs", keep_unselected=True).net, 0.5)
    kept = lively.kept("dfs").changes.data
    kept.fill_(1)
    assert unselected_changes(lively, "dfs") > 0
    kept.zero_()
    assert unselected_changes(lively, "dfs") == 0


@pytest.mark.parametrize(
    ("name", "changing"),
    [("dfs", set()), ("dijkstra", {"pi_h", "d", "in_queue"}), ("insertion_sort", {"pred_h"})],
)
def test_training_notes_what_changes(name, changing, tmp_path):
    trainer = Trainer(config(name, keep_unselected=True, steps=4, average=2))
    for _ in trainer.run():
        pass
    trainer.best_learner().save(tmp_path / "net.safetensors", half=True)
    kept = read(tmp_path / "net.safetensors").net.kept(name)
    noted = {f.name for f, x in zip(kept.hints, kept.changes[0], strict=True) if x > 0}
    assert noted == changing


def test_nets_without_it_and_algorithms_without_masks_keep_nothing():
    assert learner("dfs").net.kept("dfs") is None
    assert learner("bfs", keep_unselected=True).net.kept("bfs") is None


def test_the_shipped_generalist_keeps_colors():
    net = algorist.load("generalist").net
    kept = net.kept("strongly_connected_components")
    assert {f.name for f in kept.hints} == {"scc_id_h", "color", "d", "f", "s_prev"}
    assert not kept.changes.any()
    assert net.kept("quicksort").changes.all()  # its array changes anywhere
