"""What MkDocs calls while it builds the site: fills in what pages ask to be made.

A page asks for it by a fenced block:

    ```picture bfs            a run of an algorithm, drawn
    ```features bfs           its features, from the spec, and what each means
    ```file examples/euclid.py
                              a file of the repository, whole
    ```improvements           the paper's improvements, from the recipes
    ```commands               all commands, from their parsers
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import commands
import features
import improvements
import notebook
import pictures
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

_ROOT = Path(__file__).parents[2]


def _file(name: str) -> str:
    return f'```python title="{name}"\n{(_ROOT / name).read_text()}```'


_MAKERS: dict[str, Callable[[str], str]] = {
    "picture": pictures.html,
    "features": features.table,
    "file": _file,
    "improvements": lambda _: improvements.table(),
    "commands": lambda _: commands.reference(),
}
"""What makes each of them, given the name behind it."""
_ASKED = re.compile(rf"^```({'|'.join(_MAKERS)})\b *(\S*)\n```$", re.MULTILINE)


def filled(markdown: str) -> str:
    """A page with everything made that it asks for."""
    return _ASKED.sub(lambda asked: _MAKERS[asked[1]](asked[2]), markdown)


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            page = notebook.page(Path(file.abs_src_path))
            name = file.src_uri.removesuffix(".ipynb") + ".md"
            files.append(File.generated(config, name, content=page))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in what a page asks for."""
    try:
        return filled(markdown)
    except (KeyError, OSError, ValueError) as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
