"""Fused pointers of nodes against plain PyTorch: values and all grads."""

from itertools import product

import pytest
import torch
from small import DEVICE, ON_GPU
from torch.nn.functional import relu

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels import affine, plain
from algorist.kernels.affine import Affine, FactoredEdges
from algorist.kernels.fused.pointer_logits import (
    Scoring,
    TripletProjection,
    blocks_of_pairs,
    pair_values,
    pair_values_backward,
    pointer_logits,
    pointer_logits_backward,
)

H, T, COLUMN, SPARE = 16, 8, 3, 2
CASES = [(1, 1, 1, 2), (3, 5, 3, 0), (1, 17, 1, 2)]  # replicas, nodes, pointers, numbers
if ON_GPU:
    SIZES = (4, 7, 11, 13, 16, 20, 64, 80)
    CASES += [
        (replicas, n, pointers, numbers)
        for (replicas, pointers, numbers), n in zip(
            product((1, 3), (1, 3), (0, 2)), SIZES, strict=True
        )
    ]


def draw(*shape):
    """Few binary places: sums are exact, so that both twins find the same one larger, ties too."""
    return torch.randint(-8, 9, shape, device=DEVICE) / 8


def blank(*shape):
    """Not yet written: an entry that stays so shows."""
    return torch.full(shape, torch.nan, device=DEVICE)


class Problem:
    """Random numbers, the twin's scores and grads of them, and buffer for those of the kernels."""

    def __init__(self, S, n, P, F, triplets, B=2):
        torch.manual_seed(1000 * S + n)
        width = COLUMN + 2 * H * P + SPARE
        self.decoded, self.raw = draw(S, B, n, width), draw(S, B, n, n, F)
        self.maxima = draw(S, B, n, n, T) if triplets else None
        self.weights = Scoring(draw(S, P, F, H), draw(S, P, H), draw(S, P))
        self.projection = None
        if triplets:
            triplet = draw(S, P, H, H) / 4
            self.weights = self.weights._replace(
                triplet=triplet, transposed=triplet.mT.contiguous()
            )
            self.projection = TripletProjection(draw(S, T, H), draw(S, H))
        self.scores = blank(P, S, B, n, n)
        self.edge_states, self.larger = blank(S, B, n, n, H), blank(P, S, B, n, n, H)
        self.grads = draw(P, S, B, n, n)

    def leaves(self):
        parts = (self.decoded, self.raw, self.maxima, *self.weights[:4], *(self.projection or ()))
        return [x.requires_grad_() for x in parts if x is not None]

    def expected(self):
        edge, score, bias, triplet, _ = self.weights
        edge_states = relu(Affine(*self.projection)(self.maxima)) if self.projection else None
        scores = []
        for p in range(len(self.scores)):
            source, target = self.decoded[..., COLUMN + 2 * H * p :][..., : 2 * H].chunk(2, -1)
            dense = None if edge_states is None else affine.product(edge_states, triplet[:, p])
            edges = FactoredEdges(self.raw, edge[:, p], dense)
            scoring = Affine(score[:, p].unsqueeze(-1), bias[:, p : p + 1])
            scores.append(plain.pointer_logits(source, target, edges, scoring))
        return torch.stack(scores)

    def run(self, keep=True):
        pair_values(
            self.raw, self.maxima, self.weights, self.projection, self.larger,
            self.edge_states if keep else None, precision="ieee",
        )  # fmt: skip
        pointer_logits(self.decoded, COLUMN, self.weights, self.larger, self.scores, keep=keep)

    def run_backward(self):
        P, S, B, n, _ = self.scores.shape
        d_decoded = blank(*self.decoded.shape)
        pointer_logits_backward(
            self.grads, self.decoded, COLUMN, self.weights, self.larger, d_decoded
        )
        blocks = blocks_of_pairs(n)
        projection = (
            None if self.maxima is None else blank(S, B, blocks, self.maxima.shape[-1] + 1, H)
        )
        results = {
            "d_score": blank(P, S, B, blocks, H),
            "d_excess": blank(P, S, B, n, n, H),
            "d_projection": projection,
            "d_raw": blank(*self.raw.shape),
            "d_maxima": None if self.maxima is None else blank(*self.maxima.shape),
        }
        pair_values_backward(
            self.grads, self.decoded, COLUMN, self.weights, self.projection, self.maxima,
            self.edge_states,
            self.larger, **results, precision="ieee",
        )  # fmt: skip
        return {**results, "d_decoded": d_decoded}


def close(got, expected):
    """Entries that large terms cancel out in are as exact as the largest of all."""
    expected = torch.zeros_like(got) if expected is None else expected  # of no raw numbers
    scale = expected.abs().max().item() if expected.numel() else 1.0
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5 * max(1.0, scale))


by_case = pytest.mark.parametrize(("S", "n", "P", "F"), CASES)
with_and_without_triplets = pytest.mark.parametrize("triplets", [True, False])


@by_case
@with_and_without_triplets
def test_scores_are_those_of_the_plain_twin(S, n, P, F, triplets):
    problem = Problem(S, n, P, F, triplets)
    problem.run(keep=False)
    close(problem.scores, problem.expected())
    assert problem.edge_states.isnan().all()


@by_case
@with_and_without_triplets
def test_grads_are_those_of_the_plain_twin(S, n, P, F, triplets):
    problem = Problem(S, n, P, F, triplets)
    problem.run()
    got = problem.run_backward()
    leaves = problem.leaves()
    (problem.expected() * problem.grads).sum().backward()
    with torch.no_grad():
        _check_columns(problem, got)
        close(got["d_raw"], problem.raw.grad)
        _check_weights(problem, got)
        if triplets:
            close(got["d_maxima"], problem.maxima.grad)
    assert all(leaf.grad is not None for leaf in leaves if leaf.numel())


def _check_columns(problem, got):
    """Sources and targets lie in their columns; nothing else is touched."""
    d_decoded = got["d_decoded"]
    close(d_decoded[..., COLUMN:-SPARE], problem.decoded.grad[..., COLUMN:-SPARE])
    assert d_decoded[..., :COLUMN].isnan().all()
    assert d_decoded[..., -SPARE:].isnan().all()


def _check_weights(problem, got):
    """What is kept makes up the grads of the weights."""
    edge, score, bias, triplet, _ = problem.weights
    sums = torch.einsum
    close(sums("sbijf,psbijh->spfh", problem.raw, got["d_excess"]), edge.grad)
    close(got["d_score"].sum((2, 3)).transpose(0, 1), score.grad)
    close(problem.grads.sum((2, 3, 4)).T, bias.grad)
    if triplet is not None:
        projection, projection_bias = problem.projection
        close(sums("sbijh,psbijc->sphc", problem.edge_states, got["d_excess"]), triplet.grad)
        of_projection = got["d_projection"].sum((1, 2))
        close(of_projection[:, :-1], projection.grad)
        close(of_projection[:, -1], projection_bias.grad)
