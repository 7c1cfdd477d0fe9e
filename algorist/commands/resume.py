"""`algorist resume`: go on with a run."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from algorist.commands import Command
from algorist.commands.arguments import add_computing, computing
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.conduct import add_logs, add_stop

    parser.add_argument("folder", metavar="FOLDER", help="the folder of the run")
    parser.add_argument("--steps", type=int, metavar="N", help="end at this step instead")
    add_stop(parser)
    add_computing(parser, training=True)
    add_logs(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Go on where the newest checkpoint stands."""
    from algorist.commands.conduct import conduct
    from algorist.training.run import Run

    resumed = Run.resume(arguments.folder, computing(arguments), arguments.steps)
    return conduct(resumed, arguments, terminal)


command = Command(
    help="go on with a run that was interrupted, exactly where it stood",
    examples="""\
algorist resume runs/bfs
algorist resume runs/bfs --steps 20000 --stop-after 9m""",
    add_arguments=add_arguments,
    run=run,
)
