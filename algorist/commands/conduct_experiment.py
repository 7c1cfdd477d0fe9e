"""An experiment at the command line: what is left of it is done, shown and written down."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import algorist
from algorist.commands.arguments import computing
from algorist.commands.conduct_each import conduct_in_slots
from algorist.errors import counted
from algorist.experiments.examining import Examiner
from algorist.experiments.plan import EXPERIMENTS, Plan
from algorist.experiments.results import Results
from algorist.experiments.work import Job, data_prepared, jobs
from algorist.plugins import shell
from algorist.report.experiments import Standing
from algorist.report.numbers import scored
from algorist.report.progress import ProgressOfEach
from algorist.report.terminal import Terminal
from algorist.training.job_pool import GpuContext
from algorist.training.loading import is_run
from algorist.training.parallel import expect_alone
from algorist.training.run import pack


def conduct_experiment(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    """Train and test all that is left of an experiment; returns the exit code."""
    expect_alone()
    name, how = arguments.name, computing(arguments)
    results, left = _left(plan, name, arguments)
    results.expect_recipes_of(plan.trained_for(name))
    _say_what_is_shared(plan, name, terminal)
    if not plan.trained_for(name):
        terminal.print(f"{name}: nothing is trained for it alone")
        return 0
    if not left:
        terminal.print(f"{name}: all is done, see {results.file}")
        return 0
    examiner = Examiner(results, arguments.samples, algorist.__version__)
    by_title = {job.title: job for job in left}

    def work(
        title: str, context: GpuContext, progress: ProgressOfEach, stopping: Callable[[], bool]
    ) -> bool:
        job = by_title[title]
        run = job.run(how, context)
        with progress.watching(title, run.trainer) as observe:
            trained = job.train(run, stopping, observe)
        if not trained:
            progress.end(title, f"saved at step {run.trainer.step}")
            return False
        if not examiner.examine(job, run.trainer, stopping):
            progress.end(title, "trained, to be tested")
            return False
        progress.end(title, score(results, job, terminal))
        return True

    conducted = conduct_in_slots(list(by_title), {}, data_prepared(left), work, arguments, terminal)
    done = f"{len(conducted.done)} of {counted(len(left), 'run')} done"
    terminal.print(f"{done}, see {results.file}" if conducted.done else done)
    if conducted.can_go_on:
        terminal.print("to go on: the same command again")
    conducted.complain()
    return conducted.exit_code


def score(results: Results, job: Job, terminal: Terminal) -> str:
    """What a run scored, over all its algorithms."""
    part = job.part.name.part
    scores: dict[int, list[float]] = {seed: [] for seed in job.seeds}
    for row in results.rows:
        if row.part == part and row.seed in scores:
            scores[row.seed].append(row.score / 100)
    means = [sum(own) / len(own) for own in scores.values()]
    error = job.part.config.scored_by_error
    return f"done, test {scored(means, terminal.plus_minus, error=error)}"


def _left(plan: Plan, experiment: str, arguments: Namespace) -> tuple[Results, list[Job]]:
    """The results of an experiment, and what is left to do."""
    parts = plan.trained_for(experiment)
    results = Results(arguments.out, experiment)
    left = jobs(parts, range(arguments.seeds), arguments.samples, results, Path(arguments.runs))
    return results, list(left)


def _say_what_is_shared(plan: Plan, experiment: str, terminal: Terminal) -> None:
    others = _shared(plan, experiment)
    for other, count in others.items():
        if other != experiment:
            terminal.print(f"shared with {other}: {count} (algorist reproduce {other})")


def _shared(plan: Plan, experiment: str) -> Counter[str]:
    """How many parts of an experiment are trained for others."""
    return Counter(part.source.experiment for part in plan.of(experiment) if part.is_repeated)


def standing(plan: Plan, experiment: str, arguments: Namespace) -> Standing:
    """How far an experiment has come."""
    results, left = _left(plan, experiment, arguments)
    open_parts = {job.part.name for job in left}
    return Standing(
        name=experiment,
        metadata=EXPERIMENTS[experiment].metadata,
        parts=len(plan.trained_for(experiment)),
        done=len(plan.trained_for(experiment)) - len(open_parts),
        begun=len({job.part.name for job in left if job.has_begun}),
        rows=len(results.rows),
        others=len(results.of_other_recipes(plan.trained_for(experiment))),
    )


def pack_experiment(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    """Write all runs that have begun and are not done in few bytes, to go on elsewhere."""
    _, left = _left(plan, arguments.name, arguments)
    return pack_jobs(left, arguments.pack, ["reproduce", arguments.name], terminal)


def pack_jobs(left: Iterable[Job], folder: str, command: Sequence[str], terminal: Terminal) -> int:
    """Write the runs of some jobs in few bytes, for a command to go on with them elsewhere."""
    begun = [job for job in left if job.has_begun]
    targets = {job: job.packed_in(Path(folder)) for job in begun}
    for job, target in targets.items():
        job.expect_own()
        if is_run(target):
            raise ValueError(f"--pack: {target} is there already; remove it or name another folder")
    for job, target in targets.items():
        pack(job.folder, target)
        terminal.print(f"{job.title}: written to {target}")
    if begun:
        go_on = shell(*command, "--runs", folder)
        terminal.print(f"to go on elsewhere: {go_on}, with the same settings")
    else:
        terminal.print("there is nothing to pack: no run has begun that is not done")
    return 0
