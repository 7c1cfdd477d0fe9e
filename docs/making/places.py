"""Places in pages that are made by code.

A place is what stands between two comments. The first says what goes there:

    <!-- made: picture bfs -->             some steps of an algorithm, drawn
    <!-- made: features bfs -->            its features, from the spec, and what each means
    <!-- made: file examples/euclid.py --> a file of the repository
    <!-- made: improvements ibarz2022 -->  the improvements of a recipe
    <!-- made: commands -->                all commands, from their parsers
    <!-- made: sizes -->                   accuracy by size of the shipped and the replaced net
    <!-- made: end -->

`fill.py` writes them into the sources, so that these can be read without the site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import commands
import features
import improvements
import sizes

ROOT = Path(__file__).parents[2]

_PLACE = re.compile(
    r"(?P<begin><!-- made: (?P<kind>\w+)(?: (?P<name>\S+))? -->\n).*?(?P<end><!-- made: end -->)",
    re.DOTALL,
)
_MARK = re.compile(r"<!-- made: (\w+)[^>]*-->")

Maker = Callable[[str], str]


def _file(name: str) -> str:
    return f'```python title="{name}"\n{(ROOT / name).read_text()}```'


MAKERS: dict[str, Maker] = {
    "features": features.table,
    "file": _file,
    "improvements": improvements.table,
    "commands": lambda _: commands.reference(),
    "sizes": lambda _: sizes.table(),
}
"""What makes each kind but pictures, given the name after it."""


def filled(markdown: str, picture: Maker) -> str:
    """A page with all its places filled, and pictures made by `picture`.

    Raises ValueError for an unknown kind and for a place that has no end.
    """
    ends = [mark == "end" for mark in _MARK.findall(markdown)]
    if ends != [False, True] * (len(ends) // 2):
        raise ValueError("got a place without an end, expected <!-- made: end --> after each")
    makers = {**MAKERS, "picture": picture}
    return _PLACE.sub(lambda place: _content(place, makers), markdown)


def _content(place: re.Match[str], makers: Mapping[str, Maker]) -> str:
    if place["kind"] not in makers:
        raise ValueError(f"got {place['kind']}, expected one of {', '.join(makers)}")
    made = makers[place["kind"]](place["name"] or "")
    return f"{place['begin']}\n{made}\n\n{place['end']}"  # Markdown wants empty lines around tables
