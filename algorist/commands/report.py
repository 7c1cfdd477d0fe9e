"""`algorist report`: a run on one page, or the paper's tables and figures from results."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.commands import Command
from algorist.commands.arguments import (
    add_computing,
    expect_place_of_file,
    expect_place_of_folder,
    loaded,
)
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.report.reproduced import Reproduced

_PAGE, _FOLDER = "report.html", "report"
_FOR_RUNS = ("samples", "device", "kernels", "precision")
"""Options about tests, which results have behind them."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument(
        "folder", metavar="FOLDER", help="the folder of a run, or of results (algorist reproduce)"
    )
    parser.add_argument(
        "--out",
        metavar="PATH",
        help=f"the page about a run (default: {_PAGE}), or a folder (default: {_FOLDER})",
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="K",
        help="of a run: test only the first K samples of each algorithm",
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
    add_computing(parser)
    parser.set_defaults(usual={name: parser.get_default(name) for name in _FOR_RUNS})


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Report on what the folder holds."""
    from algorist.experiments.results import is_results
    from algorist.training.loading import is_each, is_run

    folder = Path(arguments.folder)
    if is_run(folder) or is_each(folder):
        _report_run(folder, arguments, terminal)
    elif is_results(folder):
        _report_results(folder, arguments, terminal)
    else:
        raise ValueError(
            f"{folder}: there is no run here (no config.json), and there are no results "
            "(such as specialists.csv)"
        )


def _report_run(folder: Path, arguments: Namespace, terminal: Terminal) -> None:
    """Test the run's best net and write the page."""
    from algorist.report.html import page
    from algorist.report.scores import first_samples, measured
    from algorist.training.loading import METRICS
    from algorist.training.run import read_metrics

    for name in ("any_settings", "fill"):
        if getattr(arguments, name):
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag}: it is for results, but {folder} is a run")
    out = _PAGE if arguments.out is None else arguments.out
    expect_place_of_file("--out", out)
    learner = loaded(str(folder), arguments)
    reports = read_metrics(folder / METRICS)
    draw = first_samples("test", arguments.samples)
    rows = list(measured(learner.by_algorithm(), draw))
    text = page(folder.name, learner, rows, reports)
    Path(out).write_text(text, encoding="utf-8")
    terminal.print(f"written to {out}")


def _report_results(folder: Path, arguments: Namespace, terminal: Terminal) -> None:
    """Write tables and figures, and the page that shows them."""
    from algorist.report.reproduced import Reproduced
    from algorist.report.results_page import INDEX, write_report

    for name, usual in arguments.usual.items():
        if getattr(arguments, name) != usual:
            raise ValueError(f"--{name}: it is for a run, but {folder} has results")
    out = _FOLDER if arguments.out is None else arguments.out
    expect_place_of_folder("--out", out)
    results = Reproduced(folder, any_settings=arguments.any_settings)
    if arguments.fill:
        _fill(results, arguments, terminal)
        return
    if not write_report(results, Path(out)):
        terminal.print("some results are missing: the page says which")
    if results.remark():
        terminal.print(results.remark())
    terminal.print(f"written to {Path(out) / INDEX}")


def _fill(results: Reproduced, arguments: Namespace, terminal: Terminal) -> None:
    from algorist.report.filling import Filling

    for option in ("any_settings", "out"):
        if getattr(arguments, option):
            raise ValueError(f"--fill: it does not go with --{option.replace('_', '-')}")
    filling = Filling(results)
    for name in arguments.fill:
        filling.fill(Path(name))
        terminal.print(f"filled {name}")


command = Command(
    help="write a page about a run, or the paper's tables and figures from results",
    examples="""\
algorist report runs/bfs
algorist report runs/bfs --out bfs.html --samples 8
algorist report results --out report
algorist report results --fill README.md docs/models.md""",
    add_arguments=add_arguments,
    run=run,
)
