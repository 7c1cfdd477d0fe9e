"""Switches of the net: reversed edges, several rounds, states that are not carried on."""

from dataclasses import replace

import numpy as np
import pytest
import small
import torch

from algorist.model.losses import feature_losses
from algorist.model.make_window import make_window
from algorist.model.net import ModelConfig
from algorist.model.window import split_window
from algorist.training.packing import pack_trajectories


def losses_and_gradients(net, algorithm, window):
    net.zero_grad(set_to_none=True)
    parts = feature_losses(net.specs[algorithm], net.rollout(algorithm, window), window)
    sum(parts.values()).sum().backward()
    gradients = {name: p.grad for name, p in net.named_parameters() if p.grad is not None}
    return {name: part.detach() for name, part in parts.items()}, gradients


@pytest.mark.parametrize("algorithm", ["bfs", "matrix_chain_order"])
def test_every_feature_of_edges_has_an_encoder_for_the_other_direction(algorithm):
    plain, both = (small.net(algorithm, pointer_reversal=on) for on in (False, True))
    names, more = (set(net.encoders[algorithm]) for net in (plain, both))
    turned = {name for name in more - names if name.endswith("_reversed")}
    assert turned == more - names
    on_edges = {"bfs": {"A", "adj", "pi_h"}, "matrix_chain_order": {"pred", "m", "s_h", "msk"}}
    assert {name.removesuffix("_reversed") for name in turned} == on_edges[algorithm]


def test_reversed_encoders_read_edges_the_other_way_round():
    """With the same weights for both directions a net cannot tell a graph from the reversed one."""
    name = "topological_sort"
    net = small.lively(small.net(name, pointer_reversal=True))
    encoders = net.encoders[name]
    turned = [key for key in encoders if key.endswith("_reversed")]
    for key in turned:
        encoders[key].load_state_dict(encoders[key.removesuffix("_reversed")].state_dict())
    batch = small.problems(name, n=5, count=2)
    edges = {key: batch.inputs[key].swapaxes(1, 2) for key in ("A", "adj")}
    assert not np.array_equal(batch.inputs["A"], edges["A"])
    other = replace(batch, inputs={**batch.inputs, **edges})

    def states(problems):
        """After the first step, in which no hint points to another node yet."""
        return net.rollout(name, next(split_window(make_window([problems]), 1))).carry.hidden

    expected = states(batch)
    torch.testing.assert_close(states(other), expected)
    encoders["A_reversed"].weight.data.neg_()
    assert not torch.allclose(states(batch), expected, atol=1e-3)
    assert not torch.allclose(states(batch), states(other), atol=1e-3)


def test_switches_at_their_defaults_leave_the_weights_as_they_were():
    settings = {"pointer_reversal": False, "message_passing_steps": 1, "carry_state": True}
    small.assert_identical(
        small.weights(small.net("bfs", **settings)), small.weights(small.net("bfs"))
    )
    for name in ("message_passing_steps", "carry_state"):
        changed = small.net("bfs", **{name: 2 if name == "message_passing_steps" else False})
        small.assert_identical(small.weights(changed), small.weights(small.net("bfs")))


def test_rounds_of_messages_go_on_from_each_other():
    """A net of two rounds whose window is one step is one of a round that is called twice."""
    twice, once = (
        small.lively(small.net("bfs", message_passing_steps=rounds)) for rounds in (2, 1)
    )
    window = make_window([small.problems("bfs", n=5, count=2)])
    calls = []
    stock = once.processor.forward
    twice.processor.forward = lambda *x: calls.append(x[4]) or stock(*x)
    got = twice.rollout("bfs", window).hints["pi_h"]
    assert len(calls) == 2 * window.steps
    expected = stock(*([*calls_of(once, window)[:4], calls_of(once, window)[4]]))
    torch.testing.assert_close(calls[1], expected.hidden)
    assert not torch.allclose(got, once.rollout("bfs", window).hints["pi_h"], atol=1e-3)


def calls_of(net, window):
    """What the processor is given at the first step of a window."""
    seen = []
    stock = net.processor.forward
    net.processor.forward = lambda *x: seen.append(x) or stock(*x)
    try:
        net.rollout("bfs", window)
    finally:
        del net.processor.forward
    return seen[0]


def test_states_that_are_not_carried_start_at_zero():
    net = small.lively(small.net("bfs", carry_state=False))
    batch = small.problems("bfs", n=6, count=4)
    given = []
    stock = net.processor.forward
    net.processor.forward = lambda *x: given.append(x[4]) or stock(*x)
    net.rollout("bfs", make_window([batch]))
    assert len(given) == batch.steps - 1 > 1
    assert not torch.stack(given).any()


def test_fused_kernels_start_states_at_zero():
    pytest.importorskip("triton")
    window = make_window([small.problems("bfs", n=4, count=2)]).to(small.DEVICE)
    net = small.lively(small.net("bfs", carry_state=False)).to(small.DEVICE)
    outcomes = []
    for kernels in ("plain", "fused"):
        net.kernels = kernels
        outcomes.append(losses_and_gradients(net, "bfs", window))
    small.assert_same(outcomes[1][0], outcomes[0][0], 1e-4)
    small.assert_same(outcomes[1][1], outcomes[0][1], 1e-4)


def test_dropout_is_for_training_alone():
    net = small.lively(small.net("bfs", dropout=0.5, processor="mpnn"))
    plain = small.lively(small.net("bfs", processor="mpnn"))
    window = make_window([small.problems("bfs", n=8, count=8)])
    states = net.rollout("bfs", window).carry.hidden
    assert (states == 0).float().mean().item() == pytest.approx(0.5, abs=0.1)
    other = net.rollout("bfs", window).carry.hidden
    assert not torch.equal(states, other)
    expected = plain.eval().rollout("bfs", window).carry.hidden
    torch.testing.assert_close(net.eval().rollout("bfs", window).carry.hidden, expected)


def test_an_lstm_goes_on_through_windows_and_starts_anew_with_trajectories():
    net = small.lively(small.net("bfs", use_lstm=True))
    window = make_window([small.problems("bfs", n=6, count=4)])
    carry = None
    for piece in split_window(window, 1):
        carry = net.load_carry(net.rollout("bfs", piece, carry).carry.detach().tensors())
    small.assert_same(carry.tensors(), net.rollout("bfs", window).carry.detach().tensors())
    packed_window = pack_trajectories(window.padded(12, 4), lambda needed: needed)
    assert packed_window.follows.shape[-1] < 4
    got, expected = (losses_and_gradients(net, "bfs", x)[0] for x in (packed_window, window))
    small.assert_same(got, expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"use_lstm": True, "carry_state": False}, "use_lstm: got carry_state = false"),
        ({"message_passing_steps": 0}, "message_passing_steps: got 0, expected 1 or more"),
        ({"dropout": 1.0}, "dropout: got 1.0, expected at least 0 and less than 1"),
    ],
)
def test_switches_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**settings)
