"""Scores on sparse graphs: a table, a plot over sizes, and a file of results."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from algorist.atomic import replace_text
from algorist.report.drawing import COLOURS, render
from algorist.report.format_numbers import format_percent
from algorist.report.terminal import bare_table
from algorist.sparse_scores import SparseEvaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (
    *("model", "algorithm", "graphs", "n", "samples", "seed"),
    *("node_accuracy", "graph_accuracy", "squared_error"),
)


@dataclass(frozen=True)
class SparseScoreRow:
    """The scores of a learner on one algorithm, family and size, with an evaluation per seed."""

    model: str
    algorithm: str
    graphs: str
    n: int
    samples: int
    seeds: Sequence[int]
    evaluations: Sequence[SparseEvaluation]

    def text(self, sign: str = "±") -> str:
        """Node accuracy / graph accuracy, in per cent."""
        nodes = [e.node_accuracy for e in self.evaluations if e.node_accuracy is not None]
        graphs = format_percent([e.graph_accuracy for e in self.evaluations], 1, sign)
        return f"{format_percent(nodes, 1, sign) if nodes else '-'} / {graphs}"

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        row = {name: getattr(self, name) for name in _COLUMNS[:5]}
        return row | {"replicas": [asdict(evaluation) for evaluation in self.evaluations]}


def sparse_table(rows: Sequence[SparseScoreRow], sign: str) -> Table:
    """A row for each learner, algorithm and family, a column for each size."""
    table = bare_table()
    sizes = list(dict.fromkeys(row.n for row in rows))
    models = {row.model for row in rows}
    table.add_column("node / graph %", no_wrap=True)
    for n in sizes:
        table.add_column(f"n = {n}", justify="right", no_wrap=True)
    lines: dict[str, dict[int, str]] = {}
    for row in rows:
        model = f"{row.model} " if len(models) > 1 else ""
        lines.setdefault(f"{model}{row.algorithm} {row.graphs}", {})[row.n] = row.text(sign)
    for name, cells in lines.items():
        table.add_row(name, *(cells.get(n, "-") for n in sizes))
    return table


def plot_sparse(rows: Sequence[SparseScoreRow], file: Path) -> None:
    """Draw the accuracy of nodes, or of graphs where nodes have none, over sizes."""
    figure = render(lambda: _figure(rows))
    figure.savefig(file, dpi=figure.dpi)


def _figure(rows: Sequence[SparseScoreRow]) -> Figure:
    from matplotlib.figure import Figure

    families = list(dict.fromkeys(row.graphs for row in rows))
    names = list(dict.fromkeys((row.model, row.algorithm) for row in rows))
    figure = Figure(figsize=(3.2 * len(families) + 1.2, 3.4), layout="constrained")
    panels = figure.subplots(1, len(families), sharey=True, squeeze=False)[0]
    for axes, family in zip(panels, families, strict=True):
        for i, (model, algorithm) in enumerate(names):
            own = [
                r for r in rows if (r.model, r.algorithm, r.graphs) == (model, algorithm, family)
            ]
            means = [100 * statistics.fmean(e.quality for e in r.evaluations) for r in own]
            label = algorithm if len({m for m, _ in names}) == 1 else f"{algorithm}, {model}"
            colour = COLOURS[i % len(COLOURS)]
            axes.plot([r.n for r in own], means, label=label, color=colour, marker="o")
        sizes = sorted({row.n for row in rows})
        axes.set_xscale("log")
        axes.set_xticks(sizes, [str(n) for n in sizes])
        axes.minorticks_off()
        axes.set_ylim(0, 102)
        axes.set_title(family, fontsize=10)
        axes.set_xlabel("nodes")
    panels[0].set_ylabel("right values in per cent")
    panels[-1].legend(fontsize=8, frameon=False)
    return figure


def keep_sparse(rows: Sequence[SparseScoreRow], folder: Path) -> Path:
    """Put scores into the table of results, one line for each seed, in place of earlier ones."""
    file = folder / "sparse.csv"
    kept = {_key(line): line for line in _lines(file)}
    for row in rows:
        for seed, evaluation in zip(row.seeds, row.evaluations, strict=True):
            values = {name: getattr(row, name) for name in _COLUMNS[:5]}
            measured = {
                name: "" if value is None else f"{value:.5f}"
                for name, value in asdict(evaluation).items()
            }
            line = {name: str(x) for name, x in {**values, "seed": seed, **measured}.items()}
            kept[_key(line)] = line
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept[key] for key in sorted(kept))
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(file, text.getvalue())
    return file


def _lines(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def _key(line: dict[str, str]) -> tuple[str, str, str, int, int]:
    of_text = (line["model"], line["algorithm"], line["graphs"])
    return (*of_text, int(line["n"]), int(line["seed"]))
