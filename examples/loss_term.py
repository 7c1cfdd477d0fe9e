"""A loss term of one's own: pointers should be certain.

algorist --plugin examples/loss_term.py train bfs --out runs/certain --loss-term certainty=0.01
"""

import torch

import algorist


@algorist.register
def certainty(prediction, batch):
    """The mean entropy of all predicted pointers, at the steps that count."""
    total, count = batch.hint_mask.new_zeros(()), batch.hint_mask.new_zeros(())
    for feature in batch.spec.hints:
        if feature.kind != algorist.Kind.POINTER or feature.name not in prediction.hints:
            continue
        log_shares = torch.log_softmax(prediction.hints[feature.name], -1)  # (steps, batch, ..., n)
        entropy = -(log_shares.exp() * log_shares).sum(-1)
        per_sample = entropy.flatten(2).mean(-1)  # (steps, batch)
        total = total + (per_sample * batch.hint_mask).sum()
        count = count + batch.hint_mask.sum()
    return total / count.clamp(min=1.0)
