"""The Sinkhorn operator, which turns scores into nearly a permutation (paper, section 3.2.2)."""

from __future__ import annotations

import torch
from torch import Tensor

TEMPERATURE = 0.1
"""The lower, the nearer the result is to a permutation."""
SINKHORN_STEPS = 10
"""Iterations in a decoder, which are differentiated."""
FINAL_SINKHORN_STEPS = 50
"""Iterations where a prediction is fed back or returned."""


def log_sinkhorn(
    scores: Tensor, steps: int, noise: Tensor | None = None, *, fused: bool = False
) -> Tensor:
    """Scores (..., n, n) as the logarithm of a doubly stochastic matrix with an empty diagonal.

    `fused` computes it with a Triton kernel.
    """
    if fused:
        from algorist.kernels.fused import sinkhorn

        return sinkhorn.log_sinkhorn(scores, steps, TEMPERATURE, noise)
    if noise is not None:
        scores = scores + noise
    scores = scores / TEMPERATURE - 1e6 * torch.eye(scores.shape[-1], device=scores.device)
    for _ in range(steps):
        scores = scores.log_softmax(-1).log_softmax(-2)
    return scores
