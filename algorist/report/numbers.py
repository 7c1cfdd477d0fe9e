"""Numbers as people read them: shares in per cent, errors after them, times in two units."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def standard_error(values: Sequence[float]) -> float:
    """How uncertain the mean of some values is; nan for a single one."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def percent(shares: Sequence[float], digits: int = 2, sign: str = "±") -> str:
    """The mean of shares from 0 to 1 in per cent, with its standard error where there is one."""
    return averaged([100 * share for share in shares], f".{digits}f", sign)


def scored(values: Sequence[float], sign: str = "±", *, error: bool, digits: int = 1) -> str:
    """Scores: in per cent, or as they are where they are errors.

    >>> scored([0.5], error=False), scored([-12.3456], error=True)
    ('50.0 %', '-12.3')
    """
    return averaged(values, ".3g", sign) if error else f"{percent(values, digits, sign)} %"


def as_json(value: Any) -> Any:
    """Arrays as lists and names as texts, all the way down; what is no finite number is none.

    >>> as_json({1: np.array([0.5, np.nan])})
    {'1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): as_json(x) for name, x in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [as_json(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def averaged(values: Sequence[float], form: str, sign: str = "±") -> str:
    """The mean of some values, with its standard error where there is one."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "-"
    text = f"{statistics.fmean(known):{form}}"
    return text if len(known) == 1 else f"{text} {sign} {standard_error(known):{form}}"


def duration(seconds: float) -> str:
    """Seconds in one or two units.

    >>> duration(7.2), duration(200), duration(7500)
    ('7 s', '3 min 20 s', '2 h 05 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
