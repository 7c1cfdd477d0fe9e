"""Changes of a configuration in the middle of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from algorist.errors import format_count
from algorist.training.config import Config, ScheduleConfig, change_settings
from algorist.training.schedules import DEFAULT_SCHEDULE

_SECTIONS = {
    "steps": "schedule",
    "average": "schedule",
    "learning_rate": "optimizer",
    "schedule": "optimizer",
}
"""The settings that can be changed, and their sections."""


def reschedule(config: Config, step: int, **changes: Any) -> Config:
    """The configuration from `step` on, with those `changes` that are not None.

    Changes of the learning rate are noted in `Config.changes`: such a run differs from one that had
    these settings from its first step. Raises a `ValueError` for steps that are done already.
    """
    given = {name: changes[name] for name in _SECTIONS if changes.get(name) is not None}
    after = change_settings(config, **given)
    _expect_steps_left(config.schedule, after.schedule, step, given)
    noted = {"learning_rate", "schedule"}
    if config.optimizer.schedule != DEFAULT_SCHEDULE:
        noted.add("steps")
    before = {name: getattr(getattr(config, _SECTIONS[name]), name) for name in given}
    notes = tuple(
        f"step {step}: {name} {before[name]} -> {value}"
        for name, value in given.items()
        if name in noted and value != before[name]
    )
    return replace(after, changes=config.changes + notes)


def _expect_steps_left(
    before: ScheduleConfig, after: ScheduleConfig, step: int, changes: Mapping[str, Any]
) -> None:
    if after.steps > step:
        return
    if "steps" in changes:
        raise ValueError(f"steps: got {after.steps}, expected more than the {step} that are done")
    if after.average != before.average:
        raise ValueError(
            f"average: got {after.average}, but all {format_count(step, 'step')} are done, "
            "expected more steps too"
        )
