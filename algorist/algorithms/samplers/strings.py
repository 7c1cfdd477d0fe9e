"""Pairs of strings over four letters: how they are drawn, given by users and laid out in nodes.

The nodes are the letters of the first string, then those of the second; the input `string` is 0 for
the one and 1 for the other, `key` is the letter. The order of the draws is part of the benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorist.algorithms.compiling import compiled
from algorist.algorithms.random import below
from algorist.algorithms.sampling import Options
from algorist.algorithms.textbook import point_to_previous
from algorist.errors import shorten

LETTERS = 4


def check_chars(options: Options) -> None:
    """Refuse an alphabet of no letters or of more than there are classes."""
    if not 1 <= options["chars"] <= LETTERS:
        raise ValueError(f"option chars: got {options['chars']}, expected 1 to {LETTERS}")


@compiled
def fill_letters(rng, key, first, last, chars):
    """Draw the letters from node `first` up to, but not including, node `last`."""
    for i in range(first, last):
        key[i] = below(rng, chars)


@compiled
def mark_second(string, start):
    """Say that the second string starts at the node `start`."""
    for i in range(start, len(string)):
        string[i] = 1


@compiled
def second_start(string):
    """The first node of the second string."""
    start = 0
    while string[start] == 0:
        start += 1
    return start


@compiled
def chain_strings(pointers, start):
    """Let each letter point to the one before it in its string, first letters to themselves."""
    point_to_previous(pointers)
    pointers[start] = start


def two_strings(arrays: Mapping[str, np.ndarray]) -> None:
    """A first string and a second, neither of them empty."""
    string = arrays["string"]
    if string[0] != 0 or string[-1] != 1 or (np.diff(string) < 0).any():
        raise ValueError(
            f"string: got {string.astype(int).tolist()}, expected 0 for each letter of the first "
            "string, then 1 for each of the second, and a letter or more in both"
        )


@dataclass(frozen=True)
class Words:
    """Lets users give two words, by these names, instead of `string` and `key`.

    Words are texts with at most four different letters, which become the classes in alphabetical
    order, or sequences of class numbers.
    """

    first: str
    second: str
    searched: bool = False
    """Whether letters are compared with those of the second word alone: then all that it does not
    have are one class, where there are too many letters."""

    def __call__(self, given: dict[str, Any]) -> dict[str, Any]:
        """The given inputs with `string` and `key` in place of words."""
        names = (self.first, self.second)
        if not any(name in given for name in names):
            return given
        for name in names:
            if name not in given:
                raise ValueError(f"{name}: got nothing, expected both {' and '.join(names)}")
        for name in ("string", "key"):
            if name in given:
                raise ValueError(
                    f"{name}: got it besides {' and '.join(names)}, expected one form or the other"
                )
        classes = _as_classes({name: given.pop(name) for name in names}, searched=self.searched)
        string = np.repeat([0, 1], [len(word) for word in classes])
        return {**given, "string": string, "key": np.concatenate(classes)}


def _as_classes(words: dict[str, Any], *, searched: bool) -> list[np.ndarray]:
    """The letters of the named words as class numbers."""
    given = words
    if all(isinstance(word, str) for word in words.values()):
        alphabet = sorted(set().union(*words.values()))
        sought = sorted(set(list(words.values())[-1]))
        if searched and len(alphabet) > LETTERS > len(sought):
            alphabet = sought
        elif len(alphabet) > LETTERS:
            raise ValueError(
                f"{', '.join(words)}: got the letters {shorten(''.join(alphabet))}, "
                f"expected at most {LETTERS} different ones"
                + (f", or at most {LETTERS - 1} in {list(words)[-1]}" if searched else "")
            )
        number = {letter: i for i, letter in enumerate(alphabet)}
        words = {name: [number.get(x, len(number)) for x in word] for name, word in words.items()}
    for name, word in words.items():
        if not _are_classes(word):
            raise ValueError(
                f"{name}: got {shorten(given[name])}, expected one or more letters: "
                f"both words as text, or both as sequences of the numbers 0 to {LETTERS - 1}"
            )
    return [np.asarray(word) for word in words.values()]


def _are_classes(word: Any) -> bool:
    try:
        numbers = np.array(word, np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return numbers.ndim == 1 and len(numbers) > 0 and bool(np.isin(numbers, range(LETTERS)).all())
