"""Means as the paper computes them: over seeds, over families of algorithms, over all."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from algorist.algorithms import get
from algorist.experiments.plan import ALGORITHMS, FAMILIES
from algorist.report.format_numbers import standard_error


class Mean(NamedTuple):
    """A mean over seeds, in per cent."""

    mean: float
    error: float | None
    """Its standard error; None where it is not known."""
    seeds: int

    def text(self, sign: str = "±") -> str:
        """The mean and its error, as in `12.34 ± 0.56`."""
        return f"{self.mean:.2f}" + ("" if self.error is None else f" {sign} {self.error:.2f}")


Scores = Mapping[int, float]
"""By seed."""


def mean_over_seeds(scores: Sequence[float]) -> Mean:
    """The mean over some seeds."""
    error = standard_error(scores)
    return Mean(statistics.fmean(scores), None if math.isnan(error) else error, len(scores))


def mean_over_algorithms(scores: Mapping[str, Scores], algorithms: Iterable[str]) -> Mean | None:
    """The mean over algorithms of each seed that has them all, then over these seeds."""
    of_each = [scores.get(algorithm, {}) for algorithm in algorithms]
    if not of_each:
        return None
    common = set.intersection(*(set(own) for own in of_each))
    if not common:
        return None
    return mean_over_seeds(
        [statistics.fmean(own[seed] for own in of_each) for seed in sorted(common)]
    )


def family_of(algorithm: str) -> str:
    """The group of related algorithms that an algorithm belongs to."""
    return get(algorithm).family


def family_mean(values: Mapping[str, Mean], family: str) -> Mean | None:
    """The mean over the algorithms of a family, if all of them are there.

    Its error is the paper's: the standard deviation over all algorithms and seeds, divided by the
    root of the number of algorithms.
    """
    names = [name for name in ALGORITHMS if family_of(name) == family]
    if any(name not in values for name in names):
        return None
    own = [values[name] for name in names]
    between = statistics.pvariance([value.mean for value in own])
    within = [value.error**2 * value.seeds for value in own if value.error is not None]
    known = len(within) == len(own)
    error = math.sqrt((between + statistics.fmean(within)) / len(own)) if known else None
    return Mean(statistics.fmean([v.mean for v in own]), error, min(v.seeds for v in own))


def mean_of_families(values: Mapping[str, Mean]) -> float | None:
    """The mean over the families' means, if all are there: small families weigh more by it."""
    means = [family_mean(values, family) for family in FAMILIES]
    return statistics.fmean(mean.mean for mean in means if mean) if all(means) else None


def overall_mean(values: Mapping[str, Mean]) -> float | None:
    """The mean over all algorithms, if all are there."""
    if any(name not in values for name in ALGORITHMS):
        return None
    return statistics.fmean(values[name].mean for name in ALGORITHMS)


def count_above(values: Mapping[str, Mean], threshold: float) -> int | None:
    """How many algorithms score more than a threshold, if all are there."""
    if any(name not in values for name in ALGORITHMS):
        return None
    return sum(values[name].mean > threshold for name in ALGORITHMS)
