"""A notebook as a page: its cells in order, with the outputs that it was saved with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SVG = "image/svg+xml"


def page(file: Path) -> str:
    """The page of a notebook."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    title, *rest = (part for cell in cells for part in _parts(cell))
    link = f"[Download this notebook]({file.name}){{ .md-button }}"
    return "\n\n".join((title, link, *rest)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    """A text; or code, what it printed, and what it drew."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    printed = "".join(part for output in cell["outputs"] for part in output.get("text", ()))
    if printed:
        yield f"```text {{ .output }}\n{printed.rstrip()}\n```"
    for output in cell["outputs"]:
        if _SVG in output.get("data", {}):
            yield f'<div class="plot">{_in_one_line("".join(output["data"][_SVG]))}</div>'


def _in_one_line(svg: str) -> str:
    """A picture without its preamble; Markdown ends a block of HTML at an empty line."""
    return re.sub(r"\s*\n\s*", " ", svg[svg.index("<svg") :])
