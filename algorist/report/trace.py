"""A run in the terminal: the inputs, one row a step with what changed marked, the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from algorist.batch import Batch
from algorist.report.feature_text import FeatureValues
from algorist.report.terminal import GAP, Terminal, bare_table
from algorist.spec import Kind, Location, Stage

CHANGED = "bold yellow"
_MARK = "*"
_STEP = "step"
_CHANGES_WIDTH = 40


@dataclass(frozen=True)
class _Column:
    """A hint as a column of a table: its heading, and one cell a step."""

    heading: str
    cells: list[Text]

    @property
    def width(self) -> int:
        lines = self.heading.split("\n")
        return max(max(map(len, lines)), max(cell.cell_len for cell in self.cells))


def show_trace(
    terminal: Terminal,
    batch: Batch,
    *,
    hints: Sequence[str] | None = None,
    steps: slice = slice(None),
) -> None:
    """Print the first sample of a batch; `hints` (names) and `steps` choose columns and rows."""
    _show_stage(terminal, batch, Stage.INPUT)
    chosen = list(batch.hints) if hints is None else hints
    rows = range(int(batch.lengths[0]))[steps]
    show_steps(
        terminal,
        [FeatureValues.of(batch.spec[name], batch.hints[name][:, 0]) for name in chosen],
        rows,
    )
    _show_stage(terminal, batch, Stage.OUTPUT)


def show_steps(terminal: Terminal, hints: Sequence[FeatureValues], rows: Sequence[int]) -> None:
    """Print one row for each of the steps `rows`, and a column for each hint."""
    if not hints or not rows:
        return
    columns = [_column(values, rows, terminal) for values in hints]
    for group in _side_by_side(columns, terminal.width):
        terminal.print(_table(group, rows))
        terminal.print()


def _show_stage(terminal: Terminal, batch: Batch, stage: Stage) -> None:
    """Inputs or outputs: a line each, graphs as matrices where there is room."""
    table = bare_table(show_header=False)
    for name, array in batch.at(stage).items():
        values = FeatureValues.of(batch.spec[name], array[:1])
        table.add_row(Text(f"{stage} {name}", "bold"), _value(values, terminal.width - 20))
    terminal.print(table)
    terminal.print()


def _value(values: FeatureValues, width: int) -> Text:
    """A line (or several) of values, a matrix, or for large graphs how many values there are."""
    numbers = values.numbers[0]
    if numbers.ndim < 2:
        return Text(" ".join(values.texts(0)))
    n = len(numbers)
    if n * 2 > width or n * ((cell := values.width) + 1) > width:
        return Text(f"{n} x {n} values, {np.count_nonzero(numbers)} of them not 0")
    texts = values.texts(0)
    if values.feature.kind == Kind.SCALAR:  # weights: where there is no edge, say nothing
        texts = [text if number else "." for text, number in zip(texts, numbers.flat, strict=True)]
    rows = [texts[i : i + n] for i in range(0, n * n, n)]
    return Text("\n".join(" ".join(text.rjust(cell) for text in row) for row in rows))


def _column(values: FeatureValues, rows: Iterable[int], terminal: Terminal) -> _Column:
    count, room = values.numbers[0].size, terminal.width - len(_STEP) - GAP
    if values.feature.location == Location.EDGE or count * 2 > room:
        return _changes_column(values, rows)
    cell = values.width
    if count * (cell + len(_MARK)) > room:
        return _changes_column(values, rows)
    heading = values.heading
    if values.numbers.ndim > 1:  # a ruler with the nodes above their values
        heading += "\n" + " ".join(str(i % 10**cell).rjust(cell) for i in range(count))
    return _Column(heading, [_marked(values, step, cell, terminal.plain) for step in rows])


def _marked(values: FeatureValues, step: int, width: int, plain: bool) -> Text:
    """All values of a step; those that changed or are wrong are coloured, or have an asterisk."""
    line = Text(no_wrap=True)
    for text, marked in zip(values.texts(step), values.marked(step).flat, strict=True):
        line.append(text.rjust(width), CHANGED if marked else None)
        line.append(_MARK if marked and plain else " ")
    return line


def _changes_column(values: FeatureValues, rows: Iterable[int]) -> _Column:
    """For features with too many values for a row: only those that are marked."""
    heading = f"{values.heading}\n({values.mark_means})"
    return _Column(heading, [_changes(values, step) for step in rows])


def _changes(values: FeatureValues, step: int) -> Text:
    if step == 0:
        return Text(f"{np.count_nonzero(values.numbers[0])} not 0")
    places = np.argwhere(values.marked(step))
    line = ""
    for shown, place in enumerate(places):
        more = f"[{','.join(map(str, place))}]={values.text(values.numbers[step][tuple(place)])} "
        if len(line) + len(more) > _CHANGES_WIDTH:
            return Text(f"{line}+{len(places) - shown} more", CHANGED)
        line += more
    return Text(line, CHANGED)


def _side_by_side(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """The columns in groups that fit the terminal's width, in order."""
    groups: list[list[_Column]] = []
    room = 0
    for column in columns:
        room -= column.width + GAP
        if room < 0 or not groups:
            groups.append([])
            room = width - len(_STEP) - GAP - column.width - GAP
        groups[-1].append(column)
    return groups


def _table(columns: Sequence[_Column], rows: Sequence[int]) -> Table:
    table = bare_table()
    table.add_column(_STEP, justify="right", no_wrap=True, overflow="crop")
    for column in columns:
        table.add_column(Text(column.heading), no_wrap=True, overflow="crop")
    for row, cells in zip(rows, zip(*(c.cells for c in columns), strict=True), strict=True):
        table.add_row(str(row), *cells)
    return table
