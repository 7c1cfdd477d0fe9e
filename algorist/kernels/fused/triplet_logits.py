"""How strongly each pair of nodes points to each node, from all three nodes and their edges.

A triplet is (source, target, pointee). Its h channels are computed where they are needed, forward
and backward, so that no tensor of n x n x n x h is ever in memory. A program goes through all
sources and keeps the features of its pairs (target, pointee) in registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from algorist.kernels.affine import Affine
from algorist.kernels.fused.operation_inputs import needed_grads, readable
from algorist.kernels.fused.streams import on
from algorist.kernels.fused.tiling import padded, pdl_options, wait_for_previous
from algorist.kernels.replica_function import ReplicaFunction

_COUNTS = ["B", "n"]
"""Arguments that Triton does not specialise on: one compilation serves all their values."""
_POINTEES = 16
"""Pointees of a program of the forward kernel."""
_NUMBERS = 2048
"""Channels of triplets that a program of the forward kernel holds at once."""


def triplet_logits(
    pair: Tensor,
    source: Tensor,
    target: Tensor,
    raw: Tensor,
    weight: Tensor,
    score: Affine,
    *,
    precision: str,
) -> Tensor:
    """The twin of `plain.triplet_logits`; it has no product that is rounded."""
    of_score = score.weight.squeeze(-1), score.bias.squeeze(-1)
    return _TripletLogits.apply(pair, source, target, raw, weight, *of_score)


@triton.jit
def _sums(
    pair, source, of_target, raw, weight,  # the last from the program's channels on
    i, targets, pointees, n, channel,
    PAIR_STRIDE: tl.constexpr, SOURCE_STRIDE: tl.constexpr, F: tl.constexpr, H: tl.constexpr,
):  # fmt: skip
    """The sums of the triplets of the source i, and where their numbers and logits are."""
    is_target, is_pointee = (targets < n)[:, None], (pointees < n)[:, None]
    at_pair = pair + (i * n + targets)[:, None] * PAIR_STRIDE + channel[None, :]
    at_source = source + (i * n + pointees)[:, None] * SOURCE_STRIDE + channel[None, :]
    of_pair = tl.load(at_pair, is_target, 0.0)[:, None, :]
    of_source = tl.load(at_source, is_pointee, 0.0)[None, :, :]
    total = of_pair + of_source + of_target
    place = (i * n + targets)[:, None] * n + pointees[None, :]
    there = is_target & (pointees < n)[None, :]
    for f in tl.static_range(F):
        number = tl.load(raw + place * F + f, there, 0.0)
        total += number[:, :, None] * tl.load(weight + f * H)[None, None, :]
    return total, place


@triton.jit(do_not_specialize=_COUNTS)
def _triplet_logits(
    pair, source, target, raw, weight, score, bias,  # inputs
    logits,  # result
    B, n,
    PAIR_STRIDE: tl.constexpr, SOURCE_STRIDE: tl.constexpr, TARGET_STRIDE: tl.constexpr,
    F: tl.constexpr, H: tl.constexpr, J: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, channel = tl.program_id(0).to(tl.int64), tl.arange(0, H)
    replica, pairs = sample // B, sample * n * n
    targets = tl.program_id(1) * J + tl.arange(0, J)
    pointees = tl.program_id(2) * K + tl.arange(0, K)
    there = (targets < n)[:, None] & (pointees < n)[None, :]
    row = (targets[:, None] * n + pointees[None, :])[:, :, None]
    at_target = target + pairs * TARGET_STRIDE + row * TARGET_STRIDE + channel[None, None, :]
    of_target = tl.load(at_target, there[:, :, None], 0.0)
    of_score = tl.load(score + replica * H + channel)[None, None, :]
    constant = tl.load(bias + replica)
    pair, source = pair + pairs * PAIR_STRIDE, source + pairs * SOURCE_STRIDE
    raw, weight = raw + pairs * n * F, weight + replica * F * H + channel
    logits += pairs * n
    for i in tl.range(0, n, loop_unroll_factor=2):
        total, place = _sums(
            pair, source, of_target, raw, weight, i, targets, pointees, n, channel,
            PAIR_STRIDE, SOURCE_STRIDE, F, H,
        )  # fmt: skip
        logit = tl.sum(tl.maximum(total, 0.0) * of_score, 2) + constant
        tl.store(logits + place, logit, there)


@triton.jit(do_not_specialize=_COUNTS)
def _triplet_logits_backward(
    d_logits, pair, source, target, raw, weight, score,  # inputs
    d_pair, d_source, d_target, d_raw, d_weight, d_score,  # results
    B, n,
    PAIR_STRIDE: tl.constexpr, SOURCE_STRIDE: tl.constexpr, TARGET_STRIDE: tl.constexpr,
    F: tl.constexpr, FP: tl.constexpr, H: tl.constexpr,
    N: tl.constexpr, K: tl.constexpr, C: tl.constexpr, D_RAW: tl.constexpr,
):  # fmt: skip
    wait_for_previous()
    sample, chunk, block = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    samples, blocks = tl.num_programs(0), tl.num_programs(2)
    replica, pairs = sample // B, sample * n * n
    channel, number = chunk * C + tl.arange(0, C), tl.arange(0, FP)
    targets, pointees = tl.arange(0, N), block * K + tl.arange(0, K)
    is_target, is_pointee = (targets < n)[:, None], (pointees < n)[:, None]
    there = is_target & (pointees < n)[None, :]
    row = (targets[:, None] * n + pointees[None, :])[:, :, None]
    at_target = target + pairs * TARGET_STRIDE + row * TARGET_STRIDE + channel[None, None, :]
    of_target = tl.load(at_target, there[:, :, None], 0.0)
    of_score = tl.load(score + replica * H + channel)[None, None, :]
    pair, source = pair + pairs * PAIR_STRIDE, source + pairs * SOURCE_STRIDE
    raw, weight = raw + pairs * n * F, weight + replica * F * H + channel
    d_logits, d_source, d_target = d_logits + pairs * n, d_source + pairs * H, d_target + pairs * H
    d_pair += (block * samples + sample) * n * n * H
    d_raw += (chunk * samples + sample) * n * n * n * F
    d_weight += (sample * blocks + block) * F * H
    d_score += (sample * blocks + block) * H
    target_sum, score_sum = tl.zeros((N, K, C), tl.float32), tl.zeros((N, K, C), tl.float32)
    weight_sum = tl.zeros((FP, C), tl.float32)
    for i in range(n):
        total, place = _sums(
            pair, source, of_target, raw, weight, i, targets, pointees, n, channel,
            PAIR_STRIDE, SOURCE_STRIDE, F, H,
        )  # fmt: skip
        down = tl.load(d_logits + place, there, 0.0)[:, :, None]
        grad = tl.where(total > 0, down * of_score, 0.0)
        target_sum += grad
        score_sum += down * tl.maximum(total, 0.0)
        for f in tl.static_range(F):  # before anything is stored: numbers need not be loaded again
            one = tl.load(raw + place * F + f, there, 0.0)[:, :, None]
            of_weight = tl.sum(tl.sum(one * grad, 0), 0)[None, :]
            weight_sum += tl.where(number[:, None] == f, of_weight, 0.0)
            if D_RAW:
                of_number = tl.sum(grad * tl.load(weight + f * H)[None, None, :], 2)
                tl.store(d_raw + place * F + f, of_number, there)
        at_pair = d_pair + (i * n + targets)[:, None] * H + channel[None, :]
        tl.store(at_pair, tl.sum(grad, 1), is_target)
        at_source = d_source + (i * n + pointees)[:, None] * H + channel[None, :]
        tl.store(at_source, tl.sum(grad, 0), is_pointee)
    tl.store(d_target + row * H + channel[None, None, :], target_sum, there[:, :, None])
    tl.store(d_score + channel, tl.sum(tl.sum(score_sum, 0), 0))
    at_weight = d_weight + number[:, None] * H + channel[None, :]
    tl.store(at_weight, weight_sum, (number < F)[:, None])


class _Tile(NamedTuple):
    """What a program of the backward kernel holds of each source. It has all targets, so that most
    gradients are no sums over programs; those of pairs are, if it has not all pointees."""

    targets: int
    pointees: int
    channels: int = 8
    """Neighbours in memory. No gradient but that of raw numbers is a sum over channels."""

    @classmethod
    def of(cls, n: int) -> _Tile:
        """The tile for problems of n nodes."""
        N = padded(n)
        return cls(N, min(N, 512 // N))

    @property
    def warps(self) -> int:
        """So many that each thread has sixteen numbers: more take too many registers."""
        return self.targets * self.pointees * self.channels // (16 * 32)


class _TripletLogits(ReplicaFunction):
    """(pair, source, target, raw, weight, score, bias) -> logits."""

    @staticmethod
    def forward(
        pair: Tensor, source: Tensor, target: Tensor, raw: Tensor, weight: Tensor, score: Tensor,
        bias: Tensor,
    ) -> Tensor:  # fmt: skip
        S, B, n, _, h = pair.shape
        pair, source, target = map(readable, (pair, source, target))
        logits = pair.new_empty(S, B, n, n, n)
        J, K = max(1, _NUMBERS // (_POINTEES * h)), _POINTEES
        with on(pair.device):
            _triplet_logits[(S * B, triton.cdiv(n, J), triton.cdiv(n, K))](
                pair, source, target, raw.contiguous(), weight.contiguous(), score.contiguous(),
                bias.contiguous(), logits, B, n, *(x.stride(-2) for x in (pair, source, target)),
                F=raw.shape[-1], H=h, J=J, K=K, num_warps=4, **pdl_options(S * B * n),
            )  # fmt: skip
        return logits

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:-1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_logits: Tensor) -> tuple[Tensor | None, ...]:
        pair, source, target, raw, weight, score = ctx.saved_tensors
        S, B, n, _, h = pair.shape
        pair, source, target = map(readable, (pair, source, target))
        tile, F, new = _Tile.of(n), raw.shape[-1], pair.new_empty
        blocks, chunks = triton.cdiv(n, tile.pointees), h // tile.channels
        wants_raw = ctx.needs_input_grad[3]
        d_pair, d_raw = new(blocks, *pair.shape), new(chunks if wants_raw else 0, *raw.shape)
        d_source, d_target = new(pair.shape), new(pair.shape)
        d_weight, d_score = new(S, B, blocks, F, h), new(S, B, blocks, h)
        with on(pair.device):
            _triplet_logits_backward[(S * B, chunks, blocks)](
                d_logits.contiguous(), pair, source, target, raw.contiguous(), weight.contiguous(),
                score.contiguous(), d_pair, d_source, d_target, d_raw, d_weight, d_score,
                B, n, *(x.stride(-2) for x in (pair, source, target)),
                F=F, FP=triton.next_power_of_2(max(1, F)), H=h, N=tile.targets, K=tile.pointees,
                C=tile.channels, D_RAW=wants_raw, num_warps=tile.warps, **pdl_options(S * B * n),
            )  # fmt: skip
        return needed_grads(
            ctx, d_pair.sum(0) if blocks > 1 else d_pair.squeeze(0), d_source, d_target,
            d_raw.sum(0) if wants_raw else None, d_weight.sum((1, 2)), d_score.sum((1, 2)),
            d_logits.sum((1, 2, 3, 4)),
        )  # fmt: skip
