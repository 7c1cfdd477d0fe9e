"""Places of Markdown files that reports fill with tables and figures."""

import pytest
from made_up import write_results, write_shipped

from algorist.cli import main
from algorist.report.markdown_tables import UNMEASURED, MarkdownFiller
from algorist.report.paper_results import PaperResults

pytestmark = pytest.mark.usefixtures("piped")

END = "<!-- results: end -->"
PAGE = """# Title
<!-- results: table shipped -->
old
<!-- results: end -->
between
<!-- results: figure generalist-vs-best figures/best.png -->
<!-- results: end -->
after
"""


def test_marked_places_are_filled_and_all_else_stays(tmp_path, capsys):
    write_shipped(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert main(["report", str(tmp_path), "--fill", str(page)]) == 0
    text = page.read_text()
    assert "old" not in text
    assert "| bfs | 99.73 ± 0.04 | 53.00 | 0.10 |" in text
    assert (
        f"between\n<!-- results: figure generalist-vs-best figures/best.png -->\n\n{UNMEASURED}"
        in text
    )
    assert text.startswith("# Title\n")
    assert text.endswith("<!-- results: end -->\nafter\n")
    assert not (tmp_path / "figures").exists()
    assert MarkdownFiller(PaperResults(tmp_path)).filled(text) == text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (PAGE.replace(f"{END}\n", "", 1), "line 2: got <!-- results: table shipped -->"),
        (PAGE.replace(f"{END}\nafter", "after"), "line 6: got <!-- results: figure"),
    ],
)
def test_a_place_without_an_end_is_refused_and_nothing_is_lost(tmp_path, capsys, text, place):
    write_shipped(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    assert main(["report", str(tmp_path), "--fill", str(page)]) == 2
    error = capsys.readouterr().err
    assert f"{page}, {place}" in error
    assert f", expected {END} behind it" in error
    assert page.read_text() == text


def test_pictures_are_drawn_where_a_place_says(tmp_path):
    write_results(tmp_path, experiments=["generalist"])
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert main(["report", str(tmp_path), "--fill", str(page)]) == 0
    assert "](figures/best.png)\n\n<!-- results: end -->\nafter" in page.read_text()
    assert (tmp_path / "figures" / "best.png").read_bytes().startswith(b"\x89PNG")
    assert UNMEASURED in page.read_text()  # no shipped learner was tested


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing here", "found nothing to fill"),
        ("<!-- results: table shiped -->\n<!-- results: end -->", "unknown table 'shiped'"),
        ("<!-- results: figure nope a.png -->\n<!-- results: end -->", "unknown figure 'nope'"),
        ("<!-- results: figure families -->\n<!-- results: end -->", "figure families: got no"),
    ],
)
def test_places_that_make_no_sense_are_refused(tmp_path, text, message, capsys):
    write_shipped(tmp_path)
    (tmp_path / "page.md").write_text(text)
    assert main(["report", str(tmp_path), "--fill", str(tmp_path / "page.md")]) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / "page.md").read_text() == text
