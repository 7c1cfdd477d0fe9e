"""Nests of tensors: tuples, lists and dictionaries, one inside the other, or None."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor

Nest = Any
"""A tensor, None, or a tuple, list or dictionary of nests."""


def leaves(nest: Nest) -> list[Tensor]:
    """All tensors of a nest, in order."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_nest(note, nest)
    return found


def map_nest(function: Callable[..., Tensor], nest: Nest, *others: Nest) -> Nest:
    """The nest of what a function makes of each tensor, and of those at its place in others.

    Raises `ValueError` where the others are nested in another way, and for what is no nest.
    """
    if others:
        _expect(nest, others)
    if isinstance(nest, Tensor):
        return function(nest, *others)
    if nest is None:
        return None
    if not isinstance(nest, tuple | list | dict):
        raise ValueError(
            f"got a {type(nest).__name__}, expected tensors in tuples, lists and dictionaries"
        )
    if isinstance(nest, dict):
        return {
            key: map_nest(function, part, *(other[key] for other in others))
            for key, part in nest.items()
        }
    parts = [map_nest(function, *each) for each in zip(nest, *others, strict=True)]
    return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)


def from_leaves(like: Nest, tensors: Iterator[Tensor]) -> Nest:
    """A nest like another, of the given tensors."""
    return map_nest(lambda _: next(tensors), like)


def _expect(nest: Nest, others: tuple[Nest, ...]) -> None:
    expected = _structure(nest)
    for other in others:
        if _structure(other) != expected:
            raise ValueError(f"got {_structure(other)} as a state, expected {expected}")


def _structure(nest: Nest) -> str:
    """The outermost level of a nest in words, such as "a dict with the keys 'a' and 'b'"."""
    if isinstance(nest, Tensor):
        return "a tensor"
    if isinstance(nest, dict):
        return f"a dict with the keys {', '.join(sorted(map(repr, nest))) or '(none)'}"
    if isinstance(nest, tuple | list):
        return f"a {type(nest).__name__} of {len(nest)}"
    return "None" if nest is None else f"a {type(nest).__name__}"
