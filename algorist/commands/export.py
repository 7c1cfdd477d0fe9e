"""`algorist export`: a run's best net as one file."""

from __future__ import annotations

import subprocess
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

import algorist
from algorist.commands import Command
from algorist.commands.load_models import MODEL
from algorist.commands.output_files import check_learner_file, print_learner_file
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("file", metavar="FILE", help="the safetensors file to write")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, help="only the net of this seed (default: all)")
    which.add_argument(
        "--best", action="store_true", help="only the net that was the best in validation"
    )
    parser.add_argument("--half", action="store_true", help="in half precision: half the size")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the file."""
    from algorist.training.saved_learners import load

    check_learner_file("FILE", arguments.file)
    _expect_outside_runs(Path(arguments.file))
    learner = load(arguments.model)
    if arguments.best:
        learner = learner.best_replica()
    if arguments.seed is not None:
        seeds = [replica["seed"] for replica in learner.metadata.get("replicas", [])]
        if not seeds:
            raise ValueError("--seed: this learner does not say which its seeds are, try --best")
        if arguments.seed not in seeds:
            raise ValueError(f"--seed: got {arguments.seed}, expected one of {seeds}")
        learner = learner.replica(seeds.index(arguments.seed))
    about = {**learner.metadata, "exported": exported()}
    replace(learner, metadata=about).save(arguments.file, half=arguments.half)
    print_learner_file(arguments.file, terminal)


def _expect_outside_runs(file: Path) -> None:
    """Raise a `ValueError` for the file with the best nets of a run, which belongs to the run."""
    from algorist.training.saved_learners import BEST, is_run

    if file.name == BEST and is_run(file.parent):
        raise ValueError(f"FILE: got {file}, which belongs to a run, expected another file")


def exported() -> dict[str, str]:
    """By which version of this library, and by which commit where that is known."""
    commit = commit_of(Path(__file__))
    return {"version": algorist.__version__} | ({"commit": commit} if commit else {})


def commit_of(file: Path) -> str | None:
    """The commit that a file is of; None if it is in no repository, or git is not there."""
    git = ["git", "-C", str(file.parent)]
    try:
        subprocess.run(
            [*git, "ls-files", "--error-unmatch", file.name], capture_output=True, check=True
        )
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip()


command = Command(
    help="write a run's best net, with its configuration, to one safetensors file",
    examples="""\
algorist export runs/bfs bfs.safetensors
algorist export runs/bfs bfs.safetensors --seed 1 --half""",
    add_arguments=add_arguments,
    run=run,
)
