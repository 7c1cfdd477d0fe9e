"""The fused Sinkhorn operator against its plain twin: values and grads."""

import pytest
import torch
from small import DEVICE, ON_GPU
from torch import Tensor

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.model.sinkhorn import SINKHORN_STEPS, log_sinkhorn

SIZES = (1, 2, 5, 17, *((16, 20, 64, 80) if ON_GPU else ()))


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


def draw(*shape: int, spread: float = 1.0) -> Tensor:
    return spread * torch.randn(*shape, device=DEVICE)


def values_and_grads(scores: Tensor, weights: Tensor, noise: Tensor | None, *, fused: bool):
    """The result, and the grads of a weighted sum of it, less the huge numbers on the diagonal."""
    scores = scores.clone().requires_grad_()
    result = log_sinkhorn(scores, SINKHORN_STEPS, noise, fused=fused)
    n = result.shape[-1]
    off_diagonal = torch.where(torch.eye(n, device=DEVICE, dtype=torch.bool), 0.0, result)
    (weights * (off_diagonal if n > 1 else result)).sum().backward()
    return result.detach(), scores.grad


def assert_agree(scores: Tensor, weights: Tensor, noise: Tensor | None = None):
    result, grads = values_and_grads(scores, weights, noise, fused=True)
    expected, expected_grads = values_and_grads(scores, weights, noise, fused=False)
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(result.exp(), expected.exp(), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(grads, expected_grads, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", SIZES)
def test_values_and_grads_agree_with_the_plain_operator(n):
    shape = (2, 3, n, n) if n < 16 else (1, 1, n, n)
    assert_agree(draw(*shape), draw(*shape))


def test_noise_is_added_to_the_scores():
    scores, weights, noise = (draw(2, 2, 6, 6) for _ in range(3))
    assert_agree(scores, weights, noise)
    quiet = log_sinkhorn(scores, SINKHORN_STEPS, fused=True)
    assert not torch.allclose(quiet, log_sinkhorn(scores, SINKHORN_STEPS, noise, fused=True))


def test_scores_far_from_zero_neither_overflow_nor_vanish():
    assert_agree(draw(1, 2, 6, 6, spread=30.0), draw(1, 2, 6, 6))


def test_any_leading_axes_and_strides():
    scores = draw(6, 2, 3, 6).transpose(0, 2)
    assert_agree(scores.select(0, 1), draw(2, 6, 6))
    assert log_sinkhorn(draw(6, 6), 3, fused=True).shape == (6, 6)


def test_many_steps_make_a_doubly_stochastic_matrix_without_a_diagonal():
    matrix = log_sinkhorn(draw(2, 7, 7, spread=0.1), 50, fused=True).exp()
    ones = torch.ones(2, 7, device=DEVICE)
    torch.testing.assert_close(matrix.sum(-1), ones, rtol=0, atol=1e-3)
    torch.testing.assert_close(matrix.sum(-2), ones, rtol=0, atol=1e-5)
    assert (matrix.diagonal(dim1=-2, dim2=-1) == 0).all()
