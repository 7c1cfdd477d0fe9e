"""Fused Adam against PyTorch's."""

import pytest
import torch
from small import DEVICE, needs_gpu

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels.fused.adam import Adam, Weights

SHAPES = [(3, 5), (40, 33), (1,)]


def scalar(value: float) -> torch.Tensor:
    return torch.tensor(value, device=DEVICE)


@pytest.mark.parametrize(
    ("weight_decay", "beta2", "eps"), [(0.0, 0.999, 1e-8), (0.1, 0.99, 1e-8), (0.0, 0.99, 0.5)]
)
@pytest.mark.parametrize(("replicas", "limit"), [(1, 0.5), (3, 0.0), (3, 0.5), (3, 1e3)])
def test_updates_are_those_of_pytorch_with_clipping_in_each_replica(
    replicas, limit, weight_decay, beta2, eps
):
    torch.manual_seed(replicas)
    settings = {"betas": (0.9, beta2), "eps": eps, "weight_decay": weight_decay}
    start = [torch.randn(replicas, *shape, device=DEVICE) for shape in SHAPES]
    expected = [tensor.clone().requires_grad_() for tensor in start]
    adam = torch.optim.AdamW(expected, lr=1e-2, **settings)
    weights = [
        Weights(x, torch.zeros_like(x), torch.zeros_like(x), torch.zeros((), device=DEVICE))
        for x in start
    ]
    own, learning_rate = Adam(weights, **settings), scalar(1e-2)
    for _ in range(3):
        gradients = [torch.randn_like(x) for x in start]
        flat = torch.cat([x.flatten(1) for x in gradients], 1)
        norm = flat.norm(dim=1)
        scale = (limit / norm).clamp(max=1.0) if limit else torch.ones_like(norm)
        for tensor, gradient in zip(expected, gradients, strict=True):
            tensor.grad = gradient * scale.view(-1, *(1,) * (gradient.ndim - 1))
        adam.step()
        own.step(flat, learning_rate, limit)
    for mine, theirs in zip(weights, expected, strict=True):
        torch.testing.assert_close(mine.parameter, theirs.detach(), rtol=1e-5, atol=1e-5)
        assert mine.count.item() == 3


def one_weight() -> Weights:
    return Weights(*(torch.zeros(1, 1, device=DEVICE) for _ in Weights._fields))


ONE = torch.ones(1, 1, device=DEVICE)


def test_the_learning_rate_is_read_from_the_device_at_each_step():
    weights, rate = one_weight(), scalar(0.5)
    adam = Adam([weights])
    adam.step(ONE, rate, 0.0)
    assert weights.parameter.item() == pytest.approx(-0.5, rel=1e-4)
    rate.fill_(0.25)
    adam.step(ONE, rate, 0.0)
    assert weights.parameter.item() == pytest.approx(-0.75, rel=1e-4)


@needs_gpu
def test_a_captured_step_follows_a_schedule():
    weights, rate = one_weight(), scalar(0.5)
    adam = Adam([weights])
    adam.warm_up()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        adam.step(ONE, rate, 0.0)
    for learning_rate in (0.5, 0.25):
        rate.fill_(learning_rate)
        graph.replay()
    assert weights.parameter.item() == pytest.approx(-0.75, rel=1e-4)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (torch.ones(2), r"shape \(2,\), expected one float32"),
        (torch.ones((), dtype=torch.float64), "float64"),
    ],
)
def test_other_learning_rates_are_refused(rate, message):
    weights = one_weight()
    with pytest.raises(ValueError, match=message):
        Adam([weights]).step(ONE, rate.to(DEVICE), 0.0)


def test_gradients_of_other_weights_are_refused():
    with pytest.raises(ValueError, match=r"gradients: got shape \(1, 2\), expected \(1, 1\)"):
        Adam([one_weight()]).step(torch.ones(1, 2, device=DEVICE), scalar(0.5), 0.0)
