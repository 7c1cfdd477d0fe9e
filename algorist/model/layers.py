"""Learnt layers with a replica axis. Each replica draws its weights from its own generator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from algorist.kernels.affine import Affine

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class NamedLayers(nn.ModuleDict):
    """Layers by name. Any name will do, those of methods too: features may be called `keys`."""

    if TYPE_CHECKING:

        def __getitem__(self, key: str) -> Any: ...

    def add_module(self, name: str, module: nn.Module | None) -> None:
        """Keep a layer under its name, which is nothing else's."""
        assert module is not None
        self._modules[name] = module


class Linear(nn.Module):
    """A learnt affine map for each replica.

    Weights start from a normal distribution cut at two standard deviations, by default of
    1 / sqrt(inputs), biases from a constant; None leaves them out.
    """

    bias: Tensor  # (S, outputs)
    if TYPE_CHECKING:

        def __call__(self, x: Any) -> Tensor: ...  # noqa: D102

    def __init__(
        self,
        replicas: int,
        inputs: int,
        outputs: int,
        *,
        std: float | None = None,
        bias: float | None = 0.0,
    ):
        super().__init__()
        self.std = 1 / math.sqrt(inputs) if std is None else std
        self.initial_bias = bias
        self.weight = nn.Parameter(torch.empty(replicas, inputs, outputs))
        if bias is None:
            self.register_buffer("bias", torch.zeros(replicas, outputs), persistent=False)
        else:
            self.bias = nn.Parameter(torch.empty(replicas, outputs))

    def reset(self, replica: int, generator: torch.Generator) -> None:
        """Draw the weights of one replica anew."""
        with torch.no_grad():
            nn.init.trunc_normal_(
                self.weight[replica], 0.0, self.std, -2 * self.std, 2 * self.std, generator
            )
            if self.initial_bias is not None:
                self.bias[replica] = self.initial_bias

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.weight.shape[-1]

    @property
    def affine(self) -> Affine:
        """The map itself, for kernels: refused where `forward` would do something else."""
        if not is_plain(self):
            raise ValueError(
                f"{type(self).__name__}: got a Linear whose forward is changed where kernels read "
                "its weights, expected a plain one; override the forward of the module around it"
            )
        return Affine(self.weight, self.bias)

    def forward(self, x: Any) -> Tensor:
        """Apply to values of shape (S, ..., inputs), dense or kept as factors."""
        return Affine(self.weight, self.bias)(x) if isinstance(x, Tensor) else x.apply(self)


def is_plain(module: nn.Module, kind: type[nn.Module] = Linear) -> bool:
    """Whether a module does what its class says: no subclass, no `forward` or hook of its own."""
    return (
        type(module) is kind
        and "forward" not in vars(module)
        and not any(getattr(module, hooks) for hooks in _HOOKS)
    )


class LayerNorm(nn.Module):
    """Layer normalisation with a scale and an offset for each replica."""

    def __init__(self, replicas: int, size: int):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(replicas, size))
        self.offset = nn.Parameter(torch.empty(replicas, size))

    def reset(self, replica: int, generator: torch.Generator) -> None:
        """Start from the identity."""
        with torch.no_grad():
            self.scale[replica] = 1.0
            self.offset[replica] = 0.0

    def forward(self, x: Tensor) -> Tensor:
        """Normalise values of shape (S, ..., size)."""
        if len(self.scale) == 1:
            return nn.functional.layer_norm(x, x.shape[-1:], self.scale[0], self.offset[0])
        shape = (len(self.scale), *(1,) * (x.ndim - 2), x.shape[-1])
        normal = nn.functional.layer_norm(x, x.shape[-1:])
        return normal * self.scale.view(shape) + self.offset.view(shape)


class LSTMCell(nn.Module):
    """An LSTM cell for each replica; its forget gate starts open by 1 (Jozefowicz et al. 2015)."""

    def __init__(self, replicas: int, size: int):
        super().__init__()
        self.gates = Linear(replicas, 2 * size, 4 * size)

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """New hidden and cell states, (S, ..., size) each."""
        open_in, new, keep, show = self.gates(torch.cat((x, hidden), -1)).chunk(4, -1)
        cell = (keep + 1).sigmoid() * cell + open_in.sigmoid() * new.tanh()
        return show.sigmoid() * cell.tanh(), cell
