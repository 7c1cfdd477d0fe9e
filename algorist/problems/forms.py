"""The form of each algorithm on the page of `algorist view`: its fields, and how they are read.

A form has a field for each option that `algorist run` has for the algorithm, and is read in the
same way, so that what is refused is refused in the same words. No field can name a file.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from algorist.algorithms import Algorithm
from algorist.errors import unknown
from algorist.problems import inputs
from algorist.problems.files import Pasted, text_of
from algorist.problems.inputs import Inputs


@dataclass(frozen=True)
class Field:
    """A place for text, which has the name of an option."""

    name: str
    label: str
    example: str
    lines: int = 1
    choices: tuple[str, ...] = ()


_ROADS = "home,shop,1\nhome,park,3\nshop,park,1\npark,sea,4"
_FIELDS = {
    field.name: field
    for field in (
        Field("numbers", "Numbers", "5 2 9 1", 3),
        Field("points", "Points: x,y", "0,0\n4,3\n0,3\n4,0", 6),
        Field("intervals", "Activities: from,to", "1,4\n3,5\n0,6\n5,7", 6),
        Field("tasks", "Tasks: deadline,weight", "4,70\n2,60\n4,50\n1,30", 6),
        Field("target", "Look for", "5"),
        Field("graph", "Edges: from,to,weight; or JSON", _ROADS, 8),
        Field("source", "Start at", "home"),
        Field("weight", "Weight column, if there are several", ""),
        Field("directed", "Edges are", "as usual", choices=("as usual", "directed", "undirected")),
        Field("text", "Text (up to four different letters)", "abcabcab"),
        Field("pattern", "Pattern", "cab"),
        Field("x", "First string (up to four different letters)", "abcbdab"),
        Field("y", "Second string", "bdcaba"),
        Field("p", "Probability of each key", "0.15,0.1,0.05,0.1,0.2"),
        Field("q", "Probability of each gap (one more)", "0.05,0.1,0.05,0.05,0.05,0.1"),
        Field("inputs", "All inputs by name, as JSON", "{}", 8),
    )
}
_LISTED = ("numbers", "points", "intervals", "tasks")
"""Fields whose text may be as VALUEs are, or as in a file."""


def fields(algorithm: Algorithm) -> list[Field]:
    """The fields of an algorithm's form."""
    way = inputs.way_of(algorithm)
    found = [_FIELDS[name] for name in way.options if name != "values"] or [_FIELDS["inputs"]]
    return [_with_example(field, way.example) for field in found]


def _with_example(field: Field, example: str) -> Field:
    """Keys and dimensions differ from algorithm to algorithm, as the examples of the command do."""
    words = example.split(" --")[0]
    suits = field.name == "numbers" and not words.startswith("--")
    return replace(field, example=words) if suits else field


def read(algorithm: Algorithm, texts: Mapping[str, str]) -> Inputs:
    """The problem that a filled form gives; `inputs` may be filled in even without a field."""
    given = inputs.nothing()
    known = {"inputs", *(field.name for field in fields(algorithm))}
    for name, text in texts.items():
        if name not in known:
            raise ValueError(f"{algorithm.name}: {unknown('field', name, known)}")
        if not text.strip():
            continue
        plain = _PLAIN.get(name, str.strip)(text)
        if name in _LISTED and _are_values(plain):
            given.values = plain.split()
        elif name == "directed":
            given.directed = {"directed": True, "undirected": False}.get(text)
        elif _FIELDS[name].lines > 1:
            setattr(given, name, Pasted(name, plain))
        else:
            setattr(given, name, plain)
    return inputs.problem(algorithm, given)


def _are_values(text: str) -> bool:
    """Whether a text has what stands in a command line, not what stands in a file."""
    return not re.search(r"\n|;|,\s", text)


_BRACKETS = str.maketrans("()[]{}", "      ")


def _plain_numbers(text: str) -> str:
    """Numbers in any usual form, `[5, 2]` or `5, 2; 9 1`, separated by spaces.

    As in files, a comma between digits is a decimal point where semicolons separate; unless there
    are commas before spaces, too, which separate.
    """
    bare = text.translate(_BRACKETS).strip()
    if "\n" in bare or not re.search(r"[;,]", bare):
        return bare
    if ";" not in bare or not re.search(r"\d,\d", bare) or re.search(r",\s", bare):
        return " ".join(re.split(r"[\s,;]+", bare)).strip()
    pieces = [piece.strip() for piece in bare.split(";") if piece.strip()]
    if any(re.search(r"\s", piece) for piece in pieces):
        points, spaces = bare.replace(",", "."), bare.replace(",", " ")
        one, other = (" ".join(re.split(r"[\s;]+", each)) for each in (points, spaces))
        raise ValueError(f"numbers: got {bare!r}, which may be {one} or {other}: write one of them")
    return ";".join(pieces)


def _plain_pairs(text: str) -> str:
    """Pairs in any usual form, `(0, 0), (4, 3)` or `0 0; 4 3`, one in each line."""
    grouped = re.findall(r"[(\[]([^()\[\]]*)[)\]]", text)
    if grouped:
        return "\n".join(map(_with_comma, grouped))
    pieces = [piece for piece in text.split(";") if piece.strip()]
    if len(pieces) > 1 and all(len(re.split(r"[\s,]+", p.strip())) == 2 for p in pieces):
        return "\n".join(map(_with_comma, pieces))
    return text.strip()


def _with_comma(pair: str) -> str:
    return ",".join(re.split(r"[\s,;]+", pair.strip()))


def _plain_edges(text: str) -> str:
    """Edges in any usual form, `a -> b 3` or `a,b,3; b,c,1`, one in each line."""
    if text.lstrip()[:1] in ("{", "["):
        return text
    lines = []
    for line in text.splitlines():
        pieces = [piece.strip() for piece in line.split(";")]
        several = len(pieces) > 1 and all(re.search(r"[\s,>]", piece) for piece in pieces if piece)
        lines += [piece for piece in pieces if piece] if several else [line]
    return "\n".join(map(_without_arrow, lines))


def _without_arrow(line: str) -> str:
    """`a -> b: 3` as `a,b,3`."""
    found = re.fullmatch(r"\s*(.+?)\s*(?:->|→|--)\s*(.+?)(?:\s*[:,\s]\s*(\S+))?\s*", line)
    return ",".join(filter(None, found.groups())) if found else line


def _plain_list(text: str) -> str:
    return ",".join(re.split(r"[\s,;]+", text.translate(_BRACKETS).strip()))


def _plain_word(text: str) -> str:
    """A string without the quotation marks that some put around it."""
    bare = text.strip()
    return bare[1:-1] if len(bare) > 2 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


_PLAIN: dict[str, Callable[[str], str]] = {
    "numbers": _plain_numbers,
    **dict.fromkeys(("points", "intervals", "tasks"), _plain_pairs),
    "graph": _plain_edges,
    **dict.fromkeys(("p", "q"), _plain_list),
    **dict.fromkeys(("text", "pattern", "x", "y"), _plain_word),
}
"""What people write into fields, in the form that files and command lines have."""

_ABOUT = re.compile(r"(?:--)?(?P<name>\w+)(?P<line>, line \d+)?: (?P<text>.*)")
_INPUTS = {"A": "graph", "adj": "graph", "s": "source", "key": "numbers"}
"""Fields by the names of inputs, where they differ."""


def locate_error(algorithm: Algorithm, message: str) -> tuple[str | None, str]:
    """The field that an error message is about, and what to say there: `line 2: got 'x', ...`.

    What names no field is about the first; what has not the form of a message about an input is
    about none.
    """
    found = _ABOUT.fullmatch(message)
    if found is None:
        return None, message
    names = [field.name for field in fields(algorithm)]
    name = _INPUTS.get(found["name"], found["name"])
    field = next(f for f in fields(algorithm) if f.name == (name if name in names else names[0]))
    line = (found["line"] or "").removeprefix(", ")
    text = re.sub(
        rf"algorist run {algorithm.name} .*", " ".join(field.example.splitlines()), found["text"]
    )
    return field.name, f"{line}: {text}" if line else text


def page_request(algorithm: Algorithm, given: Namespace) -> dict[str, Any]:
    """The request of the page for the problem of a command line, if there is one."""
    named = inputs.given(given)
    for name in named:
        if name in _FIELDS and _FIELDS[name].lines > 1:
            path = getattr(given, name)
            setattr(given, name, Pasted(path, text_of(inputs.called(name), path)))
    if not named:
        return {"algorithm": algorithm.name}
    inputs.problem(algorithm, given)  # refuses what makes no sense in the words of the command line
    if given.random is not None:
        random = {"n": given.random, "seed": given.seed or 0}
        return {"algorithm": algorithm.name, "random": random}
    form = {field.name: field.choices[0] if field.choices else "" for field in fields(algorithm)}
    first = next(iter(form))  # where VALUEs are typed
    texts = {first if name == "values" else name: _typed(getattr(given, name)) for name in named}
    return {"algorithm": algorithm.name, "fields": {**form, **texts}}


def _typed(value: Any) -> str:
    """What to type into a field instead of an argument."""
    if isinstance(value, bool):
        return "directed" if value else "undirected"
    if isinstance(value, list):
        return " ".join(value)
    return value.text if isinstance(value, Pasted) else value
