"""Fused values and pointers of edges against plain PyTorch: values and all grads."""

import pytest
import torch
from small import DEVICE, ON_GPU
from torch.nn.functional import relu

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels import plain
from algorist.kernels.affine import Affine, product
from algorist.kernels.fused.edge_pointer_logits import (
    edge_pointer_logits,
    edge_pointer_logits_backward,
)
from algorist.kernels.fused.edge_values import edge_values, edge_values_backward
from algorist.kernels.fused.pointer_logits import Scoring, TripletProjection
from algorist.kernels.fused.tiling import tiles

H, T, COLUMN, SPARE = 16, 8, 3, 2
CASES = [(1, 1, 1, 2), (3, 5, 2, 0), (1, 17, 1, 3)]
if ON_GPU:
    CASES += [(3, 4, 2, 0), (3, 7, 1, 3), (1, 16, 3, 1), (1, 20, 1, 2)]
    CASES += [(2, n, 2, 5) for n in (11, 13, 64, 80)]
by_case = pytest.mark.parametrize(("S", "n", "count", "F"), CASES)
with_and_without_triplets = pytest.mark.parametrize("triplets", [True, False])


def draw(*shape):
    """Few binary places: sums are exact, so that both twins find the same one larger, ties too."""
    return torch.randint(-8, 9, shape, device=DEVICE) / 8


def blank(*shape):
    """Not yet written: an entry that stays so shows."""
    return torch.full(shape, torch.nan, device=DEVICE)


def blank_like(x):
    return None if x is None else blank(*x.shape)


def close(got, expected):
    """Entries that large terms cancel out in are as exact as the largest of all."""
    scale = expected.abs().max().item() if expected.numel() else 1.0
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5 * max(1.0, scale))


def watch(*tensors):
    for x in tensors:
        if x is not None:
            x.requires_grad_()


class Problem:
    """What both decoders of edges read, and buffer for what they keep."""

    def __init__(self, S, n, width, F, triplets, B=2):
        torch.manual_seed(1000 * S + n)
        self.shape = S, B, n
        self.decoded = draw(S, B, n, COLUMN + width + SPARE)
        self.raw, self.d_raw = draw(S, B, n, n, F), blank(S, B, n, n, F)
        self.maxima = draw(S, B, n, n, T) if triplets else None
        self.projection = TripletProjection(draw(S, T, H), draw(S, H)) if triplets else None
        self.edge_states = blank(S, B, n, n, H) if triplets else None
        self.d_decoded, self.d_maxima = blank_like(self.decoded), blank_like(self.maxima)
        self.d_projection = blank(S, B, tiles(n).blocks(n), T + 1, H) if triplets else None

    def watch(self, *more):
        watch(self.decoded, self.raw, self.maxima, *(self.projection or ()), *more)

    def pairs(self, source, target, edge, triplet):
        """The twin's sums for all pairs."""
        pairs = source.unsqueeze(3) + target.unsqueeze(2) + product(self.raw, edge)
        if self.projection is None:
            return pairs
        return pairs + product(relu(Affine(*self.projection)(self.maxima)), triplet)

    def check_grads(self):
        """Of all that both decoders read, once the columns of `d_decoded` are complete."""
        close(self.d_decoded[..., COLUMN:-SPARE], self.decoded.grad[..., COLUMN:-SPARE])
        assert self.d_decoded[..., :COLUMN].isnan().all()
        assert self.d_decoded[..., -SPARE:].isnan().all()
        close(self.d_raw, self.raw.grad)
        if self.projection is not None:
            projection, bias = self.projection
            close(self.d_maxima, self.maxima.grad)
            of_projection = self.d_projection.sum((1, 2))
            close(of_projection[:, :-1], projection.grad)
            close(of_projection[:, -1], bias.grad)


@by_case
@with_and_without_triplets
def test_values_of_edges_and_their_grads_are_those_of_the_plain_twin(S, n, count, F, triplets):
    problem = Problem(S, n, 2 * count, F, triplets)
    edge, triplet = draw(S, F, count), draw(S, H, count) if triplets else None
    values, grads = blank(*problem.raw.shape[:-1], count), draw(*problem.raw.shape[:-1], count)
    edge_values(
        problem.decoded, COLUMN, problem.raw, problem.maxima, edge, triplet, problem.projection,
        values, problem.edge_states,
    )  # fmt: skip
    edge_values_backward(
        grads, COLUMN, edge, triplet, problem.projection, problem.maxima, problem.edge_states,
        problem.d_decoded, problem.d_projection, problem.d_raw, problem.d_maxima, precision="ieee",
    )  # fmt: skip
    problem.watch(edge, triplet)
    ends = problem.decoded[..., COLUMN:-SPARE].chunk(2, -1)
    expected = problem.pairs(*ends, edge, triplet)
    close(values, expected.detach())
    (expected * grads).sum().backward()
    with torch.no_grad():
        problem.check_grads()
        close(torch.einsum("sbijf,sbijc->sfc", problem.raw, grads), edge.grad)
        if triplets:
            close(torch.einsum("sbijh,sbijc->shc", problem.edge_states, grads), triplet.grad)


class Pointers(Problem):
    """Pointers of edges, the twin's scores, and buffer for the kernels' results."""

    def __init__(self, S, n, Q, F, triplets):
        super().__init__(S, n, 3 * H * Q, F, triplets)
        self.weights = Scoring(draw(S, Q, F, H), draw(S, Q, H), draw(S, Q))
        if triplets:
            triplet = draw(S, Q, H, H) / 4
            self.weights = self.weights._replace(
                triplet=triplet, transposed=triplet.mT.contiguous()
            )
        B, blocks = self.shape[1], tiles(n).blocks(n)
        self.scores, self.grads = blank(Q, S, B, n, n, n), draw(Q, S, B, n, n, n)
        self.kept_pairs, self.d_pair = blank(Q, S, B, n, n, H), blank(Q, S, B, n, n, H)
        self.d_target, self.d_pointee = (blank(Q, S, B, blocks, n, H) for _ in range(2))
        self.d_score = blank(Q, S, B, blocks, H)

    def expected(self):
        edge, score, bias, triplet, _ = self.weights
        scores = []
        for q in range(len(self.scores)):
            source, target, pointee = self.columns(self.decoded, q)
            pairs = self.pairs(
                source, target, edge[:, q], None if triplet is None else triplet[:, q]
            )
            scoring = Affine(score[:, q].unsqueeze(-1), bias[:, q : q + 1])
            scores.append(plain.edge_pointer_logits(pairs, pointee, scoring))
        return torch.stack(scores)

    def columns(self, x, q):
        return x[..., COLUMN + 3 * H * q :][..., : 3 * H].chunk(3, -1)

    def run(self, *kept):
        edge_pointer_logits(
            self.decoded, COLUMN, self.raw, self.maxima, self.weights, self.projection, self.scores,
            *kept, precision="ieee",
        )  # fmt: skip

    def run_backward(self):
        edge_pointer_logits_backward(
            self.grads, self.decoded, COLUMN, self.weights, self.projection, self.maxima,
            self.edge_states,
            self.kept_pairs, self.d_decoded, self.d_target, self.d_pointee, self.d_pair,
            self.d_score, self.d_projection, self.d_raw, self.d_maxima, precision="ieee",
        )  # fmt: skip

    def complete(self):
        """Add up what comes in parts; sources alone are complete."""
        for q in range(len(self.scores)):
            _, target, pointee = self.columns(self.d_decoded, q)
            assert target.isnan().all()
            assert pointee.isnan().all()
            target[:], pointee[:] = self.d_target[q].sum(2), self.d_pointee[q].sum(2)


@by_case
@with_and_without_triplets
def test_scores_of_edge_pointers_are_those_of_the_plain_twin(S, n, count, F, triplets):
    pointers = Pointers(S, n, count, F, triplets)
    pointers.run()
    close(pointers.scores, pointers.expected())
    assert pointers.kept_pairs.isnan().all()


@by_case
@with_and_without_triplets
def test_grads_of_edge_pointers_are_those_of_the_plain_twin(S, n, count, F, triplets):
    pointers = Pointers(S, n, count, F, triplets)
    pointers.run(pointers.edge_states, pointers.kept_pairs)
    pointers.run_backward()
    pointers.watch(*pointers.weights[:4])
    (pointers.expected() * pointers.grads).sum().backward()
    with torch.no_grad():
        pointers.complete()
        pointers.check_grads()
        edge, score, bias, triplet, _ = pointers.weights
        close(torch.einsum("sbijf,qsbijh->sqfh", pointers.raw, pointers.d_pair), edge.grad)
        close(pointers.d_score.sum((2, 3)).transpose(0, 1), score.grad)
        close(pointers.grads.sum((2, 3, 4, 5)).T, bias.grad)
        if triplets:
            sums = torch.einsum("sbijh,qsbijc->sqhc", pointers.edge_states, pointers.d_pair)
            close(sums, triplet.grad)
