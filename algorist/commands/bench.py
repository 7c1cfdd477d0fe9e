"""`algorist bench`: what training and evaluation cost on this machine."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import algorist
from algorist.atomic import replace_text
from algorist.commands import Command
from algorist.commands.arguments import (
    MODEL,
    add_at_once,
    add_computing,
    add_tasks,
    computing,
    expect_place_of_file,
    known,
    loaded,
    names,
    tasks,
)
from algorist.data import official
from algorist.errors import positive, shell
from algorist.report.lines import Lines
from algorist.report.machine import machine
from algorist.report.terminal import Terminal, complain

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.training.config import Config
    from algorist.training.measuring import TrainingCost
    from algorist.training.slots import Outcome, Slots

USUAL = ("bfs", "insertion_sort", "dfs", "floyd_warshall", "matrix_chain_order")
FAILED = 1
"""The exit code when something could not be measured."""


@dataclass(frozen=True)
class Table:
    """How costs are shown."""

    headings: Sequence[str]
    cells: Callable[[Any], list[str]]
    sums: Callable[[list[Any]], list[str]] | None = None
    """The last row, where there are several."""
    totals: Callable[[list[Any]], dict[str, float]] | None = None
    """The numbers of all rows together that are written too."""
    details: Callable[[Any], None] | None = None
    """Prints more about a row."""


Measure = tuple[str, Callable[[], Any]]
Named = Iterator[tuple[str, "Outcome"]]


def _in_turn(measures: Sequence[Measure]) -> Named:
    """Measure one thing after the other."""
    from algorist.training.slots import attempted

    for place, (name, measure) in enumerate(measures):
        with Terminal(stderr=True).status(f"measuring {name}"):
            outcome = attempted(place, measure)
        yield name, outcome


def _measured(
    named: Sequence[str], outcomes: Named, table: Table, arguments: Namespace, terminal: Terminal
) -> int:
    """Print a row for all that is measured, as soon as it is known; returns the exit code.

    What fails does not end the others.
    """
    from algorist.training.slots import NOT_TAKEN_UP

    notes = Notes(arguments)
    lines = Lines(terminal, named, table.headings)
    by_place, seen = {}, set()
    for name, outcome in outcomes:
        seen.add(name)
        if outcome.error is not None:
            (reason, *_) = str(outcome.error).splitlines() or [""]
            lines.remark(name, f"failed: {type(outcome.error).__name__}: {reason}")
            if not isinstance(outcome.error, ValueError):  # which says in one line what is wrong
                print(outcome.trace, file=sys.stderr)
            notes.add({"name": name, "error": outcome.trace})
            continue
        by_place[outcome.place] = outcome.value
        notes.add(asdict(outcome.value))
        lines.add(name, table.cells(outcome.value))
        if table.details:
            table.details(outcome.value)
    costs = [by_place[place] for place in sorted(by_place)]
    if table.sums and len(costs) > 1:
        lines.add("all", table.sums(costs))
    notes.end(table.totals(costs) if table.totals else {})
    forgotten = [name for name in named if name not in seen]
    if forgotten:
        complain(f"{NOT_TAKEN_UP}: {', '.join(forgotten)}")
    return 0 if len(costs) == len(named) else FAILED


def _one_by_one(
    measures: Sequence[Measure], table: Table, arguments: Namespace, terminal: Terminal
) -> int:
    """Measure one thing after the other and print their rows; returns the exit code."""
    names = [name for name, _ in measures]
    return _measured(names, _in_turn(measures), table, arguments, terminal)


def _sums(names: Sequence[str], costs: list[Any]) -> dict[str, float]:
    return {name: sum(getattr(cost, name) for cost in costs) for name in names}


class Notes:
    """All numbers so far, in a file if one is wanted: whatever ends the command, they are there."""

    def __init__(self, arguments: Namespace):
        expect_place_of_file("--json", arguments.json)
        self._file, self._what = arguments.json, arguments.what
        self._rows: list[dict[str, Any]] = []
        self._sums: dict[str, float] = {}
        self._head = {
            "command": shell(*arguments.words),
            "machine": {**machine(), "gpu": _gpu(computing(arguments).device)},
        }
        self._write()

    def add(self, row: dict[str, Any]) -> None:
        """Keep the numbers of a row."""
        self._rows.append(row)
        self._write()

    def end(self, sums: dict[str, float]) -> None:
        """Keep the numbers of all rows together."""
        self._sums = sums
        self._write()

    def _write(self) -> None:
        if self._file:
            rows = {self._what: self._rows, "all": self._sums}
            text = json.dumps(self._head | rows, indent=2)
            replace_text(Path(self._file), text + "\n")


def _gpu(device: str) -> str | None:
    import torch

    return None if device == "cpu" else torch.cuda.get_device_name(device)


# Training steps


def _add_steps(parser: ArgumentParser) -> None:
    from algorist.commands.settings import add_recipe, add_settings, whole_numbers

    add_tasks(parser, f"one after the other (default: {' '.join(USUAL)})")
    for name, default in (("size", 16), ("replicas", 1)):
        parser.add_argument(
            f"--{name}",
            type=whole_numbers,
            default=(default,),
            metavar="N,N",
            help=f"{_STEP_HELP[name]} (default: {default})",
        )
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="take the median of so many (default: 5)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.2,
        metavar="X",
        help="how long a round lasts, with one step at least (default: 0.2)",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="also show the kernels by time, on a GPU; later rows may become a little slower",
    )
    add_recipe(parser)
    add_settings(parser, ("model", "convention", "data", "optimiser"), but=("sizes",))


_STEP_HELP = {"size": "sizes of the problems", "replicas": "nets that are trained at once"}


def _steps(arguments: Namespace, terminal: Terminal) -> int:
    """A row for each algorithm, size and number of replicas."""
    from algorist.report.costs import STEP_HEADINGS, show_kernels, step_cells
    from algorist.training.clocks import Pace
    from algorist.training.measuring import step_cost

    how, pace = computing(arguments), Pace(arguments.rounds, arguments.seconds)
    if arguments.profile and not how.on_gpu:
        raise ValueError(f"--profile: got {how.device} as the device, expected a GPU")
    measures = [
        (config.algorithms[0], partial(step_cost, config, how, pace, profile=arguments.profile))
        for config in _step_configs(arguments)
    ]
    details = partial(show_kernels, terminal) if arguments.profile else None
    table = Table(STEP_HEADINGS, step_cells, details=details)
    return _one_by_one(measures, table, arguments, terminal)


def _step_configs(arguments: Namespace) -> list[Config]:
    from dataclasses import replace

    from algorist.commands.settings import configured

    configs = []
    for algorithm in tasks(arguments) or USUAL:
        for size in arguments.size:
            for replicas in arguments.replicas:
                seeds = range(positive("replicas", replicas))
                config = configured(arguments, [algorithm], seeds)
                fixed = official.SPLITS["train"].n
                if not config.data.online and size != fixed:
                    raise ValueError(
                        f"--size: got {size}, but the fixed training set has size {fixed}"
                    )
                data = replace(config.data, sizes=(positive("size", size),))
                configs.append(replace(config, data=data))
    return configs


# Whole trainings


def _add_training(parser: ArgumentParser) -> None:
    from algorist.commands.settings import add_settings
    from algorist.commands.train import add_start

    add_tasks(parser)
    parser.add_argument(
        "--each", action="store_true", help="a net for each task, one after the other"
    )
    add_at_once(parser, "with --each; default: 1")
    for name, default in (("cycles", 300), ("warm-up", 10)):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=default,
            metavar="N",
            help=f"{_CYCLES_HELP[name]} (default: {default})",
        )
    add_start(parser)
    add_settings(parser)


_CYCLES_HELP = {
    "cycles": "measure so many: in each, every task is read once",
    "warm-up": "cycles before those, in which most shapes are captured",
}


def _training(arguments: Namespace, terminal: Terminal) -> int:
    """A row for all tasks together, or for each of them."""
    from algorist.commands.settings import configured
    from algorist.commands.train import named_tasks
    from algorist.report.costs import TRAINING_HEADINGS, training_cells, training_sums
    from algorist.training.measuring import check_cycles, minutes_together
    from algorist.training.slots import Slots, number_of_slots

    if arguments.at_once is not None and not arguments.each:
        raise ValueError("--at-once: it is for several nets, expected --each too")
    chosen, how = named_tasks(arguments), computing(arguments)
    groups = [[name] for name in chosen] if arguments.each else [chosen]
    configs = [configured(arguments, group, arguments.seeds) for group in groups]
    check_cycles(configs[0], arguments.warm_up, arguments.cycles)
    at_once = 1 if arguments.at_once is None else arguments.at_once
    count = min(number_of_slots(at_once, how), len(configs))

    def totals(costs: list[TrainingCost]) -> dict[str, float]:
        together = {"at_once": count, "projected_minutes": minutes_together(costs, count)}
        return _sums(("ready_s", "late_s", "cycle_ms"), costs) | together

    table = Table(TRAINING_HEADINGS, training_cells, partial(training_sums, count), totals)
    names = [_title(config.algorithms) for config in configs]
    with Slots(count, how) as slots:
        outcomes = _trained(names, configs, slots, arguments)
        return _measured(names, outcomes, table, arguments, terminal)


def _trained(
    names: Sequence[str], configs: Sequence[Config], slots: Slots, arguments: Namespace
) -> Named:
    """Measure trainings, as many at once as there are slots."""
    from algorist.training.measuring import training_cost

    times = {"warm_up": arguments.warm_up, "cycles": arguments.cycles}
    how = computing(arguments)
    tasks = [partial(training_cost, config, how, **times) for config in configs]
    with Terminal(stderr=True).status("measuring"):
        for outcome in slots.outcomes(tasks):
            yield names[outcome.place], outcome


def _title(algorithms: Sequence[str]) -> str:
    return algorithms[0] if len(algorithms) == 1 else f"{len(algorithms)} algorithms"


# Evaluations


def _add_evaluation(parser: ArgumentParser) -> None:
    from algorist.commands.settings import add_recipe, add_settings

    parser.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help=f"{MODEL} (default: a fresh net)",
    )
    parser.add_argument(
        "--algorithms", type=names, metavar="A,B", help="only these (default: all that it knows)"
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


def _evaluation(arguments: Namespace, terminal: Terminal) -> int:
    """A row for each algorithm."""
    from algorist.report.costs import EVALUATION_HEADINGS, evaluation_cells, evaluation_sums
    from algorist.report.scores import first_samples
    from algorist.training.measuring import evaluation_cost

    if arguments.samples is not None:
        positive("samples", arguments.samples)
    draw = first_samples(arguments.split, arguments.samples)
    learner = _given(arguments) if arguments.model is not None else _fresh(arguments)
    measures = [
        (name, partial(evaluation_cost, learner, name, draw))
        for name in known(arguments.algorithms or (), learner.algorithms)
    ]
    totals = partial(_sums, ("data_s", "score_s"))
    table = Table(EVALUATION_HEADINGS, evaluation_cells, evaluation_sums, totals)
    return _one_by_one(measures, table, arguments, terminal)


def _given(arguments: Namespace) -> Learner:
    """The saved learner, which cannot be told what it is made of."""
    from algorist.training.recipes import USUAL_RECIPE

    settings = [place.split(".")[1] for place in vars(arguments) if "." in place]
    fresh: dict[str, Any] = {"replicas": None, "recipe": USUAL_RECIPE, "without": []}
    settings += [name for name, usual in fresh.items() if getattr(arguments, name) != usual]
    for name in settings:
        flag = name.replace("_", "-")
        raise ValueError(f"--{flag}: only a fresh net has it, expected no MODEL")
    return loaded(arguments.model, arguments)


def _fresh(arguments: Namespace) -> Learner:
    from algorist.commands.settings import configured
    from algorist.training.loading import new_learner

    count = 1 if arguments.replicas is None else positive("replicas", arguments.replicas)
    config = configured(arguments, arguments.algorithms or algorist.algorithms(), range(count))
    learner = new_learner(config)
    computing(arguments).apply(learner.net)
    return learner


# The command


class Part(NamedTuple):
    """One of the things that can be measured."""

    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Terminal], int]


PARTS = {
    "steps": Part("training steps, on the same window again and again", _add_steps, _steps),
    "training": Part("trainings, with data and validation", _add_training, _training),
    "evaluation": Part("tests on the benchmark's fixed sets", _add_evaluation, _evaluation),
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be measured, and how."""
    parts = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, part in PARTS.items():
        sub = parts.add_parser(
            name, help=part.help, description=f"Measure {part.help}.", allow_abbrev=False
        )
        part.add_arguments(sub)
        sub.add_argument("--json", metavar="FILE", help="write all numbers to this file too")
        add_computing(sub, training=name != "evaluation")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Print a table, a row as soon as it is known."""
    return PARTS[arguments.what].run(arguments, terminal)


command = Command(
    help="measure what training and evaluation cost on this machine",
    examples="""\
algorist bench steps
algorist bench steps bfs dfs --size 4,16 --replicas 1,10 --json steps.json
algorist bench steps --all --chunk 16 --processor triplet_mpnn
algorist bench steps floyd_warshall --profile
algorist bench training --all --seeds 0,1,2 --cycles 300 --json generalist.json
algorist bench training --all --each --cycles 100 --at-once 3
algorist bench evaluation runs/bfs
algorist bench evaluation --algorithms dfs,heapsort --replicas 3""",
    add_arguments=add_arguments,
    run=run,
)
