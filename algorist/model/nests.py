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
    if isinstance(nest, Tensor):
        _expect(all(isinstance(other, Tensor) for other in others), nest, others)
        return function(nest, *others)
    if nest is None:
        _expect(all(other is None for other in others), nest, others)
        return None
    _expect(all(type(other) is type(nest) and len(other) == len(nest) for other in others),
            nest, others)  # fmt: skip
    if isinstance(nest, dict):
        _expect(all(other.keys() == nest.keys() for other in others), nest, others)
        return {
            key: map_nest(function, part, *(other[key] for other in others))
            for key, part in nest.items()
        }
    if not isinstance(nest, tuple | list):
        raise ValueError(
            f"got a {type(nest).__name__}, expected tensors in tuples, lists and dictionaries"
        )
    parts = [map_nest(function, *each) for each in zip(nest, *others, strict=True)]
    return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)


def from_leaves(like: Nest, tensors: Iterator[Tensor]) -> Nest:
    """A nest like another, of the given tensors."""
    return map_nest(lambda _: next(tensors), like)


def _expect(fits: bool, nest: Nest, others: tuple[Nest, ...]) -> None:
    if not fits:
        got = next((other for other in others if type(other) is not type(nest)), others[0])
        raise ValueError(
            f"got a {type(got).__name__} where the other nest has a {type(nest).__name__}, "
            "expected nests of one structure"
        )
