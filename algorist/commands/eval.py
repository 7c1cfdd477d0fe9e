"""`algorist eval`: how good a learner is."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable

from algorist.batch import Batch
from algorist.commands import Command
from algorist.commands.arguments import add_computing, add_options, loaded, options
from algorist.data import official
from algorist.errors import unknown
from algorist.report.terminal import Terminal

_COUNT = 32


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("model", metavar="MODEL", help="a run's folder, or a saved learner")
    parser.add_argument(
        "algorithms",
        nargs="*",
        default=[],
        metavar="ALGORITHM",
        help="only these (default: all that it knows)",
    )
    fixed = parser.add_argument_group("the benchmark's fixed sets", "Used unless --n is given.")
    fixed.add_argument(
        "--split", choices=list(official.SPLITS), help="which one (default: test, at n = 64)"
    )
    fixed.add_argument("--samples", type=int, metavar="K", help="only the first K samples")
    fresh = parser.add_argument_group("fresh problems")
    fresh.add_argument("--n", type=int, help="their size")
    fresh.add_argument("--count", type=int, help=f"how many (default: {_COUNT})")
    fresh.add_argument("--seed", type=int, help="seed of the draws (default: 0)")
    add_options(parser)
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--hints", action="store_true", help="also the score of every hint")
    shown.add_argument(
        "--over-time", action="store_true", help="also how the hints' scores change over a run"
    )
    shown.add_argument("--json", action="store_true", help="print JSON, with every seed's scores")
    add_computing(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of scores, or JSON."""
    from algorist.report import scores

    fixed, fresh = arguments.split or "test", _fresh(arguments)
    draw = fresh or scores.first_samples(fixed, arguments.samples)
    learner = loaded(arguments.model, arguments)
    chosen = known(arguments.algorithms, learner.algorithms)
    hints = arguments.hints or arguments.over_time
    if hints and learner.net.config.hints == "none":
        raise ValueError("--hints, --over-time: this learner predicts no hints")
    rows = list(scores.measured(learner, chosen, draw, hints=hints))
    if arguments.json:
        print(json.dumps([row.plain() for row in rows], indent=2))
        return
    sign, paper = terminal.plus_minus, fresh is None and fixed == "test"
    terminal.print(scores.score_table(rows, sign, paper=paper))
    if paper:
        terminal.print("\npaper: Triplet-GMPNN trained on one algorithm each (Ibarz et al., 2022)")
    if arguments.hints:
        terminal.print()
        terminal.print(scores.hint_table(rows, sign))
    if arguments.over_time:
        terminal.print()
        terminal.print(scores.time_table(rows))


def known(wanted: Iterable[str], algorithms: tuple[str, ...]) -> list[str]:
    """The algorithms to test: those wanted, if the learner knows them, or all."""
    for name in wanted:
        if name not in algorithms:
            raise ValueError(unknown("algorithm for this learner", name, algorithms))
    return list(wanted) or list(algorithms)


def _fresh(arguments: Namespace) -> Callable[[str], Batch] | None:
    """Draws fresh problems, if they are asked for."""
    if arguments.n is None:
        for name in ("count", "seed", "option"):
            if getattr(arguments, name) not in (None, []):
                raise ValueError(f"--{name}: only fresh problems have it, expected --n too")
        return None
    for name in ("split", "samples"):
        if getattr(arguments, name) is not None:
            raise ValueError(f"--{name}: only fixed sets have it, expected no --n")
    count = _COUNT if arguments.count is None else arguments.count
    seed = 0 if arguments.seed is None else arguments.seed
    given = options(arguments.option)
    return lambda algorithm: official.generate(
        algorithm, n=arguments.n, count=count, seed=seed, **given
    )


command = Command(
    help="score a learner on the benchmark's tests, or on fresh problems of any size",
    examples="""\
algorist eval runs/bfs
algorist eval runs/bfs --split val --hints --over-time
algorist eval runs/bfs --n 32 --count 64 --seed 7 --option p=0.2
algorist eval model.safetensors dijkstra bfs --samples 8 --json""",
    add_arguments=add_arguments,
    run=run,
)
