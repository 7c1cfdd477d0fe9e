"""Fill everything that is made into the Markdown sources: python docs/making/fill.py

The site draws its pictures into the page, in the colours of its theme. The sources link to files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pictures
import places
import sizes
import standalone

DOCS = places.ROOT / "docs"
FIGURES = DOCS / "figures" / "algorithms"


def source(page: Path) -> str:
    """What the source of a page should be."""
    return places.filled(page.read_text(encoding="utf-8"), lambda name: _image(name, page))


def _image(name: str, page: Path) -> str:
    file = Path(os.path.relpath(FIGURES / f"{name}.svg", page.parent)).as_posix()
    return f"![{pictures.description(name)}]({file})"


def figures() -> dict[Path, str]:
    """All files of pictures, and what should be in them."""
    drawn = {FIGURES / f"{name}.svg": standalone.svg(name) for name in pictures.PICTURES}
    return {**drawn, sizes.PICTURE: sizes.picture()}


def main() -> None:
    """Write all pages and pictures that are out of date."""
    made = {page: source(page) for page in DOCS.rglob("*.md")} | figures()
    FIGURES.mkdir(parents=True, exist_ok=True)
    for file, text in made.items():
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            print(f"written: {file.relative_to(places.ROOT)}")


if __name__ == "__main__":
    main()
