"""Tables of features: an algorithm's spec, and what each of its features means."""

from __future__ import annotations

from typing import Any

import algorist
from algorist.algorithms.feature_descriptions import describe_feature
from algorist.spec import Feature


def table(name: str) -> str:
    """The features of an algorithm, and how its random problems can be varied."""
    algorithm = algorist.get(name)
    head = ("| | feature | type | |", "| --- | --- | --- | --- |")
    rows = [_row(feature, describe_feature(algorithm, feature)) for feature in algorithm.spec]
    return "\n".join((*head, *rows)) + _options(algorithm)


def _row(feature: Feature, text: str) -> str:
    classes = f"({feature.classes})" if feature.classes else ""
    kind = f"{feature.location}.{feature.kind}{classes}"  # as declarations have it
    return f"| {feature.stage} | `{feature.name}` | `{kind}` | {text} |"


def _options(algorithm: algorist.Algorithm) -> str:
    """How random problems can be varied."""
    options = [f"`{name}`{_default(value)}" for name, value in algorithm.sampler.options.items()]
    return f"\n\nOptions of random problems: {', '.join(options)}." if options else ""


def _default(value: Any) -> str:
    if value is None:  # it depends on the size
        return ""
    return f" ({', '.join(map(str, value)) if isinstance(value, tuple) else value})"
