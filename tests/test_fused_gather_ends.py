"""Ends of trajectories: what is taken out of stacks, and grads that are put back."""

import pytest
import torch
from small import DEVICE

pytest.importorskip("triton")
from algorist.kernels.fused.gather_ends import clear, put, take

K, S, B = 3, 2, 4
SHAPES = [(5, 3), (5, 5, 0), (5, 16), (5, 16), (9, 9, 16)]
STEPS = torch.tensor([[0, 2, 2, 0, 0], [1, 1, 2, 0, 0]], device=DEVICE)
LANES = torch.tensor([[1, 0, 3, 0, 0], [3, 0, 0, 0, 0]], device=DEVICE)
WEIGHTS = torch.tensor([[1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0]], device=DEVICE)
"""Those that are not there lie where others may."""


def places():
    """The replica, number, step and lane of each end."""
    for s, (steps, lanes) in enumerate(zip(STEPS.tolist(), LANES.tolist(), strict=True)):
        yield from ((s, e, k, b) for e, (k, b) in enumerate(zip(steps, lanes, strict=True)))


@pytest.mark.parametrize("shapes", [SHAPES, SHAPES[:4]])
def test_moments_at_ends_are_those_of_their_steps_and_lanes(shapes):
    stacks = [torch.randn(K, S, B, *shape, device=DEVICE) for shape in shapes]
    for got, stack in zip(take(stacks, STEPS, LANES), stacks, strict=True):
        assert got.shape == (1, S, STEPS.shape[1], *stack.shape[3:])
        for s, e, k, b in places():
            assert got[0, s, e].equal(stack[k, s, b])


def test_grads_of_ends_are_put_into_the_last_slot_where_they_lie():
    E, grad_buffers = STEPS.shape[1], (1, 2, 3, 2, 4)
    stacks = [
        torch.full((K, count, S, B, *shape), torch.nan, device=DEVICE)
        for count, shape in zip(grad_buffers, SHAPES, strict=True)
    ]
    grads = [torch.randn(1, 2, S, E, *shape, device=DEVICE) for shape in SHAPES]
    grads[3] = None
    clear(stacks)
    put(stacks, grads, (STEPS, LANES), WEIGHTS)
    for stack, grad in zip(stacks, grads, strict=True):
        expected = torch.zeros_like(stack[:, -1])
        if grad is not None:
            for s, e, k, b in places():
                if WEIGHTS[s, e]:
                    expected[k, s, b] = grad[0, :, s, e].sum(0)
        torch.testing.assert_close(stack[:, -1], expected)
        assert stack[:, :-1].isnan().all()
