"""Tables of results: as Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from algorist.atomic import replace_text
from algorist.report.means import Mean

Cell = Mean | float | int | str | None
"""None: missing."""

_MISSING = "–"
_LATEX = {
    "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "–": "--",
    ">": "$>$", "<": "$<$",
}  # fmt: skip
_FITTING = 6
"""Columns of a LaTeX table that have room beside each other."""


@dataclass(frozen=True)
class Table:
    """A name and some cells in each row."""

    name: str
    """The name of its files."""
    title: str
    caption: str
    headings: Sequence[str]
    """The heading of the first column, then those of the cells."""
    rows: Sequence[tuple[str, Sequence[Cell]]]
    summary: Sequence[tuple[str, Sequence[Cell]]] = ()
    """Rows below a line."""
    notes: Sequence[str] = field(default=())
    """What is missing."""

    def __post_init__(self) -> None:
        for label, cells in (*self.rows, *self.summary):
            assert len(cells) == len(self.headings) - 1, (self.name, label)

    def markdown(self) -> str:
        """With title, caption and notes."""
        notes = "".join(f"- {note}\n" for note in self.notes)
        return f"## {self.title}\n\n{self.caption}\n\n{self.grid()}" + (
            f"\n{notes}" if notes else ""
        )

    def grid(self) -> str:
        """The table alone, as Markdown."""
        lines = [_piped(self.headings), _piped(["---"] + ["---:"] * (len(self.headings) - 1))]
        lines += [_piped([label, *map(cell_text, cells)]) for label, cells in self.rows]
        lines += [_piped([f"**{label}**", *map(cell_text, cells)]) for label, cells in self.summary]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """In full precision; a mean and its error stand in two columns."""
        output = io.StringIO()
        writer = csv.writer(output, lineterminator="\n")
        rows = [*self.rows, *self.summary]
        double = [
            any(isinstance(cells[place], Mean) for _, cells in rows)
            for place in range(len(self.headings) - 1)
        ]
        first, *others = self.headings
        titles = zip(others, double, strict=True)
        writer.writerow(
            [first, *(t for title, two in titles for t in [title, f"{title} error"][: 1 + two])]
        )
        for label, cells in rows:
            pairs = zip(cells, double, strict=True)
            writer.writerow([label, *(x for cell, two in pairs for x in _numbers(cell, two))])
        return output.getvalue()

    def latex(self) -> str:
        """A table for a paper that uses booktabs and, if there are many columns, graphicx."""
        columns = len(self.headings) - 1
        lines = [r"\begin{table}[ht]", r"\centering", rf"\caption{{{_tex(self.caption)}}}"]
        lines += [r"\resizebox{\textwidth}{!}{%"] if columns > _FITTING else []
        lines += [rf"\begin{{tabular}}{{l{'r' * columns}}}", r"\toprule"]
        lines += [_row(self.headings), r"\midrule"]
        lines += [_row([label, *cells]) for label, cells in self.rows]
        if self.summary:
            lines += [r"\midrule", *(_row([label, *cells]) for label, cells in self.summary)]
        lines += [r"\bottomrule", r"\end{tabular}" + ("}" if columns > _FITTING else "")]
        lines += [r"\end{table}", *(f"% {note}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The table alone."""
        return (
            f'<div class="wide"><table>\n<thead>{_tr("th", self.headings)}</thead>\n'
            f"<tbody>\n{''.join(_html_rows(self.rows))}</tbody>\n"
            f"<tfoot>\n{''.join(_html_rows(self.summary))}</tfoot>\n</table></div>"
        )

    def write(self, folder: Path) -> None:
        """Write a file of each kind."""
        folder.mkdir(parents=True, exist_ok=True)
        kinds = {"md": self.markdown(), "csv": self.csv(), "tex": self.latex()}
        for ending, content in kinds.items():
            replace_text(folder / f"{self.name}.{ending}", content)


def cell_text(cell: Cell) -> str:
    """A cell as people read it."""
    match cell:
        case None:
            return _MISSING
        case Mean():
            return cell.text()
        case float():
            return f"{cell:.2f}"
        case _:
            return str(cell)


def _numbers(cell: Cell, two: bool) -> list[Cell]:
    parts: list[Cell] = [cell, None]
    if isinstance(cell, Mean):
        parts = [cell.mean, cell.error]
    return parts if two else parts[:1]


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(cells: Iterable[Cell]) -> str:
    return " & ".join(map(_tex_cell, cells)) + r" \\"


def _tex_cell(cell: Cell) -> str:
    words = _tex(cell_text(cell))
    return words.replace("-", "$-$") if isinstance(cell, Mean | float) else words


def _tex(words: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in words)


def _html_rows(rows: Sequence[tuple[str, Sequence[Cell]]]) -> Iterator[str]:
    for label, cells in rows:
        yield f"<tr><th>{escape(label)}</th>{_cells('td', map(cell_text, cells))}</tr>\n"


def _tr(kind: str, cells: Iterable[str]) -> str:
    return f"<tr>{_cells(kind, cells)}</tr>"


def _cells(kind: str, cells: Iterable[str]) -> str:
    return "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells)
