"""Bad input: messages say what was got, what is expected and, where they can, the fix."""

from __future__ import annotations

import difflib
import operator
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

_NEAR = 0.6
"""How alike two names are, from 0 to 1, where one may be meant for the other."""


def unknown(what: str, name: Any, known: Iterable[str]) -> str:
    """The message for a name that is not among the known ones, with the nearest of them."""
    known = sorted(known)
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known) or 'none'}"
    return f"unknown {what} {name!r}: {hint}"


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one was most likely meant to be; None if none is near.

    >>> nearest("dikjstra", ["bfs", "dijkstra"]), nearest("sort", ["bridges", "heapsort"])
    ('dijkstra', 'heapsort')
    >>> nearest("colour", ["count", "hidden"])
    """
    name, known = str(name), sorted(known)
    inside = [each for each in known if len(name) > 2 and name.lower() in each.lower()]
    near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    return next(iter([*near, *inside]), None)


class UnregisteredError(ValueError):
    """An algorithm or a processor that is not known here, though a plug-in may bring it."""

    def __init__(self, what: str, name: str, known: Iterable[str]):
        super().__init__(what, name, sorted(known))

    def __str__(self) -> str:
        _, name, known = self.args
        own = "" if nearest(name, known) else "; one of your own needs its plug-in (--plugin FILE)"
        return f"{unknown(*self.args)}{own}"

    def needed_by(self, saved: Any) -> ValueError:
        """The error for something saved that needs it: whoever loads that did not choose it."""
        what, name, _ = self.args
        return ValueError(
            f"{saved}: it needs the {what} {name!r}, which is not here: "
            "load the plug-in that registers it (--plugin FILE)"
        )


def expect_positive(name: str, value: Any) -> int:
    """The value as an integer of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"{name}: got {value!r}, expected a whole number of at least 1")
    return number


LARGEST_WHOLE = 2**53
"""Up to here a float can hold every whole number."""


def expect_exact(name: str, number: int, fix: str = "subtract the smallest") -> None:
    """Refuse a whole number that no float can hold: it would become equal to others."""
    if float(number) != number:
        raise ValueError(
            f"{name}: got {number}, expected whole numbers up to 2**53: larger ones cannot "
            f"be told apart as floats; {fix}"
        )


def expect_unique(name: str, values: list[str]) -> list[str]:
    """The values, of which no two may be the same."""
    if len(set(values)) < len(values):
        raise ValueError(f"{name}: got {','.join(values)}, expected each once")
    return values


def join_names(values: Sequence[Any], most: int = 10) -> str:
    """The values, or the first of very many.

    >>> join_names(["home", "park", "sea"]), join_names(range(1000), most=3)
    ('home, park, sea', '0, 1, 2, ...')
    """
    return ", ".join([*map(str, values[:most]), *(["..."] if len(values) > most else [])])


def format_count(count: int, what: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


_REPR = reprlib.Repr()
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 20
_REPR.maxstring = _REPR.maxother = 60


def shorten(value: Any) -> str:
    """A value as a message shows it: on one line, and not all of it if it is long or deep."""
    text = " ".join(_REPR.repr(value.tolist() if hasattr(value, "tolist") else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
