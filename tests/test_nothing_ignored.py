"""Whatever somebody changes in a net is computed, by whichever kernels: fused ones ignore nothing.

Every hook is changed in turn. What the net then comes to must differ from the stock net, and must
be the same for all choices of kernels.
"""

import warnings
from dataclasses import replace

import pytest
import small
import torch
from small import DEVICE

pytest.importorskip("triton")
import algorist
from algorist.model import kinds
from algorist.model.decoders import PointerDecoder
from algorist.model.layers import Linear
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_window
from algorist.model.processors import PROCESSORS, MessagePassing, StepOutput
from algorist.model.user_decoders import USER_DECODERS
from algorist.spec import Kind, Location

POINTER = (Location.NODE, Kind.POINTER)
MASK = (Location.NODE, Kind.MASK)


class Fivefold(MessagePassing):
    """States are five times as large."""

    def forward(self, *arguments):
        output = super().forward(*arguments)
        return replace(output, hidden=5 * output.hidden)


class OtherMask(MessagePassing):
    """A node hears itself alone."""

    def _message_mask(self, adjacency, hidden):
        S, B, n, _ = hidden.shape
        return torch.eye(n, device=hidden.device).expand(S, B, n, n)


class Doubled(Linear):
    """A layer that does twice as much."""

    def forward(self, x):
        return 2 * super().forward(x)


class Turned(PointerDecoder):
    """Points the other way round."""

    def forward(self, nodes, edges, graph):
        return super().forward(nodes, edges, graph).mT


class Penalised(algorist.Processor):
    """States that cost something."""

    def __init__(self, hidden):
        super().__init__()
        self.update = torch.nn.Linear(2 * hidden, hidden)

    def forward(self, nodes, edges, graph, adjacency, hidden):
        new = self.update(torch.cat((nodes, edges.amax(1)), -1))
        return StepOutput(new, losses={"size": 100 * new.square().mean((1, 2))})


class Constant(algorist.Decoder):
    """Every mask is as probable as every other."""

    location, kind = "node", "mask"

    def __init__(self, sizes):
        super().__init__()
        self.value = torch.nn.Parameter(torch.ones(()))

    def forward(self, nodes, edges, graph):
        return self.value.expand(nodes.shape[:-1])


def change_ops(monkeypatch, key, **changes):
    row = kinds.TABLE[key]
    ops = {name: change(getattr(row.ops, name)) for name, change in changes.items()}
    monkeypatch.setitem(kinds.TABLE, key, row._replace(ops=replace(row.ops, **ops)))


def like(layer, cls):
    """A layer of another class with the same weights."""
    other = cls(len(layer.weight), *layer.weight.shape[1:])
    other.load_state_dict(layer.state_dict())
    return other


def own_processor(cls):
    def hook(net, monkeypatch):
        processor = cls.__new__(cls)
        processor.__dict__ = net.processor.__dict__
        net.processor = processor

    return hook


def instance_method(net, monkeypatch):
    whole_update = net.processor.update.forward
    net.processor.update.forward = lambda x: 2 * whole_update(x)


def forward_hook(net, monkeypatch):
    net.processor.register_forward_hook(
        lambda module, given, output: replace(output, hidden=output.hidden + 1)
    )


def backward_hook(net, monkeypatch):
    net.processor.update.register_full_backward_pre_hook(
        lambda module, gradients: tuple(3 * gradient for gradient in gradients)
    )


def class_method(net, monkeypatch):
    stock = MessagePassing.forward

    def forward(self, *arguments):
        output = stock(self, *arguments)
        return replace(output, hidden=output.hidden - 1)

    monkeypatch.setattr(MessagePassing, "forward", forward)


def loss_of_a_kind(net, monkeypatch):
    change_ops(monkeypatch, POINTER, loss=lambda loss: lambda *x: 100 * loss(*x))


def weights_of_a_kind(net, monkeypatch):
    def first_alone(counts):
        def count(truth):
            weights = counts(truth)
            return weights * (torch.arange(weights.shape[-1], device=weights.device) == 0)

        return count

    change_ops(monkeypatch, POINTER, weights=first_alone)


def feedback_of_a_kind(net, monkeypatch):
    change_ops(monkeypatch, MASK, feedback=lambda feed: lambda *x: 3 - feed(*x))


def truths_of_a_kind(net, monkeypatch):
    change_ops(monkeypatch, POINTER, one_hot=lambda one_hot: lambda *x: 1 - one_hot(*x))


def finish_of_a_kind(net, monkeypatch):
    row = kinds.TABLE[POINTER]
    changed = row._replace(postprocess=lambda scores, ending: 2 * row.postprocess(scores, ending))
    monkeypatch.setitem(kinds.TABLE, POINTER, changed)


def encoder(net, monkeypatch):
    net.encoders["bfs"]["pi_h"] = like(net.encoders["bfs"]["pi_h"], Doubled).to(DEVICE)


def layer_of_a_decoder(net, monkeypatch):
    decoder = net.decoders["bfs"]["reach_h"]
    decoder.value = like(decoder.value, Doubled).to(DEVICE)


def decoder(net, monkeypatch):
    net.decoders["bfs"]["pi"].__class__ = Turned


HOOKS = {
    "processor's forward": own_processor(Fivefold),
    "processor's method": own_processor(OtherMask),
    "layer's forward": instance_method,
    "forward hook": forward_hook,
    "backward hook": backward_hook,
    "method of the class": class_method,
    "loss": loss_of_a_kind,
    "weights": weights_of_a_kind,
    "feedback": feedback_of_a_kind,
    "truths": truths_of_a_kind,
    "finish": finish_of_a_kind,
    "encoder": encoder,
    "layer of a decoder": layer_of_a_decoder,
    "decoder": decoder,
}


def made(**model):
    return small.lively(small.net("bfs", **model)).to(DEVICE)


def outcome(net, kernels):
    """The losses, by name, and the gradient of one weight."""
    net.kernels = kernels
    net.zero_grad(set_to_none=True)
    window = make_window([small.problems("bfs", n=4, count=2)]).to(DEVICE)
    parts = feature_losses(net.specs["bfs"], net.rollout("bfs", window), window)
    sum(parts.values()).sum().backward()
    gradient = net.encoders["bfs"]["s"].weight.grad
    return {**{name: part.detach() for name, part in parts.items()}, "gradient": gradient}


def assert_not_ignored(net, stock):
    expected = outcome(net, "plain")
    assert expected.keys() != stock.keys() or any(
        not torch.allclose(expected[name], stock[name], rtol=1e-3) for name in stock
    ), "the change should matter"
    for kernels in ("fused", "auto"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            got = outcome(net, kernels)
        if kernels == "fused":
            (message,) = {str(warning.message) for warning in told}
            assert message.startswith("plain kernels are used: fused ones know")
            assert message.endswith("(about 5 times slower on a GPU)")
        small.assert_same(got, expected, 1e-4)


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS.keys())
def test_a_changed_part_is_computed(hook, monkeypatch):
    stock = outcome(made(), "plain")
    net = made()
    hook(net, monkeypatch)
    assert_not_ignored(net, stock)


def test_the_stock_net_is_fused():
    net = made()
    expected = outcome(net, "plain")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.assert_same(outcome(net, "fused"), expected, 1e-4)


def test_a_processor_of_ones_own_and_its_penalty_are_computed(monkeypatch):
    stock = outcome(made(), "plain")
    monkeypatch.setitem(PROCESSORS, "penalised", Penalised)
    net = made(processor="penalised")
    assert "size" in outcome(net, "plain")
    assert_not_ignored(net, stock)


def test_a_decoder_of_ones_own_is_computed(monkeypatch):
    stock = outcome(made(), "plain")
    monkeypatch.setitem(USER_DECODERS, "constant", Constant)
    assert_not_ignored(made(), stock)


@pytest.mark.parametrize(
    "setting",
    [{"pointer_reversal": True}, {"conditional_hints": True}, {"message_passing_steps": 2}],
    ids=lambda x: next(iter(x)),
)
def test_settings_that_fused_kernels_do_not_know_are_computed_by_plain_ones(setting):
    net = made(**setting)
    net.kernels = "fused"
    with pytest.raises(ValueError, match=f"fused ones know no {next(iter(setting))}"):
        outcome(net, "fused")
