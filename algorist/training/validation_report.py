"""The report of a validation: losses since the one before, scores, and the best step so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ValidationReport:
    """The state of a run after a validation. Lists have one number for each seed."""

    step: int
    loss: Mapping[str, list[float]]
    """The mean loss of each task since the previous report."""
    scores: Mapping[str, list[float]]
    """The validation score of each task, as `validate_by` says; errors are negative."""
    score: list[float]
    """The mean over the tasks."""
    best_step: list[int]
    """The step with the best score so far."""
    terms: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    """The parts of `loss`, by feature, loss term and penalty."""
    learning_rate: float | None = None
    """The learning rate of the previous step; None if it is constant."""
