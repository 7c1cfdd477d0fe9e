"""One run in the terminal: progress, logs, interrupts."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from algorist.commands import FAILURE
from algorist.commands.arguments import compute_config
from algorist.errors import format_count
from algorist.experiments.run_control import Interrupt
from algorist.model.compute_config import ComputeConfig
from algorist.plugins import shell
from algorist.report.progress import Progress
from algorist.report.terminal import Terminal, print_error
from algorist.training.divergence import DivergedError
from algorist.training.logs import TensorBoard, WeightsAndBiases, import_wandb
from algorist.training.parallel import Peers, join_process_group
from algorist.training.run import Log, Run
from algorist.training.saved_learners import BEST


def add_logs(parser: ArgumentParser) -> None:
    """Declare where else metrics may go."""
    parser.add_argument(
        "--wandb",
        type=_project,
        metavar="PROJECT",
        help="also log to this project of Weights & Biases",
    )


def _project(name: str) -> str:
    if not name:
        raise ArgumentTypeError("got no name, expected that of a project")
    return name


def add_stop(parser: ArgumentParser) -> None:
    """Declare when a run is to end for now."""
    parser.add_argument(
        "--stop-after",
        type=seconds,
        metavar="TIME",
        help="save and stop after this time, for example 90s, 9m or 1h; resume goes on from there",
    )


def seconds(text: str) -> float:
    """`90s`, `9m` or `1.5h` as seconds."""
    number, unit = text[:-1], text[-1:]
    try:
        value = float(number) * {"s": 1, "m": 60, "h": 3600}[unit]
    except (ValueError, KeyError):
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"got {text!r}, expected a time such as 90s, 9m or 1h")
    return value


def check_logs(arguments: Namespace) -> None:
    """Raise a `ValueError` if Weights & Biases is asked for and not installed."""
    if arguments.wandb:
        import_wandb()


@contextmanager
def joined_processes(
    arguments: Namespace, terminal: Terminal
) -> Iterator[tuple[ComputeConfig, Peers]]:
    """The compute configuration of a run, and its processes (torchrun); the first prints."""
    how = compute_config(arguments)
    with join_process_group(how.device) as peers:
        terminal.quiet = not peers.is_first
        if how.graphs and how.on_gpu and not peers.own_compute_config(how).graphs:
            terminal.print("several processes: steps are not captured as CUDA graphs")
        yield how, peers


def open_logs(run: Run, arguments: Namespace) -> list[Log]:
    """The logs of a run: TensorBoard, and Weights & Biases if asked for."""
    if not run.trainer.peers.is_first:
        return []
    logs: list[Log] = [TensorBoard(run)]
    if arguments.wandb:
        logs.append(WeightsAndBiases(run, arguments.wandb))
    return logs


def train_run(run: Run, arguments: Namespace, terminal: Terminal) -> int:
    """Train to the last step, to an interrupt or to the end of the time; returns the exit code."""
    trainer, folder = run.trainer, run.folder
    if trainer.step >= trainer.config.schedule.steps:
        terminal.print(
            f"all is done, {format_count(trainer.step, 'step')}: "
            f"{shell('resume', folder, '--steps', 'N')} goes on to N"
        )
        return 0
    try:
        with (
            Interrupt(after=arguments.stop_after, quiet=terminal.is_terminal) as interrupt,
            Progress(terminal, trainer, stopping=interrupt.came) as progress,
        ):
            done = run.train(
                logs=open_logs(run, arguments), observe=progress, should_stop=interrupt.is_due
            )
    except DivergedError as error:
        print_error(f"{error} ({folder})")
        return FAILURE
    if trainer.computing.on_gpu:
        terminal.print(str(trainer.time_account))
    if not done:
        terminal.print(f"stopped and saved at step {trainer.step}")
        terminal.print(f"to go on: {shell('resume', folder)}")
        return interrupt.exit_code if interrupt.came() else 0
    terminal.print(f"the best net is in {folder / BEST}")
    terminal.print(f"to test it: {shell('eval', folder)}")
    return 0
