"""The table of all algorithms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table

from algorist.algorithms import Algorithm
from algorist.algorithms.feature_descriptions import describe_feature
from algorist.report.terminal import bare_table
from algorist.spec import Feature

SIZES = (16, 64)
"""The benchmark's sizes: training and validation, test."""
_SAMPLES = 4


def count_steps(algorithm: Algorithm, n: int) -> dict[str, float]:
    """The least, mean and largest number of steps at the size `n`, over a few samples."""
    size = algorithm.size(n)
    lengths = algorithm.sample(size, _SAMPLES, seed=0).lengths
    return {
        "n": size,
        "min": int(lengths.min()),
        "mean": float(lengths.mean()),
        "max": int(lengths.max()),
    }


def describe_algorithm(algorithm: Algorithm) -> dict[str, Any]:
    """The declaration of an algorithm as JSON data."""
    return {
        "name": algorithm.name,
        "family": algorithm.family,
        "description": algorithm.description,
        "inputs": _features(algorithm, algorithm.spec.inputs),
        "hints": _features(algorithm, algorithm.spec.hints),
        "outputs": _features(algorithm, algorithm.spec.outputs),
        "options": dict(algorithm.sampler.options),
    }


def _features(algorithm: Algorithm, features: Iterable[Feature]) -> dict[str, Any]:
    return {
        feature.name: {"location": feature.location, "kind": feature.kind}
        | ({"classes": feature.classes} if feature.classes else {})
        | {"meaning": describe_feature(algorithm, feature)}
        for feature in features
    }


def algorithm_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of described algorithms, by family; those with `steps` show them."""
    table = bare_table()
    table.add_column("algorithm", no_wrap=True, overflow="crop")
    for heading in ("family", "inputs", "hints", "outputs"):
        table.add_column(heading, overflow="fold")
    measured = any("steps" in row for row in rows)
    for size in SIZES if measured else ():
        table.add_column(f"steps\nn = {size}", justify="right", no_wrap=True, overflow="crop")
    for row in sorted(rows, key=lambda row: (row["family"], row["name"])):
        table.add_row(
            row["name"],
            row["family"],
            " ".join(row["inputs"]),
            str(len(row["hints"])),
            " ".join(row["outputs"]),
            *(_range(row["steps"][str(size)]) for size in SIZES if measured),
        )
    return table


def _range(lengths: Mapping[str, float]) -> str:
    low, high = lengths["min"], lengths["max"]
    return f"{low}" if low == high else f"{low}-{high}"
