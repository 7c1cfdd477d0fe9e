"""`algorist view`: watch net and algorithm side by side, in a browser."""

from __future__ import annotations

import errno
import webbrowser
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import algorist
from algorist.algorithms import Algorithm
from algorist.commands import Command
from algorist.commands.arguments import add_compute_options
from algorist.commands.load_models import add_model, load_model, load_models
from algorist.commands.output_files import check_output_file, write_named
from algorist.commands.problem_options import add_problem_options
from algorist.errors import format_count
from algorist.problems import forms, inputs
from algorist.report.terminal import Terminal
from algorist.weights import SAVED, SPARSE
from algorist.weights import models as shipped_models

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.viewer.app import App
    from algorist.viewer.nets import NetChoice
    from algorist.viewer.server import Server

PORT = 8421


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.usage = (
        "algorist view [ALGORITHM [VALUE ...]] [OPTION ...]\n"
        "       algorist view ALGORITHM [VALUE ...] --export FILE.html [OPTION ...]"
    )
    add_model(parser)
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="MODEL",
        help="another model to choose on the page, beside the shipped ones (repeatable)",
    )
    parser.add_argument(
        "--export", metavar="FILE.html", help="write one problem's page to a file to share"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"where to listen (default: {PORT}, if it is free)"
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="do not open a browser"
    )
    add_problem_options(parser)
    add_compute_options(parser)


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Serve the page until Ctrl-C, or write it to a file."""
    if arguments.export is None:
        _serve(arguments, terminal)
    else:
        _export(arguments, terminal)


def _app(arguments: Namespace, *algorithms: str, alone: bool = False) -> App:
    """With nets for some algorithms, or for all that the model knows; `alone` without others."""
    from algorist.viewer.app import App

    learners = load_models(algorithms, arguments.model, arguments)
    return App(
        learners,
        _name(arguments.model),
        [] if alone else list(_others(arguments)),
        version=algorist.__version__,
    )


def _name(model: str) -> str:
    return Path(model).name.removesuffix(SAVED)


def _others(arguments: Namespace) -> Iterator[NetChoice]:
    """What else can be chosen: what `--also` names, and the shipped models."""
    from algorist.training.saved_learners import members
    from algorist.viewer.nets import NetChoice

    shipped = [model for model in shipped_models() if model != SPARSE]
    for model in [*arguments.also, *shipped]:
        if model == arguments.model:
            continue
        several = members(model)
        if several:
            load = partial(_member, model, arguments)
            yield NetChoice(_name(model), frozenset(several), load)
        else:
            yield NetChoice.of(_name(model), load_model(model, arguments).by_algorithm())


def _member(model: str, arguments: Namespace, algorithm: str) -> Learner:
    return load_models([algorithm], model, arguments)[algorithm]


def _algorithm(arguments: Namespace, option: str) -> Algorithm:
    """The first of all words, without which an option makes no sense; the rest is the problem."""
    if not arguments.values:
        what = inputs.called(option)
        raise ValueError(f"{what}: got no algorithm, expected its name and a problem")
    name, *arguments.values = arguments.values
    return algorist.get(name)


def _export(arguments: Namespace, terminal: Terminal) -> None:
    from algorist.viewer.pages import page

    if arguments.also:
        raise ValueError("--also: got it with --export, which shows one net")
    if arguments.port is not None:
        raise ValueError("--port: got it with --export, which serves nothing")
    if not arguments.browser:
        raise ValueError("--no-browser: got it with --export, which opens none")
    check_output_file("--export", arguments.export)
    algorithm = _algorithm(arguments, "export")
    problem = inputs.problem(algorithm, arguments)
    app = _app(arguments, algorithm.name, alone=True)
    trace = app.trace(algorithm, problem)
    path = Path(arguments.export)
    write_named(path, page(trace).html)
    steps = format_count(trace["steps"], "step")
    terminal.print(f"{steps} of {algorithm.name}, written to {path}")


def _serve(arguments: Namespace, terminal: Terminal) -> None:
    given = inputs.given(arguments)
    first = forms.page_request(_algorithm(arguments, given[0]), arguments) if given else None
    app = _app(arguments)
    if first:
        app.begin_with(first)
    with _listening(app, arguments.port) as server:
        terminal.print(f"watch at {server.address} (Ctrl-C ends it)")
        if arguments.browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            app.end()
            terminal.print("ended")


def _listening(app: App, port: int | None) -> Server:
    """A server at the port that was asked for, or else at the usual one or any that is free."""
    from algorist.viewer.server import Server

    if port is not None and not 0 <= port < 2**16:
        raise ValueError(f"--port: got {port}, expected 0 to {2**16 - 1}")
    try:
        return Server(app, PORT if port is None else port)
    except OSError as error:
        if port is not None or error.errno != errno.EADDRINUSE:
            raise ValueError(f"--port: got {port or PORT}, which is not free ({error})") from None
        return Server(app)


command = Command(
    help="watch net and algorithm side by side, step by step, in a browser",
    examples="""\
algorist view
algorist view heapsort 5 2 9 1
algorist view --port 9000 --no-browser
algorist view --model runs/bfs --also runs/bfs-long
algorist view heapsort 5 2 9 1 --export heapsort.html
algorist view dijkstra --graph roads.csv --source A --export roads.html
algorist view bfs --random 12 --seed 1 --export bfs.html""",
    add_arguments=add_arguments,
    run=run,
)
