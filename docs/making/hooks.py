"""What MkDocs calls while it builds the site: fills the places of pages (places.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import notebook
import pictures
import places
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            page = notebook.page(Path(file.abs_src_path))
            name = file.src_uri.removesuffix(".ipynb") + ".md"
            files.append(File.generated(config, name, content=page))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the places of a page, with pictures inside it, in the colours of the theme."""
    try:
        return places.filled(markdown, pictures.html)
    except (KeyError, OSError, ValueError) as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
