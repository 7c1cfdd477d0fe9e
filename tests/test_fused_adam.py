"""Fused Adam against PyTorch's."""

import pytest
import torch
from small import DEVICE

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels.fused.adam import Adam, Weights

SHAPES = [(3, 5), (40, 33), (1,)]


@pytest.mark.parametrize(("replicas", "limit"), [(1, 0.5), (3, 0.0), (3, 0.5), (3, 1e3)])
def test_updates_are_those_of_pytorch_with_clipping_in_each_replica(replicas, limit):
    torch.manual_seed(replicas)
    start = [torch.randn(replicas, *shape, device=DEVICE) for shape in SHAPES]
    expected = [tensor.clone().requires_grad_() for tensor in start]
    adam = torch.optim.Adam(expected, lr=1e-2)
    buffer = torch.empty(sum(x.numel() for x in start) + 7, device=DEVICE)
    views, at = [torch.empty_like(start[0])], 7  # the first lies apart from the others
    for tensor in start[1:]:
        views.append(buffer[at : at + tensor.numel()].view_as(tensor))
        at += tensor.numel()
    weights = [
        Weights(x, view, torch.zeros_like(x), torch.zeros_like(x), torch.zeros((), device=DEVICE))
        for x, view in zip(start, views, strict=True)
    ]
    own = Adam(weights)
    for _ in range(3):
        buffer.normal_()
        views[0].normal_()
        norm = torch.stack([view.flatten(1).square().sum(1) for view in views]).sum(0).sqrt()
        scale = (limit / norm).clamp(max=1.0) if limit else torch.ones_like(norm)
        for tensor, view in zip(expected, views, strict=True):
            tensor.grad = view * scale.view(-1, *(1,) * (view.ndim - 1))
        adam.step()
        own.step(views, 1e-2, limit)
    for mine, theirs in zip(weights, expected, strict=True):
        torch.testing.assert_close(mine.parameter, theirs.detach(), rtol=1e-5, atol=1e-5)
        assert mine.count.item() == 3
