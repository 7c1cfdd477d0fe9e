"""`algorist eval`: how good a learner is."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import algorist
from algorist.batch import Batch
from algorist.commands import Command
from algorist.commands.arguments import (
    add_computing,
    add_model,
    add_options,
    expect_place_of_file,
    expect_place_of_folder,
    loaded_for,
    options,
)
from algorist.data import official
from algorist.errors import unknown
from algorist.report.terminal import Terminal
from algorist.weights import DEFAULT, shipped

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.report.scores import Scored

_COUNT = 32
_TEST = "test"
_PAPER = "Triplet-GMPNN trained on one algorithm each (Ibarz et al., 2022)"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument(
        "algorithms",
        nargs="*",
        default=[],
        metavar="ALGORITHM",
        help="only these (default: all that it knows); the first word may be a MODEL",
    )
    add_model(parser)
    parser.set_defaults(model=None)  # to know whether it was given
    fixed = parser.add_argument_group("the benchmark's fixed sets", "Used unless --n is given.")
    fixed.add_argument(
        "--official",
        action="store_true",
        help="the official test, at n = 64 (this is what is used if nothing else is asked for)",
    )
    fixed.add_argument("--split", choices=list(official.SPLITS), help=f"another (default: {_TEST})")
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
    kept = parser.add_argument_group("what is kept", "Of the official test alone.")
    kept.add_argument("--html", metavar="FILE", help="also write a page, with some trajectories")
    kept.add_argument(
        "--results",
        metavar="FOLDER",
        help="also put the scores of a shipped learner with the results of experiments",
    )
    add_computing(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of scores, or JSON."""
    from algorist.commands.trajectory_frames import trajectory_frame
    from algorist.experiments.shipped import expect_not_fewer, keep_scores
    from algorist.report import scores
    from algorist.report.learner_page import Trained, page
    from algorist.training.loading import members

    model, named = _model(arguments)
    fixed, fresh = _fixed(arguments), _fresh(arguments)
    draw = fresh or scores.first_samples(fixed, arguments.samples)
    is_test = fresh is None and fixed == _TEST
    several = members(model)
    _check_kept(arguments, model, several, is_test)
    learners = loaded_for(named, model, arguments)
    names = {algorithm: several.get(algorithm, model) for algorithm in learners}
    if arguments.results:
        expect_not_fewer(arguments.results, names, arguments.samples)
    _say_what_is_fresh(learners)
    hints = arguments.hints or arguments.over_time
    if hints and any(learner.net.config.hints == "none" for learner in learners.values()):
        raise ValueError("--hints, --over-time: this learner predicts no hints")
    rows = []
    try:
        for row in scores.measured(learners, draw, hints=hints):
            rows.append(row)
            if arguments.results:  # one by one: the next test may take an hour
                name, learner = names[row.algorithm], learners[row.algorithm]
                tested = (row.algorithm, row.samples, row.evaluations)
                kept = keep_scores(arguments.results, name, learner, *tested, algorist.__version__)
    finally:  # also if it is interrupted: what was tested is shown
        if rows and arguments.json:
            print(json.dumps([row.plain() for row in rows], indent=2))
        elif rows:
            _show(rows, arguments, terminal, is_test)
    written = [kept] if arguments.results else []
    if arguments.html:
        different = {names[algorithm]: learner for algorithm, learner in learners.items()}
        drawings = trajectory_frame(model, learners, [row.algorithm for row in rows])
        text = page(model, [*map(Trained, different.values())], rows, drawings)
        Path(arguments.html).write_text(text, encoding="utf-8")
        written.append(arguments.html)
    for file in written:
        Terminal(stderr=arguments.json).print(f"written to {file}")


def _say_what_is_fresh(learners: Mapping[str, Learner]) -> None:
    """Runs that have not been validated yet have no best weights but those they began with."""
    fresh = [
        name
        for name, learner in learners.items()
        if any(one["validation"] is None for one in learner.about.get("replicas", ()))
    ]
    if fresh:
        Terminal(stderr=True).print(f"not validated yet, tested as begun: {', '.join(fresh)}")


def _show(rows: Sequence[Scored], arguments: Namespace, terminal: Terminal, is_test: bool) -> None:
    from algorist.report import scores
    from algorist.report.published import published

    sign = terminal.plus_minus
    terminal.print(scores.score_table(rows, sign, paper=is_test))
    if is_test:
        if any(row.algorithm in published() for row in rows):
            terminal.print(f"\npaper: {_PAPER}")
        if not all(row.is_whole for row in rows):
            terminal.print(f"samples: only the first {arguments.samples} of each official test")
        if warning := scores.few_samples(rows):
            terminal.print(warning)
    if arguments.hints:
        terminal.print()
        terminal.print(scores.hint_table(rows, sign))
    if arguments.over_time:
        terminal.print()
        terminal.print(scores.time_table(rows))


def _check_kept(
    arguments: Namespace, model: str, several: Mapping[str, str], is_test: bool
) -> None:
    """Complain at once, not after an hour of testing."""
    for option, value in (("--html", arguments.html), ("--results", arguments.results)):
        if value is not None and not is_test:
            raise ValueError(f"{option}: only the official test is kept, expected no other set")
    expect_place_of_file("--html", arguments.html)
    expect_place_of_folder("--results", arguments.results)
    if arguments.results and Path(model).exists():
        raise ValueError(f"--results: got {model}, which lies here, expected a shipped learner")
    if arguments.results and model not in shipped() and not several:
        raise ValueError(unknown("shipped learner", model, shipped()))


def _model(arguments: Namespace) -> tuple[str, list[str]]:
    """The learner, and the algorithms that are named: a first word that is none is a learner."""
    from algorist.training.loading import members

    words = arguments.algorithms
    if not words or words[0] in algorist.algorithms():
        return DEFAULT if arguments.model is None else arguments.model, words
    first, *others = words
    if arguments.model is not None:
        raise ValueError(unknown("algorithm", first, algorist.algorithms()))
    is_there = Path(first).exists() or first in shipped() or members(first)
    if first.isidentifier() and not is_there:
        raise ValueError(
            unknown("algorithm or learner", first, [*algorist.algorithms(), *shipped()])
        )
    return first, others


def _fixed(arguments: Namespace) -> str:
    """Which of the fixed sets is used, if one is."""
    if arguments.official and arguments.split not in (None, _TEST):
        raise ValueError(f"--split: got {arguments.split}, but --official is {_TEST}")
    return arguments.split or _TEST


def _fresh(arguments: Namespace) -> Callable[[str], Batch] | None:
    """Draws fresh problems, if they are asked for."""
    if arguments.n is None:
        for name in ("count", "seed", "option"):
            if getattr(arguments, name) not in (None, []):
                raise ValueError(f"--{name}: only fresh problems have it, expected --n too")
        return None
    for name in ("official", "split", "samples"):
        if getattr(arguments, name) not in (None, False):
            raise ValueError(f"--{name}: only fixed sets have it, expected no --n")
    count = _COUNT if arguments.count is None else arguments.count
    seed = 0 if arguments.seed is None else arguments.seed
    given = options(arguments.option)

    def draw(algorithm: str) -> Batch:
        try:
            return algorist.get(algorithm).sample(arguments.n, count, seed, given)
        except ValueError as error:
            raise ValueError(f"{algorithm}: {error}") from error

    return draw


command = Command(
    help="score a learner on the benchmark's tests, or on fresh problems of any size",
    examples="""\
algorist eval --model generalist --official
algorist eval --model specialists bfs dfs
algorist eval dijkstra bfs --samples 8 --html scores.html
algorist eval runs/bfs --split val --hints --over-time
algorist eval runs/bfs --n 32 --count 64 --seed 7 --option p=0.2
algorist eval model.safetensors dijkstra --json""",
    add_arguments=add_arguments,
    run=run,
)
