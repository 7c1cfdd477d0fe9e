"""`algorist bench`: what training and evaluation cost on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from algorist.commands import Command, bench_evaluation, bench_steps, bench_training
from algorist.commands.arguments import add_compute_options
from algorist.report.terminal import Terminal

_PARTS = {
    "steps": (bench_steps, "training steps, on the same window again and again"),
    "training": (bench_training, "trainings, with data and validation"),
    "evaluation": (bench_evaluation, "tests on the benchmark's fixed sets"),
}
"""What can be measured: by which module, and what it is."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be measured, and how."""
    parts = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, (module, text) in _PARTS.items():
        sub = parts.add_parser(name, help=text, description=f"Measure {text}.", allow_abbrev=False)
        module.add_arguments(sub)
        sub.add_argument("--json", metavar="FILE", help="write all numbers to this file too")
        add_compute_options(sub, training=name != "evaluation")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print a table, a row as soon as it is known."""
    module, _ = _PARTS[arguments.what]
    return int(module.run(arguments, terminal))


command = Command(
    help="measure what training and evaluation cost on this machine",
    examples="""\
algorist bench steps
algorist bench steps bfs dfs --size 4,16 --replicas 1,10 --json steps.json
algorist bench steps --all --chunk 16 --processor triplet_mpnn
algorist bench steps floyd_warshall --profile
algorist bench training --all --seeds 0,1,2 --cycles 300 --json generalist.json
algorist bench training --all --each --cycles 100 --at-once 3
algorist bench evaluation runs/bfs
algorist bench evaluation --algorithms dfs,heapsort --replicas 3""",
    add_arguments=add_arguments,
    run=run,
)
