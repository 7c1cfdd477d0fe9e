"""Scores of a learner for some algorithms, shown as tables or as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from algorist.errors import format_count
from algorist.evaluation.evaluator import Evaluation
from algorist.experiments.results import is_whole_test
from algorist.report.format_numbers import format_mean, format_percent, to_json
from algorist.report.published import published
from algorist.report.terminal import bare_table
from algorist.spec import SCALARS, Kind, Spec

PAPER = "triplet_gmpnn"
"""The published net that ours are set beside."""
_SHOWN_STEPS = 10
_ENOUGH = 16
"""Samples of a test from which a score is more than an anecdote."""


@dataclass(frozen=True)
class ScoreRow:
    """The scores of a learner in one algorithm, with an evaluation for each replica."""

    algorithm: str
    spec: Spec
    n: int
    samples: int
    evaluations: Sequence[Evaluation]

    @property
    def scores(self) -> list[float]:
        """The benchmark's number."""
        return [evaluation.score for evaluation in self.evaluations]

    def score_text(self, sign: str = "±") -> str:
        """The benchmark's number in per cent, or as it is where it is an error."""
        if self.spec.scored_by_error:
            return f"error {format_mean(self.scores, '.3g', sign)}"
        return format_percent(self.scores, sign=sign)

    @property
    def is_whole(self) -> bool:
        """Whether there are as many samples as in the official test."""
        return is_whole_test(self.algorithm, self.samples)

    @property
    def correct(self) -> list[float]:
        """The share of right answers."""
        return [evaluation.correct for evaluation in self.evaluations]

    def outputs(self) -> dict[str, list[float]]:
        """The score of each output."""
        return _by_name([evaluation.outputs for evaluation in self.evaluations])

    def hints(self) -> dict[str, list[float]]:
        """The score of each hint."""
        return _by_name([evaluation.hints for evaluation in self.evaluations])

    def forced_hints(self) -> dict[str, list[float]]:
        """The score of each hint with the true ones given at every step."""
        return _by_name([evaluation.forced_hints for evaluation in self.evaluations])

    def plain(self) -> dict[str, Any]:
        """Everything, with None where there is nothing to score, as JSON has it."""
        replicas = [
            {"score": evaluation.score, **asdict(evaluation)} for evaluation in self.evaluations
        ]
        row = {"algorithm": self.algorithm, "n": self.n, "samples": self.samples}
        return row | {"replicas": to_json(replicas)}


def few_samples(rows: Sequence[ScoreRow]) -> str:
    """A warning about scores on so few samples that chance decides them, or nothing."""
    fewest = min((row.samples for row in rows if not row.is_whole), default=_ENOUGH)
    if fewest >= _ENOUGH:
        return ""
    return (
        f"Only {format_count(fewest, 'sample')} of each test: that is few, and each score may be "
        "tens of points off. Test on all samples before you compare."
    )


def score_table(rows: Sequence[ScoreRow], sign: str, *, paper: bool) -> Table:
    """A row for each algorithm; `paper` adds what was published for the benchmark's test."""
    table = _table("algorithm")
    for heading in ("n", "samples"):
        table.add_column(heading, justify="right")
    table.add_column("outputs %")
    for heading in ("score %", "correct %", *(["paper %"] if paper else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cells = [row.score_text(sign), format_percent(row.correct, sign=sign)]
        if paper:
            known = published().get(row.algorithm)
            cells.append(known[PAPER].text(sign) if known else "-")
        outputs = (f"{name} {_cell(row, name, x, sign)}" for name, x in row.outputs().items())
        table.add_row(row.algorithm, str(row.n), str(row.samples), "\n".join(outputs), *cells)
    if len(rows) > 1:
        table.add_row(*_means(rows, sign, paper=paper))
    return table


class Means(NamedTuple):
    """Means over algorithms, one for each replica."""

    scores: list[float]
    correct: list[float]


def mean_scores(rows: Sequence[ScoreRow]) -> Means:
    """The means over all algorithms that were tested, of scores over those that have shares."""
    shares = [[math.nan if r.spec.scored_by_error else x for x in r.scores] for r in rows]
    return Means(
        [_mean(column) for column in zip(*shares, strict=True)],
        [_mean(column) for column in zip(*(row.correct for row in rows), strict=True)],
    )


def published_mean(rows: Sequence[ScoreRow]) -> float | None:
    """The published mean over the same algorithms, if there is a score of each."""
    known = [published()[r.algorithm][PAPER].mean for r in rows if r.algorithm in published()]
    return _mean(known) if len(known) == len(rows) else None


def _means(rows: Sequence[ScoreRow], sign: str, *, paper: bool) -> list[str]:
    means, known = mean_scores(rows), published_mean(rows)
    cells = ["mean", "", "", "", *(format_percent(values, sign=sign) for values in means)]
    return [*cells, "-" if known is None else f"{known:.2f}"] if paper else cells


def hint_table(rows: Sequence[ScoreRow], sign: str) -> Table:
    """A row for each hint, with its score where true hints are given, if that was measured."""
    table = _table("algorithm", "hint", "kind")
    table.add_column("score % (scalars: squared error)", justify="right", no_wrap=True)
    if any(row.forced_hints() for row in rows):
        table.add_column("given the true hints", justify="right", no_wrap=True)
    for row in rows:
        forced = row.forced_hints()
        for name, values in row.hints().items():
            cells = [values, *([forced[name]] if forced else [])]
            texts = [_cell(row, name, cell, sign) for cell in cells]
            table.add_row(row.algorithm, name, _kind(row.spec[name].kind), *texts)
    return table


def time_table(rows: Sequence[ScoreRow]) -> Table:
    """How the hints' scores change over a run: means over the replicas at a few steps."""
    table = _table("algorithm", "hint")
    rows = [row for row in rows if row.evaluations[0].hints_over_time]
    longest = max(
        (len(x) for row in rows for x in row.evaluations[0].hints_over_time.values()), default=0
    )
    for number in range(min(_SHOWN_STEPS, longest)):
        table.add_column("step ..." if number == 0 else "", justify="right", no_wrap=True)
    for row in rows:
        steps = _few_steps(max(map(len, row.evaluations[0].hints_over_time.values())))
        table.add_row(row.algorithm, "", *(str(step + 1) for step in steps))
        for name in row.evaluations[0].hints_over_time:
            series = [evaluation.hints_over_time[name] for evaluation in row.evaluations]
            means = ([_mean([one[step] for one in series])] for step in steps)
            shown = f"{name} (squared error)" if row.spec[name].kind in SCALARS else name
            table.add_row("", shown, *(_cell(row, name, mean, "", 1) for mean in means))
    return table


def _few_steps(count: int) -> list[int]:
    return sorted({round(x) for x in np.linspace(0, count - 1, min(count, _SHOWN_STEPS))})


def _kind(kind: Kind) -> str:
    """The kind of the benchmark's feature: gates belong to nets."""
    return str(Kind.SCALAR if kind in SCALARS else kind)


def _cell(row: ScoreRow, name: str, values: Sequence[float], sign: str, digits: int = 2) -> str:
    """A share in per cent, or the squared error of a scalar."""
    if row.spec[name].kind in SCALARS:
        return format_mean(values, ".1g", sign)
    return format_percent(values, digits, sign)


def _table(*headings: str) -> Table:
    table = bare_table()
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    return table


def _by_name(replicas: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    return {name: [replica[name] for replica in replicas] for name in replicas[0]}


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
