"""Accuracy by problem size of the shipped learners: a CSV file that comes with their weights.

`benchmarks/curves.py` makes it. Scores of n = 64 are those of the official tests, as in the results
of experiments; all others are of fresh random problems.
"""

from __future__ import annotations

import csv
import io
import math
import typing
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from algorist import weights
from algorist.atomic import replace_text

_NAME = "curves.csv"
SIZES = (4, 8, 12, 16, 24, 32, 48, 64)
"""The sizes that are measured."""
TEST_SIZE = 64
"""The size of the official tests."""
FRESH, TEST = "fresh", "test"


@dataclass(frozen=True)
class Point:
    """What a learner scored in one algorithm at one size."""

    model: str
    """As `algorist list --models` shows it: `generalist`, `specialists/bfs`."""
    algorithm: str
    n: int
    """The size that others have; that of the string matchers is larger by a quarter."""
    score: float
    """The benchmark's, in per cent."""
    correct: float
    """The share of samples whose whole answer is right, in per cent."""
    hints: float
    """The mean score of the hints, in per cent; nan where it was not measured."""
    samples: int
    problems: str
    """`test`: those of the official test; `fresh`: random ones."""
    device: str
    date: str
    version: str

    @property
    def key(self) -> tuple[str, str, int]:
        """What points are sorted by; there is one of each."""
        return self.model, self.algorithm, self.n


_TYPES = typing.get_type_hints(Point)
_COLUMNS = [field.name for field in fields(Point)]


def read(file: Path | None = None) -> list[Point]:
    """The points of a file, by default those shipped; none where there is no file."""
    file = file or weights.FOLDER / _NAME
    if not file.exists():
        return []
    rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))
    if rows.fieldnames != _COLUMNS:
        raise ValueError(f"{file}: got the columns {rows.fieldnames}, expected {_COLUMNS}")
    return [Point(**{name: _TYPES[name](row[name]) for name in _COLUMNS}) for row in rows]


def write(points: Iterable[Point], file: Path | None = None) -> None:
    """Write points to a file, sorted, each in the place of an older one of the same key."""
    latest = {point.key: point for point in points}
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for key in sorted(latest):
        writer.writerow({name: _text(value) for name, value in asdict(latest[key]).items()})
    replace_text(file or weights.FOLDER / _NAME, text.getvalue())


def _text(value: object) -> object:
    return round(value, 4) if isinstance(value, float) and math.isfinite(value) else value


def curve(points: Iterable[Point], model: str, algorithm: str) -> list[Point]:
    """The points of a learner in an algorithm, by size. A folder of learners has one for each."""
    names = (model, f"{model}/{algorithm}")
    found = [p for p in points if p.model in names and p.algorithm == algorithm]
    return sorted(found, key=lambda point: point.n)


def score_in_test(points: Iterable[Point], model: str, algorithm: str) -> float | None:
    """The score in the official test, in per cent, if it is known."""
    found = (p.score for p in curve(points, model, algorithm) if p.n == TEST_SIZE)
    return next(found, None)
