"""Remaining jobs and progress of experiments, and packing of their runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from algorist.experiments.jobs import Job, find_jobs
from algorist.experiments.plan import EXPERIMENTS, Part, Plan
from algorist.experiments.results import Results
from algorist.training.run_files import pack_run
from algorist.training.saved_learners import is_run


class Remaining(NamedTuple):
    """The results of an experiment, and the runs that are left to do."""

    results: Results
    jobs: list[Job]


class ExperimentProgress(NamedTuple):
    """The progress of an experiment."""

    name: str
    about: str
    parts: int
    """Nets to train, each with all its seeds."""
    done: int
    begun: int
    rows: int
    """Results, one for each algorithm and seed."""
    others: int
    """The results among them of other settings."""


def remaining(
    parts: Iterable[Part],
    results: Results,
    seeds: Sequence[int],
    samples: int | None,
    runs: Path,
    *,
    lockstep: bool = True,
) -> Remaining:
    """The remaining jobs of some parts, by their results and the runs in a folder."""
    own = [part for part in parts if not part.is_repeated]
    return Remaining(
        results, list(find_jobs(own, seeds, samples, results, runs, lockstep=lockstep))
    )


def experiment_progress(plan: Plan, experiment: str, left: Remaining) -> ExperimentProgress:
    """The progress of an experiment, given its remaining jobs."""
    parts = plan.trained_for(experiment)
    open_parts = {job.part.name for job in left.jobs}
    return ExperimentProgress(
        name=experiment,
        about=EXPERIMENTS[experiment].about,
        parts=len(parts),
        done=len(parts) - len(open_parts),
        begun=len({job.part.name for job in left.jobs if job.has_begun}),
        rows=len(left.results.rows),
        others=len(left.results.of_other_recipes(parts)),
    )


def shared_parts(plan: Plan, experiment: str) -> Counter[str]:
    """The number of parts that are trained for other experiments."""
    sources = [part.source.experiment for part in plan.of(experiment) if part.is_repeated]
    return Counter(source for source in sources if source != experiment)


def mean_scores(results: Results, job: Job) -> list[float]:
    """The mean score of each seed of a run over its algorithms."""
    scores: dict[int, list[float]] = {seed: [] for seed in job.seeds}
    for row in results.rows:
        if row.part == job.part.name.part and row.seed in scores:
            scores[row.seed].append(row.score / 100)
    return [sum(own) / len(own) for own in scores.values()]


def repeat_rows(parts: Iterable[Part], results: Results) -> None:
    """Give parts that are not trained themselves the rows of those that are trained for them."""
    rows = results.rows
    again = [
        replace(row, part=part.name.part)
        for part in parts
        for row in rows
        if part.is_repeated and row.part == part.source.part
    ]
    if again:
        results.add(again)


def pack_jobs(left: Iterable[Job], folder: Path) -> Iterator[tuple[Job, Path]]:
    """Write the runs that have begun in few bytes below a folder, to go on with them elsewhere."""
    targets = {job: job.packed_in(folder) for job in left if job.has_begun}
    for job, target in targets.items():
        job.expect_own()
        if is_run(target):
            raise ValueError(f"--pack: {target} is there already; remove it or name another folder")
    for job, target in targets.items():
        pack_run(job.folder, target)
        yield job, target
