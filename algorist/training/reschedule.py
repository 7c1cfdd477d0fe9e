"""Changes of a configuration in the middle of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from algorist.errors import format_count
from algorist.training.config import Config, change_settings
from algorist.training.schedules import DEFAULT_SCHEDULE

CHANGEABLE = {
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
    given = {name: changes[name] for name in CHANGEABLE if changes.get(name) is not None}
    after = change_settings(config, **given)
    before = {name: getattr(getattr(config, CHANGEABLE[name]), name) for name in given}
    changed = {name: value for name, value in given.items() if value != before[name]}
    _expect_steps_left(after.schedule.steps, step, given, changed)
    noted = {"learning_rate", "schedule"}
    if config.optimizer.schedule != DEFAULT_SCHEDULE:
        noted.add("steps")
    notes = tuple(
        f"step {step}: {name} {before[name]} -> {value}"
        for name, value in changed.items()
        if name in noted
    )
    return replace(after, changes=config.changes + notes)


def _expect_steps_left(
    last: int, step: int, given: Mapping[str, Any], changed: Mapping[str, Any]
) -> None:
    if last > step:
        return
    if "steps" in given:
        raise ValueError(f"steps: got {last}, expected more than the {step} that are done")
    for name, value in changed.items():
        raise ValueError(
            f"{name}: got {value}, but all {format_count(step, 'step')} are done, "
            "expected more steps too (--steps N)"
        )
