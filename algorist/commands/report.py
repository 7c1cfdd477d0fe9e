"""`algorist report`: a run on one page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from algorist.commands import Command
from algorist.commands.arguments import add_computing, loaded
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the run")
    parser.add_argument(
        "--out", default="report.html", metavar="FILE", help="(default: report.html)"
    )
    parser.add_argument(
        "--samples", type=int, metavar="K", help="test only the first K samples of each algorithm"
    )
    add_computing(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Test the run's best net and write the page."""
    from algorist.report.html import page, read_metrics
    from algorist.report.scores import first_samples, measured
    from algorist.training.config import Config

    folder = Path(arguments.folder)
    if not (folder / "config.json").exists():
        raise ValueError(f"{folder}: there is no run here (no config.json)")
    config = Config.from_json((folder / "config.json").read_text())
    learner = loaded(folder, arguments)
    draw = first_samples("test", arguments.samples)
    rows = list(measured(learner, learner.algorithms, draw))
    text = page(folder.name, config, read_metrics(folder / "metrics.jsonl"), rows)
    Path(arguments.out).write_text(text, encoding="utf-8")
    terminal.print(f"written to {arguments.out}")


command = Command(
    help="write a page about a run: curves, test scores beside the paper's, configuration",
    examples="""\
algorist report runs/bfs
algorist report runs/bfs --out bfs.html --samples 8""",
    add_arguments=add_arguments,
    run=run,
)
