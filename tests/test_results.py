"""Results on disk: rows that are whole, in order, and whose they are."""

import csv
import os
import subprocess
import sys
from itertools import pairwise

import made_up
import pytest
from processes import PATIENCE

from algorist.experiments.results import Results, read, write


def test_rows_are_kept_in_full_precision_and_in_order(tmp_path):
    rows = [made_up.row(seed=seed, part=part) for part in ("bfs", "dfs") for seed in (0, 2, 10)]
    results = Results(tmp_path, "specialists")
    for new in reversed(rows):
        results.add([new])
    assert read(results.file) == Results(tmp_path, "specialists").rows == rows
    with results.file.open() as file:
        keys = [(line["part"], int(line["seed"])) for line in csv.DictReader(file)]
    assert all(first < second for first, second in pairwise(keys))
    assert [file.name for file in tmp_path.iterdir()] == ["specialists.csv"]


def test_a_new_row_takes_the_place_of_the_old_one(tmp_path):
    results = Results(tmp_path, "specialists")
    results.add([made_up.row(samples=2), made_up.row(seed=1)])
    results.add([made_up.row(samples=32, score=5.0)])
    assert [(r.seed, r.samples) for r in results.rows] == [(0, 32), (1, 32)]


def _changed(results, old, new):
    """The first row with something else in it."""
    row = results.splitlines()[1]
    assert old in row
    return row.replace(old, new)


def test_files_that_are_not_results_are_refused(tmp_path):
    file = tmp_path / "specialists.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected experiment, part"):
        read(file)
    write(file, [made_up.row()])
    good = file.read_text()
    for bad, message in (
        ("", "got nothing, expected the columns experiment, part.*; remove the empty file"),
        (good.replace(",seconds", ""), "csv, line 1: got no column seconds; restore what was"),
        (good.replace(",seconds", ",seconds,note"), "got the further column 'note'; remove it"),
        (good.replace("seed,score", "score,seed"), "expected experiment, part"),
    ):
        file.write_text(bad)
        with pytest.raises(ValueError, match=message):
            read(file)
    file.write_text(good, encoding="utf-8-sig")  # as spreadsheets do
    assert read(file) == [made_up.row()]
    file.write_text(file.read_text().replace("2026-01-01,1.5", "2026-01-01,long"))
    with pytest.raises(ValueError, match="csv, line 2: got 'long' for seconds, expected a number"):
        read(file)
    write(file, [made_up.row()])
    good = file.read_bytes()
    for bad, message in (
        (b"bfs,2\n", "csv, line 3: got 2 values, expected 16; remove the line"),
        (b"\xff", "csv, line 3: got bytes that are no UTF-8"),
        (good.splitlines()[1] + b",more", "csv, line 3: got 17 values, expected 16"),
        (good.splitlines()[1], "csv, line 3: got a second row of bfs, bfs, seed 0; remove one"),
        (_changed(good, b"specialists", b"pgn"), "line 3: got a row of 'pgn', expected specialis"),
        (_changed(good, b"33.333333333333336", b"nan"), "line 3: got nan for score, expected one"),
        (_changed(good, b"33.333333333333336", b"100.1"), "line 3: got 100.1 for score, expected"),
        (_changed(good, b"bfs,bfs,0,", b"bfs,bfs,-5,"), "line 3: got -5 for seed, expected 0 or"),
    ):
        file.write_bytes(good + bad)
        with pytest.raises(ValueError, match=message):
            read(file)


def test_processes_do_not_lose_each_others_results(tmp_path):
    one, other = (Results(tmp_path, "specialists") for _ in range(2))
    one.add([made_up.row(part="bfs", algorithm="bfs")])
    other.add([made_up.row(part="dfs", algorithm="dfs")])
    one.remove([made_up.row(part="dijkstra", algorithm="dijkstra")])
    assert [each.part for each in Results(tmp_path, "specialists").rows] == ["bfs", "dfs"]


def test_results_that_are_added_at_the_same_time_are_all_kept(tmp_path):
    add = """if 1:
        import sys, made_up
        from algorist.experiments.results import Results
        results = Results(sys.argv[1], "specialists")
        for seed in range(30):
            results.add([made_up.row(part=sys.argv[2], algorithm=sys.argv[2], seed=seed)])
    """
    here = {**os.environ, "PYTHONPATH": os.path.dirname(made_up.__file__)}
    others = [
        subprocess.Popen([sys.executable, "-c", add, str(tmp_path), name], env=here)
        for name in ("bfs", "dfs")
    ]
    assert [other.wait(PATIENCE) for other in others] == [0, 0]
    assert len(Results(tmp_path, "specialists").rows) == 60
