"""Dataclasses of settings from plain values, as JSON has them."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np

from algorist.errors import unknown

_FORMER_NAMES = {"optimiser": "optimizer"}
"""Former names of sections and settings, in configurations that were saved earlier."""


class UnknownSettingError(ValueError):
    """A configuration has a setting that this version does not know."""


def build(cls: type, values: Mapping[str, Any]) -> Any:
    """A dataclass from nested plain values; former names are read, unknown names are errors."""
    hints = typing.get_type_hints(cls)
    names = [f.name for f in fields(cls)]
    values = {_FORMER_NAMES.get(name, name): value for name, value in values.items()}
    for name in values:
        if name not in names:
            raise UnknownSettingError(unknown("setting", name, names))
    for f in fields(cls):
        if f.default is MISSING and f.default_factory is MISSING and f.name not in values:
            raise ValueError(f"{f.name}: got nothing, expected a value")
    return cls(**{name: read_value(name, hints[name], value) for name, value in values.items()})


def given_value(name: str, kind: Any, value: Any) -> Any:
    """What a Python program gives as the type of a field: NumPy's numbers and ranges are read too.

    >>> given_value("sizes", tuple[int, ...], range(4, 7))
    (4, 5, 6)
    """
    return read_value(name, kind, _plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, range | list | tuple):
        return list(map(_plain, value))
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def read_value(name: str, kind: Any, value: Any) -> Any:
    """A plain value as the type of a field; raises a `ValueError` for another type."""
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise ValueError(f"{name}: got {value!r}, expected settings by name")
        return build(typing.cast(type, kind), value)
    if isinstance(kind, types.GenericAlias):
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name}: got {value!r}, expected a list")
        return tuple(read_value(name, typing.get_args(kind)[0], item) for item in value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"{name}: got {value!r}, expected a value of type {kind.__name__}")
    return value
