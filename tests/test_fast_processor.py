"""The example of a processor made of fused operations: the same numbers from every tier."""

import runpy
from pathlib import Path

import pytest
import torch
from fused import assert_close
from small import DEVICE
from torch import nn
from torch.nn.functional import relu

import algorist
from algorist import kernels

FILE = Path(__file__).parent.parent / "examples" / "fast_processor.py"
B, N, H = 2, 5, 16


@pytest.fixture
def processor(monkeypatch):
    """The example's class by itself, without a net around it."""
    monkeypatch.setattr(algorist, "Processor", nn.Module, raising=False)
    monkeypatch.setattr(algorist, "register", lambda made: made)
    torch.manual_seed(0)
    return runpy.run_path(str(FILE))["FastMaxMean"](H).to(DEVICE)


def inputs():
    torch.manual_seed(1)
    shapes = [(B, N, H), (B, N, N, H), (B, H), (B, N, N), (B, N, H)]
    return [torch.randn(*shape, device=DEVICE, requires_grad=True) for shape in shapes]


def outcome(processor, given, forward):
    new = forward(*given)
    learning = [x for x in (*given, *processor.parameters()) if x is not given[3]]
    return new, *torch.autograd.grad(new.square().sum(), learning)


def in_torch(processor, nodes, edges, graph, adjacency, hidden):
    """What the docstring of the example says."""
    z = torch.cat((nodes, hidden), -1)
    receiver, sender = processor.ends(z).chunk(2, -1)
    receiver = receiver + processor.graph(graph).unsqueeze(1)
    pairs = relu(receiver[:, None] + sender[:, :, None] + processor.edge(edges))
    messages = processor.second(relu(processor.first(pairs)))
    states = torch.cat((z, messages.amax(1), messages.mean(1)), -1)
    new, gate = processor.update(states).chunk(2, -1)
    return hidden + gate.sigmoid() * (relu(new) - hidden)


@pytest.mark.parametrize("implementation", ["plain", "auto", "fused"])
def test_states_and_gradients_are_those_of_torch(processor, implementation):
    if implementation == "fused":
        pytest.importorskip("triton")
    given = inputs()
    expected = outcome(processor, given, lambda *given: in_torch(processor, *given))
    with kernels.using(implementation):
        for got, reference in zip(outcome(processor, given, processor), expected, strict=True):
            assert_close(got, reference)


def test_the_example_is_short():
    assert len(FILE.read_text().splitlines()) < 60
