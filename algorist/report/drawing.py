"""The style of figures, and their files: PNG, SVG, and SVG inside HTML."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorist.version import __version__

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
_WARNING = "#D55E00"
_DOTS = 150
"""To an inch."""
_WRITER = f"algorist {__version__}"
_METADATA = {".png": {"Software": _WRITER}, ".svg": {"Creator": _WRITER, "Date": None}}
"""The same results give the same bytes: no date."""
FILES = tuple(_METADATA)
"""The endings of a figure's files."""


def render(draw: Callable[[], Figure], warning: str = "") -> Figure:
    """Draw and lay out a figure in our style, with a warning above it if there is one."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = draw()
        if warning:
            figure.suptitle(warning, fontsize=8, color=_WARNING)
        figure.set_dpi(_DOTS)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def inline_svg(figure: Figure) -> str:
    """A figure as SVG for a page, in the colours of the page."""
    picture = io.StringIO()
    _save(figure, picture, format="svg", transparent=True, metadata=_METADATA[".svg"])
    text = picture.getvalue()
    return text[text.index("<svg") :].replace(INK, "currentColor")


def write(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending in FILES:
        save(figure, folder / f"{name}{ending}")


def save(figure: Figure, file: Path) -> None:
    """Write a figure as what the ending of the file says."""
    _save(figure, file, metadata=_METADATA.get(file.suffix.lower()))


def remove(folder: Path, name: str) -> None:
    """Remove the files of a figure, if it has any."""
    for ending in FILES:
        (folder / f"{name}{ending}").unlink(missing_ok=True)


def _save(figure: Figure, file: Any, **how: Any) -> None:
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure.savefig(file, dpi=figure.dpi, **how)
