"""Optimizers behind one protocol; gradients are clipped for each replica by itself.

A registered optimizer is a function of parameters and settings that returns an optimizer like those
of `torch.optim`. On GPUs, Adam and the clipping are one fused kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from algorist.errors import UnregisteredError
from algorist.plugin_errors import user_error
from algorist.registry import registry

if TYPE_CHECKING:
    from algorist.kernels.fused.adam import Adam
    from algorist.training.config import OptimizerConfig

_MOMENTS = ("exp_avg", "exp_avg_sq")
_COUNT = "step"
"""The name under which optimizers of PyTorch count the updates of a parameter."""


class TorchOptimizer(Protocol):
    """The part of the interface of `torch.optim.Optimizer` that the library uses."""

    param_groups: list[dict[str, Any]]
    """Their `lr` is set before each step."""
    state: Any
    """Tensors and numbers by parameter, then by name: this is what checkpoints keep."""

    def step(self) -> Any:
        """Update the parameters that have a gradient."""
        ...


def adam(parameters: Sequence[nn.Parameter], settings: OptimizerConfig) -> TorchOptimizer:
    """Adam without weight decay."""
    options = {**_adam_settings(settings), **_for_gpus(parameters)}
    return _with_moments(torch.optim.Adam(parameters, **options))


def adamw(parameters: Sequence[nn.Parameter], settings: OptimizerConfig) -> TorchOptimizer:
    """Adam with decoupled weight decay."""
    options = {**_adam_settings(settings), **_for_gpus(parameters)}
    decay = settings.weight_decay
    return _with_moments(torch.optim.AdamW(parameters, weight_decay=decay, **options))


def sgd(parameters: Sequence[nn.Parameter], settings: OptimizerConfig) -> TorchOptimizer:
    """Stochastic gradient descent, with momentum if that is set."""
    fused = True if parameters and parameters[0].is_cuda else None
    optimizer = torch.optim.SGD(
        parameters, momentum=settings.momentum, weight_decay=settings.weight_decay, fused=fused
    )
    if settings.momentum:  # from zeros, the first step is that of PyTorch
        for p in parameters:
            optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p)
    return optimizer


def _adam_settings(settings: OptimizerConfig) -> dict[str, Any]:
    return {"betas": (0.9, settings.beta2), "eps": settings.eps}


def _for_gpus(parameters: Sequence[nn.Parameter]) -> dict[str, Any]:
    on_gpu = bool(parameters) and parameters[0].is_cuda
    return {"fused": True, "capturable": True} if on_gpu else {}


def _with_moments(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Allocate moments and counts at once: CUDA graphs need them at fixed addresses."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            state = optimizer.state[p] = {_COUNT: torch.zeros((), device=p.device)}
            for moment in _MOMENTS:
                state[moment] = torch.zeros_like(p)
    return optimizer


Factory = Callable[[Sequence[nn.Parameter], Any], TorchOptimizer]

OPTIMIZERS: dict[str, Factory] = registry("optimizer", {"adam": adam, "adamw": adamw, "sgd": sgd})
DEFAULT_OPTIMIZER = "adam"
_ADAMS = (adam, adamw)
_CAPTURABLE = (adam, adamw, sgd)
"""Those whose steps can be captured in CUDA graphs: state that stays where it is, and a learning
rate that is read from the device."""


def expect_optimizer(name: str) -> None:
    """Raise a ValueError unless there is an optimizer of that name."""
    if name not in OPTIMIZERS:
        raise UnregisteredError("optimizer", name, OPTIMIZERS)


class Optimizer:
    """Updates those parameters of a net that have a gradient.

    Each parameter counts its own updates: encoders and decoders of a task have no gradient while
    other tasks train.
    """

    def __init__(self, net: nn.Module, config: OptimizerConfig):
        self.clip, self._config = config.clip, config
        self._fused: dict[tuple[int, ...], Adam] = {}
        """The fused Adam of each set of parameters that learn together, by their identities."""
        self.parameters = {name: p for name, p in net.named_parameters() if p.requires_grad}
        factory = OPTIMIZERS[config.optimizer]
        self.is_capturable = factory in _CAPTURABLE
        self._is_adam = factory in _ADAMS
        parameters = list(self.parameters.values())
        self._torch = _make_optimizer(config, factory, parameters)
        self._explained = partial(user_error, f"optimizer {config.optimizer!r}", factory)
        """Errors in a registered optimizer name the file and the line."""
        self.learning_rate = torch.zeros((), device=parameters[0].device if parameters else "cpu")
        """The rate of the next step: a float32 on the device, which captured steps read."""
        self.set_learning_rate(config.learning_rate)

    def set_learning_rate(self, rate: float) -> None:
        """Set the rate of the next steps, captured ones too."""
        self.learning_rate.fill_(rate)
        on_device = self.is_capturable and self.learning_rate.is_cuda
        for group in self._torch.param_groups:
            group["lr"] = self.learning_rate if on_device else rate

    def step(self) -> None:
        """Clip the gradients, update the parameters and set the gradients to None."""
        self.update()
        for p in self.parameters.values():
            p.grad = None

    def update(self) -> None:
        """Clip the gradients and update the parameters."""
        learning = self._learning()
        if fused := self._fused_adam(learning):
            # Autograd leaves them in many tensors; of one, all are read by the same two launches.
            joined = torch.cat([g.reshape(len(g), g[0].numel()) for g in learning.values()], 1)
            fused.step(joined, self.learning_rate, self.clip)
            return
        if self.clip and learning:
            gradients = clipped(list(learning.values()), self.clip)
            for parameter, gradient in zip(learning, gradients, strict=True):
                parameter.grad = gradient
        with nullcontext() if self.is_capturable else self._explained():
            self._torch.step()

    def _learning(self) -> dict[nn.Parameter, Tensor]:
        """The parameters that have a gradient, with their gradients."""
        return {p: p.grad for p in self.parameters.values() if p.grad is not None}

    def prepare(self) -> None:
        """Compile the update of the parameters that have a gradient now; none of them changes.

        It must come before the update is captured in a CUDA graph.
        """
        if fused := self._fused_adam(self._learning()):
            fused.warm_up()

    def _fused_adam(self, learning: Mapping[nn.Parameter, Tensor]) -> Adam | None:
        """The fused clipping and Adam of some parameters, if all are float32 on a GPU."""
        if not (self._is_adam and learning):
            return None
        if not all(p.is_cuda and p.dtype == torch.float32 for p in learning):
            return None
        from algorist.kernels.fused.adam import Adam, Weights

        key = tuple(map(id, learning))
        if key not in self._fused:
            states = self._torch.state
            weights = [
                Weights(p.detach(), *(states[p][m] for m in (*_MOMENTS, _COUNT))) for p in learning
            ]
            config = self._config
            self._fused[key] = Adam(
                weights, weight_decay=config.weight_decay, **_adam_settings(config)
            )
        return self._fused[key]

    def tensors(self) -> dict[str, Tensor]:
        """The tensors in the state of all parameters that were updated."""
        counts, found = self.counts(), {}
        for name, state in self._states():
            if self._is_adam and name not in counts:
                continue
            for key, value in state.items():
                if isinstance(value, Tensor) and key != _COUNT:
                    found[f"{name}.{key}"] = value
        return found

    def counts(self) -> dict[str, int]:
        """The number of updates of each parameter that was updated, where that is counted."""
        names, counts = [], []
        for name, state in self._states():
            if _COUNT in state:
                names.append(name)
                counts.append(torch.as_tensor(state[_COUNT]).float())
        if not names:
            return {}
        numbers = zip(names, torch.stack(counts).tolist(), strict=True)  # one copy from the device
        return {name: int(count) for name, count in numbers if count}

    def numbers(self) -> dict[str, dict[str, Any]]:
        """The state of all parameters beside tensors and counts, for optimizers that have some.

        Raises a `ValueError` for what a checkpoint cannot keep: anything but numbers and text.
        """
        numbers: dict[str, dict[str, Any]] = {}
        for name, state in self._states():
            for key, value in state.items():
                if key == _COUNT or isinstance(value, Tensor):
                    continue
                if not isinstance(value, int | float | str | None):
                    with self._explained():
                        raise ValueError(
                            f"got a {type(value).__name__} as state[{key!r}], expected a tensor or "
                            "a number: checkpoints keep nothing else"
                        )
                numbers.setdefault(name, {})[key] = value
        return numbers

    def restore(
        self,
        tensors: Mapping[str, Tensor],
        counts: Mapping[str, int],
        numbers: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Restore what `tensors`, `counts` and `numbers` returned, in the same memory."""
        saved: dict[str, dict[str, Any]] = {
            name: dict(own) for name, own in (numbers or {}).items()
        }
        for name, value in tensors.items():
            parameter, _, key = name.rpartition(".")
            saved.setdefault(parameter, {})[key] = value.to(self.parameters[parameter].device)
        for name, count in counts.items():
            saved.setdefault(name, {})[_COUNT] = torch.tensor(float(count))
        for name, values in saved.items():
            state = self._torch.state.setdefault(self.parameters[name], {})
            for key, value in values.items():
                if isinstance(state.get(key), Tensor):
                    state[key].copy_(value)
                else:
                    state[key] = value

    def _states(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The state of each parameter that has some, by name."""
        states = self._torch.state
        return [(name, states[p]) for name, p in self.parameters.items() if p in states]


def _make_optimizer(
    config: OptimizerConfig, factory: Factory, parameters: list[nn.Parameter]
) -> TorchOptimizer:
    """The optimizer of a configuration; errors in a registered one name the file and the line."""
    if factory in _CAPTURABLE:
        return factory(parameters, config)
    with user_error(f"optimizer {config.optimizer!r}", factory):
        made = factory(parameters, config)
        missing = [name for name in ("param_groups", "state", "step") if not hasattr(made, name)]
        if missing:
            raise ValueError(
                f"got {type(made).__name__} without {missing[0]}, expected an optimizer like those "
                "of torch.optim"
            )
    return made


def clipped(gradients: Sequence[Tensor], limit: float) -> list[Tensor]:
    """The gradients (S, ...), those of each replica scaled down to a norm of at most `limit`.

    They are copies: gradients of weights that are added up may be one and the same tensor.
    """
    result = [torch.empty_like(g, memory_format=torch.contiguous_format) for g in gradients]
    torch._foreach_copy_(result, list(gradients))
    replicas = list(zip(*(gradient.unbind() for gradient in result), strict=True))
    norms = torch._foreach_norm([part for parts in replicas for part in parts])
    total = torch.stack(norms).view(len(replicas), -1).norm(dim=1)  # (S,)
    for parts, scale in zip(replicas, (limit / total).clamp(max=1.0), strict=True):
        torch._foreach_mul_(parts, scale)
    return result
