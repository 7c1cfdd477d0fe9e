"""`algorist resume`: continue a run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from algorist.commands import Command
from algorist.commands.arguments import add_at_once, add_compute_options
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.train_one import add_logs, add_stop

    parser.add_argument("folder", metavar="FOLDER", help="the folder of the run, or of --each")
    parser.add_argument("--steps", type=int, metavar="N", help="end at this step instead")
    parser.add_argument(
        "--average",
        type=int,
        metavar="N",
        help="validate and keep a mean of the weights over about this many steps, from now on",
    )
    parser.add_argument(
        "--learning-rate", type=float, metavar="X", help="continue with this learning rate"
    )
    parser.add_argument(
        "--schedule", metavar="NAME", help="continue with this schedule of the rate"
    )
    add_at_once(parser, "of several runs; default: 1, or 3 on a GPU")
    add_stop(parser)
    add_compute_options(parser, training=True)
    add_logs(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Go on where the newest checkpoint stands."""
    from algorist.commands.train_one import check_logs, joined_processes, train_run
    from algorist.training.run import Run
    from algorist.training.saved_learners import is_multi_run

    check_logs(arguments)
    if is_multi_run(Path(arguments.folder)):
        for name in ("average", "learning_rate", "schedule"):
            if getattr(arguments, name) is not None:
                option = f"--{name.replace('_', '-')}"
                raise ValueError(f"{option}: it is for one run, but {arguments.folder} has several")
        return run_each(arguments, terminal)
    if arguments.at_once is not None:
        raise ValueError(f"--at-once: it is for several runs, but {arguments.folder} has only one")
    with joined_processes(arguments, terminal) as (how, peers):
        resumed = Run.resume(
            arguments.folder,
            how,
            arguments.steps,
            peers=peers,
            average=arguments.average,
            learning_rate=arguments.learning_rate,
            schedule=arguments.schedule,
        )
        for change in resumed.trainer.config.changes:
            terminal.print(f"changed at {change}")
        return train_run(resumed, arguments, terminal)


def run_each(arguments: Namespace, terminal: Terminal) -> int:
    """Go on with all runs of a folder that are not done."""
    from algorist.commands.train_each import check_at_once, train_each
    from algorist.training.multi_run import MultiRun

    check_at_once(arguments)
    return train_each(MultiRun.resume(arguments.folder, arguments.steps), arguments, terminal)


command = Command(
    help="continue an interrupted run exactly where it stopped",
    examples="""\
algorist resume runs/bfs
algorist resume runs/bfs --steps 20000 --stop-after 9m
algorist resume runs/specialists --at-once 4
torchrun --nproc-per-node 2 -m algorist resume runs/wide""",
    add_arguments=add_arguments,
    run=run,
)
