"""benchmarks/ablation.py: which nets are trained, what is kept, and the table."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import ablation
from ablation import Part

WORDS = ["bfs", "--steps", "3", "--sizes", "4", "--measure", "4", "--count", "2", "--seeds", "0,1"]
SMALL = ["--set", "hidden=4", "--set", "transitions=8", "--set", "batch_size=2"]


def row(without, algorithm, seed, value):
    shares = dict.fromkeys(("one_step", "free_run", "score", "correct"), str(value))
    return {"without": without, "algorithm": algorithm, "seed": str(seed), "n": "8", **shares}


def same(without, algorithm):
    return {**row(without, algorithm, "", ""), "n": "", "seconds": ablation.SAME}


def test_nets_that_a_switch_does_not_change_count_as_equal():
    rows = [row("all", "bfs", 0, 90.0), row("all", "dfs", 0, 80.0)]
    rows += [row("orders", "dfs", 0, 76.0), same("orders", "bfs")]
    *_, whole, orders = ablation.table(rows).splitlines()
    assert whole.startswith("| all | 2 | 2 | 85.0 ± 5.0 |")
    assert orders.startswith("| orders | 2 | 1 | -2.0 ± 2.0 |")


def test_an_unknown_switch_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        ablation.parse([*WORDS, "--out", str(tmp_path / "rows.csv"), "--switches", "wings"])
    assert "--switches: got wings, expected some of" in capsys.readouterr().err


def test_a_part_is_trained_once_and_unchanged_nets_are_not(tmp_path, monkeypatch, capsys):
    file = tmp_path / "rows.csv"
    words = [*WORDS, *SMALL, "--switches", "hint_changes,splits", "--out", str(file)]
    monkeypatch.setattr(ablation, "ProcessPoolExecutor", ThreadPoolExecutor)
    ablation.main([*words, "--processes", "1"])
    rows = ablation.read(file)
    assert [(ablation.part_of(row), row["seed"]) for row in rows if row["n"]][:2] == [
        (Part("all", "bfs"), "0"),
        (Part("all", "bfs"), "1"),
    ]
    assert {(row["without"], row["seconds"]) for row in rows if not row["n"]} == {
        ("splits", ablation.SAME)
    }
    ablation.main([*words, "--processes", "1"])
    assert ablation.read(file) == rows
    capsys.readouterr()
    ablation.main(["--out", str(file), "--table"])
    assert "| splits | 1 | 0 |" in capsys.readouterr().out
