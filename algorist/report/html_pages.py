"""HTML pages from templates, each in one file that loads nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from algorist.version import __version__


def render_page(name: str, title: str, style: str | None = None, **parts: str) -> str:
    """Fill the template of that name, and put it with its style (or another) into the frame."""
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
