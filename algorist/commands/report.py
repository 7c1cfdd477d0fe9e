"""`algorist report`: runs on one page, or tables and figures of a sweep or of the paper."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.commands import Command
from algorist.commands.arguments import add_compute_options
from algorist.commands.load_models import load_models
from algorist.commands.output_files import check_output_file, check_output_folder, write_named
from algorist.data import official
from algorist.errors import expect_unique
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.report.collection import Collection
    from algorist.report.learner_page import TrainedLearner
    from algorist.report.paper_results import PaperResults
    from algorist.report.scores import ScoreRow

_PAGE, _FOLDER = "report.html", "report"
_FOR_RUNS = ("samples", "device", "kernels", "precision")
"""Options about tests, which results have behind them."""
_FOR_RESULTS = ("any_settings", "fill")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="FOLDER",
        help="of a run or of one for each algorithm (algorist train), of several such to compare, "
        "of a sweep (algorist sweep), or of results (algorist reproduce)",
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        help=f"the page about runs (default: {_PAGE}), or else a folder (default: {_FOLDER})",
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="K",
        help="of runs: test only the first K samples of each algorithm",
    )
    parser.add_argument(
        "--fill",
        nargs="+",
        default=[],
        metavar="FILE",
        help="of results: fill the marked places of Markdown files, and write nothing else",
    )
    parser.add_argument(
        "--any-settings",
        action="store_true",
        help="of results: show those too that are not of the paper's settings, and say so",
    )
    add_compute_options(parser)
    names = (*_FOR_RUNS, *_FOR_RESULTS)
    parser.set_defaults(usual={name: parser.get_default(name) for name in names})


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Report on what the folder holds."""
    from algorist.experiments.grid import is_sweep
    from algorist.experiments.results import is_results
    from algorist.training.saved_learners import is_multi_run, is_run

    if len(arguments.folders) > 1:
        _compare_runs([Path(folder) for folder in arguments.folders], arguments, terminal)
        return
    folder = Path(arguments.folders[0])
    if is_run(folder) or is_multi_run(folder):
        _report_runs(folder, arguments, terminal)
    elif is_results(folder):
        _report_results(folder, arguments, terminal)
    elif is_sweep(folder):
        _report_sweep(folder, arguments, terminal)
    else:
        raise ValueError(
            f"{folder}: there is no run here (no config.json), and there are no results "
            "(such as specialists.csv or sweep.csv)"
        )


def _report_runs(folder: Path, arguments: Namespace, terminal: Terminal) -> None:
    """Test the best nets of the run, or of the one for each algorithm, and write the page."""
    from algorist.report.learner_page import learner_page
    from algorist.viewer.trajectory_frames import trajectory_frame

    out = _page_of_runs(arguments, f"{folder} is a run")
    trained, rows = _tested(folder, arguments)
    learners = {a: run.learner for run in trained for a in run.learner.algorithms}
    drawings = trajectory_frame(folder.name, learners, [row.algorithm for row in rows])
    write_named(out, learner_page(folder.name, trained, rows, drawings))
    terminal.print(f"written to {out}")


def _compare_runs(folders: Sequence[Path], arguments: Namespace, terminal: Terminal) -> None:
    """Test the best nets of several runs, and write a page that compares them."""
    from algorist.report.comparison_page import comparison_page
    from algorist.training.saved_learners import expect_run, is_multi_run

    expect_unique("FOLDER", [str(folder) for folder in folders])
    for folder in folders:
        if not is_multi_run(folder):
            expect_run(folder)
    out = _page_of_runs(arguments, f"{folders[0]} is a run")
    tested = {str(folder): _tested(folder, arguments) for folder in folders}
    runs = {name: trained for name, (trained, _) in tested.items()}
    scores = {name: rows for name, (_, rows) in tested.items()}
    write_named(out, comparison_page(runs, scores))
    terminal.print(f"written to {out}")


def _page_of_runs(arguments: Namespace, but: str) -> str:
    """The file to write, if the options are for runs."""
    _expect_none_of(_FOR_RESULTS, arguments, "the paper's results", but)
    out = _PAGE if arguments.out is None else arguments.out
    check_output_file("--out", out)
    return out


def _tested(folder: Path, arguments: Namespace) -> tuple[list[TrainedLearner], list[ScoreRow]]:
    """The best nets of a run with their training, and their scores in the official test."""
    from algorist.commands.evaluate_each import evaluate_each
    from algorist.report.learner_page import TrainedLearner
    from algorist.training.run_files import read_metrics
    from algorist.training.saved_learners import METRICS, members

    learners, places = load_models((), str(folder), arguments), members(folder)
    runs = {places.get(name, str(folder)): learner for name, learner in learners.items()}
    trained = [
        TrainedLearner(learner, read_metrics(Path(place) / METRICS))
        for place, learner in runs.items()
    ]
    draw = partial(official.first_samples, name="test", samples=arguments.samples)
    return trained, list(evaluate_each(learners, draw))


def _report_sweep(folder: Path, arguments: Namespace, terminal: Terminal) -> None:
    """Write tables and figures, and the page that shows them."""
    from algorist.report.sweep_report import sweep_collection

    where = f"{folder} is a sweep"
    _expect_none_of(_FOR_RUNS, arguments, "runs", where)
    _expect_none_of(_FOR_RESULTS, arguments, "the paper's results", where)
    _write(sweep_collection(folder), arguments, terminal)


def _report_results(folder: Path, arguments: Namespace, terminal: Terminal) -> None:
    """The same with the paper's tables and figures; or fill some of them in elsewhere."""
    from algorist.report.paper import paper_collection
    from algorist.report.paper_results import PaperResults

    _expect_none_of(_FOR_RUNS, arguments, "runs", f"{folder} has results")
    results = PaperResults(folder, any_settings=arguments.any_settings)
    if arguments.fill:
        _fill(results, arguments, terminal)
    else:
        _write(paper_collection(results), arguments, terminal)


def _expect_none_of(names: Sequence[str], arguments: Namespace, what: str, but: str) -> None:
    """Complain about options that are for something else."""
    for name in names:
        if getattr(arguments, name) != arguments.usual[name]:
            raise ValueError(f"--{name.replace('_', '-')}: it is for {what}, but {but}")


def _write(collection: Collection, arguments: Namespace, terminal: Terminal) -> None:
    from algorist.report.collection import INDEX

    out = _FOLDER if arguments.out is None else arguments.out
    check_output_folder("--out", out)
    collection.write(Path(out))
    if not collection.is_whole:
        terminal.print("some results are missing: the page says which")
    if collection.remark:
        terminal.print(collection.remark)
    terminal.print(f"written to {Path(out) / INDEX}")


def _fill(results: PaperResults, arguments: Namespace, terminal: Terminal) -> None:
    from algorist.report.markdown_tables import MarkdownFiller

    for option in ("any_settings", "out"):
        if getattr(arguments, option):
            raise ValueError(f"--fill: it does not go with --{option.replace('_', '-')}")
    filling = MarkdownFiller(results)
    for name in arguments.fill:
        filling.fill(Path(name))
        terminal.print(f"filled {name}")


command = Command(
    help="write a page about runs, or tables and figures of a sweep or of the paper",
    examples="""\
algorist report runs/bfs
algorist report runs/bfs --out bfs.html --samples 8
algorist report runs/a runs/b runs/c --out comparison.html
algorist report sweeps/width --out width
algorist report results --out report
algorist report results --fill docs/models.md docs/results.md""",
    add_arguments=add_arguments,
    run=run,
)
