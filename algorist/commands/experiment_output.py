"""What `algorist reproduce` and `algorist sweep` print about their runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.experiments.jobs import Job
    from algorist.experiments.results import Results


def scores_text(results: Results, job: Job, terminal: Terminal) -> str:
    """What a run scored in the test, over all its algorithms."""
    from algorist.experiments.overview import mean_scores
    from algorist.report.format_numbers import format_scores

    error = job.part.config.scored_by_error
    return (
        f"done, test {format_scores(mean_scores(results, job), terminal.plus_minus, error=error)}"
    )


def show_packed(jobs: Iterable[Job], folder: str, words: Sequence[str], terminal: Terminal) -> int:
    """Pack runs, and say how the command of these words goes on with them elsewhere."""
    from algorist.experiments.overview import pack_jobs
    from algorist.plugins import shell

    count = 0
    for job, target in pack_jobs(jobs, Path(folder)):
        terminal.print(f"{job.title}: written to {target}")
        count += 1
    if count:
        go_on = shell(*words, "--runs", folder)
        terminal.print(f"to go on elsewhere: {go_on}, with the same settings")
    else:
        terminal.print("there is nothing to pack: no run has begun that is not done")
    return 0
