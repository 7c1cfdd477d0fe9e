"""What MkDocs calls while it builds the site: fills in what pages ask to be made.

A page asks for it by a fenced block:

    ```picture bfs            a run of an algorithm, drawn
    ```features bfs           its features, from the spec; the lines say what each means
    ```meanings               such lines for all features of the page; nothing is shown
    ```file examples/euclid.py
                              a file of the repository, whole
    ```improvements           the paper's improvements, from the recipes
    ```commands               all commands, from their parsers
"""

from __future__ import annotations

import re
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
_ASKED = re.compile(
    r"^```(picture|features|meanings|file|improvements|commands)\b *(\S*)\n([\s\S]*?)^```$",
    re.MULTILINE,
)


def filled(markdown: str) -> str:
    """A page with everything made that it asks for."""
    of_page: dict[str, str] = {}

    def made(asked: re.Match[str]) -> str:
        what, name, text = asked.groups()
        match what:
            case "picture":
                return pictures.html(name)
            case "features":
                return features.table(name, features.meanings(text), of_page)
            case "file":
                return f'```python title="{name}"\n{(_ROOT / name).read_text()}```'
            case "improvements":
                return improvements.table()
            case "commands":
                return commands.reference()
        of_page.update(features.meanings(text))
        return ""

    return _ASKED.sub(made, markdown)


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
