"""A schedule and an optimizer of one's own: a late decay, and Lion (Chen et al., 2023).

algorist --plugin examples/schedule_and_optimizer.py train bfs --out runs/lion \
    --optimizer lion --learning-rate 1e-4 --schedule warmup+late_decay
"""

import torch

import algorist


@algorist.register
def late_decay(share):
    """The full rate for three quarters of training, then a linear decay."""
    return min(1.0, 4 * (1 - share))


class Lion(torch.optim.Optimizer):
    """Steps along the sign of a mean of gradients."""

    def __init__(self, parameters, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            slow, slower = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                direction = torch.lerp(p.grad, mean, slow).sign()
                p.mul_(1 - group["lr"] * group["weight_decay"]).add_(direction, alpha=-group["lr"])
                mean.lerp_(p.grad, 1 - slower)


@algorist.register
def lion(parameters, settings):
    """The settings are the optimizer section of the configuration; the rate is set every step."""
    return Lion(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay)
