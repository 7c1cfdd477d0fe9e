"""`algorist eval`: score learners."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import algorist
from algorist.algorithms import names as algorithm_names
from algorist.commands import Command, eval_sparse
from algorist.commands.arguments import add_compute_options
from algorist.commands.eval_output import (
    add_shown,
    check_kept,
    check_plot,
    check_shown,
    keep_scores_of,
    learner_names,
    show_scores,
    write_files,
)
from algorist.commands.eval_problems import add_problems, problem_sets
from algorist.commands.load_models import add_model, load_models
from algorist.commands.output_files import check_output_folder
from algorist.errors import expect_unique, unknown
from algorist.report.terminal import Terminal
from algorist.weights import DEFAULT, present_name, shipped
from algorist.weights import models as shipped_names

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.report.comparison import ScoreColumn
    from algorist.report.scores import ScoreRow


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
    add_problems(parser)
    add_shown(parser)
    add_compute_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print a table of scores, or JSON."""
    from algorist.commands.evaluate_each import evaluate_each
    from algorist.report.comparison import ScoreColumn, plot_sizes

    models, named = _models(arguments)
    if arguments.graphs is not None:
        _run_sparse(models, named, arguments, terminal)
        return
    sets, is_test = problem_sets(arguments)
    check_shown(arguments, sets)
    check_kept(arguments, models, is_test=is_test)
    learners = {model: load_models(named, model, arguments) for model in models}
    _check_learners(arguments, learners)
    scores: dict[ScoreColumn, list[ScoreRow]] = {}
    how = {"hints": arguments.hints or arguments.over_time, "forced": arguments.forced}
    try:
        for model, problems in ((model, own) for model in models for own in sets):
            rows = scores.setdefault(ScoreColumn(model, problems.size), [])
            for row in evaluate_each(learners[model], problems.draw, **how):
                rows.append(row)
                keep_scores_of(row, learners[model], model, arguments)
    finally:  # also if it is interrupted: what was tested is shown
        if any(scores.values()):
            show_scores(scores, arguments, terminal, is_test=is_test)
    for file in write_files(scores, learners, arguments):
        Terminal(stderr=arguments.json).print(f"written to {file}")
    if arguments.plot:
        plot_sizes(scores, Path(arguments.plot))
        Terminal(stderr=arguments.json).print(f"written to {arguments.plot}")


def _run_sparse(
    models: Sequence[str], named: Sequence[str], arguments: Namespace, terminal: Terminal
) -> None:
    eval_sparse.check(arguments)
    check_output_folder("--results", arguments.results)
    check_plot(arguments, len(arguments.n))
    learners = {model: load_models(named, model, arguments) for model in models}
    eval_sparse.run(arguments, learners, terminal)


def _check_learners(arguments: Namespace, learners: Mapping[str, Mapping[str, Learner]]) -> None:
    from algorist.experiments.shipped_scores import expect_not_fewer

    for model, own in learners.items():
        if arguments.results:
            expect_not_fewer(arguments.results, learner_names(model, own), arguments.samples)
        _warn_of_initial_weights(own)
        if (arguments.hints or arguments.over_time) and any(
            learner.net.config.hints == "none" for learner in own.values()
        ):
            raise ValueError("--hints, --over-time: this learner predicts no hints")


def _warn_of_initial_weights(learners: Mapping[str, Learner]) -> None:
    """Name the runs without a validation: their best weights are the initial ones."""
    fresh = [
        name
        for name, learner in learners.items()
        if any(one["validation"] is None for one in learner.metadata.get("replicas", ()))
    ]
    if fresh:
        Terminal(stderr=True).print(f"not validated yet, tested as begun: {', '.join(fresh)}")


def _models(arguments: Namespace) -> tuple[list[str], list[str]]:
    """The names of learners and algorithms; words before the first algorithm are learners."""
    words = list(arguments.algorithms)
    known = algorithm_names()
    count = next((i for i, w in enumerate(words) if w in known), len(words))
    models, named = list(map(_current_name, words[:count])), words[count:]
    if not models:
        return [DEFAULT if arguments.model is None else arguments.model], named
    if arguments.model is not None:
        raise ValueError(unknown("algorithm", models[0], algorist.algorithms()))
    for model in models:
        _expect_model(model)
    return expect_unique("MODEL", models), named


def _current_name(word: str) -> str:
    """The present name of a shipped learner; files and folders keep theirs."""
    return word if Path(word).exists() else present_name(word)


def _expect_model(word: str) -> None:
    """Raise a `ValueError` for a misspelled algorithm or learner."""
    from algorist.training.saved_learners import members

    is_there = Path(word).exists() or word in shipped() or members(word)
    if word.isidentifier() and not is_there:
        raise ValueError(
            unknown("algorithm or learner", word, [*algorist.algorithms(), *shipped_names()])
        )


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
