"""Scores of the learners that come with the package, beside the results of experiments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from algorist.evaluation.evaluator import Evaluation
from algorist.experiments.evaluate_runs import rows_of
from algorist.experiments.plan import Name
from algorist.experiments.results import SHIPPED, ResultRow, Results, sample_count
from algorist.model.learner import Learner


def keep_scores(
    folder: Path | str,
    name: str,
    learner: Learner,
    algorithm: str,
    samples: int,
    evaluations: Iterable[Evaluation],
) -> Path:
    """Put scores with the results in a folder; those of older weights of that name are dropped."""
    results = Results(folder, SHIPPED)
    rows = list(rows_of(Name(SHIPPED, name), learner, algorithm, samples, evaluations))
    nets = {_net(row) for row in rows}
    results.remove(row for row in results.rows if row.part == name and _net(row) not in nets)
    results.add(rows)
    return results.file


def _net(row: ResultRow) -> tuple[int, int, float]:
    """The identity of a row's net, among the nets of the same name."""
    return row.seed, row.best_step, row.validation


def expect_not_fewer(folder: Path | str, names: Mapping[str, str], samples: int | None) -> None:
    """Raise a `ValueError` if learners, by algorithm, have scores on more samples already."""
    results = Results(folder, SHIPPED)
    for row in results.rows:
        if names.get(row.algorithm) == row.part and row.samples > sample_count(
            row.algorithm, samples
        ):
            raise ValueError(
                f"samples: got {samples}, but {results.file} has the scores of {row.part} in "
                f"{row.algorithm} on {row.samples}, which would be lost; expected another folder"
            )
