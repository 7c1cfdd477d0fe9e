"""Local decoders: hints decoded from bits of each node, without the states of the processor."""

import numpy as np
import pytest
import small
import torch
from executing import ENCODING, config, derived_features, hot, learner, seen

import algorist
from algorist.model.executing.decoder_features import DecoderFeatures
from algorist.training.trainer import Trainer


def decoders(net, name):
    return {k: d for k, d in net.decoders[name].items() if getattr(d, "local_hidden", None)}


def test_they_read_masks_classes_and_choices_of_the_graph():
    reads = DecoderFeatures(derived_features("strongly_connected_components"))
    values = reads.blank(3) | {"color": hot([[0, 2, 1]], 3)}
    selected = torch.tensor([[[0.0, 1], [1, 1], [0, 1]]])
    bits = reads.local_features(selected, values, values | {"phase": torch.ones(1)})
    assert bits.shape == (1, 3, 2 + 3 + 2)
    assert bits[0, :, :2].equal(selected[0])
    assert bits[0, :, 2:5].argmax(-1).tolist() == [0, 2, 1]
    assert bits[0, :, 5:].tolist() == [[0, 1]] * 3, "the phase now and in the next step"
    full = reads.mask_features(reads.blank(3), reads.blank(3))
    assert reads.local_features(full, values, values).shape[-1] == reads.local_width


def test_discrete_hints_of_nodes_have_one():
    net = learner("dfs", local_decoders=True).net
    assert set(decoders(net, "dfs")) == {"pi_h", "color", "s_prev"}  # no masks, scalars and outputs
    assert not decoders(learner("dfs").net, "dfs")


@pytest.mark.parametrize("name", ["dfs", "bridges", "strongly_connected_components", "mst_kruskal"])
def test_predictions_are_those_without_them_while_their_last_weights_are_zero(name):
    """Of masks, classes and pointers of nodes, and masks of edges."""
    net = small.lively(learner(name, local_decoders=True).net, 0.3).eval()
    without = learner(name).net.eval()
    own = net.state_dict()
    without.load_state_dict({key: own[key] for key in without.state_dict()})
    window = ENCODING.window([seen(name)])
    changed = net.rollout(name, window).hints
    for decoder in decoders(net, name).values():
        for weight in decoder.local.parameters():
            weight.data.zero_()
    same, expected = net.rollout(name, window).hints, without.rollout(name, window).hints
    for hint in expected:
        torch.testing.assert_close(same[hint], expected[hint], rtol=1e-4, atol=1e-4)
    for hint in decoders(net, name):
        assert (changed[hint] - expected[hint]).abs().max() > 0.1


def test_training_decodes_every_second_lane_without_the_states():
    name = "dfs"
    net = small.lively(learner(name, local_decoders=True).net, 0.3).train()
    window = ENCODING.window([seen(name, count=4)])
    forced = window.with_forced(np.ones(tuple(window.follows.shape), bool))
    before = net.rollout(name, forced).hints["color"]
    plain = net.decoders[name]["color"].plain
    for weight in plain.parameters():
        weight.data.mul_(3)
    moved = (net.rollout(name, forced).hints["color"] != before).flatten(3).any(-1).any(0)[0]
    assert moved.tolist() == [True, False, True, False]


def test_they_learn_what_bits_decide():
    """After some updates colors are decoded without the states of the processor."""
    name = "dfs"
    trainer = Trainer(config(name, local_decoders=True, steps=50, average=0, learning_rate=0.03))
    for _ in trainer.run():
        pass
    net = trainer.net.eval()
    for weight in net.decoders[name]["color"].plain.parameters():
        weight.data.zero_()
    batch = seen(name, count=8)
    window = ENCODING.window([batch])
    forced = window.with_forced(np.ones(tuple(window.follows.shape), bool))
    predicted = net.rollout(name, forced).hints["color"][:-1, 0].argmax(-1).numpy()
    color = batch.hints["color"].argmax(-1)
    now, following = color[: len(predicted)], color[1 : 1 + len(predicted)]
    counts = (np.arange(1, 1 + len(predicted))[:, None] < batch.lengths)[..., None]
    changes = (now != following) & counts
    assert changes.sum() > 50
    assert (predicted == following)[changes].mean() > 0.9


def test_the_shipped_generalist_has_them():
    net = algorist.load("generalist").net
    assert "color" in decoders(net, "strongly_connected_components")
