"""`algorist pack`: a run in few bytes, to go on with it elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from algorist.commands import Command
from algorist.commands.output_files import check_output_folder
from algorist.plugins import shell
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the run")
    parser.add_argument("out", metavar="OUT", help="a new folder, for the packed run")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the folder."""
    from algorist.training.run_files import pack_run

    check_output_folder("OUT", arguments.out)
    files = pack_run(arguments.folder, arguments.out)
    size = sum(file.stat().st_size for file in files) / 1e6
    terminal.print(f"written to {arguments.out}: {len(files)} files, {size:.1f} MB")
    terminal.print(f"to go on: {shell('resume', arguments.out)}")


command = Command(
    help="write a run in few bytes, to continue it on another machine",
    examples="algorist pack runs/generalist packed",
    add_arguments=add_arguments,
    run=run,
)
