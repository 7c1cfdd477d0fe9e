"""Logs: reports as curves in TensorBoard and in Weights & Biases."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from types import ModuleType
from typing import Any

from algorist.extras import extra
from algorist.training.run import Run
from algorist.training.validation_report import ValidationReport


def curves(report: ValidationReport, replica: int) -> dict[str, float]:
    """The values of a report for one replica, by the names of the curves."""
    found = {}
    for task, losses in report.loss.items():
        found[f"loss/{task}"] = losses[replica]
        for name, values in report.terms.get(task, {}).items():
            found[f"loss/{task}/{name}"] = values[replica]
        found[f"validation/{task}"] = report.scores[task][replica]
    if report.learning_rate is not None:
        found["learning_rate"] = report.learning_rate
    return {**found, "validation": report.score[replica]}


class TensorBoard:
    """Events in the run's folder, one series for each seed, so that their curves overlay."""

    def __init__(self, run: Run):
        from torch.utils.tensorboard import SummaryWriter

        # What a resumed run does once more is not shown twice.
        again = run.trainer.step + 1
        self._writers = [
            SummaryWriter(str(run.folder / "events" / f"seed-{seed}"), purge_step=again)
            for seed in run.trainer.config.seeds
        ]

    def report(self, report: ValidationReport) -> None:
        """Add a point to every curve."""
        for replica, writer in enumerate(self._writers):
            for name, value in curves(report, replica).items():
                writer.add_scalar(name, value, report.step)
            writer.flush()

    def close(self) -> None:
        """Write what is left."""
        for writer in self._writers:
            writer.close()


class WeightsAndBiases:
    """The curves of all seeds in one run of Weights & Biases, which a resumed run goes on with."""

    def __init__(self, run: Run, project: str):
        config = run.trainer.config
        self._seeds = config.seeds
        self._run = import_wandb().init(
            project=project,
            name=run.folder.name,
            id=_run_id(run),
            resume="allow",
            dir=str(run.folder),
            config=asdict(config),
        )
        # Its own step count never decreases; ours does when a run is resumed.
        self._run.define_metric("*", step_metric="step")

    def report(self, report: ValidationReport) -> None:
        """Add a point to every curve."""
        values: dict[str, Any] = {"step": report.step}
        for replica, seed in enumerate(self._seeds):
            prefix = f"seed-{seed}/" if len(self._seeds) > 1 else ""
            values |= {f"{prefix}{name}": x for name, x in curves(report, replica).items()}
        self._run.log(values)

    def close(self) -> None:
        """Wait until everything is sent."""
        self._run.finish()


def import_wandb() -> ModuleType:
    """The package of Weights & Biases."""
    return extra("wandb", "Weights & Biases")


def _run_id(run: Run) -> str:
    """The id of a run at Weights & Biases, drawn once and kept in the folder."""
    file = run.folder / "wandb-id"
    if not file.exists():
        file.write_text(uuid.uuid4().hex)
    return file.read_text()
