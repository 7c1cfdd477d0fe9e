"""Tables and figures of a sweep, from rows that are made up."""

import csv
import json
from dataclasses import replace

import pytest
from made_up import row

from algorist.cli import main
from algorist.experiments.grid import variant_of
from algorist.experiments.results import file_of, sample_count, write


def net(part, algorithm, *scores, samples=None):
    """A row for each seed."""
    about = {
        "experiment": "sweep",
        "part": f"{part}/{algorithm}",
        "algorithm": algorithm,
        "samples": sample_count(algorithm, samples),
    }
    return [row(**about, seed=seed, score=score) for seed, score in enumerate(scores)]


@pytest.fixture
def report(tmp_path, capsys):
    """Report on some rows: what is printed, and the folder."""

    def reported(rows, *words):
        write(file_of(tmp_path / "sweep", "sweep"), rows)
        code = main(["report", str(tmp_path / "sweep"), "--out", str(tmp_path / "out"), *words])
        assert code == 0
        return capsys.readouterr().out, tmp_path / "out"

    return reported


def table(folder, name):
    with (folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


GRID = [
    *net("ibarz2022/hidden=8", "bfs", 20, 40),
    *net("ibarz2022/hidden=16", "bfs", 60, 80),
    *net("ibarz2022/hidden=8", "minimum", 90, 92),
    *net("ibarz2022/hidden=16", "minimum", 50, 60, 99),
]


def test_settings_are_columns_and_the_best_comes_first(report):
    said, folder = report(GRID)
    found = table(folder, "nets")
    assert [(line["algorithm"], line["hidden"], line["seeds"]) for line in found] == [
        ("bfs", "16", "2"), ("bfs", "8", "2"), ("minimum", "8", "2"), ("minimum", "16", "3"),
    ]  # fmt: skip
    assert [float(line["score"]) for line in found] == pytest.approx([70, 30, 91, 209 / 3])
    assert float(found[0]["score error"]) == pytest.approx(10)
    assert "recipe" not in found[0]
    assert said == f"written to {folder / 'index.html'}\n"


def test_settings_are_compared_over_the_seeds_that_have_all_algorithms(report):
    found = table(report(GRID)[1], "settings")
    assert [(line["settings"], line["seeds"]) for line in found] == [
        ("hidden 16", "2"), ("hidden 8", "2"),
    ]  # fmt: skip
    assert [float(line["score"]) for line in found] == pytest.approx([62.5, 60.5])


def test_the_page_has_all_of_it(report):
    _, folder = report(GRID)
    page = (folder / "index.html").read_text()
    for text in ("The sweep sweep", "9 results, of 3 seeds", "hidden 16", "<svg", "By settings"):
        assert text in page
    for ending in ("png", "svg"):
        assert (folder / "figures" / f"scores.{ending}").stat().st_size > 1000


def test_a_single_kind_of_net_is_shown_by_algorithm(report):
    _, folder = report([*net("ibarz2022", "bfs", 20), *net("ibarz2022", "minimum", 30)])
    (line,) = table(folder, "settings")
    assert (line["settings"], float(line["score"])) == ("as in the recipe", 25)
    drawn = (folder / "figures" / "scores.svg").read_text()
    assert drawn.index("minimum") < drawn.index("bfs")


def test_recipes_are_settings_too(report):
    rows = [*net("ibarz2022", "bfs", 20), *net("clrs2022/hidden=8", "bfs", 30)]
    found = table(report(rows)[1], "nets")
    assert [(line["recipe"], line["hidden"]) for line in found] == [
        ("clrs2022", "8"), ("ibarz2022", ""),
    ]  # fmt: skip


def test_nets_for_one_algorithm_and_for_several_are_kept_apart(report):
    apart, together = net("ibarz2022", "bfs", 20), net("ibarz2022", "bfs", 30)
    together = [replace(line, part="ibarz2022/together") for line in together]
    found = table(report([*apart, *together])[1], "nets")
    assert [(line["task"], float(line["score"])) for line in found] == [("together", 30), ("", 20)]


def test_values_of_settings_may_have_slashes_and_spaces(report):
    parts = [f"ibarz2022/{variant_of({'processor_from': v})}" for v in ("runs/a b", "runs_a")]
    rows = [line for part in parts for line in net(part, "bfs", 50)]
    found = table(report(rows)[1], "nets")
    assert {line["processor_from"] for line in found} == {"runs/a b", "runs_a"}


def test_algorithms_of_plugins_that_are_not_loaded_are_told(tmp_path, capsys):
    rows = [replace(line, algorithm="euclid") for line in GRID[:1]]
    write(file_of(tmp_path, "sweep"), rows)
    assert main(["report", str(tmp_path)]) == 2
    assert "it needs the algorithm 'euclid', which is not here" in capsys.readouterr().err


def test_what_is_not_whole_is_said(report, tmp_path):
    (tmp_path / "sweep").mkdir()
    notes = {"ibarz2022/dfs (seed 0)": {"message": "it diverged\nat once"}, "other": {}}
    (tmp_path / "sweep" / "failures.json").write_text(json.dumps(notes))
    said, folder = report([*GRID, *net("ibarz2022/hidden=8", "dfs", 20, samples=2)])
    assert "1 of 10 results are of the first samples of a test" in said
    assert "some results are missing: the page says which" in said
    page = (folder / "index.html").read_text()
    assert "ibarz2022/dfs (seed 0): it diverged at once" in page
    assert "other: failed" in page


def test_only_so_many_bars_are_drawn(report):
    rows = [line for n in range(50) for line in net(f"ibarz2022/hidden={n + 1}", "bfs", 50 + n)]
    said, folder = report(rows)
    assert "missing" not in said
    assert "Only the best 40 of 50 are drawn." in (folder / "index.html").read_text()
    drawn = (folder / "figures" / "scores.svg").read_text()
    assert "hidden 50<" in drawn
    assert "hidden 10<" not in drawn
    assert len(table(folder, "settings")) == 50


@pytest.mark.parametrize("words", [["--samples", "2"], ["--any-settings"], ["--fill", "a.md"]])
def test_options_for_other_folders_are_refused(tmp_path, capsys, words):
    write(file_of(tmp_path, "sweep"), GRID)
    assert main(["report", str(tmp_path), *words]) == 2
    error = capsys.readouterr().err
    assert f"{words[0]}: it is for " in error
    assert f"{tmp_path} is a sweep" in error
