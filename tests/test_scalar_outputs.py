"""Scores that are errors: an algorithm whose output is a scalar, in all that shows scores."""

import csv
import re

import pytest

from algorist.cli import main

pytestmark = pytest.mark.usefixtures("euclid", "piped")
SMALL = ["--hidden", "16", "--sizes", "4", "--batch-size", "2", "--device", "cpu"]
SHORT = ["--steps", "2", "--validate-every", "2"]


def trained(folder, *tasks):
    assert main(["train", *tasks, *SMALL, *SHORT, "--out", str(folder)]) == 0


def test_validations_are_errors_without_a_unit_and_the_best_has_their_sign(tmp_path, capsys):
    trained(tmp_path / "run", "euclid")
    text = capsys.readouterr().out
    validation, best = re.search(r"validation (-\S+)  best (-\S+)", text).groups()
    assert validation == best
    assert "%" not in text
    assert main(["train", "euclid", "--each", *SMALL, *SHORT, "--out", str(tmp_path / "e")]) == 0
    assert f"done, best validation {best}\n" in capsys.readouterr().out


def test_tests_show_errors_and_means_leave_them_out(tmp_path, capsys):
    trained(tmp_path / "run", "euclid", "bfs")
    capsys.readouterr()
    assert main(["eval", str(tmp_path / "run"), "--n", "4", "--count", "2"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert re.search(r"gcd \d\S* +error \d", rows["euclid"])
    assert rows["mean"].split()[1] == rows["bfs"].split()[-2]


def test_a_page_has_errors_too(tmp_path):
    trained(tmp_path / "run", "euclid")
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "run"), "--out", str(page), "--samples", "1"]) == 0
    assert "<td>error " in page.read_text(encoding="utf-8")
    assert "minus the squared error of scalars" in page.read_text(encoding="utf-8")
    assert re.search(r"best after 2 steps, validation -\d[\d.e+]*\s*<", page.read_text())


def test_sweeps_tell_errors_too(tmp_path, capsys):
    words = ["--samples", "1", "--at-once", "1", "--seeds", "0,1", "--out", str(tmp_path / "sweep")]
    assert main(["sweep", "euclid", *SMALL, *SHORT, *words]) == 0
    told = capsys.readouterr().out
    errors = [float(error) for error in re.findall(r"done, test (\S+)\n", told)]
    assert len(errors) == 2
    assert min(errors) > 0
    assert re.search(r"ibarz2022/euclid +euclid +2 +\S+ \S+ \S+\n", told)
    assert main(["report", str(tmp_path / "sweep"), "--out", str(tmp_path / "report")]) == 0
    with (tmp_path / "report" / "tables" / "nets.csv").open() as file:
        (line,) = csv.DictReader(file)
    assert float(line["score"]) == pytest.approx(sum(errors) / 2, rel=0.01)
