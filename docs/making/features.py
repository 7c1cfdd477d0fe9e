"""Tables of features: all of it is the spec's, but for what a feature means in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import algorist
from algorist.spec import Feature

EVERYWHERE = {
    "pos": "the node's place in the order of nodes, from 0 to below 1",
    "A": "the graph: the weight of the edge from one node to another, 0 for none",
    "adj": "1 where there is an edge, and from each node to itself",
}
"""What features mean that are the same on all pages; a page may say otherwise."""


def meanings(text: str) -> dict[str, str]:
    """The lines of a text, each `feature: what it means`."""
    pairs = (line.split(":", 1) for line in text.splitlines() if line.strip())
    return {name.strip(): meaning.strip() for name, meaning in pairs}


def table(name: str, own: Mapping[str, str], of_page: Mapping[str, str]) -> str:
    """The features of an algorithm, each with what it means there or on the whole page."""
    algorithm = algorist.get(name)
    known = {**EVERYWHERE, **of_page, **own}
    missing = [feature.name for feature in algorithm.spec if feature.name not in known]
    if missing:
        raise ValueError(f"features {name}: {', '.join(missing)} is not explained")
    unknown = [word for word in own if word not in algorithm.spec]
    if unknown:
        raise ValueError(f"features {name}: there is no {', '.join(unknown)}")
    head = ("| | feature | type | |", "| --- | --- | --- | --- |")
    rows = [_row(feature, known[feature.name]) for feature in algorithm.spec]
    return "\n".join((*head, *rows)) + _options(algorithm)


def _row(feature: Feature, meaning: str) -> str:
    classes = f"({feature.classes})" if feature.classes else ""
    kind = f"{feature.location}.{feature.kind}{classes}"  # as declarations have it
    return f"| {feature.stage} | `{feature.name}` | `{kind}` | {meaning} |"


def _options(algorithm: algorist.Algorithm) -> str:
    """How random problems can be varied."""
    options = [f"`{name}`{_default(value)}" for name, value in algorithm.sampler.options.items()]
    return f"\n\nOptions of random problems: {', '.join(options)}." if options else ""


def _default(value: Any) -> str:
    if value is None:  # it depends on the size
        return ""
    return f" ({', '.join(map(str, value)) if isinstance(value, tuple) else value})"
