"""Tables and figures that belong together: a folder of their files, and a page that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from algorist.atomic import replace_text
from algorist.report import drawing
from algorist.report.figures import FigureSpec
from algorist.report.html_pages import render_page
from algorist.report.tables import Table

INDEX = "index.html"


@dataclass(frozen=True)
class Collection:
    """What a folder of tables and figures is to hold."""

    title: str
    about: str
    tables: Sequence[Table]
    pictures: Sequence[FigureSpec]
    remark: str = ""
    """What must be said on top of the page."""
    warning: str = ""
    """What must be said in every file, since they are read by themselves, too."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return not any(t.notes for t in self.tables) and not any(p.notes for p in self.pictures)

    def write(self, folder: Path) -> None:
        """Write all files."""
        folder.mkdir(parents=True, exist_ok=True)
        sections = [*self._table_sections(folder), *self._picture_sections(folder)]
        replace_text(folder / INDEX, self._page(sections))

    def _page(self, sections: Iterable[str]) -> str:
        entries = [("table", table.name, table.title) for table in self.tables]
        entries += [("figure", picture.name, picture.title) for picture in self.pictures]
        return render_page(
            "collection",
            self.title,
            about=escape(self.about),
            remark=f'<p class="remark">{escape(self.remark)}</p>\n' if self.remark else "",
            contents="".join(
                f'<a href="#{kind}-{name}">{kind}: {escape(title)}</a><br>\n'
                for kind, name, title in entries
            ),
            sections="".join(sections),
        )

    def _table_sections(self, folder: Path) -> Iterator[str]:
        for table in self.tables:
            marked = self._marked(table)
            marked.write(folder / "tables")
            yield _section("table", marked, table.html())

    def _marked(self, table: Table) -> Table:
        if not self.warning:
            return table
        caption = f"{self.warning}. {table.caption}"
        return replace(table, caption=caption, notes=[self.remark, *table.notes])

    def _picture_sections(self, folder: Path) -> Iterator[str]:
        for picture in self.pictures:
            content = self._drawn(picture, folder / "figures")
            yield _section("figure", picture, content)

    def _drawn(self, picture: FigureSpec, folder: Path) -> str:
        if picture.draw is None:
            drawing.remove(folder, picture.name)
            return "<p>There is nothing to draw yet.</p>"
        figure = drawing.render(picture.draw, self.warning)
        drawing.write(figure, folder, picture.name)
        return drawing.inline_svg(figure)


def _section(kind: str, shown: Table | FigureSpec, content: str) -> str:
    said = "".join(f'<p class="note">{escape(note)}</p>\n' for note in shown.notes)
    return (
        f'<h2 id="{kind}-{shown.name}">{escape(shown.title)}</h2>\n'
        f"<p>{escape(shown.caption)}</p>\n{content}\n{said}"
    )
