"""The loss of the terms of new values: a program takes one changed entry and all pairs of terms.

It goes through the pairs a few first terms at a time. Of the E entries of a replica, m are sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.sum_gates import NEVER, SIZES, Inputs, Rules, log_softmax, tile_of

_TILE = 4096
"""The pairs of terms, padded, that a program holds at once."""
_ENTRIES = 64
"""The entries of a program that adds losses up."""


class Sample(NamedTuple):
    """Some entries of each replica, and what is known of them: (S, m)."""

    found: Tensor  # at least 1 for those that change; the others do not count
    at: Tensor  # which entries they are
    likelihood: Tensor  # the logarithm of the probability of the true value
    missed: Tensor  # 1 if no sum makes it


@triton.jit
def _second(second, terms, G, P: tl.constexpr):
    """The second terms of an entry (1, 2 P) and the logarithms of their probabilities."""
    addend = tl.arange(0, 2 * P)[None, :]
    there, added = addend < 2 * G, addend < G
    y = tl.load(second + addend, there, NEVER)
    value = tl.load(terms + tl.where(added, addend, addend - G), there, NEVER)
    return tl.where(added, value, -value), log_softmax(y)


@triton.jit
def _normalizer(first, G, P: tl.constexpr):
    """What is to be subtracted from the logits of first terms, one after the other."""
    column = tl.arange(0, P)
    x = tl.load(first + column, column <= G, NEVER)
    most = tl.max(x, 0)
    return most, tl.log(tl.sum(tl.exp(x - most), 0))


@triton.jit
def _pairs(x, terms, row, addends, y, true, tolerance, G):
    """The logarithms of the probabilities of pairs (R, 2 P) that make the truth, given those of
    first terms (R, 1) and of second ones (1, 2 P)."""
    sums = tl.load(terms + row, row < G, 0.0) + addends
    matches = tl.abs(sums - true) < tolerance * tl.maximum(tl.abs(true), 1.0)
    return tl.where((row < G) & matches, x + y, NEVER)


@triton.jit(do_not_specialize=SIZES)
def _new_values(
    first, second, terms, truth, found, at,  # inputs
    likelihood, missed,  # results: (S, m), written where the entry changes
    E, G, m, tolerance, R: tl.constexpr, P: tl.constexpr,
):  # fmt: skip
    """The log-likelihood of the true value, and 1 if it is not a sum but the predicted number."""
    sample = tl.program_id(0)
    if tl.load(found + sample) < 1.0:
        return
    entry = (sample // m).to(tl.int64) * E + tl.load(at + sample)
    first, second, terms = first + entry * (G + 1), second + entry * 2 * G, terms + entry * G
    true = tl.load(truth + entry)
    addends, y = _second(second, terms, G, P)
    most, total = _normalizer(first, G, P)
    highest, power = tl.full((), NEVER, tl.float32), tl.full((), 0.0, tl.float32)
    for start in range(0, G, R):
        row = start + tl.arange(0, R)[:, None]
        x = tl.load(first + row, row < G, NEVER) - most - total
        pairs = _pairs(x, terms, row, addends, y, true, tolerance, G)
        higher = tl.maximum(highest, tl.max(pairs))
        power = power * tl.exp(highest - higher) + tl.sum(tl.exp(pairs - higher))
        highest = higher
    exists = highest > NEVER
    predicted = tl.load(first + G) - most - total
    tl.store(likelihood + sample, tl.where(exists, highest + tl.log(power), predicted))
    tl.store(missed + sample, tl.where(exists, 0.0, 1.0))


@triton.jit
def _sampled(found, m, M: tl.constexpr):
    """Which of a replica's sampled entries (M) change, and by what their sum is divided."""
    sample = tl.arange(0, M)
    changes = tl.load(found + sample, sample < m, 0.0) >= 1.0
    return changes, tl.maximum(tl.sum(changes.to(tl.float32), 0), 1.0)


@triton.jit(do_not_specialize=SIZES)
def _new_values_backward(
    first, second, terms, truth, found, at, likelihood, missed, grads,  # inputs; grads are (S)
    d_first, d_second,  # results, written where the entry changes
    E, G, m, tolerance, R: tl.constexpr, P: tl.constexpr, M: tl.constexpr,
):  # fmt: skip
    """Gradients of the terms of sampled entries, to which nothing else contributes."""
    sample = tl.program_id(0)
    if tl.load(found + sample) < 1.0:
        return
    replica = sample // m
    entry = replica.to(tl.int64) * E + tl.load(at + sample)
    first, second, terms = first + entry * (G + 1), second + entry * 2 * G, terms + entry * G
    d_first, d_second = d_first + entry * (G + 1), d_second + entry * 2 * G
    _, count = _sampled(found + replica * m, m, M)
    grad = -tl.load(grads + replica) / count
    true, of_truth = tl.load(truth + entry), tl.load(likelihood + sample)
    miss = tl.load(missed + sample)
    addends, y = _second(second, terms, G, P)
    most, total = _normalizer(first, G, P)
    of_second = tl.zeros((1, 2 * P), tl.float32)
    for start in range(0, G, R):
        row = start + tl.arange(0, R)[:, None]
        x = tl.load(first + row, row < G, NEVER) - most - total
        share = tl.exp(_pairs(x, terms, row, addends, y, true, tolerance, G) - of_truth)
        of_second += tl.sum(share, 0, keep_dims=True)
        of_first = tl.sum(share, 1, keep_dims=True) - tl.exp(x)
        tl.store(d_first + row, grad * of_first, row < G)
    predicted = tl.load(first + G) - most - total
    tl.store(d_first + G, grad * (miss - tl.exp(predicted)))
    of_second -= (1.0 - miss) * tl.exp(y)
    addend = tl.arange(0, 2 * P)[None, :]
    tl.store(d_second + addend, grad * of_second, addend < 2 * G)


@triton.jit(do_not_specialize=SIZES)
def _add_new_values(
    old, truth, found, at, likelihood, missed,  # inputs
    loss, no_sum,  # results: (S, E); the loss is added to
    E, m, change, R: tl.constexpr, M: tl.constexpr,
):  # fmt: skip
    """Add the loss of new values, and write 1 where no sum makes the truth.

    Of changed entries that are not sampled this is assumed if it is so for most of those that are.
    """
    replica = tl.program_id(1)
    changes, count = _sampled(found + replica * m, m, M)
    sample = replica * m + tl.arange(0, M)
    of_terms = tl.sum(tl.load(likelihood + sample, changes, 0.0), 0) / count
    miss = tl.load(missed + sample, changes, 0.0)
    most = (tl.sum(miss, 0) > count / 2).to(tl.float32)
    own = tl.program_id(0) * R + tl.arange(0, R)
    entry, there = replica.to(tl.int64) * E + own, own < E
    difference = tl.load(truth + entry, there, 0.0) - tl.load(old + entry, there, 0.0)
    others = tl.where(tl.abs(difference) > change, most, 0.0)
    is_sample = changes[None, :] & (tl.load(at + sample, changes, 0)[None, :] == own[:, None])
    is_sampled = tl.max(is_sample.to(tl.int32), 1) > 0
    own_miss = tl.sum(tl.where(is_sample, miss[None, :], 0.0), 1)
    tl.store(no_sum + entry, tl.where(is_sampled, own_miss, others), there)
    tl.store(loss + entry, tl.load(loss + entry, there, 0.0) - of_terms, there)


def sample_new_values(inputs: Inputs, rules: Rules, rank: Tensor) -> Sample:
    """The entries of the highest rank, and the likelihood of the true values of those that change.

    Of the others nothing is written.
    """
    E, G = inputs.terms.shape[1:]
    found, at = rank.topk(min(rules.samples, E), -1, sorted=False)
    sample = Sample(found, at, torch.empty_like(found), torch.empty_like(found))
    _new_values[(found.numel(),)](
        *inputs[1:4], inputs.truth, *sample, E, G, found.shape[1], rules.tolerance,
        **tile_of(inputs.terms, _TILE),
    )  # fmt: skip
    return sample


def write_new_value_grads(
    inputs: Inputs, rules: Rules, sample: Sample, grads: Tensor, of_terms: Sequence[Tensor]
) -> None:
    """Write the gradients of both terms where sampled entries change, given those of losses."""
    E, G = inputs.terms.shape[1:]
    m = sample.found.shape[1]
    _new_values_backward[(sample.found.numel(),)](
        *inputs[1:4], inputs.truth, *sample, grads.sum(1), *of_terms, E, G, m, rules.tolerance,
        M=triton.next_power_of_2(m), **tile_of(inputs.terms, _TILE),
    )  # fmt: skip


def add_new_values(inputs: Inputs, rules: Rules, sample: Sample, loss: Tensor) -> Tensor:
    """Add the mean loss of new values to that of each entry; 1 where no sum makes the truth."""
    (S, E), m, no_sum = loss.shape, sample.found.shape[1], torch.empty_like(loss)
    _add_new_values[(triton.cdiv(E, _ENTRIES), S)](
        inputs.old, inputs.truth, *sample, loss, no_sum, E, m, rules.change,
        R=_ENTRIES, M=triton.next_power_of_2(m),
    )  # fmt: skip
    return no_sum
