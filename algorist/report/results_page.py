"""All tables and figures of the paper in a folder, and a page that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from string import Template

from algorist.atomic import replace_text
from algorist.report import drawing
from algorist.report.paper_figures import Picture, pictures
from algorist.report.paper_tables import tables
from algorist.report.reproduced import OTHER_SETTINGS, Reproduced
from algorist.report.tables import Table

INDEX = "index.html"


def write_report(results: Reproduced, folder: Path) -> bool:
    """Write everything; whether nothing is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    # Their files are read by themselves, too.
    marks = [results.remark()] if results.is_mixed else []
    plain = list(tables(results))
    made = [replace(table, notes=[*marks, *table.notes]) for table in plain]
    for table in made:
        table.write(folder / "tables")
    drawn = list(pictures(results))
    sections = [_table_section(table) for table in made]
    sections += [_picture_section(each, folder / "figures", results.is_mixed) for each in drawn]
    replace_text(folder / INDEX, _page(results, made, drawn, sections))
    return not any(table.notes for table in plain) and not any(each.notes for each in drawn)


def _page(
    results: Reproduced, made: Sequence[Table], drawn: Sequence[Picture], sections: Iterable[str]
) -> str:
    template = Template((Path(__file__).parent / "results.html").read_text(encoding="utf-8"))
    remark = results.remark()
    entries = [("table", table.name, table.title) for table in made]
    entries += [("figure", picture.name, picture.title) for picture in drawn]
    return template.substitute(
        rows=len(results.rows),
        remark=f'<p class="remark">{escape(remark)}</p>\n' if remark else "",
        contents="".join(
            f'<a href="#{kind}-{name}">{kind}: {escape(title)}</a><br>\n'
            for kind, name, title in entries
        ),
        sections="".join(sections),
    )


def _table_section(table: Table) -> str:
    return _section("table", table.name, table.title, table.caption, table.notes, table.html())


def _picture_section(picture: Picture, folder: Path, is_mixed: bool) -> str:
    """Draws it; also into files."""
    from matplotlib import rc_context

    content = "<p>There is nothing to draw yet.</p>"
    if picture.draw:
        with rc_context(drawing.STYLE):
            figure = picture.draw()
            if is_mixed:
                figure.suptitle(OTHER_SETTINGS, fontsize=8, color=drawing.WARNING)
            drawing.settle(figure)
            drawing.write(figure, folder, picture.name)
            content = drawing.inline(figure)
    return _section("figure", picture.name, picture.title, picture.caption, picture.notes, content)


def _section(
    kind: str, name: str, title: str, caption: str, notes: Iterable[str], content: str
) -> str:
    shown = "".join(f'<p class="note">{escape(note)}</p>\n' for note in notes)
    return (
        f'<h2 id="{kind}-{name}">{escape(title)}</h2>\n<p>{escape(caption)}</p>\n{content}\n{shown}'
    )
