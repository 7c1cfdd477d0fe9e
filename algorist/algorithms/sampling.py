"""Samplers: how random problems of a given size are drawn, and what can be set about them.

Inputs that follow from others are not drawn: `derive` fills them in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from algorist.algorithms.compiling import specialise
from algorist.algorithms.frames import INT, Buffers, FrameLayout
from algorist.algorithms.tracing import draw_batch
from algorist.errors import unknown

Options = dict[str, Any]

TRUNCATION = "truncate_decimals"
"""An option of every sampler: cut scalars to this many decimal places before the algorithm runs.

It is 0 among settled options where nothing is cut.
"""
_MOST_DECIMALS = 22
"""Ten to the power of more is no exact float."""

DERIVED = ("pos", "adj")
"""Inputs that follow from others, and may be left out."""


def _unchanged(n: int, options: Options) -> Options:
    return options


def _one_node_each(n: int, options: Options) -> int:
    return n


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws the inputs of an algorithm.

    `draw(rng, features..., options...)` is compiled: it fills arrays named after input features.
    Its parameters with a default are options that a caller may set. It takes `truncate_decimals`
    only if the draws themselves depend on the cut scalars.
    """

    draw: Callable
    settle: Callable[[int, Options], Options] = _unchanged
    """Checks the options for problems of size n and replaces those that are None."""
    nodes: Callable[[int, Options], int] = _one_node_each
    """The number of nodes of a problem of size n."""

    @cached_property
    def _defaults(self) -> Options:
        parameters = inspect.signature(self.draw).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    @cached_property
    def options(self) -> Options:
        """The options and their defaults; None stands for a value that depends on the size."""
        return {name: value for name, value in self._defaults.items() if name != TRUNCATION}

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the features that are drawn."""
        return tuple(
            name for name in inspect.signature(self.draw).parameters if name not in self._defaults
        )[1:]

    def settled(self, n: int, options: Mapping[str, Any]) -> Options:
        """The given options completed by the defaults and checked."""
        known = {**self.options, TRUNCATION: None}
        for name in options:
            if name not in known:
                raise ValueError(unknown("option", name, known))
        given = {name: value for name, value in options.items() if value is not None}
        converted = {name: _converted(name, value, known[name]) for name, value in given.items()}
        decimals = _checked_decimals(converted.pop(TRUNCATION, None))
        return {**self.settle(n, {**self.options, **converted}), TRUNCATION: decimals}

    def arguments(self, options: Options) -> tuple:
        """Settled options as compiled code takes them."""
        values = [options[name] for name in self._defaults]
        return tuple(
            np.array(value, np.float64) if isinstance(value, tuple) else value for value in values
        )

    @cached_property
    def draw_batch(self) -> Any:
        """The compiled loop that draws a whole batch."""
        return specialise(draw_batch, self.draw)


def sampler(**hooks: Callable) -> Callable[[Callable], Sampler]:
    """Declare the decorated function a sampler; the hooks are fields of `Sampler`."""
    return lambda draw: Sampler(draw, **hooks)


def checked_shares(options: Options) -> Options:
    """The same options, of which those that are probabilities are checked."""
    for name in ("p", "eps", "ood_share"):
        if any(not 0 <= p <= 1 for p in np.atleast_1d(options.get(name, 0))):
            raise ValueError(
                f"option {name}: got {options[name]}, expected probabilities from 0 to 1"
            )
    return options


def truncated(values: np.ndarray, decimals: int) -> np.ndarray:
    """Numbers cut to this many decimal places."""
    scale = 10.0**decimals
    return np.trunc(values * scale) / scale


def derive(layout: FrameLayout, buffers: Buffers) -> None:
    """Fill in the inputs that follow from others: positions, and which nodes are adjacent."""
    windows = {feature.name: layout.window(buffers, feature.name) for feature in layout.features}
    windows["pos"][...] = positions(windows.get("string", np.zeros(layout.n)))
    if "adj" in windows:
        windows["adj"][...] = adjacency(windows["A"])


def positions(string: np.ndarray) -> np.ndarray:
    """Evenly spaced numbers in [0, 1), starting again at the second string if there is one."""
    second = string > 0
    index = np.arange(string.shape[-1])
    first_length = (~second).sum(-1, keepdims=True)
    second_length = np.maximum(second.sum(-1, keepdims=True), 1)
    return np.where(
        second, (index - first_length) / second_length, index / np.maximum(first_length, 1)
    )


def adjacency(weights: np.ndarray) -> np.ndarray:
    """1 where there is an edge, and on the diagonal."""
    return ((weights != 0) | np.eye(weights.shape[-1], dtype=bool)).astype(INT)


def _checked_decimals(decimals: int | None) -> int:
    if decimals is None:
        return 0
    if not 1 <= decimals <= _MOST_DECIMALS:
        raise ValueError(
            f"option {TRUNCATION}: got {decimals}, expected 1 to {_MOST_DECIMALS} decimal places, "
            "or None to keep all"
        )
    return decimals


def _converted(name: str, value: Any, default: Any) -> Any:
    """A value in the type of the option's default."""
    try:
        if isinstance(default, tuple):
            values = tuple(float(v) for v in np.atleast_1d(value))
            if values and np.isfinite(values).all():
                return values
            expected = "at least one finite number"
        elif isinstance(default, float):
            if np.isfinite(float(value)):
                return float(value)
            expected = "a finite number"
        else:
            if int(value) == value:
                return int(value)
            expected = "a whole number"
    except (TypeError, ValueError, OverflowError):
        expected = "numbers" if isinstance(default, tuple) else "a number"
    raise ValueError(f"option {name}: got {value!r}, expected {expected}")
