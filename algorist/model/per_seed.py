"""Modules of users' own, which know nothing of replicas: a copy for each seed, called in turn.

The copies are one module whose parameters have a replica axis in front, as all of a net have, and
each call sees the slices of its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from algorist.plugin_errors import user_error

_MISTAKES = (TypeError, ValueError, NameError, AttributeError, LookupError, RuntimeError)


class PerSeed(nn.Module):
    """A module of a user's own for each of some seeds.

    Raises `ValueError` with the line of the user's file where the class does not work.
    """

    def __init__(self, make: Callable[[], nn.Module], cls: type[nn.Module], replicas: int):
        super().__init__()
        self.make, self.cls, self.replicas = make, cls, replicas
        self.module = self._made()
        for name, _ in self.module.state_dict().items():
            if name not in dict(self.module.named_parameters()):
                raise ValueError(
                    f"{cls.__name__}: got the buffer {name!r}, expected parameters alone: runs "
                    "keep nothing else; use LayerNorm, or persistent=False for constants"
                )
        for owner in self.module.modules():
            for name, value in list(owner._parameters.items()):
                if value is not None:
                    owner._parameters[name] = nn.Parameter(self._repeated(value))
            for name, buffer in list(owner._buffers.items()):
                if buffer is not None:
                    owner._buffers[name] = self._repeated(buffer)

    def _repeated(self, value: Tensor) -> Tensor:
        return value.detach().repeat(self.replicas, *(1,) * value.ndim)

    def _made(self) -> nn.Module:
        with torch.random.fork_rng(devices=[]), self.explained("__init__"):
            return self.make()

    @contextmanager
    def explained(self, method: str = "forward") -> Iterator[None]:
        """What the user's class does wrong is told in one line, with the line of its file."""
        function = getattr(self.cls, method)
        if not hasattr(function, "__code__"):
            function = self.cls.forward
        try:
            with user_error(self.cls.__name__, function, _MISTAKES):
                yield
        except ValueError as error:
            if isinstance(error.__cause__, torch.OutOfMemoryError):
                raise error.__cause__ from None
            raise

    def reset(self, replica: int, generator: torch.Generator) -> None:
        """Draw the weights of one replica anew, as the user's `__init__` does."""
        seed = int(torch.randint(2**62, (), generator=generator))
        with torch.random.fork_rng(devices=[]), self.explained("__init__"):
            torch.manual_seed(seed)
            drawn = self.make()
        mine = dict(self.module.state_dict(keep_vars=True))
        with torch.no_grad():
            for name, value in drawn.state_dict().items():
                mine[name][replica] = value

    def bound(self) -> list[Callable[..., Any]]:
        """The module of each seed as a function; slices are made once, for all calls of a scan."""
        tensors = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        slices = {name: value.unbind(0) for name, value in tensors.items()}
        return [
            self._call({name: parts[replica] for name, parts in slices.items()})
            for replica in range(self.replicas)
        ]

    def _call(self, weights: Mapping[str, Tensor]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            return functional_call(self.module, weights, arguments)

        return call


def expect_shape(what: str, value: Any, shape: Sequence[int]) -> None:
    """Complain about what is no tensor of a shape."""
    if not isinstance(value, Tensor):
        raise ValueError(f"got {what} of type {type(value).__name__}, expected a tensor")
    if tuple(value.shape) != tuple(shape):
        raise ValueError(f"got {what} of shape {tuple(value.shape)}, expected {tuple(shape)}")
