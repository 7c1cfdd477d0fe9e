"""The loss of gated scalars, whose new values are sums of two terms, in few kernels.

`algorist.model.executing.exact_sums` is the definition. Forward, a kernel takes the gates of all
entries, one the terms of a sample of those that change, which `topk` chooses, and one adds up both.
Backward, the first two have a kernel each. They compute probabilities again: only a few numbers of
an entry are kept.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from algorist.kernels.fused.sum_gates import Inputs, Rules, decide, gate_grads, gate_losses
from algorist.kernels.fused.sum_pairs import (
    Sample,
    add_new_values,
    sample_new_values,
    write_new_value_grads,
)

__all__ = ["Inputs", "Rules", "decide", "sum_loss"]


def sum_loss(inputs: Inputs, rules: Rules) -> tuple[Tensor, Tensor]:
    """The loss (S, E) of each entry, and 1 where no sum makes the truth.

    Only the gate and the logits of both terms get gradients.
    """
    loss, no_sum = _SumLoss.apply(rules, *inputs)
    return loss, no_sum


class _SumLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rules: Rules, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        inputs = Inputs(*(x.contiguous() for x in tensors))
        loss, rank = gate_losses(inputs, rules)
        sample = sample_new_values(inputs, rules, rank)
        no_sum = add_new_values(inputs, rules, sample, loss)
        ctx.save_for_backward(*inputs, *sample)
        ctx.rules = rules
        ctx.mark_non_differentiable(no_sum)
        return loss, no_sum

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *all_grads: Tensor) -> tuple[Tensor | None, ...]:
        grads = all_grads[0].contiguous()
        count = len(Inputs._fields)
        inputs, sample = Inputs(*ctx.saved_tensors[:count]), Sample(*ctx.saved_tensors[count:])
        of_gate, *of_terms = gate_grads(inputs, ctx.rules, grads)
        write_new_value_grads(inputs, ctx.rules, sample, grads, of_terms)
        return None, of_gate, *of_terms, None, None, None
