"""`algorist bench evaluation`: tests on the benchmark's fixed sets."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING, Any

import algorist
from algorist.commands.arguments import compute_config, parse_names
from algorist.commands.bench_rows import BenchTable, one_by_one, sums
from algorist.commands.load_models import MODEL, choose_algorithms, load_model
from algorist.data import official
from algorist.errors import expect_positive
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.model.learner import Learner


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.settings import add_recipe, add_settings

    parser.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help=f"{MODEL} (default: a fresh net)",
    )
    parser.add_argument(
        "--algorithms",
        type=parse_names,
        metavar="A,B",
        help="only these (default: all that it knows)",
    )
    parser.add_argument(
        "--split",
        choices=list(official.SPLITS),
        default="test",
        help="one of the benchmark's fixed sets (default: test)",
    )
    parser.add_argument("--samples", type=int, metavar="K", help="only the first K samples")
    parser.add_argument("--replicas", type=int, metavar="N", help="of a fresh net (default: 1)")
    add_recipe(parser)
    add_settings(parser, ("model", "convention"))


def run(arguments: Namespace, terminal: Terminal) -> int:
    """A row for each algorithm."""
    from algorist.bench.evaluation_cost import evaluation_cost
    from algorist.report.costs import EVALUATION_HEADINGS, evaluation_cells, evaluation_sums

    if arguments.samples is not None:
        expect_positive("samples", arguments.samples)
    draw = partial(official.first_samples, name=arguments.split, samples=arguments.samples)
    learner = _given(arguments) if arguments.model is not None else _fresh(arguments)
    measures = [
        (name, partial(evaluation_cost, learner, name, draw))
        for name in choose_algorithms(arguments.algorithms or (), learner.algorithms)
    ]
    totals = partial(sums, ("data_s", "score_s"))
    table = BenchTable(EVALUATION_HEADINGS, evaluation_cells, evaluation_sums, totals)
    return one_by_one(measures, table, arguments, terminal)


def _given(arguments: Namespace) -> Learner:
    """The saved learner, which cannot be told what it is made of."""
    from algorist.training.recipes import DEFAULT_RECIPE

    settings = [place.split(".")[1] for place in vars(arguments) if "." in place]
    fresh: dict[str, Any] = {"replicas": None, "recipe": DEFAULT_RECIPE, "without": []}
    settings += [name for name, usual in fresh.items() if getattr(arguments, name) != usual]
    for name in settings:
        flag = name.replace("_", "-")
        raise ValueError(f"--{flag}: only a fresh net has it, expected no MODEL")
    return load_model(arguments.model, arguments)


def _fresh(arguments: Namespace) -> Learner:
    from algorist.commands.settings import make_config
    from algorist.model.learner import Learner

    count = 1 if arguments.replicas is None else expect_positive("replicas", arguments.replicas)
    config = make_config(arguments, arguments.algorithms or algorist.algorithms(), range(count))
    learner = Learner.new(config.algorithms, config.model, config.convention, config.seeds)
    compute_config(arguments).apply(learner.net)
    return learner
