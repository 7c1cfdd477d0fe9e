"""An experiment at the command line: what is left of it is done, shown and written down."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import algorist
from algorist.commands.arguments import computing
from algorist.commands.conduct_each import conduct_in_slots
from algorist.data.preparing import prepared
from algorist.experiments.plan import EXPERIMENTS, Plan
from algorist.experiments.results import Results
from algorist.experiments.work import Examiner, Job, jobs
from algorist.report.experiments import Standing
from algorist.report.numbers import percent
from algorist.report.progress import ProgressOfEach
from algorist.report.terminal import Terminal
from algorist.training.logs import TensorBoard
from algorist.training.parallel import expect_alone
from algorist.training.run import Run
from algorist.training.slots import Slot
from algorist.training.trainer import DivergedError


def conduct_experiment(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    """Train and test all that is left of an experiment; returns the exit code."""
    expect_alone()
    name, how = arguments.name, computing(arguments)
    results, left = _left(plan, name, arguments)
    results.expect_recipes_of(plan.trained_for(name))
    _say_what_is_shared(plan, name, terminal)
    if not left:
        terminal.print(f"{name}: all is done, see {results.file}", soft_wrap=True)
        return 0
    examiner = Examiner(results, arguments.samples, algorist.__version__)
    by_title = {job.title: job for job in left}

    def work(
        title: str, slot: Slot, progress: ProgressOfEach, stopping: Callable[[], bool]
    ) -> bool:
        job = by_title[title]
        run = job.run(how, slot)
        if not _trained(job, run, title, progress, stopping):
            progress.end(title, f"saved at step {run.trainer.step}")
            return False
        if not examiner.examine(job, run.trainer, stopping):
            progress.end(title, "trained, to be tested")
            return False
        progress.end(title, _score(results, job, terminal))
        return True

    conducted = conduct_in_slots(list(by_title), {}, _prepared(left), work, arguments, terminal)
    done = f"{len(conducted.done)} of {len(left)} runs are done"
    terminal.print(f"{done}, see {results.file}" if conducted.done else done, soft_wrap=True)
    if len(conducted.done) < len(left):
        terminal.print("to go on: the same command again")
    return conducted.exit_code()


def _prepared(left: Iterable[Job]) -> AbstractContextManager:
    """Prepares what the algorithms of some jobs need for training and for tests."""
    configs = [job.part.config for job in left]
    tasks = sorted({task for config in configs for task in config.algorithms})
    return prepared(tasks, sorted({"test", *(s for c in configs for s in c.data.splits)}))


def _trained(
    job: Job, run: Run, title: str, progress: ProgressOfEach, stopping: Callable[[], bool]
) -> bool:
    """Train a run; whether its last step is reached."""
    if run.trainer.step == run.trainer.config.schedule.steps:
        return True
    with progress.watching(title, run.trainer) as observe:
        try:
            return run.train(
                logs=[TensorBoard(run)],
                observe=observe,
                should_stop=stopping,
            )
        except DivergedError as error:
            job.diverged(error)
            raise


def _score(results: Results, job: Job, terminal: Terminal) -> str:
    """What a run scored, over all its algorithms."""
    part = job.part.name.part
    scores: dict[int, list[float]] = {seed: [] for seed in job.seeds}
    for row in results.rows:
        if row.part == part and row.seed in scores:
            scores[row.seed].append(row.score / 100)
    means = [sum(own) / len(own) for own in scores.values()]
    return f"done, test {percent(means, 1, terminal.plus_minus)} %"


def _left(plan: Plan, experiment: str, arguments: Namespace) -> tuple[Results, list[Job]]:
    """The results of an experiment, and what is left to do."""
    parts = plan.trained_for(experiment)
    results = Results(arguments.out, experiment)
    left = jobs(parts, arguments.seeds, arguments.samples, results, Path(arguments.runs))
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
        about=EXPERIMENTS[experiment].about,
        parts=len(plan.trained_for(experiment)),
        done=len(plan.trained_for(experiment)) - len(open_parts),
        begun=len({job.part.name for job in left if job.has_begun}),
        rows=len(results.rows),
        others=len(results.of_other_recipes(plan.trained_for(experiment))),
    )


def pack_experiment(plan: Plan, arguments: Namespace, terminal: Terminal) -> int:
    """Write all runs that have begun and are not done in few bytes, to go on elsewhere."""
    _, left = _left(plan, arguments.name, arguments)
    begun = [job for job in left if job.has_begun]
    for job in begun:
        written = job.pack(Path(arguments.pack))
        terminal.print(f"{job.title}: written to {written}", soft_wrap=True)
    if begun:
        go_on = f"algorist reproduce {arguments.name} --runs {arguments.pack}"
        terminal.print(f"to go on elsewhere: {go_on}, with the same settings", soft_wrap=True)
    else:
        terminal.print("there is nothing to pack: no run has begun that is not done")
    return 0
