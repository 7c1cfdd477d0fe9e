"""Tables and figures of results in Markdown files, between comments.

A place is what stands between two comments, the first of which says what goes there:

    <!-- results: table shipped -->
    <!-- results: end -->

    <!-- results: figure old-vs-new docs/figures/old-vs-new.png -->
    <!-- results: end -->

Pictures are written to the files that are named, seen from the file that shows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from algorist.atomic import replace_text
from algorist.errors import unknown
from algorist.report import drawing
from algorist.report.figures import FigureSpec
from algorist.report.paper_figures import paper_figures
from algorist.report.paper_results import PaperResults
from algorist.report.paper_tables import paper_tables
from algorist.report.tables import Table

_PLACE = re.compile(
    r"(?P<begin><!-- results: (?P<kind>table|figure) (?P<name>\S+)(?: (?P<file>\S+))? -->\n)"
    r".*?(?P<end><!-- results: end -->)",
    re.DOTALL,
)
_MARK = re.compile(r"<!-- results: .+? -->")
_END = "<!-- results: end -->"
UNMEASURED = "*Not measured yet.*\n"


class MarkdownFiller:
    """Fills the places of Markdown files with tables and figures of the results."""

    def __init__(self, results: PaperResults):
        self._tables: Mapping[str, Table] = {table.name: table for table in paper_tables(results)}
        self._pictures: Mapping[str, FigureSpec] = {
            each.name: each for each in paper_figures(results)
        }

    def filled(self, text: str) -> str:
        """A text with all its places filled."""
        # Some dialects of Markdown see tables and pictures only between empty lines.
        return _PLACE.sub(lambda p: f"{p['begin']}\n{self._content(p)}\n{p['end']}", text)

    def fill(self, file: Path) -> None:
        """Fill the places of a file and draw the pictures that it shows."""
        text = file.read_text(encoding="utf-8")
        _expect_ends(file, text)
        places = list(_PLACE.finditer(text))
        if not places:
            raise ValueError(
                f"{file}: found nothing to fill, expected <!-- results: table NAME -->"
            )
        replace_text(file, self.filled(text))
        for place in places:
            if place["kind"] == "figure":
                _draw(self._picture(place), file.parent / place["file"])

    def _content(self, place: re.Match[str]) -> str:
        if place["kind"] == "figure":
            picture = self._picture(place)
            return f"![{picture.caption}]({place['file']})\n" if picture.draw else UNMEASURED
        if place["name"] not in self._tables:
            raise ValueError(unknown("table", place["name"], self._tables))
        table = self._tables[place["name"]]
        return f"{table.grid()}\n{table.caption}\n" if table.rows else UNMEASURED

    def _picture(self, place: re.Match[str]) -> FigureSpec:
        if place["name"] not in self._pictures:
            raise ValueError(unknown("figure", place["name"], self._pictures))
        if Path(place["file"] or "").suffix not in drawing.FILES:
            raise ValueError(
                f"figure {place['name']}: got {place['file'] or 'no file'}, expected a file behind "
                f"its name, {' or '.join(drawing.FILES)}"
            )
        return self._pictures[place["name"]]


def _expect_ends(file: Path, text: str) -> None:
    """Complain about a place without an end: all up to the end of the next would be lost."""
    marks = [*_MARK.finditer(text)]
    for mark, after in zip_longest(marks, marks[1:]):
        if _END not in (mark[0], after and after[0]):
            line = text.count("\n", 0, mark.start()) + 1
            raise ValueError(f"{file}, line {line}: got {mark[0]}, expected {_END} behind it")


def _draw(picture: FigureSpec, file: Path) -> None:
    if picture.draw:
        drawing.write(drawing.render(picture.draw), file.parent, file.stem)
    else:
        drawing.remove(file.parent, file.stem)
