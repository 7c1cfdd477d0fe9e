"""Which sum of two terms a gated scalar becomes, and the loss of gates, a few entries per program.

Entries have G terms. Logits of the first term are (G + 1) in a row, the last of them that of the
predicted number; logits of the second are 2 G. In kernels, rows are padded to P and 2 P.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

_TILE = 1024
"""The logits of second terms, padded, that a program holds at once."""
NEVER = tl.constexpr(-1.0e38)
"""The logarithm of the probability of what cannot be: finite, and so are sums of a few."""
SIZES = ("replicas", "E", "G", "m", "zero")
"""Arguments by whose value a kernel must not be compiled again."""


class Inputs(NamedTuple):
    """What the loss is a function of: E entries of each of S replicas."""

    gate: Tensor  # (S, E)
    first: Tensor  # (S, E, G + 1)
    second: Tensor  # (S, E, 2 G)
    terms: Tensor  # (S, E, G)
    old: Tensor  # (S, E)
    truth: Tensor  # (S, E)


class Rules(NamedTuple):
    """The constants of the definition."""

    zero: int
    """Which of the terms is 0."""
    change: float
    """Numbers that differ by less are the same."""
    tolerance: float
    """How far a sum may be from the truth, relative to it where that is above 1."""
    samples: int
    """The most changed entries of a replica from which terms are learned."""


@triton.jit
def _log_sigmoid(x):
    return tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def log_softmax(x):
    """Of rows, padded by `NEVER`."""
    x -= tl.max(x, 1, keep_dims=True)
    return x - tl.log(tl.sum(tl.exp(x), 1, keep_dims=True))


@triton.jit
def _logits(first, second, entry, there, G, P: tl.constexpr):
    """Logits (R, P) and (R, 2 P) of both terms of entries (R, 1)."""
    column, addend = tl.arange(0, P)[None, :], tl.arange(0, 2 * P)[None, :]
    x = tl.load(first + entry * (G + 1) + column, there & (column <= G), NEVER)
    y = tl.load(second + entry * 2 * G + addend, there & (addend < 2 * G), NEVER)
    return x, y


@triton.jit
def _best_sum(x, y, terms, there, G):
    """The sum (R, 1) of the likeliest terms, and whether the first of them is one."""
    first, second = tl.argmax(x, 1, keep_dims=True), tl.argmax(y, 1, keep_dims=True)
    value = tl.load(terms + tl.minimum(first, G - 1), there, 0.0)
    addend = tl.load(terms + tl.where(second < G, second, second - G), there, 0.0)
    return value + tl.where(second < G, addend, -addend), first < G


@triton.jit(do_not_specialize=SIZES)
def _decide(
    first, second, terms, predicted,  # inputs
    values,  # result: (E)
    E, G, R: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """The value of the likeliest terms, or the predicted one."""
    entry = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)[:, None]
    there = entry < E
    x, y = _logits(first, second, entry, there, G, P)
    value, is_sum = _best_sum(x, y, terms + entry * G, there, G)
    tl.store(values + entry, tl.where(is_sum, value, tl.load(predicted + entry, there)), there)


@triton.jit
def _old_terms(x, terms, there, old, change):
    """The logarithms of the probabilities (R, P) of first terms, where these are the old value, and
    that of all these together (R, 1)."""
    is_old = there & (tl.abs(tl.load(terms, there, 0.0) - old) < change)
    x = tl.where(is_old, x, NEVER)
    most = tl.max(x, 1, keep_dims=True)
    return x, most + tl.log(tl.sum(tl.exp(x - most), 1, keep_dims=True))


@triton.jit
def _rank(entry, changed):
    """The rank of entries to be sampled: those that change first, and both kinds scattered."""
    order = entry.to(tl.float32) * 0.618034
    order = 0.5 * (order - tl.floor(order))
    return tl.where(changed, 1.0 + order, order)


@triton.jit(do_not_specialize=SIZES)
def _gates(
    gate, first, second, terms, old, truth, grads,  # inputs
    loss, rank,  # results of the forward pass: (S, E)
    d_gate, d_first, d_second,  # results of the backward pass
    replicas, E, G, zero, change, R: tl.constexpr, P: tl.constexpr, BACKWARD: tl.constexpr,
):  # fmt: skip
    """The loss without that of new values, and the rank of each entry; or gradients."""
    entry = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)[:, None]
    there = entry < replicas * E
    column, addend = tl.arange(0, P)[None, :], tl.arange(0, 2 * P)[None, :]
    g, before = tl.load(gate + entry, there, 0.0), tl.load(old + entry, there, 0.0)
    changed = tl.abs(tl.load(truth + entry, there, 0.0) - before) > change
    x, y = _logits(first, second, entry, there, G, P)
    value, is_sum = _best_sum(x, y, terms + entry * G, there, G)
    is_chosen = is_sum & (tl.abs(value - before) < change)

    x, y = log_softmax(x), log_softmax(y)
    x_old, of_old = _old_terms(x, terms + entry * G + column, there & (column < G), before, change)
    same = of_old + tl.sum(tl.where(addend == zero, y, 0.0), 1, keep_dims=True)
    is_open, is_closed = _log_sigmoid(g), _log_sigmoid(-g)
    is_same = is_open + tl.where(is_chosen, 0.0, same)
    kept = tl.maximum(is_closed, is_same)
    kept += tl.log(1.0 + tl.exp(-tl.abs(is_closed - is_same)))
    if not BACKWARD:
        tl.store(loss + entry, -tl.where(changed, is_open, kept), there)
        tl.store(rank + entry, _rank(entry % E, changed), there)
    else:
        grad = -tl.load(grads + entry, there, 0.0)
        open_share = tl.where(changed, 1.0, tl.exp(is_same - kept))
        closed_share = tl.where(changed, 0.0, tl.exp(is_closed - kept))
        of_gate = open_share * tl.exp(is_closed) - closed_share * tl.exp(is_open)
        tl.store(d_gate + entry, grad * of_gate, there)
        grad *= tl.where(changed | is_chosen, 0.0, open_share)
        x_old = tl.where(x_old > NEVER, tl.exp(x_old - of_old), 0.0)
        of_first = x_old - tl.sum(x_old, 1, keep_dims=True) * tl.exp(x)
        of_second = tl.where(addend == zero, 1.0, 0.0) - tl.exp(y)
        at, at_second = entry * (G + 1) + column, entry * 2 * G + addend
        tl.store(d_first + at, grad * of_first, there & (column <= G))
        tl.store(d_second + at_second, grad * of_second, there & (addend < 2 * G))


def decide(first: Tensor, second: Tensor, terms: Tensor, predicted: Tensor) -> Tensor:
    """The values (...) of the likeliest terms, or the predicted ones."""
    values = torch.empty_like(predicted, memory_format=torch.contiguous_format)
    entries, tile = values.numel(), tile_of(terms, _TILE)
    inputs = [x.contiguous() for x in (first, second, terms, predicted)]
    _decide[(triton.cdiv(entries, tile["R"]),)](*inputs, values, entries, terms.shape[-1], **tile)
    return values


def gate_losses(inputs: Inputs, rules: Rules) -> tuple[Tensor, Tensor]:
    """The loss (S, E) of each entry without that of new values, and its rank: the highest of a
    replica are to be sampled."""
    loss, rank = torch.empty_like(inputs.gate), torch.empty_like(inputs.gate)
    _run(inputs, rules, inputs.gate, (loss, rank), ())
    return loss, rank


def gate_grads(inputs: Inputs, rules: Rules, grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of the gate and both terms, those of changed entries' terms 0."""
    gate, first, second = (torch.empty_like(x) for x in inputs[:3])
    _run(inputs, rules, grads, (), (gate, first, second))
    return gate, first, second


def _run(
    inputs: Inputs, rules: Rules, grads: Tensor, losses: Sequence[Tensor], d: Sequence[Tensor]
) -> None:
    """Either pass: results of the other one are not given."""
    (S, E, G), tile, nothing = inputs.terms.shape, tile_of(inputs.terms, _TILE), inputs.gate
    _gates[(triton.cdiv(S * E, tile["R"]),)](
        *inputs, grads, *(losses or [nothing] * 2), *(d or [nothing] * 3),
        S, E, G, rules.zero, rules.change,
        BACKWARD=bool(d), **tile, enable_fp_fusion=False,  # a rank is that of the definition
    )  # fmt: skip


def tile_of(terms: Tensor, size: int) -> dict[str, int]:
    """How many rows (R, 2 P) a program holds at once, and their length."""
    P = triton.next_power_of_2(terms.shape[-1] + 1)
    return {"R": max(1, size // (2 * P)), "P": P}
