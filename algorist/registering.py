"""`register`: the one way to make something of one's own known, whatever it is."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, TypeVar

from algorist.algorithms import Algorithm
from algorist.algorithms import register as register_algorithm
from algorist.errors import shortened

New = TypeVar("New")

_FUNCTIONS = {
    ("algorithms",): ("recipe", "algorist.training.recipes", "RECIPES"),
    ("prediction", "batch"): ("loss term", "algorist.training.loss_terms", "LOSS_TERMS"),
    ("share",): ("schedule", "algorist.training.schedules", "SCHEDULES"),
    ("parameters", "settings"): ("optimizer", "algorist.training.optimizer", "OPTIMIZERS"),
}
"""What a function is, by the names of its parameters, and the table that it goes to."""


def register(new: New) -> New:
    """Make something of your own known by its name, in Python and to every command.

    An algorithm is what `@algorithm(...)` makes. A function is known by its parameters:

    - `recipe(algorithms)` returns a `Config`,
    - `loss_term(prediction, batch)` returns a scalar tensor,
    - `schedule(share)` returns a factor of the learning rate,
    - `optimizer(parameters, settings)` returns an optimizer like those of `torch.optim`.

    Raises a ValueError for anything else, and for a name that is taken.
    """
    if isinstance(new, Algorithm):
        register_algorithm(new)
    elif inspect.isfunction(new):
        _register_function(new)
    else:
        raise ValueError(f"register: got {shortened(new)}, expected {_expected()}")
    return new


def _register_function(function: Any) -> None:
    parameters = tuple(inspect.signature(function).parameters)
    if parameters not in _FUNCTIONS:
        raise ValueError(
            f"register: got {function.__name__}({', '.join(parameters)}), expected {_expected()}"
        )
    what, module, table = _FUNCTIONS[parameters]
    known = getattr(import_module(module), table)
    if known.setdefault(function.__name__, function) is not function:
        raise ValueError(
            f"there is a {what} {function.__name__!r} already: give yours another name"
        )


def _expected() -> str:
    forms = [f"{what}({', '.join(names)})" for names, (what, *_) in _FUNCTIONS.items()]
    return f"what @algorithm(...) makes, or a function like {', '.join(forms)}".replace(
        "loss term(", "loss_term("
    )
