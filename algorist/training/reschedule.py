"""Changes of a configuration in the middle of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from algorist.errors import counted
from algorist.training.config import Config, ScheduleConfig
from algorist.training.schedules import DEFAULT_SCHEDULE


def rescheduled(
    config: Config,
    step: int,
    *,
    steps: int | None = None,
    average: int | None = None,
    learning_rate: float | None = None,
    schedule: str | None = None,
) -> Config:
    """The configuration from `step` on, with those settings changed that are not None.

    Changes of the learning rate are noted in `changes`: such a run differs from one that had these
    settings from its first step. Raises a `ValueError` for steps that are done already.
    """
    times = _given(steps=steps, average=average)
    rates = _given(learning_rate=learning_rate, schedule=schedule)
    _expect_steps_left(config.schedule, replace(config.schedule, **times), step, times)
    notes: tuple[str, ...] = ()
    if config.optimizer.schedule != DEFAULT_SCHEDULE and steps is not None:
        notes += _notes(step, config.schedule, {"steps": steps})
    notes += _notes(step, config.optimizer, rates)
    return replace(
        config,
        schedule=replace(config.schedule, **times),
        optimizer=replace(config.optimizer, **rates),
        changes=config.changes + notes,
    )


def _given(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _notes(step: int, settings: Any, changes: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"step {step}: {name} {getattr(settings, name)} -> {value}"
        for name, value in changes.items()
        if value != getattr(settings, name)
    )


def _expect_steps_left(
    before: ScheduleConfig, after: ScheduleConfig, step: int, changes: Mapping[str, Any]
) -> None:
    if after.steps > step:
        return
    if "steps" in changes:
        raise ValueError(f"steps: got {after.steps}, expected more than the {step} that are done")
    if after.average != before.average:
        raise ValueError(
            f"average: got {after.average}, but all {counted(step, 'step')} are done, "
            "expected more steps too"
        )
