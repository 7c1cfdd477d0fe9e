"""The output of `algorist eval`: tables, JSON, plots, pages and files of results."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.commands.eval_problems import Problems
from algorist.commands.output_files import check_output_file, check_output_folder, write_named
from algorist.errors import unknown
from algorist.report.terminal import Terminal
from algorist.weights import shipped

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.report.comparison import ScoreColumn
    from algorist.report.scores import ScoreRow

_PAPER = "Triplet-GMPNN trained on one algorithm each (Ibarz et al., 2022)"
_PICTURES = (".png", ".svg")


def add_shown(parser: ArgumentParser) -> None:
    """Declare the options of what is shown and kept."""
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


def show_scores(
    scores: Mapping[ScoreColumn, Sequence[ScoreRow]],
    arguments: Namespace,
    terminal: Terminal,
    *,
    is_test: bool,
) -> None:
    """Print scores as a table, or as JSON."""
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
    rows: Sequence[ScoreRow], arguments: Namespace, terminal: Terminal, *, is_test: bool
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


def check_shown(arguments: Namespace, sets: Sequence[Problems]) -> None:
    """Raise a `ValueError` for options of what is shown that do not go together."""
    if arguments.forced and not arguments.hints:
        raise ValueError("--forced: it is about hints, expected --hints too")
    check_plot(arguments, len(sets))


def check_plot(arguments: Namespace, sizes: int) -> None:
    """Raise a `ValueError` for a plot that cannot be written, or has a single size."""
    if arguments.plot is None:
        return
    check_output_file("--plot", arguments.plot)
    if Path(arguments.plot).suffix not in _PICTURES:
        raise ValueError(f"--plot: got {arguments.plot}, expected a file.png or a file.svg")
    if sizes < 2:
        raise ValueError("--plot: scores are drawn over sizes, expected several, as in --n 8,16,32")


def check_kept(arguments: Namespace, models: Sequence[str], *, is_test: bool) -> None:
    """Raise a `ValueError` at once, and not after an hour, for what cannot be kept."""
    from algorist.training.saved_learners import members

    for option, value in (("--html", arguments.html), ("--results", arguments.results)):
        if value is not None and not is_test:
            raise ValueError(f"{option}: only the official test is kept, expected no other set")
        if value is not None and len(models) > 1:
            raise ValueError(f"{option}: got {len(models)} learners, expected one")
    check_output_file("--html", arguments.html)
    check_output_folder("--results", arguments.results)
    model = models[0]
    if arguments.results and Path(model).exists():
        raise ValueError(f"--results: got {model}, which lies here, expected a shipped learner")
    if arguments.results and model not in shipped() and not members(model):
        raise ValueError(unknown("shipped learner", model, shipped()))


def learner_names(model: str, learners: Mapping[str, Learner]) -> dict[str, str]:
    """The name of the learner for each algorithm."""
    from algorist.training.saved_learners import members

    several = members(model)
    return {algorithm: several.get(algorithm, model) for algorithm in learners}


def keep_scores_of(
    row: ScoreRow, learners: Mapping[str, Learner], model: str, arguments: Namespace
) -> None:
    """Add a score to the file of results at once: the next test may take an hour."""
    from algorist.experiments.shipped_scores import keep_scores

    if arguments.results:
        name = learner_names(model, learners)[row.algorithm]
        tested = (row.algorithm, row.samples, row.evaluations)
        learner = learners[row.algorithm]
        keep_scores(arguments.results, name, learner, *tested)


def write_files(
    scores: Mapping[ScoreColumn, Sequence[ScoreRow]],
    learners: Mapping[str, Mapping[str, Learner]],
    arguments: Namespace,
) -> Iterator[str | Path]:
    """Write the page; yields the files that were written, with that of results."""
    from algorist.experiments.results import SHIPPED, file_of
    from algorist.report.learner_page import TrainedLearner, learner_page
    from algorist.viewer.trajectory_frames import trajectory_frame

    if arguments.results:
        yield file_of(Path(arguments.results), SHIPPED)
    if arguments.html:
        ((model, own),), (rows,) = learners.items(), scores.values()
        different = {name: own[algorithm] for algorithm, name in learner_names(model, own).items()}
        drawings = trajectory_frame(model, own, [row.algorithm for row in rows])
        text = learner_page(model, [*map(TrainedLearner, different.values())], rows, drawings)
        write_named(arguments.html, text)
        yield arguments.html
