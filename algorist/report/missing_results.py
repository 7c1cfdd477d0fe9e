"""The experiments that lack results, and about what it would cost to add them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from algorist.experiments.plan import EXPERIMENTS, Part
from algorist.experiments.results import ResultRow
from algorist.report.paper_results import PaperResults
from algorist.report.tables import Cell, Table


def missing_results(results: PaperResults) -> Table:
    """A row for each experiment that has parts without results."""
    rows: list[tuple[str, Sequence[Cell]]] = []
    for name in EXPERIMENTS:
        parts = results.plan.trained_for(name)
        absent = [part for part in parts if not results.has(part.name)]
        if absent:
            hours = estimate_hours(absent, results.rows)
            rows.append((name, [f"{len(absent)} of {len(parts)}", hours, f"reproduce {name}"]))
    return Table(
        "missing-results",
        "Missing results",
        "Nets of the experiments that have no results yet, and about how many hours a GPU needs to "
        "train them, one after the other. Estimated from the training times of the nets that have "
        "results (three seeds of a net for one algorithm, one seed of a net for many; some were "
        "trained beside others). Tests are not included.",
        ["experiment", "nets", "GPU hours", "algorist ..."],
        rows,
    )


def estimate_hours(parts: Sequence[Part], rows: Sequence[ResultRow]) -> float | None:
    """The hours that a GPU needs for some parts; None if no net of this kind was trained on one.

    A net is expected to take as long as one of the same algorithm, if it is for a single one, and
    otherwise its share, by the number of algorithms, of a net for many.
    """
    seconds = [_estimate_seconds(part, rows) for part in parts]
    known = [value for value in seconds if value is not None]
    return sum(known) / 3600 if len(known) == len(seconds) else None


def _estimate_seconds(part: Part, rows: Sequence[ResultRow]) -> float | None:
    tasks, executes = part.config.algorithms, _executes(part.name.experiment)
    alike = [row for row in rows if _executes(row.experiment) == executes and row.device != "cpu"]
    if len(tasks) == 1:
        found = [row for row in alike if row.algorithm == tasks[0] and row.part.endswith(tasks[0])]
    else:
        found = [row for row in alike if row.experiment == "generalist"]
    if not found:
        return None
    seconds = statistics.fmean(row.seconds / row.steps for row in found)
    share = 1.0 if len(tasks) == 1 else len(tasks) / len({row.algorithm for row in found})
    return seconds * share * part.config.schedule.steps


def _executes(experiment: str) -> bool:
    return experiment.startswith("algorist2026")
