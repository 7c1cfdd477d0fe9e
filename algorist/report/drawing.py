"""How figures look, on pages of their own and inside HTML."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"
"""Stands for the page's own colour of text, which pictures in pages take on."""
_INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
STYLE: dict[Any, Any] = {
    **dict.fromkeys(_INKED, INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.family": "sans-serif",
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "algorist",  # the same results give the same picture
}
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Of Okabe and Ito (2008), which colour-blind people can tell apart."""
PUBLISHED = "#999999"
"""The colour of numbers that are not ours."""
WARNING = "#D55E00"
_DOTS = 150


def settle(figure: Figure) -> None:
    """Arrange a figure once for all the times that it will be drawn."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def inline(figure: Figure) -> str:
    """A figure as SVG for a page, in the colours of the page."""
    picture = io.StringIO()
    figure.savefig(picture, format="svg", transparent=True, metadata={"Date": None})
    text = picture.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")


def write(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=_DOTS, metadata={"Software": None})
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
