"""Several learners, or several sizes of problems, side by side: as a table and as a plot."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

from algorist.report.drawing import COLOURS, render, save
from algorist.report.format_numbers import format_percent, standard_error
from algorist.report.scores import ScoreRow, mean_scores
from algorist.report.terminal import bare_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FEW_LINES = 8
"""More algorithms than this are drawn as their mean alone."""


class ScoreColumn(NamedTuple):
    """Which learner was scored, on problems of which size; None: on a set that has its own."""

    model: str
    size: int | None


def comparison_table(scores: Mapping[ScoreColumn, Sequence[ScoreRow]], sign: str) -> Table:
    """A row for each algorithm and a column for each learner and size, in per cent."""
    table = bare_table()
    table.add_column("score %", no_wrap=True)
    for heading in _headings(list(scores)):
        table.add_column(heading, justify="right", no_wrap=True)
    for cells in comparison_rows(scores, sign):
        table.add_row(*cells)
    return table


def comparison_rows(
    scores: Mapping[ScoreColumn, Sequence[ScoreRow]], sign: str
) -> Iterator[list[str]]:
    """The name of each algorithm and its score in every column; last the means, if there are many.

    A column that lacks an algorithm has no mean: it would be that of other algorithms.
    """
    by_name = [{row.algorithm: row for row in rows} for rows in scores.values()]
    names = _algorithms(scores)
    for name in names:
        yield [name, *(own[name].score_text(sign) if name in own else "-" for own in by_name)]
    if len(names) > 1:
        means = [
            format_percent(mean_scores(rows).scores, sign=sign) if len(own) == len(names) else "-"
            for own, rows in zip(by_name, scores.values(), strict=True)
        ]
        yield ["mean", *means]


def _headings(columns: Sequence[ScoreColumn]) -> list[str]:
    """What tells the columns apart: the learner, the size, or both."""
    models, sizes = {c.model for c in columns}, {c.size for c in columns}
    if len(sizes) == 1:
        return [column.model for column in columns]
    return [f"n = {c.size}" if len(models) == 1 else f"{c.model}\nn = {c.size}" for c in columns]


def _algorithms(scores: Mapping[ScoreColumn, Sequence[ScoreRow]]) -> list[str]:
    return list(dict.fromkeys(row.algorithm for rows in scores.values() for row in rows))


def plot_sizes(scores: Mapping[ScoreColumn, Sequence[ScoreRow]], file: Path) -> None:
    """Draw scores over sizes: a line for each learner and algorithm, or for each learner's mean.

    The ending of the file says whether it is a PNG or an SVG. Bars are standard errors over seeds.
    """
    figure = render(lambda: _figure(scores))
    save(figure, file)


def _figure(scores: Mapping[ScoreColumn, Sequence[ScoreRow]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    sizes = sorted({column.size for column in scores if column.size is not None})
    for (label, points), colour in zip(_lines(scores).items(), _repeated(), strict=False):
        _draw_line(axes, label, points, colour)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(0, 102)
    axes.set_xlabel("nodes")
    axes.set_ylabel("score in per cent")
    axes.legend(fontsize=8, frameon=False)
    return figure


def _repeated() -> list[str]:
    return list(COLOURS) * 32


def _draw_line(axes: Axes, label: str, points: Mapping[int, Sequence[float]], colour: str) -> None:
    means = [100 * statistics.fmean(values) for values in points.values()]
    errors = [100 * standard_error(v) if len(v) > 1 else 0.0 for v in points.values()]
    axes.errorbar(
        list(points), means, yerr=errors, label=label, color=colour, marker="o", capsize=2
    )


def _lines(scores: Mapping[ScoreColumn, Sequence[ScoreRow]]) -> dict[str, dict[int, list[float]]]:
    """The scores of each seed by label, then by size."""
    models, names = list(dict.fromkeys(c.model for c in scores)), _algorithms(scores)
    lines: dict[str, dict[int, list[float]]] = {}
    for column, rows in scores.items():
        if column.size is None:
            continue
        shares = [row for row in rows if not row.spec.scored_by_error]
        if len(names) * len(models) <= _FEW_LINES:
            for row in shares:
                label = row.algorithm if len(models) == 1 else f"{row.algorithm}, {column.model}"
                lines.setdefault(label, {})[column.size] = list(row.scores)
        elif shares:
            label = f"mean of {len(names)}" if len(models) == 1 else column.model
            lines.setdefault(label, {})[column.size] = mean_scores(shares).scores
    return lines
