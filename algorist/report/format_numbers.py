"""Numbers as text: percentages, means with standard errors, durations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean; nan for a single value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def format_percent(shares: Sequence[float], digits: int = 2, sign: str = "±") -> str:
    """The mean of shares from 0 to 1 in per cent, with its standard error where there is one."""
    return format_mean([100 * share for share in shares], f".{digits}f", sign)


def format_scores(values: Sequence[float], sign: str = "±", *, error: bool, digits: int = 1) -> str:
    """The mean of scores in per cent, or as it is where they are errors.

    >>> format_scores([0.5], error=False), format_scores([-12.3456], error=True)
    ('50.0 %', '-12.3')
    """
    return (
        format_mean(values, ".3g", sign) if error else f"{format_percent(values, digits, sign)} %"
    )


def to_json(value: Any) -> Any:
    """A value as `json` takes it: arrays become lists, keys text, nan and infinities None.

    >>> to_json({1: np.array([0.5, np.nan])})
    {'1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): to_json(x) for name, x in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, list | tuple):
        return [to_json(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def format_mean(values: Sequence[float], form: str, sign: str = "±") -> str:
    """The mean of some values, with its standard error where there is one."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "-"
    text = f"{statistics.fmean(known):{form}}"
    return text if len(known) == 1 else f"{text} {sign} {standard_error(known):{form}}"


def format_duration(seconds: float) -> str:
    """Seconds in one or two units.

    >>> format_duration(7.2), format_duration(200), format_duration(7500)
    ('7 s', '3 min 20 s', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
