"""Saved models at the command line: how they are named, and which of them are loaded."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import algorist
from algorist.commands.arguments import compute_config
from algorist.errors import unknown
from algorist.plugins import shell
from algorist.report.terminal import Terminal
from algorist.weights import DEFAULT

if TYPE_CHECKING:
    from algorist.model.learner import Learner

MODEL = "a run's folder, a saved learner, or a name that `algorist list --models` shows"
SEVERAL = "; also a folder of such, named by their algorithms, as `specialists` is"


def add_model(parser: ArgumentParser) -> None:
    """Declare `--model`."""
    text = f"{MODEL}{SEVERAL} (default: {DEFAULT})"
    parser.add_argument("--model", default=DEFAULT, metavar="MODEL", help=text)


def load_model(model: str, arguments: Namespace) -> Learner:
    """A saved learner on the device that the options of `add_compute_options` name."""
    from algorist.training.saved_learners import load

    _expect_named(model)
    how = compute_config(arguments)
    learner = load(model, how.device)
    how.apply(learner.net)
    return learner


def load_models(wanted: Iterable[str], model: str, arguments: Namespace) -> dict[str, Learner]:
    """The learner of each wanted algorithm, or of all that the model knows."""
    from algorist.training.saved_learners import members

    _expect_named(model)
    several = members(model)
    if several:
        return _load_each(choose_algorithms(wanted, several), several, model, arguments)
    learners = load_model(model, arguments).by_algorithm()
    return {name: learners[name] for name in choose_algorithms(wanted, learners)}


def _expect_named(model: str) -> None:
    if not model:
        raise ValueError(f"MODEL: got '', expected {MODEL}")


def _load_each(
    names: Sequence[str], several: Mapping[str, str], model: str, arguments: Namespace
) -> dict[str, Learner]:
    """The learners of some algorithms, without the runs that have not begun."""
    from algorist.training.saved_learners import members_not_begun

    waiting = [name for name in members_not_begun(model) if name in names]
    how = f"not begun: {', '.join(waiting)}; to go on: {shell('resume', model)}"
    if len(waiting) == len(names):
        raise ValueError(f"{model}: {how}")
    if waiting:
        Terminal(stderr=True).print(how)
    return {name: load_model(several[name], arguments) for name in names if name not in waiting}


def choose_algorithms(wanted: Iterable[str], algorithms: Iterable[str]) -> list[str]:
    """The wanted algorithms, each once, or all; raises a `ValueError` for an unknown one."""
    from algorist.weights import models

    there = list(algorithms)
    for name in wanted:
        if name in there:
            continue
        if name in models():
            raise ValueError(
                f"{name}: got a model, expected an algorithm; "
                "models to compare go first, without --model"
            )
        if name in algorist.algorithms():  # not mistyped
            names = ", ".join(there)
            raise ValueError(f"unknown algorithm for this learner {name!r}: known: {names}")
        raise ValueError(unknown("algorithm for this learner", name, there))
    return list(dict.fromkeys(wanted)) or there
