"""Pages of HTML, each in one file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from algorist.version import __version__


def framed(name: str, title: str, style: str | None = None, **parts: str) -> str:
    """The page whose content has that name, and its style or another one, in the common frame."""
    return _template("page.html").substitute(
        title=escape(title),
        version=__version__,
        style=_text("page.css") + _text(f"{style or name}.css"),
        body=_template(f"{name}.html").substitute(parts),
    )


def _template(file: str) -> Template:
    return Template(_text(file))


def _text(file: str) -> str:
    return (Path(__file__).parent / file).read_text(encoding="utf-8")
