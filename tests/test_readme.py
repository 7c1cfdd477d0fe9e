"""The README's promises: its commands print what it says, its numbers are the table's."""

import re
from pathlib import Path

import pytest

from algorist.cli import main

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
SESSIONS = re.findall(r"```console\n\$ algorist (.+)\n([\s\S]*?)```", TEXT)


def stripped(text):
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.usefixtures("own_registry", "piped")
@pytest.mark.parametrize(("command", "shown"), SESSIONS, ids=[command for command, _ in SESSIONS])
def test_commands_print_what_the_readme_shows(command, shown, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(command.split()) == 0
    assert stripped(capsys.readouterr().out).startswith(stripped(shown))


def test_the_example_in_the_readme_is_the_file():
    assert (ROOT / "examples" / "euclid.py").read_text() in TEXT


def test_the_ratios_follow_from_the_times():
    rows = re.findall(r"^\| (.+?) \| " + r" \| ".join([r"([\d.,]+)"] * 6) + r" \|$", TEXT, re.M)
    assert len(rows) == 31
    for name, *cells in rows:
        ours, peers, ratio, *larger = (float(cell.replace(",", "")) for cell in cells)
        assert ratio == pytest.approx(peers / ours, abs=1, rel=0.02), name
        assert larger[2] == pytest.approx(larger[1] / larger[0], abs=1, rel=0.02), name
