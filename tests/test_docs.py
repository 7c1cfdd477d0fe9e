"""The documentation: it builds, its examples run, its commands are understood, its links hold."""

import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import numpy as np
import pytest
from test_readme import stripped, without_numbers

import algorist
from algorist.cli import COMMANDS, command_parser, main
from algorist.commands.train import configuration
from algorist.model.processors import PROCESSORS
from algorist.problems.inputs import problem
from algorist.training.recipes import IMPROVEMENTS, RECIPES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {page.relative_to(DOCS).as_posix(): page.read_text() for page in DOCS.rglob("*.md")}
NOTEBOOK = DOCS / "notebooks" / "first_steps.ipynb"
FENCE = re.compile(r"^```(.*)\n([\s\S]*?)^```$", re.MULTILINE)


def blocks(page, language):
    """The fenced blocks of a page in some language; '' has those that name none."""
    return [text for head, text in FENCE.findall(PAGES[page]) if head.split(" ")[0] == language]


def pages_with(language):
    return sorted(page for page in PAGES if blocks(page, language))


@pytest.fixture
def making(monkeypatch):
    """What builds the site can be imported."""
    monkeypatch.syspath_prepend(str(DOCS / "making"))


@pytest.fixture
def own_tables(own_registry):
    """Processors and recipes that plug-ins add are forgotten after the test."""
    kept = [(table, dict(table)) for table in (PROCESSORS, RECIPES)]
    yield
    for table, entries in kept:
        table.clear()
        table.update(entries)


# The site


class Links(HTMLParser):
    """All that a page of the site refers to or can be referred to by."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("link", "script", "img", "iframe"):
            self.loaded += [given[name] for name in ("href", "src") if given.get(name)]


def target(page, link):
    """The file and the anchor that a link of a page leads to; None for other sites."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return file, unquote(parts.fragment)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as `make docs` does it."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site").resolve()
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_all_links_of_the_site_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site):
    pages = {file: Links(file.read_text()) for file in site.rglob("*.html")}
    assert len(pages) > 30
    assert set(COMMANDS) <= pages[site / "reference" / "commands.html"].ids
    del pages[site / "404.html"]  # whose links begin at the root of a server
    for page, found in pages.items():
        for link in (*found.links, *found.loaded):
            place = target(page, link)
            if place is None:
                assert link not in found.loaded, f"{page.name} loads {link}"
                continue
            file, anchor = place
            assert file.is_file(), f"{page.name}: {link}"
            if anchor and file in pages:
                assert anchor in pages[file].ids, f"{page.name}: {link}"


def test_the_search_finds_something_in_a_page_that_is_opened_as_a_file(site, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium here")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000")
    page = f"{(site / 'tour' / 'nets.html').as_uri()}?q=sinkhorn"
    done = subprocess.run(
        [browser, *options, f"--user-data-dir={tmp_path}", "--dump-dom", page],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "md-search-result__item" in done.stdout
    assert "SINKHORN_STEPS" in done.stdout.upper()


def test_every_algorithm_is_drawn_and_explained_on_the_page_of_its_family():
    asked = {
        (name, page, what)
        for page, text in PAGES.items()
        if page.startswith("algorithms/")
        for what, name in re.findall(r"<!-- made: (\w+) (\S+) -->", text)
    }
    assert asked == {
        (name, f"algorithms/{algorist.get(name).family}.md", what)
        for name in algorist.algorithms()
        for what in ("picture", "features")
    }
    listed = re.findall(r"\[(\w+)\]\(\w+\.md#\1\)", PAGES["algorithms/index.md"])
    assert sorted(listed) == algorist.algorithms()


# What can be read without the site


@pytest.mark.usefixtures("making")
@pytest.mark.parametrize("page", sorted(p for p in PAGES if "<!-- made: " in PAGES[p]))
def test_what_is_made_stands_in_the_sources(page):
    import fill

    assert fill.source(DOCS / page) == PAGES[page], "out of date: python docs/making/fill.py"


@pytest.mark.usefixtures("making")
def test_the_files_of_pictures_are_up_to_date_and_can_be_read():
    import fill
    import sizes

    made = fill.figures()
    assert {*fill.FIGURES.iterdir(), sizes.PICTURE} == set(made)
    for file, text in made.items():
        assert file.read_text() == text, "out of date: python docs/making/fill.py"
        assert "var(" not in text
        assert ElementTree.fromstring(text).tag.endswith("svg")


@pytest.mark.usefixtures("making")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- made: features bfs -->\n", "without an end"),
        ("<!-- made: nothing -->\n<!-- made: end -->", "got nothing, expected one of features"),
    ],
)
def test_places_that_make_no_sense_are_refused(text, message):
    import places

    with pytest.raises(ValueError, match=message):
        places.filled(text, str)


def test_no_fence_of_a_page_is_empty():
    empty = [page for page in PAGES for head, text in FENCE.findall(PAGES[page]) if not text]
    assert not empty


# What the site is made of


def panels(html):
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html)]


def heads(panel):
    """The arrows of a picture that are pointers."""
    return [shape for shape in panel if shape.get("class") == "point head"]


@pytest.mark.usefixtures("making")
@pytest.mark.parametrize(
    ("name", "pointer"), [("bfs", "pi_h"), ("heapsort", "parent"), ("graham_scan", "stack_prev")]
)
def test_pictures_have_an_arrow_for_each_pointer_of_the_trace(name, pointer):
    import pictures

    picture = pictures.PICTURES[name]
    hints = algorist.get(name).trace(**picture.problem).hints[pointer][:, 0]
    drawn = panels(pictures.html(name))
    counts = [int((hints[step] != np.arange(hints.shape[1])).sum()) for step in picture.steps]
    assert [len(heads(panel)) for panel in drawn] == counts
    assert max(counts) > 1


@pytest.mark.usefixtures("making")
def test_bars_of_a_sort_stand_in_the_order_of_the_step():
    import pictures

    picture = pictures.PICTURES["insertion_sort"]
    for step, panel in enumerate(panels(pictures.html("insertion_sort"))):
        bars = [shape for shape in panel if shape.tag == "rect"]
        heights = [float(bar.get("height")) for bar in bars]
        assert len(heights) == len(picture.problem["key"])
        assert heights[: step + 1] == sorted(heights[: step + 1])


@pytest.mark.usefixtures("making")
def test_a_table_of_features_is_the_spec_with_meanings():
    import features

    rows = features.table("bfs").splitlines()
    assert "| hint | `reach_h` | `node.mask` | the nodes reached so far |" in rows
    assert sum(row.startswith(("| input", "| hint", "| output")) for row in rows) == 7
    assert rows[-1] == "Options of random problems: `p` (0.5), `ood_share` (0.0)."


@pytest.mark.usefixtures("making")
def test_the_table_of_improvements_is_that_of_the_recipes():
    import improvements

    papers, ours = (
        improvements.table(name).splitlines()[2:] for name in ("ibarz2022", "algorist2026")
    )
    listed = {row.split("`")[1] for row in (*papers, *ours)}
    assert listed == set(IMPROVEMENTS)
    assert "| `soft_hints` | `model.feedback` | soft | hard |" in papers
    assert "| `chunking` | `data.chunk` | 16 | 0 |" in papers
    assert "| `two_rounds` | `model.message_passing_steps` | 2 | 1 |" in ours


@pytest.mark.usefixtures("making")
def test_the_reference_of_commands_has_every_option_and_its_help():
    import commands

    section = re.search(r"^## run\n[\s\S]*?(?=^## )", commands.reference(), re.MULTILINE)[0]
    for words in ("`--random N`", "a random problem of this size", "`VALUE`", "algorist run bfs"):
        assert words in section


# Examples


def doctests(page):
    return [text for text in blocks(page, "python") if text.startswith(">>>")]


@pytest.mark.parametrize("page", [page for page in pages_with("python") if doctests(page)])
def test_examples_in_python_give_what_is_shown(page):
    text = "\n".join(doctests(page))
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(example)
    assert tried > 0
    assert not failed


def sessions(page):
    """What a page shows of the terminal: commands, and what they print."""
    return [
        (text.splitlines()[0].removeprefix("$ algorist "), text.split("\n", 1)[1])
        for text in blocks(page, "console")
    ]


@pytest.mark.usefixtures("own_tables", "piped")
@pytest.mark.parametrize(
    ("command", "shown"),
    [pair for page in pages_with("console") for pair in sessions(page) if "runs/" not in pair[0]],
)
def test_commands_print_what_the_pages_show(command, shown, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)) == 0
    assert stripped(capsys.readouterr().out) == stripped(shown)


@pytest.mark.usefixtures("piped")
def test_the_first_five_minutes_go_as_they_are_told(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    page = "getting-started.md"
    for command, shown in sessions(page):
        if "runs/" in command:
            assert main(shlex.split(command)) == 0
            printed = capsys.readouterr().out.replace(", cuda", ", cpu")
            assert without_numbers(printed) == without_numbers(shown)
    (script,) = blocks(page, "python")
    exec(compile(script, page, "exec"), {})
    assert "'Dora': 'Ben'" in capsys.readouterr().out


def command_lines(text):
    """All command lines of a page, but for those with a word to be replaced, like NAME."""
    bodies = [body.replace("\\\n", "") for head, body in FENCE.findall(text) if not head]
    fenced = [line for body in bodies for line in body.splitlines()]
    shown = [line for line in fenced if line.startswith("algorist ")]
    inline = re.findall(r"`(algorist [a-z-]+ [^`]+)`", FENCE.sub("", text))
    words = (shlex.split(line, comments=True)[1:] for line in (*shown, *inline))
    return [line for line in words if not any(re.fullmatch("[A-Z]+", word) for word in line)]


@pytest.mark.usefixtures("own_tables")
@pytest.mark.parametrize(
    "page",
    # Examples of the help, which the reference is made of, are tested in test_cli.py.
    sorted(
        p for p in PAGES.keys() - {"log.md", "reference/commands.md"} if command_lines(PAGES[p])
    ),
)
def test_command_lines_in_the_pages_are_understood(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("roads", "from,to,length\nhome,sea,3"),
        ("steps", "wash,eat"),
        ("points", "0,0\n1,2"),
    ):
        Path(f"{name}.csv").write_text(text)
    for words in command_lines(PAGES[page]):
        if words[0] == "--plugin":
            algorist.load_plugin(ROOT / words[1])
        arguments = command_parser(words).parse_args(words)
        if arguments.command == "train":
            configuration(arguments)
        if arguments.command == "run":
            algorithm = algorist.get(arguments.algorithm)
            assert len(algorithm.trace(**problem(algorithm, arguments))) == 1


@pytest.mark.usefixtures("own_tables", "piped")
@pytest.mark.parametrize(
    ("example", "options"),
    [
        ("euclid", "euclid --hidden 16"),
        ("laptop", "bfs --recipe laptop"),
    ],
)
def test_examples_of_extensions_can_be_trained_and_tested(
    example, options, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(ROOT)
    plugin, run = ["--plugin", f"examples/{example}.py"], str(tmp_path / "run")
    training = ["train", *options.split(), "--steps", "3", "--batch-size", "4", "--out", run]
    assert main([*plugin, *training]) == 0
    capsys.readouterr()
    assert main([*plugin, "eval", run, "--n", "5", "--count", "3", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["algorithm"] == options.split()[0]
    assert np.isfinite(row["replicas"][0]["score"])


LOOPS = [text for text in blocks("extending/loop.md", "python") if not text.startswith(">>>")]


@pytest.mark.parametrize("script", LOOPS, ids=range(len(LOOPS)))
def test_loops_of_ones_own_run_as_they_stand(script, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = re.sub(r"\b[23]00\b", "2", script)
    assert few != script
    exec(compile(few, "loop.md", "exec"), {})
    shown = capsys.readouterr().out.split()
    assert len(shown) != 1 or 0 <= float(shown[0]) <= 1


def outputs(cell):
    return [(output["output_type"], sorted(output.get("data", ()))) for output in cell["outputs"]]


def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # more only wait for cores that tests have taken
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("MPLCONFIGDIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    saved = nbformat.read(NOTEBOOK, 4)
    fresh = nbformat.read(NOTEBOOK, 4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(fresh, timeout=300, resources=where).execute()
    for before, after in zip(saved.cells, fresh.cells, strict=True):
        if after.cell_type == "code":
            kinds = {kind for kind, _ in outputs(after)}
            assert kinds == {kind for kind, _ in outputs(before)}, after.source
