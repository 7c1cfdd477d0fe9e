"""`algorist eval`: how good learners are."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import algorist
from algorist.algorithms import names as algorithm_names
from algorist.batch import Batch
from algorist.commands import Command, eval_sparse
from algorist.commands.arguments import (
    add_computing,
    add_model,
    add_options,
    expect_place_of_file,
    expect_place_of_folder,
    loaded_for,
    names,
    options,
    whole_numbers,
)
from algorist.data import DEVELOPMENT_SIZES, development, official
from algorist.errors import each_once, unknown
from algorist.report.terminal import Terminal
from algorist.weights import DEFAULT, present_name, shipped

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.report.comparison import Column
    from algorist.report.scores import Scored

_COUNT = 32
_TEST = "test"
_PAPER = "Triplet-GMPNN trained on one algorithm each (Ibarz et al., 2022)"
_PICTURES = (".png", ".svg")


class Problems(NamedTuple):
    """A set of problems for each algorithm."""

    draw: Callable[[str], Batch]
    size: int | None = None
    """What was asked for; None: the set has its own."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument(
        "algorithms",
        nargs="*",
        default=[],
        metavar="MODEL or ALGORITHM",
        help="words that name no algorithm are learners, which are compared if there are several; "
        "then only these algorithms (default: all that they know)",
    )
    add_model(parser)
    parser.set_defaults(model=None)  # to know whether it was given
    fixed = parser.add_argument_group("the benchmark's fixed sets", "Used unless --n is given.")
    fixed.add_argument(
        "--official",
        action="store_true",
        help="the official tests, at n = 64 (the default)",
    )
    fixed.add_argument("--split", choices=list(official.SPLITS), help=f"another (default: {_TEST})")
    fixed.add_argument("--samples", type=int, metavar="K", help="only the first K samples")
    fresh = parser.add_argument_group("other problems")
    fresh.add_argument("--n", type=whole_numbers, metavar="N,N", help="fresh ones of these sizes")
    fresh.add_argument("--count", type=int, help=f"how many of each size (default: {_COUNT})")
    fresh.add_argument("--seed", type=int, help="seed of the draws (default: 0)")
    add_options(parser)
    fresh.add_argument(
        "--graphs",
        type=names,
        metavar="A,B",
        help="with --n: sparse graphs of these families, er, ws or delaunay, scored as SALSA-CLRS "
        "does: the share of right nodes, and of graphs with no wrong one",
    )
    fresh.add_argument(
        "--development",
        action="store_true",
        help="the development sets, which are for comparing ideas: n = "
        f"{', '.join(map(str, DEVELOPMENT_SIZES))}, or those that --n names",
    )
    _add_shown(parser)
    add_computing(parser)


def _add_shown(parser: ArgumentParser) -> None:
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--hints", action="store_true", help="also the score of every hint")
    shown.add_argument(
        "--forced",
        action="store_true",
        help="with --hints: also their scores where the true hints are given at every step",
    )
    shown.add_argument(
        "--over-time", action="store_true", help="also how the hints' scores change over a run"
    )
    shown.add_argument("--json", action="store_true", help="print JSON, with every seed's scores")
    shown.add_argument(
        "--plot", metavar="FILE", help="also draw scores over sizes, as FILE.png or FILE.svg"
    )
    kept = parser.add_argument_group("what is kept", "Of one learner in the official test alone.")
    kept.add_argument("--html", metavar="FILE", help="also write a page, with some trajectories")
    kept.add_argument(
        "--results",
        metavar="FOLDER",
        help="also put the scores of a shipped learner with the results of experiments",
    )


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of scores, or JSON."""
    from algorist.commands.evaluating import evaluate_each
    from algorist.report.comparison import Column, plot_sizes

    models, named = _models(arguments)
    if arguments.graphs is not None:
        _run_sparse(models, named, arguments, terminal)
        return
    sets, is_test = _sets(arguments)
    _check_shown(arguments, models, sets)
    _check_kept(arguments, models, is_test=is_test)
    learners = {model: loaded_for(named, model, arguments) for model in models}
    _check_learners(arguments, learners)
    scores: dict[Column, list[Scored]] = {}
    how = {"hints": arguments.hints or arguments.over_time, "forced": arguments.forced}
    try:
        for model, problems in ((model, own) for model in models for own in sets):
            rows = scores.setdefault(Column(model, problems.size), [])
            for row in evaluate_each(learners[model], problems.draw, **how):
                rows.append(row)
                _keep_scores(row, learners[model], model, arguments)
    finally:  # also if it is interrupted: what was tested is shown
        if any(scores.values()):
            _show(scores, arguments, terminal, is_test=is_test)
    for file in _written(scores, learners, arguments):
        Terminal(stderr=arguments.json).print(f"written to {file}")
    if arguments.plot:
        plot_sizes(scores, Path(arguments.plot))
        Terminal(stderr=arguments.json).print(f"written to {arguments.plot}")


def _run_sparse(
    models: Sequence[str], named: Sequence[str], arguments: Namespace, terminal: Terminal
) -> None:
    eval_sparse.check(arguments)
    expect_place_of_folder("--results", arguments.results)
    _check_plot(arguments, len(arguments.n))
    learners = {model: loaded_for(named, model, arguments) for model in models}
    eval_sparse.run(arguments, learners, terminal)


def _check_learners(arguments: Namespace, learners: Mapping[str, Mapping[str, Learner]]) -> None:
    from algorist.experiments.shipped import expect_not_fewer

    for model, own in learners.items():
        if arguments.results:
            expect_not_fewer(arguments.results, _names(model, own), arguments.samples)
        _say_what_is_fresh(own)
        if (arguments.hints or arguments.over_time) and any(
            learner.net.config.hints == "none" for learner in own.values()
        ):
            raise ValueError("--hints, --over-time: this learner predicts no hints")


def _names(model: str, learners: Mapping[str, Learner]) -> dict[str, str]:
    """What the learner for each algorithm is called."""
    from algorist.training.saved_learners import members

    several = members(model)
    return {algorithm: several.get(algorithm, model) for algorithm in learners}


def _keep_scores(
    row: Scored, learners: Mapping[str, Learner], model: str, arguments: Namespace
) -> None:
    """Put a score with the results at once: the next test may take an hour."""
    from algorist.experiments.shipped import keep_scores

    if arguments.results:
        name = _names(model, learners)[row.algorithm]
        tested = (row.algorithm, row.samples, row.evaluations)
        learner = learners[row.algorithm]
        keep_scores(arguments.results, name, learner, *tested)


def _written(
    scores: Mapping[Column, Sequence[Scored]],
    learners: Mapping[str, Mapping[str, Learner]],
    arguments: Namespace,
) -> Iterator[str | Path]:
    """Write the page, and say where everything is."""
    from algorist.commands.trajectory_frames import trajectory_frame
    from algorist.experiments.results import SHIPPED, file_of
    from algorist.report.learner_page import Trained, page

    if arguments.results:
        yield file_of(Path(arguments.results), SHIPPED)
    if arguments.html:
        ((model, own),), (rows,) = learners.items(), scores.values()
        different = {name: own[algorithm] for algorithm, name in _names(model, own).items()}
        drawings = trajectory_frame(model, own, [row.algorithm for row in rows])
        text = page(model, [*map(Trained, different.values())], rows, drawings)
        Path(arguments.html).write_text(text, encoding="utf-8")
        yield arguments.html


def _say_what_is_fresh(learners: Mapping[str, Learner]) -> None:
    """Runs that have not been validated yet have no best weights but those they began with."""
    fresh = [
        name
        for name, learner in learners.items()
        if any(one["validation"] is None for one in learner.metadata.get("replicas", ()))
    ]
    if fresh:
        Terminal(stderr=True).print(f"not validated yet, tested as begun: {', '.join(fresh)}")


def _show(
    scores: Mapping[Column, Sequence[Scored]],
    arguments: Namespace,
    terminal: Terminal,
    *,
    is_test: bool,
) -> None:
    from algorist.report.comparison import comparison_table
    from algorist.report.scores import hint_table, time_table

    models = {column.model for column in scores}
    if arguments.json:
        rows = [
            ({"model": column.model} if len(models) > 1 else {}) | row.plain()
            for column, own in scores.items()
            for row in own
        ]
        print(json.dumps(rows, indent=2))
        return
    if len(scores) > 1:
        terminal.print(comparison_table(scores, terminal.plus_minus))
    else:
        _show_one(next(iter(scores.values())), arguments, terminal, is_test=is_test)
    for column, own in scores.items():
        tables = [hint_table(own, terminal.plus_minus)] if arguments.hints else []
        tables += [time_table(own)] if arguments.over_time else []
        for table in tables:
            size = "" if column.size is None else f", n = {column.size}"
            terminal.print(f"\n{column.model}{size}" if len(scores) > 1 else "")
            terminal.print(table)


def _show_one(
    rows: Sequence[Scored], arguments: Namespace, terminal: Terminal, *, is_test: bool
) -> None:
    from algorist.report.published import published
    from algorist.report.scores import few_samples, score_table

    terminal.print(score_table(rows, terminal.plus_minus, paper=is_test))
    if is_test:
        if any(row.algorithm in published() for row in rows):
            terminal.print(f"\npaper: {_PAPER}")
        if not all(row.is_whole for row in rows):
            terminal.print(f"samples: only the first {arguments.samples} of each official test")
        if warning := few_samples(rows):
            terminal.print(warning)


def _check_shown(arguments: Namespace, models: Sequence[str], sets: Sequence[Problems]) -> None:
    if arguments.forced and not arguments.hints:
        raise ValueError("--forced: it is about hints, expected --hints too")
    _check_plot(arguments, len(sets))


def _check_plot(arguments: Namespace, sizes: int) -> None:
    if arguments.plot is None:
        return
    expect_place_of_file("--plot", arguments.plot)
    if Path(arguments.plot).suffix not in _PICTURES:
        raise ValueError(f"--plot: got {arguments.plot}, expected a file.png or a file.svg")
    if sizes < 2:
        raise ValueError("--plot: scores are drawn over sizes, expected several, as in --n 8,16,32")


def _check_kept(arguments: Namespace, models: Sequence[str], *, is_test: bool) -> None:
    """Complain at once, not after an hour of testing."""
    from algorist.training.saved_learners import members

    for option, value in (("--html", arguments.html), ("--results", arguments.results)):
        if value is not None and not is_test:
            raise ValueError(f"{option}: only the official test is kept, expected no other set")
        if value is not None and len(models) > 1:
            raise ValueError(f"{option}: got {len(models)} learners, expected one")
    expect_place_of_file("--html", arguments.html)
    expect_place_of_folder("--results", arguments.results)
    model = models[0]
    if arguments.results and Path(model).exists():
        raise ValueError(f"--results: got {model}, which lies here, expected a shipped learner")
    if arguments.results and model not in shipped() and not members(model):
        raise ValueError(unknown("shipped learner", model, shipped()))


def _models(arguments: Namespace) -> tuple[list[str], list[str]]:
    """The learners, and the algorithms that are named: leading words that are none are learners."""
    words = list(arguments.algorithms)
    known = algorithm_names()
    count = next((i for i, w in enumerate(words) if w in known), len(words))
    models, named = list(map(_present_name, words[:count])), words[count:]
    if not models:
        return [DEFAULT if arguments.model is None else arguments.model], named
    if arguments.model is not None:
        raise ValueError(unknown("algorithm", models[0], algorist.algorithms()))
    for model in models:
        _expect_model(model)
    return each_once("MODEL", models), named


def _present_name(word: str) -> str:
    """A learner that lies here keeps its name; a shipped one has that of today."""
    return word if Path(word).exists() else present_name(word)


def _expect_model(word: str) -> None:
    """Complain about a word that may be a misspelled algorithm or learner."""
    from algorist.training.saved_learners import members

    is_there = Path(word).exists() or word in shipped() or members(word)
    if word.isidentifier() and not is_there:
        raise ValueError(
            unknown("algorithm or learner", word, [*algorist.algorithms(), *shipped()])
        )


def _sets(arguments: Namespace) -> tuple[list[Problems], bool]:
    """The problems that learners are scored on, and whether they are the official test."""
    if arguments.official and arguments.split not in (None, _TEST):
        raise ValueError(f"--split: got {arguments.split}, but --official is {_TEST}")
    if arguments.development or arguments.n is not None:
        option = "--development" if arguments.development else "--n"
        for name in ("official", "split", "samples"):
            if getattr(arguments, name) not in (None, False):
                raise ValueError(f"--{name}: only fixed sets have it, expected no {option}")
    if arguments.n is not None:
        each_once("--n", [str(n) for n in arguments.n])
    if arguments.n is None or arguments.development:
        for name in ("count", "seed", "option"):
            if getattr(arguments, name) not in (None, []):
                raise ValueError(f"--{name}: only fresh problems have it, expected --n too")
    if arguments.development:
        return [Problems(_development(n), n) for n in arguments.n or DEVELOPMENT_SIZES], False
    if arguments.n is not None:
        return [Problems(_fresh(n, arguments), n) for n in arguments.n], False
    split = arguments.split or _TEST
    draw = partial(official.beginning, name=split, samples=arguments.samples)
    return [Problems(draw)], split == _TEST


def _development(n: int) -> Callable[[str], Batch]:
    if n not in DEVELOPMENT_SIZES:
        raise ValueError(f"--n: got {n}, but --development has n = {DEVELOPMENT_SIZES}")
    return lambda algorithm: development(algorithm, n)


def _fresh(n: int, arguments: Namespace) -> Callable[[str], Batch]:
    """Draws fresh problems of a size."""
    count = _COUNT if arguments.count is None else arguments.count
    seed = 0 if arguments.seed is None else arguments.seed
    given = options(arguments.option)

    def draw(algorithm: str) -> Batch:
        try:
            return algorist.get(algorithm).sample(n, count, seed, given)
        except ValueError as error:
            raise ValueError(f"{algorithm}: {error}") from error

    return draw


command = Command(
    help="score learners on the benchmark's tests, or on problems of any size, and compare them",
    examples="""\
algorist eval --model generalist --official
algorist eval --model specialists bfs dfs
algorist eval runs/a runs/b runs/c --development
algorist eval dijkstra bfs --samples 8 --html scores.html
algorist eval runs/bfs --split val --hints --forced --over-time
algorist eval runs/bfs --n 8,16,32,64 --plot sizes.png
algorist eval runs/bfs --n 32 --count 64 --seed 7 --option p=0.2
algorist eval sparse --n 16,80,160,800,1600 --graphs er,ws,delaunay --count 8
algorist eval model.safetensors dijkstra --json""",
    add_arguments=add_arguments,
    run=run,
)
