"""Figures of scores as bars, and their common style."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algorist.report.drawing import COLOURS, INK
from algorist.report.means import Mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ERROR_BARS = "Error bars are standard errors of the mean over seeds."
TOP = 102
"""Where axes of scores end, in per cent."""


@dataclass(frozen=True)
class FigureSpec:
    """A figure that can be drawn, or what it lacks."""

    name: str
    """The name of its files."""
    title: str
    caption: str
    notes: Sequence[str]
    """What is missing."""
    draw: Callable[[], Figure] | None
    """None: there is nothing to draw yet."""


def draw_means(means: Mapping[str, Mean]) -> Figure:
    """A bar for each mean, the first on top."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1 + 0.35 * len(means)), layout="constrained")
    axes = figure.subplots()
    values = list(means.values())
    errors = [value.error for value in values]
    draw_bars(axes, "x", range(len(means)), values, errors, height=0.7, color=COLOURS[0])
    for place, value in enumerate(values):
        axes.text(TOP + 1, place, f"{value.mean:.1f}", va="center", fontsize=8)
    axes.set_yticks(range(len(means)), list(means))
    axes.invert_yaxis()
    finish_axes(axes, "x")
    return figure


def draw_bars(
    axes: Any,
    along: str,
    places: Sequence[float],
    values: Sequence[Mean],
    errors: Sequence[float | None],
    **style: Any,
) -> None:
    """Bars along x or y with errors, where these are known."""
    draw = axes.barh if along == "x" else axes.bar
    known = [0.0 if error is None else error for error in errors]
    draw(
        places,
        [value.mean for value in values],
        **{f"{along}err": known if any(known) else None},
        error_kw={"ecolor": INK, "elinewidth": 0.8},
        **style,
    )


def finish_axes(axes: Any, along: str, *, legend: bool = False) -> None:
    """Set the limits, the label and the grid of an axis of scores."""
    getattr(axes, f"set_{along}lim")(0, TOP)
    getattr(axes, f"set_{along}label")("test score, %")
    axes.grid(axis=along, color=INK, alpha=0.12)
    axes.set_axisbelow(True)
    if legend:
        axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
