"""Pytrees of tensors: nested tuples, lists and dictionaries, as in `torch.utils._pytree`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor

PyTree = Any
"""A tensor, None, or a tuple, list or dictionary of pytrees."""


def tree_leaves(tree: PyTree) -> list[Tensor]:
    """The tensors of a pytree, in order."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    tree_map(note, tree)
    return found


def tree_map(function: Callable[..., Tensor], tree: PyTree, *others: PyTree) -> PyTree:
    """Apply a function to each tensor of a pytree, together with those at its place in `others`.

    Raises a `ValueError` if the structures differ, or for anything that is not a pytree.
    """
    if others:
        _expect(tree, others)
    if isinstance(tree, Tensor):
        return function(tree, *others)
    if tree is None:
        return None
    if not isinstance(tree, tuple | list | dict):
        raise ValueError(
            f"got a {type(tree).__name__}, expected tensors in tuples, lists and dictionaries"
        )
    if isinstance(tree, dict):
        return {
            key: tree_map(function, part, *(other[key] for other in others))
            for key, part in tree.items()
        }
    parts = [tree_map(function, *each) for each in zip(tree, *others, strict=True)]
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def tree_unflatten(like: PyTree, tensors: Iterator[Tensor]) -> PyTree:
    """A pytree with the structure of `like` and the next tensors of an iterator as its leaves."""
    return tree_map(lambda _: next(tensors), like)


def _expect(tree: PyTree, others: tuple[PyTree, ...]) -> None:
    expected = _structure(tree)
    for other in others:
        if _structure(other) != expected:
            raise ValueError(f"got {_structure(other)} as a state, expected {expected}")


def _structure(tree: PyTree) -> str:
    """The outermost level of a pytree in words, such as "a dict with the keys 'a' and 'b'"."""
    if isinstance(tree, Tensor):
        return "a tensor"
    if isinstance(tree, dict):
        return f"a dict with the keys {', '.join(sorted(map(repr, tree))) or '(none)'}"
    if isinstance(tree, tuple | list):
        return f"a {type(tree).__name__} of {len(tree)}"
    return "None" if tree is None else f"a {type(tree).__name__}"
