"""A notebook as a page: its cells in order, with the outputs that it was saved with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def page(file: Path) -> str:
    """The page of a notebook."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in _parts(cell)]
    title, *rest = parts
    link = f"[Download this notebook]({file.name}){{ .md-button }}"
    return "\n\n".join((title, link, *rest)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/svg+xml" in data:
        svg = "".join(data["image/svg+xml"])
        return f'<div class="plot">{_in_one_line(svg[svg.index("<svg") :])}</div>'
    text = "".join(output.get("text") or data.get("text/plain") or "")
    return f"```text {{ .output }}\n{_COLOURS.sub('', text).rstrip()}\n```"


def _in_one_line(svg: str) -> str:
    """Markdown ends a block of HTML at an empty line."""
    return re.sub(r"\s*\n\s*", " ", svg)
