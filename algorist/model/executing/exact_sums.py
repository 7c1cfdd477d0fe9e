"""Sums of two terms: how gated scalars get new values that are exact.

Algorithms make new scalars of old ones by a few operations: a clock ticks, a distance is another
one plus a weight, a value is copied. So the new value is the sum of two terms. The first is one of
the known numbers, the second another one, added or subtracted. Both are choices like pointers:
trained by cross entropy, decided by the largest logit. Which terms are right is not known, only
what their sum is. So the loss is minus the logarithm of the probability of all pairs that make the
true value. It is computed from logarithms: no gradient vanishes or explodes where probabilities are
too small for a float32. All scalar hints of the thirty algorithms are such sums. For others there
is a last choice, a number that the decoder predicts.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from algorist.kernels.ops import computes_fused

_CONSTANTS = (0.0, 0.01, 1.0)
"""Terms at every size, beside 1 / n: 0, the hundredth by which clocks tick, and 1."""
CONSTANTS = len(_CONSTANTS) + 1
"""The number of constants, 1 / n included."""
TOLERANCE = 1e-6
"""How far a sum may be from the truth, relative to it where that is above 1."""
CHANGE = 1e-7
"""A scalar that changes by less is kept."""
_ENTRIES = 128
"""The most changed entries of a batch from which the terms of a scalar are learned."""
_IMPOSSIBLE = -1e4
"""The logarithm of the probability of terms that do not make a value. It is finite, since gradients
of a `logsumexp` over infinite numbers alone are not."""


def with_constants(scalars: Tensor, n: int) -> Tensor:
    """(..., F + CONSTANTS): known numbers of problems of n nodes, and the constants."""
    column = (*scalars.shape[:-1], 1)
    return torch.cat((scalars, *(scalars.new_full(column, c) for c in (*_CONSTANTS, 1 / n))), -1)


class SumLogits(NamedTuple):
    """The logits of a new value: whether the gate opens, and which terms make it."""

    gate: Tensor  # (S, B, ...)
    first: Tensor  # (S, B, ..., G + 1): the terms, and last the predicted number
    second: Tensor  # (S, B, ..., 2 G): the terms added, then subtracted
    terms: Tensor  # (S, B, ..., G)

    def decide(self, predicted: Tensor) -> Tensor:
        """The value (S, B, ...) of the likeliest terms, or the predicted one."""
        if computes_fused(self.gate) and not torch.is_grad_enabled():
            from algorist.kernels.fused import exact_sums

            return exact_sums.decide(self.first, self.second, self.terms, predicted)
        value, is_sum = self._best_sum()
        return torch.where(is_sum, value, predicted)

    def _best_sum(self) -> tuple[Tensor, Tensor]:
        """The sum (S, B, ...) of the likeliest terms, and whether the first of them is one."""
        first = self.first.argmax(-1, keepdim=True)
        second = self.second.argmax(-1, keepdim=True)
        count = self.terms.shape[-1]
        value = self.terms.gather(-1, first.clamp(max=count - 1))
        value = value + self._addends().gather(-1, second)
        return value.squeeze(-1), (first < count).squeeze(-1)

    def loss(self, old: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each entry (S, B, ...), and 1 where no sum makes the truth.

        An entry that does not change is right if the gate is closed, and also if it is open and
        what is chosen is the same number. The terms are learnt from some of the entries that
        change.
        """
        flat = SumLogits(*(x.reshape(len(truth), -1, *x.shape[truth.ndim :]) for x in self))
        if computes_fused(truth):
            loss, no_sum = flat._fused_loss(old.flatten(1), truth.flatten(1))
        else:
            loss, no_sum = flat._plain_loss(old.flatten(1), truth.flatten(1))
        return loss.view_as(truth), no_sum.view_as(truth)

    def _fused_loss(self, old: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """The loss by Triton kernels, of entries (S, entries)."""
        from algorist.kernels.fused import exact_sums

        rules = exact_sums.Rules(self._zero, CHANGE, TOLERANCE, _ENTRIES)
        return exact_sums.sum_loss(exact_sums.Inputs(*self, old, truth), rules)

    def _plain_loss(self, old: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
        """The loss by PyTorch, of entries (S, entries)."""
        logs = self._replace(first=self.first.log_softmax(-1), second=self.second.log_softmax(-1))
        changed = ((truth - old).abs() > CHANGE).float()
        is_open, is_closed = logsigmoid(self.gate), logsigmoid(-self.gate)
        chosen, is_sum = self._best_sum()
        is_chosen = is_sum & ((chosen - old).abs() < CHANGE)
        same = torch.where(is_chosen, 0.0, logs._log_probability_of(old))
        kept = torch.logaddexp(is_closed, is_open + same)
        loss = -torch.where(changed > 0, is_open, kept)
        at, weight = _sample_entries(changed)
        likelihood, exists = logs._select_entries(at)._log_likelihood(truth.gather(1, at))
        count = weight.sum(1, keepdim=True).clamp(min=1)
        of_terms = -(likelihood * weight).sum(1, keepdim=True) / count
        missed = weight * (~exists).float()
        others = changed * (missed.sum(1, keepdim=True) > count / 2).float()
        return loss + of_terms, others.scatter(1, at, missed)

    @property
    def _zero(self) -> int:
        """Which of the terms is 0."""
        return self.terms.shape[-1] - CONSTANTS + _CONSTANTS.index(0.0)

    def _addends(self) -> Tensor:
        return torch.cat((self.terms, -self.terms), -1)

    def _select_entries(self, entries: Tensor) -> SumLogits:
        """The logits of entries (S, m)."""
        return SumLogits(
            self.gate.gather(1, entries),
            *(
                x.gather(1, entries.unsqueeze(-1).expand(*entries.shape, x.shape[-1]))
                for x in self[1:]
            ),
        )

    def _log_probability_of(self, value: Tensor) -> Tensor:
        """The logarithm of the probability that a single term is chosen that equals a value, of
        logits that are logarithms of probabilities."""
        equal = (self.terms - value.unsqueeze(-1)).abs() < CHANGE
        single = torch.where(equal, self.first[..., :-1], _IMPOSSIBLE).logsumexp(-1)
        return single + self.second[..., self._zero]

    def _log_likelihood(self, truth: Tensor) -> tuple[Tensor, Tensor]:
        """The logarithm of the probability of the right terms, and whether there are any, of logits
        that are logarithms of probabilities.

        Where no two terms make the true value, the right choice is the predicted number.
        """
        true = truth[..., None, None]
        sums = self.terms.unsqueeze(-1) + self._addends().unsqueeze(-2)
        matches = (sums - true).abs() < TOLERANCE * true.abs().clamp(min=1)  # (S, m, G, 2 G)
        first, predicted = self.first.tensor_split((-1,), -1)
        second = torch.where(matches, self.second.unsqueeze(-2), _IMPOSSIBLE).logsumexp(-1)
        exists = matches.flatten(-2).any(-1)
        return torch.where(exists, (first + second).logsumexp(-1), predicted.squeeze(-1)), exists


def _sample_entries(changed: Tensor) -> tuple[Tensor, Tensor]:
    """Some entries of (S, entries), those that change first, and 1 for each that does.

    The choice is deterministic.
    """
    entries = changed.shape[1]
    order = torch.arange(entries, device=changed.device) * 0.618034 % 1
    found, at = (changed + 0.5 * order).topk(min(_ENTRIES, entries), -1)
    return at, (found >= 1).float()
