"""What README, model card and results promise: commands print it, the numbers are measured."""

import csv
import re
from pathlib import Path

import pytest

import algorist
from algorist.cli import command_parser, main
from algorist.commands.train import configuration
from algorist.experiments.results import is_results
from algorist.problems.inputs import problem
from algorist.report.markdown_tables import MarkdownFiller
from algorist.report.paper_results import PaperResults

ROOT = Path(__file__).parent.parent
FILES = ("README.md", "docs/models.md", "docs/results.md")
TEXT, CARD, RESULTS = ((ROOT / file).read_text() for file in FILES)
SESSIONS = re.findall(r"```console\n\$ algorist (.+)\n([\s\S]*?)```", TEXT)
LEARNING = [(command, shown) for command, shown in SESSIONS if "runs/" in command]
EXACT = [session for session in SESSIONS if session not in LEARNING]
OTHER_COMMANDS = re.compile(
    r"^algorist ((?:eval|export|list|reproduce|report) .+?)(?:  +#.*)?$", re.M
)
(LOADING,) = re.findall(r"```python\n(import algorist\n[^`]+algorist\.load[^`]+)```", TEXT)


def stripped(text):
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.usefixtures("own_registry", "piped")
@pytest.mark.parametrize(("command", "shown"), EXACT, ids=[command for command, _ in EXACT])
def test_commands_print_what_the_readme_shows(command, shown, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(command.split()) == 0
    assert stripped(capsys.readouterr().out).startswith(stripped(shown))


def without_numbers(text):
    """Scores differ a little between machines, and times a lot: everything else shall agree."""
    text = re.sub(r"\d[\d.,]*", "#", text)
    return " ".join(text.replace("# min # s", "# s").split())


@pytest.mark.usefixtures("piped")
def test_a_net_is_trained_tested_and_loaded_as_the_readme_shows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for command, shown in LEARNING:
        assert main(command.split()) == 0
        printed = capsys.readouterr().out.replace(", cuda", ", cpu")
        assert without_numbers(printed) == without_numbers(shown)
    exec(compile(LOADING, "README.md", "exec"), {})
    assert capsys.readouterr().out == "[0 0 1 2] [0 0 1 2]\n"


@pytest.mark.parametrize("command", re.findall(r"^algorist (train .+?)(?:  +#.*)?$", TEXT, re.M))
def test_longer_trainings_in_the_readme_are_understood(command):
    arguments = command_parser(command.split()).parse_args(command.split())
    assert set(configuration(arguments).algorithms) <= set(algorist.algorithms())


@pytest.mark.parametrize(
    "command", sorted({c for text in (TEXT, CARD) for c in OTHER_COMMANDS.findall(text)})
)
def test_other_commands_in_readme_and_model_card_are_understood(command):
    assert command_parser(command.split()).parse_args(command.split()).command == command.split()[0]


@pytest.mark.parametrize("text", [CARD, RESULTS], ids=["model card", "results"])
def test_tables_and_figures_are_those_of_the_results(text):
    if not is_results(ROOT / "results"):
        pytest.skip("there are no results yet")
    assert MarkdownFiller(PaperResults(ROOT / "results")).filled(text) == text


@pytest.mark.parametrize("file", FILES)
def test_no_picture_is_missing(file):
    text = (ROOT / file).read_text()
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert ((ROOT / file).parent / picture).exists(), picture


@pytest.mark.parametrize("command", re.findall(r"^algorist (run .+?)(?:  +#.*)?$", TEXT, re.M))
def test_problems_in_the_readme_are_understood(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("roads", "home,sea,3"), ("steps", "wash,eat"), ("points", "0,0\n1,2")):
        (tmp_path / f"{name}.csv").write_text(text)
    arguments = command_parser(command.split()).parse_args(command.split())
    algorithm = algorist.get(arguments.algorithm)
    assert len(algorithm.trace(**problem(algorithm, arguments))) == 1


def test_the_readme_is_short():
    assert len(TEXT.splitlines()) <= 250


@pytest.mark.parametrize("text", [TEXT, RESULTS], ids=["README", "results"])
def test_the_generalists_means_are_those_of_the_results(text):
    with open(ROOT / "results" / "shipped.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "generalist"]
    assert len(rows) == 30
    for column in ("score", "correct"):
        mean = sum(float(row[column]) for row in rows) / len(rows)
        assert f"{mean:.1f} %" in text, column


def test_the_ratios_follow_from_the_times():
    rows = re.findall(r"^\| (.+?) \| " + r" \| ".join([r"([\d.,]+)"] * 6) + r" \|$", RESULTS, re.M)
    assert len(rows) == 31
    for name, *cells in rows:
        ours, peers, ratio, *larger = (float(cell.replace(",", "")) for cell in cells)
        assert ratio == pytest.approx(peers / ours, abs=1, rel=0.02), name
        assert larger[2] == pytest.approx(larger[1] / larger[0], abs=1, rel=0.02), name
