"""`algorist export`: a run's best net as one file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from algorist.commands import Command
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("model", metavar="MODEL", help="a run's folder, or a saved learner")
    parser.add_argument("file", metavar="FILE", help="the safetensors file to write")
    parser.add_argument("--seed", type=int, help="only the net of this seed (default: all)")
    parser.add_argument("--half", action="store_true", help="in half precision: half the size")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the file."""
    from algorist.model.learner import load

    learner = load(arguments.model)
    if arguments.seed is not None:
        seeds = [replica["seed"] for replica in learner.about.get("replicas", [])]
        if arguments.seed not in seeds:
            raise ValueError(f"--seed: got {arguments.seed}, expected one of {seeds}")
        learner = learner.replica(seeds.index(arguments.seed))
    learner.save(arguments.file, half=arguments.half)
    terminal.print(f"written to {arguments.file}: algorist.load({arguments.file!r}) reads it")


command = Command(
    help="write a run's best net, with its configuration, to one safetensors file",
    examples="""\
algorist export runs/bfs bfs.safetensors
algorist export runs/bfs bfs.safetensors --seed 1 --half""",
    add_arguments=add_arguments,
    run=run,
)
