"""Results: a CSV file for each experiment, a row for each algorithm and seed."""

from __future__ import annotations

import csv
import io
import math
import typing
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Any

from algorist.algorithms import get
from algorist.atomic import lock_folder, replace_text
from algorist.data.official import SPLITS
from algorist.errors import format_count, shorten
from algorist.experiments.plan import ALGORITHMS, EXPERIMENTS, Part

Key = tuple[str, str, int]

SHIPPED = "shipped"
"""The file of the learners that come with the package, beside those of the experiments."""


@dataclass(frozen=True)
class ResultRow:
    """The score of one net in the test of one algorithm."""

    experiment: str
    part: str
    algorithm: str
    seed: int
    score: float
    """The benchmark's, in per cent; of scalar outputs a hundred times the squared error."""
    correct: float
    """The share of samples whose whole answer is right, in per cent."""
    validation: float
    """The best validation of the net, over all its algorithms, in per cent."""
    best_step: int
    """The step of that validation, whose weights were tested."""
    steps: int
    weights: int
    samples: int
    """The number of samples of the test."""
    recipe: str
    """The hash of the configuration (`config_hash`)."""
    version: str
    device: str
    date: str
    seconds: float
    """The seconds that the net and its replicas were trained, perhaps beside other trainings."""

    @property
    def key(self) -> Key:
        """The sort key, which is unique."""
        return self.part, self.algorithm, self.seed

    @property
    def is_of_whole_test(self) -> bool:
        """Whether all samples of the official test were used."""
        return is_whole_test(self.algorithm, self.samples)


_TYPES = typing.get_type_hints(ResultRow)
_COLUMNS = [field.name for field in fields(ResultRow)]


class Results:
    """The rows of an experiment, and their file. Several threads and processes may add to it."""

    def __init__(self, folder: Path | str, experiment: str):
        self.file = file_of(folder, experiment)
        self._rows, self._lock = self._read(), Lock()

    def _read(self) -> dict[Key, ResultRow]:
        """Read the file again, since other processes may have added to it."""
        return {row.key: row for row in read(self.file)}

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the file against changes by other threads and processes."""
        with self._lock, lock_folder(self.file.parent):
            yield

    @property
    def rows(self) -> list[ResultRow]:
        """All rows, sorted."""
        return [self._rows[key] for key in sorted(self._rows)]

    def add(self, rows: Iterable[ResultRow]) -> None:
        """Put rows into the file, each in the place of an older one of the same net."""
        rows = list(rows)
        for row in rows:
            _check(row, self.file.stem, before=())
        with self._changing():
            self._rows = self._read() | {row.key: row for row in rows}
            write(self.file, self.rows)

    def remove(self, rows: Iterable[ResultRow]) -> None:
        """Take rows out of the file."""
        with self._changing():
            gone = {row.key for row in rows}
            self._rows = {key: row for key, row in self._read().items() if key not in gone}
            write(self.file, self.rows)

    def has(self, part: Part, algorithm: str, seed: int, samples: int | None) -> bool:
        """Whether a net has been tested on this many samples, or on all."""
        row = self._rows.get((part.name.part, algorithm, seed))
        if row is None or row.recipe != part.config_hash:
            return False
        return row.samples >= sample_count(algorithm, samples)

    def lacks(self, part: Part, seeds: Iterable[int], samples: int | None) -> list[int]:
        """The seeds of a part that have not been tested in all its algorithms."""
        tasks = part.config.algorithms
        return [s for s in seeds if not all(self.has(part, task, s, samples) for task in tasks)]

    def of_other_recipes(self, parts: Iterable[Part]) -> list[ResultRow]:
        """The rows of parts that were trained with other settings."""
        hashes = {part.name.part: part.config_hash for part in parts}
        return [row for row in self.rows if hashes.get(row.part, row.recipe) != row.recipe]

    def expect_recipes_of(self, parts: Iterable[Part]) -> None:
        """Raise a `ValueError` if rows of parts were trained with other settings."""
        others = self.of_other_recipes(parts)
        if others:
            raise ValueError(
                f"{self.file}: got {format_count(len(others), 'row')} of other settings (the "
                f"first: {others[0].part}, recipe {others[0].recipe}, {others[0].steps} steps), "
                "which are never mixed with those asked for: give another folder (--out), "
                "or remove these rows"
            )


def by_net(rows: Iterable[ResultRow]) -> dict[tuple[str, str], list[ResultRow]]:
    """The rows of all seeds together, by part and algorithm."""
    found: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        found.setdefault((row.part, row.algorithm), []).append(row)
    return found


def file_of(folder: Path | str, experiment: str) -> Path:
    """The file of an experiment's results."""
    return Path(folder) / f"{experiment}.csv"


def is_results(folder: Path | str) -> bool:
    """Whether a folder holds results."""
    return any(file_of(folder, name).exists() for name in (*EXPERIMENTS, SHIPPED))


def sample_count(algorithm: str, samples: int | None) -> int:
    """The number of samples of an algorithm's official test that are used; None means all."""
    whole = SPLITS["test"].count * get(algorithm).eval_multiplier
    return whole if samples is None else min(samples, whole)


def is_whole_test(algorithm: str, samples: int) -> bool:
    """Whether there are as many samples as in an algorithm's official test."""
    return samples >= sample_count(algorithm, None)


def read(file: Path) -> list[ResultRow]:
    """The rows of a file; none, if there is no file."""
    if not file.exists():
        return []
    reader = csv.reader(io.StringIO(_text(file), newline=""))
    try:
        columns = next(reader, [])
        if columns != _COLUMNS:
            raise ValueError(_wrong_columns(columns))
        rows: dict[Key, ResultRow] = {}
        for cells in filter(None, reader):
            row = _row(cells)
            _check(row, file.stem, rows)
            rows[row.key] = row
        return list(rows.values())
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{file}, line {reader.line_num}: {error}") from None


def _wrong_columns(columns: Sequence[str]) -> str:
    """What is wrong with the columns of a file."""
    if not columns:
        return f"got nothing, expected the columns {', '.join(_COLUMNS)}; remove the empty file"
    missing = [name for name in _COLUMNS if name not in columns]
    others = [shorten(name) for name in columns if name not in _COLUMNS]
    if len(others) < len(columns):
        if missing:
            return f"got no column {', '.join(missing)}; restore what was there"
        if others:
            return f"got the further column {', '.join(others)}; remove it"
    return f"got the columns {', '.join(columns)}, expected {', '.join(_COLUMNS)}"


def _text(file: Path) -> str:
    data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")  # a spreadsheet may have written it
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{file}, line {line}: got bytes that are no UTF-8, expected a text file"
        ) from None


def _row(cells: list[str]) -> ResultRow:
    if len(cells) != len(_COLUMNS):
        raise ValueError(
            f"got {format_count(len(cells), 'value')}, expected {len(_COLUMNS)}; remove the line"
        )
    return ResultRow(
        **{name: _value(name, cell) for name, cell in zip(_COLUMNS, cells, strict=True)}
    )


def _check(row: ResultRow, experiment: str, before: Iterable[Key]) -> None:
    """Raise a `ValueError` for a row with impossible values, of another experiment, or repeated."""
    if row.experiment != experiment:
        raise ValueError(f"got a row of {shorten(row.experiment)}, expected {experiment}")
    for name in ("score", "correct"):
        value = getattr(row, name)
        is_share = name == "correct" or row.algorithm in ALGORITHMS  # others may have errors
        if not math.isfinite(value) or (is_share and value > 100):
            raise ValueError(f"got {value} for {name}, expected one in per cent")
    if row.seed < 0:
        raise ValueError(f"got {row.seed} for seed, expected 0 or more")
    if row.key in before:
        raise ValueError(
            f"got a second row of {row.part}, {row.algorithm}, seed {row.seed}; remove one of them"
        )


def _value(name: str, cell: str) -> Any:
    try:
        return _TYPES[name](cell)
    except ValueError:
        expected = "a whole number" if _TYPES[name] is int else "a number"
        raise ValueError(f"got {shorten(cell)} for {name}, expected {expected}") from None


def write(file: Path, rows: Iterable[ResultRow]) -> None:
    """Write a file so that its readers see all of it or the one before."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, rows))
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, text.getvalue())
