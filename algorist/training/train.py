"""`algorist.train`: what the command of that name does, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from algorist.errors import shorten
from algorist.machine import find_device
from algorist.model.compute_config import ComputeConfig
from algorist.training.config import Config, change_settings
from algorist.training.config_values import given_value
from algorist.training.logs import TensorBoard
from algorist.training.recipes import DEFAULT_RECIPE, recipe, without
from algorist.training.run import Observer, Run, ignore_step


def train(
    algorithms: Sequence[str] | str,
    *,
    out: Path | str,
    recipe: str = DEFAULT_RECIPE,
    without: Iterable[str] = (),
    seeds: Sequence[int] = (0,),
    device: str = "auto",
    callback: Observer = ignore_step,
    should_stop: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> Run:
    """Train a net in a new folder, and return the run: `.learner`, `.metrics`, `.folder`.

    algorithms: one, or several that one net is trained for.
    recipe, without: where all settings start, and the improvements that are taken away from it.
    settings: any others, by their names: steps, hidden, learning_rate, schedule, ...
    callback: called after every step with the trainer and, where one is due, its report.
    should_stop: asked after every step; the run is saved then, and can be resumed.

    Raises a ValueError for settings that make no sense and for a folder that holds a run. To take
    the steps in a loop of your own, see `Run.steps`.
    """
    config = build_config(algorithms, recipe=recipe, without=without, seeds=seeds, **settings)
    run = Run.start(out, config, ComputeConfig(find_device(device)))
    run.train(logs=[TensorBoard(run)], observe=callback, should_stop=should_stop)
    return run


def build_config(
    algorithms: Sequence[str] | str,
    *,
    recipe: str = DEFAULT_RECIPE,
    without: Iterable[str] = (),
    seeds: Sequence[int] = (0,),
    **settings: Any,
) -> Config:
    """The configuration of a recipe without some improvements and with some settings changed."""
    config = _without(_recipe(recipe, _names(algorithms)), *without)
    own = given_value("seeds", tuple[int, ...], seeds)
    return replace(change_settings(config, **settings), seeds=own)


def _names(algorithms: Iterable[str] | str) -> list[str]:
    names = [algorithms] if isinstance(algorithms, str) else algorithms
    if not isinstance(names, Iterable):
        raise ValueError(f"algorithms: got {shorten(names)}, expected one name or several")
    return list(given_value("algorithms", tuple[str, ...], list(names)))


_recipe, _without = recipe, without  # which are the names of arguments, too
