"""The paper's tables and figures from results: right means, nothing invented, nothing mixed."""

import csv
import re
import statistics
from collections import defaultdict
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import scipy.stats
from made_up import row, write_results, write_shipped

from algorist.cli import main
from algorist.experiments.plan import ALGORITHMS, FAMILIES
from algorist.experiments.results import Results
from algorist.report.ablations import generalist_ablation, single_ablation
from algorist.report.means import (
    Mean,
    count_above,
    family_mean,
    mean_of_families,
    mean_over_algorithms,
    mean_over_seeds,
    overall_mean,
)
from algorist.report.paper_figures import paper_figures
from algorist.report.paper_results import PaperResults, published_net
from algorist.report.paper_tables import paper_tables
from algorist.report.tables import Table

pytestmark = pytest.mark.usefixtures("piped")

NETS = ("memnet", "mpnn", "pgn", "triplet_gmpnn")
PRINTED = {
    "divide_and_conquer": ((13.05, 0.14), (20.30, 0.85), (65.23, 4.44), (76.36, 1.34)),
    "dynamic_programming": ((67.94, 8.20), (65.10, 6.44), (70.58, 6.48), (81.99, 4.98)),
    "geometry": ((45.14, 11.95), (73.11, 17.19), (61.19, 7.01), (94.09, 2.30)),
    "graphs": ((24.12, 5.30), (62.79, 8.75), (60.25, 8.42), (81.41, 6.21)),
    "greedy": ((53.42, 20.82), (82.39, 3.01), (75.84, 6.59), (91.21, 2.95)),
    "searching": ((34.35, 21.67), (41.20, 19.87), (56.11, 21.56), (58.61, 24.34)),
    "sorting": ((71.53, 1.41), (11.83, 2.78), (15.45, 8.46), (60.37, 12.16)),
    "strings": ((1.51, 0.46), (3.21, 0.94), (2.04, 0.20), (49.09, 23.49)),
}
"""Table 1 as the paper prints it."""


# Means


@pytest.mark.parametrize("family", FAMILIES)
def test_means_and_errors_of_families_are_the_papers(family):
    for net, (mean, error) in zip(NETS, PRINTED[family], strict=True):
        ours = family_mean(published_net(net).values, family)
        assert ours.mean == pytest.approx(mean, abs=0.011)
        assert ours.error == pytest.approx(error, abs=0.03)  # of errors that were rounded


@pytest.mark.parametrize(
    ("net", "by_family", "of_all", "above"),
    [
        ("memnet", 38.88, 38.03, (0, 3, 10)),
        ("mpnn", 44.99, 51.02, (6, 9, 14)),
        ("pgn", 50.84, 52.31, (3, 7, 15)),
        ("triplet_gmpnn", 74.14, 75.98, (11, 17, 24)),
    ],
)
def test_overall_means_and_counts_are_the_papers(net, by_family, of_all, above):
    values = published_net(net).values
    assert mean_of_families(values) == pytest.approx(by_family, abs=0.006)
    assert overall_mean(values) == pytest.approx(of_all, abs=0.006)
    assert tuple(count_above(values, threshold) for threshold in (90, 80, 60)) == above


def test_errors_that_are_not_known_make_none():
    values = {name: Mean(50, None if name == "dfs" else 1.0, 3) for name in ALGORITHMS}
    assert family_mean(values, "graphs") == Mean(50, None, 3)
    assert family_mean(values, "sorting").error > 0


def test_there_is_no_mean_of_what_is_not_there():
    values = dict(published_net("mpnn").values)
    del values["bfs"]
    assert family_mean(values, "graphs") is None
    assert family_mean(values, "sorting") is not None
    assert mean_of_families(values) is overall_mean(values) is count_above(values, 60) is None


def test_the_mean_over_algorithms_is_taken_seed_by_seed():
    scores = {"bfs": {0: 10.0, 1: 20.0, 2: 90.0}, "dfs": {0: 30.0, 1: 60.0}}
    assert mean_over_algorithms(scores, ["bfs", "dfs"]) == mean_over_seeds([20.0, 40.0])
    assert mean_over_algorithms(scores, ["bfs", "dijkstra"]) is None


@pytest.mark.parametrize("seeds", [2, 3, 10])
def test_errors_are_standard_errors(seeds):
    scores = [float(x % 7) for x in range(seeds)]
    assert mean_over_seeds(scores).error == pytest.approx(scipy.stats.sem(scores))


def test_a_single_seed_has_no_error():
    value = mean_over_seeds([50.0])
    assert value == Mean(50.0, None, 1)
    assert value.text() == "50.00"


# The whole report


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A folder with all results, and the report on them."""
    folder = tmp_path_factory.mktemp("full")
    rows = write_results(folder / "results")
    write_shipped(folder / "results")
    assert main(["report", str(folder / "results"), "--out", str(folder / "report")]) == 0
    return folder, rows


def read_table(file):
    with file.open(encoding="utf-8") as lines:
        reader = csv.reader(lines)
        headings = next(reader)
        return {line[0]: dict(zip(headings[1:], line[1:], strict=True)) for line in reader}


def scores_of(rows, experiment, part="{}"):
    """Scores by algorithm."""
    scores = defaultdict(list)
    for each in rows:
        if each.experiment == experiment and each.part == part.format(each.algorithm):
            scores[each.algorithm].append(each.score)
    return scores


def test_the_table_by_algorithm_has_our_means_and_errors_beside_the_papers(full):
    folder, rows = full
    table = read_table(folder / "report" / "tables" / "algorithms.csv")
    ours = {
        "Triplet-GMPNN, ours (3 seeds)": scores_of(rows, "specialists"),
        "Memnet, ours (3 seeds)": scores_of(rows, "baselines", "memnet/{}"),
        "PGN, all improvements, ours (3 seeds)": scores_of(rows, "pgn"),
    }
    assert list(table) == [*ALGORITHMS, "mean"]
    assert table["bfs"]["Triplet-GMPNN"] == "99.73"
    for heading, scores in ours.items():
        for name in ALGORITHMS:
            cells = table[name]
            assert float(cells[heading]) == pytest.approx(statistics.fmean(scores[name]))
            error = scipy.stats.sem(scores[name])
            assert float(cells[f"{heading} error"]) == pytest.approx(error)
        mean = statistics.fmean(statistics.fmean(own) for own in scores.values())
        assert float(table["mean"][heading]) == pytest.approx(mean)


def test_the_table_of_generalists_has_gains(full):
    folder, rows = full
    table = read_table(folder / "report" / "tables" / "generalist.csv")
    many, single = scores_of(rows, "generalist", "all"), scores_of(rows, "specialists")
    for name in ALGORITHMS:
        gain = statistics.fmean(many[name]) - statistics.fmean(single[name])
        assert float(table[name]["gain"]) == pytest.approx(gain)
    # A family of one is a specialist.
    cells = table["find_maximum_subarray_kadane"]
    assert cells["by family (3 seeds)"] == cells["specialists (3 seeds)"] != ""


def test_ablations_start_with_the_whole_net_and_follow_the_plan(full):
    folder, rows = full
    table = read_table(folder / "report" / "tables" / "generalist-ablation.csv")
    labels = ["all improvements", "- triplet reasoning", "- Sinkhorn permutations"]
    assert list(table)[:3] == labels
    for label, source in zip(
        labels, (("generalist", "all"), ("generalist-ablation", "triplets")), strict=False
    ):
        scores = scores_of(rows, *source)
        by_seed = [statistics.fmean(column) for column in zip(*scores.values(), strict=True)]
        assert float(table[label]["score"]) == pytest.approx(statistics.fmean(by_seed))
        assert float(table[label]["score error"]) == pytest.approx(scipy.stats.sem(by_seed))
    step = read_table(folder / "report" / "tables" / "specialist-ablation-single.csv")["bfs"]
    assert step["- Sinkhorn permutations"] == step["all improvements"] != step["- gating"]


def test_every_table_and_figure_is_there_in_all_forms(full):
    folder, _ = full
    results = PaperResults(folder / "results")
    for table in paper_tables(results):
        assert not table.notes
        for ending in ("md", "csv", "tex"):
            assert (folder / "report" / "tables" / f"{table.name}.{ending}").stat().st_size > 100
    for picture in paper_figures(results):
        assert not picture.notes
        file = folder / "report" / "figures" / picture.name
        assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        assert ElementTree.parse(file.with_suffix(".svg")).getroot().tag.endswith("svg")


def test_the_page_needs_nothing_else_and_shows_everything(full):
    folder, _ = full
    page = (folder / "report" / "index.html").read_text()
    results = PaperResults(folder / "results")
    assert page.count("<svg") == len(list(paper_figures(results)))
    assert page.count("<table>") == len(list(paper_tables(results)))
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert links
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"<(link|script|img)\b", page)


# What is missing or does not belong there


def test_what_is_missing_is_said_and_not_invented(tmp_path):
    write_results(tmp_path, experiments=["specialists"], algorithms=["bfs", "dfs"])
    results = PaperResults(tmp_path)
    made = {table.name: table for table in paper_tables(results)}
    ours = made["algorithms"].headings.index("Triplet-GMPNN, ours (3 seeds)") - 1
    cells = {label: cells[ours] for label, cells in made["algorithms"].rows}
    assert {label for label, cell in cells.items() if cell is not None} == {"bfs", "dfs"}
    assert made["algorithms"].summary[0][1][ours] is None
    assert all(cells[ours] is None for _, cells in made["families"].rows)
    notes = "\n".join(made["algorithms"].notes)
    assert "Triplet-GMPNN, ours: 28 of 30 algorithms are missing (activity_selector, " in notes
    assert "PGN, ours: 30 of 30 algorithms are missing" in notes
    assert "algorist reproduce baselines" in notes
    drawn = {picture.name: picture for picture in paper_figures(results)}
    assert drawn["old-vs-new"].draw is not None
    assert drawn["generalist-ablation"].draw is None
    assert drawn["generalist-vs-specialists"].draw is None  # there is no generalist to compare
    (note,) = drawn["generalist-ablation"].notes
    assert note.startswith("missing: all improvements, ")
    commands = "algorist reproduce generalist and algorist reproduce generalist-ablation"
    assert note.endswith(f"; to add them: {commands}")
    assert "28 of 30" in drawn["old-vs-new"].notes[0]


def test_an_ablation_is_over_the_algorithms_that_all_nets_have(tmp_path):
    some = ["bfs", "dfs", "quicksort"]
    write_results(tmp_path, experiments=["specialists", "specialist-ablation"], algorithms=some)
    results = Results(tmp_path, "specialist-ablation")
    gone = [each for each in results.rows if each.part != "single/gating/bfs"]
    results.file.unlink()
    Results(tmp_path, "specialist-ablation").add(gone)
    ablation = single_ablation(PaperResults(tmp_path))
    assert list(ablation.algorithms) == ["dfs", "quicksort"]
    assert "over the 2 algorithms" in ablation.notes[-1]


def test_nets_that_lack_nothing_are_no_ablation(tmp_path):
    write_results(tmp_path, experiments=["specialists", "generalist"])
    results = PaperResults(tmp_path)
    assert list(single_ablation(results).nets) == ["all"]
    assert list(generalist_ablation(results).nets) == ["all"]
    drawn = {picture.name: picture for picture in paper_figures(results)}
    for name in ("generalist-ablation", "specialist-ablation-single", "families"):
        assert drawn[name].draw is None
    assert results.families().values == {}  # one family has one algorithm: it is a specialist


def test_experiments_without_results_are_listed_with_their_cost(tmp_path):
    for name, seconds in (("specialists", 36.0), ("generalist", 720.0)):
        rows = write_results(tmp_path, seeds=1, experiments=[name])
        trained = [replace(own, device="NVIDIA H200", seconds=seconds) for own in rows]
        Results(tmp_path, name).add(trained)
    bfs = next(own for own in trained if own.algorithm == "bfs")
    Results(tmp_path, "generalist").add([replace(bfs, seed=1, device="cpu", seconds=9.0)])
    made = {table.name: table for table in paper_tables(PaperResults(tmp_path))}
    listed = dict(made["missing-results"].rows)
    assert "specialists" not in listed
    assert listed["pgn"] == ["30 of 30", pytest.approx(30 * 0.01), "reproduce pgn"]
    assert listed["generalist-ablation"][1] == pytest.approx(8 * 0.2)
    assert listed["algorist2026"][1] is None  # no such net has been trained


def test_means_of_uneven_seeds_are_the_same_in_all_tables(tmp_path):
    write_results(tmp_path, experiments=["specialists", "generalist"])
    results = Results(tmp_path, "specialists")
    results.add(
        [replace(row, seed=3, score=0.0) for row in results.rows if row.key[1:] == ("bfs", 0)]
    )
    made = {table.name: table for table in paper_tables(PaperResults(tmp_path))}
    (_, cells), *_ = made["generalist"].summary
    own = cells[made["generalist"].headings[1:].index("specialists (3 to 4 seeds)")]
    (_, others), *_ = made["algorithms"].summary
    assert own in others
    assert cells[-1] == cells[2].mean - own.mean


def test_shipped_scores_of_few_samples_are_left_out_and_told(capsys, tmp_path):
    few = row(experiment="shipped", part="generalist", samples=2, score=7.0)
    Results(tmp_path, "shipped").add([few])
    out = str(tmp_path / "report")
    assert main(["report", str(tmp_path), "--out", out]) == 0
    assert "1 of shipped, 10000 steps, 2 samples tested" in capsys.readouterr().out
    assert read_table(tmp_path / "report" / "tables" / "shipped.csv") == {}
    assert main(["report", str(tmp_path), "--out", out, "--any-settings"]) == 0
    (line,) = list(read_table(tmp_path / "report" / "tables" / "shipped.csv").values())[:1]
    assert float(line["generalist, score"]) == 7


def test_figures_that_are_not_drawn_any_more_are_removed(tmp_path):
    write_results(tmp_path / "full", experiments=["specialists", "generalist"])
    write_results(tmp_path / "few", experiments=["specialists"])
    drawn = tmp_path / "out" / "figures" / "generalist-vs-specialists.svg"
    for folder, there in (("full", True), ("few", False)):
        assert main(["report", str(tmp_path / folder), "--out", str(tmp_path / "out")]) == 0
        assert drawn.exists() is there


def test_wide_tables_and_negative_numbers_in_latex():
    wide = Table("n", "T", "C", ["a", *"bcdefgh"], [("> 9 %", [-1.5, "x-y", *[None] * 5])])
    tex = wide.latex()
    assert r"$>$ 9 \% & $-$1.50 & x-y & --" in tex
    assert tex.index(r"\resizebox{\textwidth}{!}{%") < tex.index(r"\end{tabular}}")


def test_small_results_are_left_out_unless_asked_for_and_then_marked(capsys, tmp_path):
    results, report = tmp_path / "results", tmp_path / "report"
    (full,) = write_results(results, experiments=["specialists"], algorithms=["bfs"], seeds=1)
    few = row(part="dfs", algorithm="dfs", recipe=full.recipe, samples=2)
    short = row(part="dijkstra", algorithm="dijkstra", steps=5)
    Results(results, "specialists").add([few, short])
    assert PaperResults(results).rows == [full]
    assert main(["report", str(results), "--out", str(report)]) == 0
    assert "left out, since they are not of the paper's settings: " in capsys.readouterr().out
    table = read_table(report / "tables" / "algorithms.csv")
    assert [n for n, cells in table.items() if cells["Triplet-GMPNN, ours (1 seed)"]] == ["bfs"]
    said = "1 of specialists, 5 steps, 32 samples tested, another recipe"
    assert said in (report / "index.html").read_text()

    assert main(["report", str(results), "--out", str(report), "--any-settings"]) == 0
    table = read_table(report / "tables" / "algorithms.csv")
    shown = [n for n, cells in table.items() if cells["Triplet-GMPNN, ours (1 seed)"]]
    assert shown == ["bfs", "dfs", "dijkstra"]
    mark = "NOT the paper's settings"
    for file in ("index.html", "tables/algorithms.md"):
        assert mark in (report / file).read_text(), file
    assert rf"\caption{{{mark}" in (report / "tables" / "algorithms.tex").read_text()
    assert mark in (report / "figures" / "old-vs-new.svg").read_text()


@pytest.mark.parametrize("words", [["--samples", "2"], ["--device", "cpu"]])
def test_options_for_runs_are_refused_for_results(capsys, tmp_path, words):
    write_results(tmp_path, experiments=["specialists"], algorithms=["bfs"])
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "report"), *words]) == 2
    assert words[0] in capsys.readouterr().err


def test_a_report_in_the_place_of_a_file_is_refused_before_it_is_made(
    capsys, monkeypatch, tmp_path
):
    write_results(tmp_path, experiments=["specialists"], algorithms=["bfs"])
    monkeypatch.setattr("algorist.report.collection.Collection.write", None)
    file = tmp_path / "specialists.csv"
    assert main(["report", str(tmp_path), "--out", str(file)]) == 2
    assert f"--out: got {file}, which is a file, expected a folder" in capsys.readouterr().err


def test_folders_without_anything_to_report_are_refused(capsys, tmp_path):
    assert main(["report", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "there is no run here" in error
    assert "there are no results" in error


# Tables


def test_tables_are_written_in_all_forms():
    table = Table(
        "name",
        "Title",
        "In %.",
        ["a_b", "x", "count"],
        [("one", [Mean(1.005, 0.5, 3), 2]), ("two", [None, "1 / 2"])],
        [("mean", [3.25, None])],
        ["two is missing"],
    )
    assert table.markdown().splitlines()[4:] == [
        "| a_b | x | count |",
        "| --- | ---: | ---: |",
        "| one | 1.00 ± 0.50 | 2 |",
        "| two | – | 1 / 2 |",
        "| **mean** | 3.25 | – |",
        "",
        "- two is missing",
    ]
    assert table.csv() == "a_b,x,x error,count\none,1.005,0.5,2\ntwo,,,1 / 2\nmean,3.25,,\n"
    tex = table.latex()
    assert r"a\_b & x & count \\" in tex
    assert r"one & 1.00 $\pm$ 0.50 & 2 \\" in tex
    assert r"\caption{In \%.}" in tex
    assert "% two is missing" in tex
    assert "resizebox" not in tex
    assert "<tr><th>two</th><td>–</td><td>1 / 2</td></tr>" in table.html()
