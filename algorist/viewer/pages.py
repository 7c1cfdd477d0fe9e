"""The page in one piece: its modules are joined, and a trace can be put inside.

So the file that is exported is the page that is served, and neither needs anything else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from algorist.version import __version__

_STATIC = Path(__file__).parent / "static"
_MAIN = "main.js"
_STYLES = (
    "page.css",
    "pictures.css",
    "steps.css",
    "share.css",
    "gallery.css",
    "narrow.css",  # has the last word
)
_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|(?:async )?function|class) )", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """One HTML file, and what its scripts and styles may do."""

    html: str
    policy: str
    """The content security policy: nothing runs, or is loaded, that is not in the page."""


Trace = Mapping[str, Any]


def page(trace: Trace | Sequence[Trace] | None = None) -> Page:
    """The page, which asks its server for traces unless it holds one, or several to choose from."""
    script, style = joined(), "\n".join(map(_text, _STYLES))
    asks = "'none'" if trace else "'self'"
    policy = (
        f"default-src 'none'; connect-src {asks}; img-src data:; base-uri 'none'; "
        f"form-action 'none'; script-src {_hash(script)}; style-src {_hash(style)}"
    )
    title = f"{trace['algorithm']} · algorist" if isinstance(trace, Mapping) else "algorist"
    html = Template(_text("page.html")).substitute(
        title=escape(title),
        version=__version__,
        style=style,
        script=script,
        policy=policy,
        trace="null" if trace is None else _embedded(trace),
    )
    return Page(html, policy)


@cache
def joined() -> str:
    """All modules as one, each behind those that it imports.

    They share a scope then: what two of them call alike would be an error in every browser.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        for needed in _IMPORT.findall(_text(name)):
            if needed not in order:
                visit(needed)
        order.append(name)

    visit(_MAIN)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", _text(name))) for name in order)


def _text(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _embedded(trace: Trace | Sequence[Trace]) -> str:
    """JSON that cannot end the element that it stands in."""
    text = json.dumps(trace, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
