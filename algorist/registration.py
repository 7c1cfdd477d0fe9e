"""`register`: adds an algorithm, processor, recipe or other extension to the library."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any, TypeVar

from algorist.algorithms import Algorithm
from algorist.algorithms import register as register_algorithm
from algorist.errors import shorten

New = TypeVar("New")

_FUNCTIONS = {
    ("algorithms",): ("recipe", "algorist.training.recipes", "RECIPES"),
    ("prediction", "batch"): ("loss term", "algorist.training.loss_terms", "LOSS_TERMS"),
    ("share",): ("schedule", "algorist.training.schedules", "SCHEDULES"),
    ("parameters", "settings"): ("optimizer", "algorist.training.optimizer", "OPTIMIZERS"),
}
"""By the names of a function's parameters: what it is, and the module and name of its table."""
_CLASSES = {
    "Processor": ("processor", "algorist.model.processors", "PROCESSORS"),
    "Decoder": ("decoder", "algorist.model.user_decoders", "USER_DECODERS"),
}
"""The same by the name of a class's base class."""


def register(new: New) -> New:
    """Register an extension by its name, for Python and for every command.

    An algorithm is what `@algorithm(...)` returns. The parameters of a function say what it is:

    - `recipe(algorithms)` returns a `Config`,
    - `loss_term(prediction, batch)` returns a scalar tensor,
    - `schedule(share)` returns a factor of the learning rate,
    - `optimizer(parameters, settings)` returns an optimizer like those of `torch.optim`.

    A class is a processor, derived from `Processor`, or a decoder, derived from `Decoder`; its name
    is that of the class in snake_case.

    Raises a ValueError for anything else, and for a name that is taken.
    """
    if isinstance(new, Algorithm):
        register_algorithm(new)
    elif inspect.isfunction(new):
        _register_function(new)
    elif inspect.isclass(new):
        _register_class(new)
    else:
        raise ValueError(f"register: got {shorten(new)}, expected {_expected()}")
    return new


def _register_function(function: Any) -> None:
    parameters = tuple(inspect.signature(function).parameters)
    if parameters not in _FUNCTIONS:
        raise ValueError(
            f"register: got {function.__name__}({', '.join(parameters)}), expected {_expected()}"
        )
    _add(function.__name__, function, *_FUNCTIONS[parameters])


def _register_class(cls: type) -> None:
    bases = {base.__name__ for base in cls.__mro__ if base.__module__.startswith("algorist.")}
    kinds = [kind for base, kind in _CLASSES.items() if base in bases]
    if len(kinds) != 1:
        raise ValueError(
            f"register: got the class {cls.__name__}, expected one that is derived from "
            "algorist.Processor or algorist.Decoder"
        )
    _add(snake_case(cls.__name__), cls, *kinds[0])


def snake_case(name: str) -> str:
    """The name of a class as settings have it.

    >>> snake_case("MeanMax"), snake_case("GATv3"), snake_case("LSTMCell")
    ('mean_max', 'gatv3', 'lstm_cell')
    """
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"([A-Z]+)([A-Z][a-z]{2,})", r"\1_\2", words).lower()


def _add(name: str, new: Any, what: str, module: str, table: str) -> None:
    known = getattr(import_module(module), table)
    if known.setdefault(name, new) is not new:
        raise ValueError(f"there is a {what} {name!r} already: give yours another name")


def _expected() -> str:
    forms = [f"{what}({', '.join(names)})" for names, (what, *_) in _FUNCTIONS.items()]
    functions = ", ".join(forms).replace("loss term(", "loss_term(")
    return (
        "what @algorithm(...) makes, a class derived from algorist.Processor or algorist.Decoder, "
        f"or a function like {functions}"
    )
