"""Messages for bad input: each says what was got, what is expected and, where it can, the fix."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The message for a name that is not among the known ones, with the nearest of them."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known) or 'none'}"
    return f"unknown {what} {name!r}: {hint}"


_REPR = reprlib.Repr()
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = 20
_REPR.maxstring = _REPR.maxother = 60


def shortened(value: Any) -> str:
    """A value as a message shows it: on one line, and not all of it if it is long or deep."""
    text = " ".join(_REPR.repr(value.tolist() if hasattr(value, "tolist") else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
