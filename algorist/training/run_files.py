"""The files of a run beside its checkpoints: metrics.jsonl, times and the configuration."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from algorist.atomic import remove_unfinished, replace_text, whole_lines
from algorist.errors import shorten
from algorist.plugins import shell
from algorist.training import checkpoint
from algorist.training.checkpoint_compression import compress
from algorist.training.config import Config
from algorist.training.reschedule import CHANGEABLE
from algorist.training.saved_learners import (
    BEST,
    CONFIG,
    METRICS,
    TIMES,
    expect_no_run,
    newest,
    read_config,
)
from algorist.training.validation_report import ValidationReport
from algorist.version import __version__


def append_report(file: Path, report: ValidationReport, *, with_terms: bool) -> None:
    """Append a report to the metrics as a line of JSON.

    `with_terms` adds the parts of the loss, which matter if there are loss terms or penalties.
    """
    values = asdict(report)
    if not with_terms:
        del values["terms"]
    if report.learning_rate is None:
        del values["learning_rate"]
    with file.open("a") as lines:
        lines.write(_json_line(values))


def read_rows(file: Path) -> list[dict[str, Any]]:
    """The complete lines of a file of JSON lines; none if there is no file."""
    return [json.loads(line) for line in whole_lines(file)] if file.exists() else []


def read_metrics(file: Path) -> list[ValidationReport]:
    """The reports in the metrics; raises a `ValueError` for a line that is none.

    A last line that is incomplete is left out.
    """
    reports = []
    for number, line in enumerate(whole_lines(file) if file.exists() else [], 1):
        try:
            reports.append(ValidationReport(**json.loads(line)))
        except (ValueError, TypeError):
            raise ValueError(
                f"{file}, line {number}: got {shorten(line)}, expected a report; delete that line"
            ) from None
    return reports


def trained_seconds(folder: Path) -> float:
    """The seconds that the run in a folder has been trained, over all completed sessions."""
    sessions = read_rows(folder / TIMES)
    seconds: float = sum(session["ready_s"] + session["since_s"] for session in sessions)
    return round(seconds, 3)


def drop_reports_after(file: Path, step: int) -> None:
    """Remove the reports of later steps from the metrics."""
    if file.exists():
        lines = zip(read_metrics(file), whole_lines(file), strict=True)
        kept = [f"{line}\n" for report, line in lines if report.step <= step]
        replace_text(file, "".join(kept))


def append_times(file: Path, steps: tuple[int, int], times: Mapping[str, float]) -> None:
    """Append how long a session took that trained from one step to another."""
    before = [f"{line}\n" for line in whole_lines(file)] if file.exists() else []
    session = {"from": steps[0], "to": steps[1], "version": __version__, **times}
    replace_text(file, "".join([*before, _json_line(session)]))


def _json_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values) + "\n"


def remove_half_written(folder: Path) -> None:
    """Remove what killed processes left beside the files of a run."""
    for name in (BEST, CONFIG, METRICS, TIMES):
        remove_unfinished(folder / name)


def expect_unchanged(file: Path, config: Config, given: Collection[str] = ()) -> None:
    """Raise a `ValueError` if settings that hold for a whole run were edited in its folder.

    Warns of those that `Run.resume` can change and that are not `given` to it: in the file they may
    be older than in the checkpoint, which is right.
    """
    written = replace(read_config(file), changes=config.changes)
    before, now = _flat(config), _flat(written)
    for name in [name for name in before if before[name] != now[name]]:
        setting = name.rpartition(".")[2]
        if setting not in CHANGEABLE:
            raise ValueError(
                f"{file}: got {name} = {now[name]}, but the run was begun with {before[name]}: put "
                "it back, or start another run"
            )
        if setting not in given:
            option = f"--{setting.replace('_', '-')}"
            change = shell("resume", file.parent, option, now[name])
            warnings.warn(
                f"{file}: got {name} = {now[name]}, but the run goes on with {before[name]}; "
                f"to change it: {change}",
                stacklevel=3,
            )


def _flat(config: Config) -> dict[str, Any]:
    """All settings, by section and name."""
    flat: dict[str, Any] = {}
    for name, own in asdict(config).items():
        flat |= {f"{name}.{k}": v for k, v in own.items()} if isinstance(own, dict) else {name: own}
    return flat


def pack_run(folder: Path | str, target: Path | str) -> list[Path]:
    """Write a compressed run to a new folder, where it can be resumed; returns its few files."""
    folder, target = Path(folder), Path(target)
    now = newest(folder)
    expect_no_run(target)
    target.mkdir(parents=True, exist_ok=True)
    files = checkpoint.write_files(target, compress(now))
    for name in (METRICS, TIMES, CONFIG):
        if (folder / name).exists():
            replace_text(target / name, (folder / name).read_text())
            files.append(target / name)
    return files
