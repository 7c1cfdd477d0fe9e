"""Users' modules, which have no replica axis: one copy for each seed, called in turn.

The copies are one module whose parameters have a replica axis in front, as all of a net have, and
each call sees the slices of its seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parameter import UninitializedParameter

from algorist.plugin_errors import user_error


class PerSeed(nn.Module):
    """A user's module with a copy for each seed.

    Raises `ValueError` with the line of the user's file where the class does not work.
    """

    _anchor: Tensor

    def __init__(self, make: Callable[[], nn.Module], cls: type[nn.Module], replicas: int):
        super().__init__()
        self.make, self.cls, self.replicas = make, cls, replicas
        self.has_edge_states: bool | None = None  # of a processor; not known before its first step
        self.register_buffer("_anchor", torch.empty(0), persistent=False)
        with torch.random.fork_rng(devices=[]), self.explained("__init__"):
            self.module = self.make()
            self._expect_parameters_only()
        self._add_replica_axis()
        self._tied = self._tied_names()
        self.register_state_dict_post_hook(_drop_tied)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(_add_tied)  # type: ignore[no-untyped-call]

    @property
    def device(self) -> torch.device:
        """Where the module lies; it need not have parameters."""
        return self._anchor.device

    def _expect_parameters_only(self) -> None:
        parameters = dict(self.module.named_parameters(remove_duplicate=False))
        for name, parameter in parameters.items():
            if isinstance(parameter, UninitializedParameter):
                raise ValueError(
                    f"got the lazy parameter {name!r}, expected layers whose sizes are given"
                )
        for name in self.module.state_dict():
            if name not in parameters:
                raise ValueError(
                    f"got the buffer {name!r}, expected parameters alone: runs keep nothing else; "
                    "use LayerNorm, or persistent=False for constants"
                )

    def _add_replica_axis(self) -> None:
        """Give parameters and buffers an axis of seeds; tied parameters stay tied."""
        repeated: dict[Tensor, Tensor] = {}

        def repeat(value: Tensor) -> Tensor:
            if value not in repeated:
                new = value.detach().repeat(self.replicas, *(1,) * value.ndim)
                is_parameter = isinstance(value, nn.Parameter)
                repeated[value] = nn.Parameter(new, value.requires_grad) if is_parameter else new
            return repeated[value]

        for owner in self.module.modules():
            tables: list[dict[str, Any]] = [owner._parameters, owner._buffers]
            for tensors in tables:
                for name, value in list(tensors.items()):
                    if value is not None:
                        tensors[name] = repeat(value)

    def _tied_names(self) -> dict[str, str]:
        """The first name of every parameter that has a second one, by that."""
        first = {parameter: name for name, parameter in self.named_parameters()}
        every = self.named_parameters(remove_duplicate=False)
        return {name: first[p] for name, p in every if first[p] != name}

    @contextmanager
    def explained(self, method: str = "forward") -> Iterator[None]:
        """Turn an error in the user's class into a `ValueError` of one line, with its place.

        `method` is the one that is called; it is named if the error arose elsewhere.
        """
        functions = [getattr(self.cls, method), self.cls.forward, *vars(self.cls).values()]
        own = [f for f in functions if hasattr(f, "__code__") and not _is_inherited(f)]
        function = (own or [self.cls.forward])[0]
        try:
            with user_error(self.cls.__name__, function):
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

    def _call(self, weights: dict[str, Tensor]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            versions = [_version(argument) for argument in arguments]
            result = functional_call(self.module, weights, arguments)
            for place, (argument, version) in enumerate(zip(arguments, versions, strict=True)):
                if _version(argument) != version:
                    name = list(inspect.signature(self.module.forward).parameters)[place]
                    raise ValueError(
                        f"got {name!r} changed in place, expected it as it was: others read it "
                        f"too; write {name} = {name} + ... instead of {name} += ..."
                    )
            return result

        return call

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Around a first small call: complain about tensors that it leaves in the module.

        They would join the graphs of two steps, so that the second backward fails.
        """
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            yield
        with self.explained():
            for owner in self.module.modules():
                for name, value in vars(owner).items():
                    if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf:
                        raise ValueError(
                            f"got a tensor with a gradient in self.{name} after a step, expected "
                            "none: return it as StepOutput(state=...), or keep .detach() of it"
                        )


def _is_inherited(function: Any) -> bool:
    """Whether a method is torch's or ours, so that its line says nothing to a user."""
    return str(function.__module__).startswith(("torch.", "algorist."))


def _drop_tied(module: Any, state: dict[str, Tensor], prefix: str, metadata: Any) -> None:
    """Save tied parameters once: files of weights have every tensor under one name."""
    for name in module._tied:
        del state[prefix + name]


def _add_tied(module: Any, state: dict[str, Tensor], prefix: str, *rest: Any) -> None:
    for name, first in module._tied.items():
        if prefix + first in state:
            state[prefix + name] = state[prefix + first]


def _version(value: Any) -> int | None:
    """How often a tensor was changed in place; None where that is not counted."""
    if not isinstance(value, Tensor) or value.is_inference():
        return None
    return value._version


def expect_tensor(what: str, value: Any, shape: Sequence[int], dtype: torch.dtype) -> None:
    """Raise a `ValueError` unless `value` is a tensor of that shape and type."""
    if not isinstance(value, Tensor):
        raise ValueError(f"got {what} of type {type(value).__name__}, expected a tensor")
    if tuple(value.shape) != tuple(shape):
        raise ValueError(f"got {what} of shape {tuple(value.shape)}, expected {tuple(shape)}")
    if value.dtype != dtype:
        raise ValueError(f"got {what} of {value.dtype}, expected {dtype}")
