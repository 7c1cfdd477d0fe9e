"""Fused triplet maxima against their plain twin: values and all grads."""

import pytest
import torch
from fused import assert_close, by_shape, draw, unwritten

from algorist.kernels import plain
from algorist.kernels.affine import FactoredEdges, product

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels.fused import triplet

T, SPARE = 8, 4  # triplet features, columns of the state that nobody reads here


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


@by_shape
@pytest.mark.parametrize("grad_buffers", [1, 3])
def test_triplet_maxima_and_all_their_grads(shape, grad_buffers):
    S, B, n, F = shape
    state, raw, edge = draw(S, B, n, SPARE + 3 * T), draw(S, B, n, n, F), draw(S, F, 3 * T)
    maxima, winner = unwritten(S, B, n, n, T), unwritten(S, B, n, n, T, dtype=torch.int16)
    read = [x.clone().requires_grad_() for x in (state[..., SPARE:], raw, edge)]
    expected = plain.triplet_max(read[0], FactoredEdges(*read[1:]))
    triplet.triplet_max(state[..., SPARE:], FactoredEdges(raw, edge), maxima, winner)
    assert_close(maxima, expected.detach())

    d_maxima = draw(grad_buffers, S, B, n, n, T)
    d_state, d_raw = unwritten(*state.shape), unwritten(*raw.shape)
    d_edges = unwritten(S, B, n, n, 3 * T)
    triplet.triplet_max_backward(d_maxima, winner, edge, d_state[..., SPARE:], d_edges, d_raw)
    of_nodes, of_raw, of_edge = torch.autograd.grad(expected, read, d_maxima.sum(0))
    assert d_state[..., :SPARE].isnan().all()
    assert_close(d_state[..., SPARE:], of_nodes)
    assert_close(d_raw, of_raw)
    assert_close(raw.flatten(1, 3).mT @ d_edges.flatten(1, 3), of_edge)
    assert_close(product(d_edges, edge.mT.contiguous()), of_raw)


@pytest.mark.parametrize("n", [4, 20])
def test_triplet_maxima_when_nothing_is_kept(n):
    state, raw, edge = draw(1, 1, n, 3 * T), draw(1, 1, n, n, 1), draw(1, 1, 3 * T)
    maxima = unwritten(1, 1, n, n, T)
    triplet.triplet_max(state, FactoredEdges(raw, edge), maxima, None)
    assert_close(maxima, plain.triplet_max(state, FactoredEdges(raw, edge)))


def test_the_first_of_equal_triplets_wins():
    n = 20
    state, raw, edge = 0 * draw(1, 1, n, 3 * T), draw(1, 1, n, n, 0), draw(1, 0, 3 * T)
    winner = unwritten(1, 1, n, n, T, dtype=torch.int16)
    triplet.triplet_max(state, FactoredEdges(raw, edge), unwritten(1, 1, n, n, T), winner)
    assert not winner.any()
