"""Testing from the command line: tables, JSON, and what is refused."""

import json

import numpy as np
import pytest
from commanding import train

import algorist
from algorist.cli import main
from algorist.commands import evaluate_each
from algorist.data import official
from algorist.evaluation.evaluator import evaluate

pytestmark = pytest.mark.usefixtures("piped")


def test_eval_prints_what_evaluate_says_beside_the_paper(capsys, trained):
    assert main(["eval", str(trained), "--samples", "3", "--device", "cpu"]) == 0
    heading, row = capsys.readouterr().out.splitlines()[:2]
    assert heading.split()[:3] == ["algorithm", "n", "samples"]
    learner = algorist.load(trained)
    batch = official.split("bfs", "test").take(np.arange(3))
    expected = np.array([100 * e.score for e in evaluate(learner, "bfs", batch)])
    error = expected.std(ddof=1) / np.sqrt(2)
    expected = f"{expected.mean():.2f} ± {error:.2f}"
    assert row.split()[:4] == ["bfs", "64", "3", "pi"]
    assert row.count(expected) == 2  # of the output and, since there is one only, of their mean
    assert row.rstrip().endswith("99.73 ± 0.04")


def test_eval_says_that_samples_are_fewer_only_if_they_are_and_tests_nothing_twice(capsys, trained):
    for samples, is_said in (("3", True), ("999999", False)):
        words = ["--samples", samples, "--device", "cpu"]
        assert main(["eval", str(trained), "bfs", "bfs", *words]) == 0
        shown = capsys.readouterr().out
        assert ("samples: only the first 3 of each official test" in shown) == is_said
        assert sum(line.startswith("bfs ") for line in shown.splitlines()) == 1


def test_what_was_tested_before_an_interrupt_is_shown(capsys, monkeypatch, trained):
    whole = evaluate_each.evaluate_each

    def interrupted(*arguments, **options):
        yield from whole(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate_each, "evaluate_each", interrupted)
    words = ["eval", str(trained), "--samples", "1", "--device", "cpu"]
    assert main(words) == 130
    assert capsys.readouterr().out.splitlines()[1].startswith("bfs ")
    assert main([*words, "--json"]) == 130
    assert [row["algorithm"] for row in json.loads(capsys.readouterr().out)] == ["bfs"]


def test_a_model_without_a_name_is_not_the_usual_one(capsys, monkeypatch, trained):
    monkeypatch.chdir(trained)  # '' is not the folder where one is, either
    for words in (["eval", "--model"], ["bench", "evaluation"], ["run", "minimum", "1", "--model"]):
        assert main([*words, ""]) == 2
        assert "MODEL: got '', expected a run's folder" in capsys.readouterr().err


def test_eval_as_json_has_every_seed_and_fresh_problems_of_any_size(capsys, trained):
    words = [
        "--n",
        "5",
        "--count",
        "6",
        "--seed",
        "7",
        "--option",
        "p=0.3",
        "--json",
        "--over-time",
    ]
    assert main(["eval", str(trained), "bfs", *words, "--device", "cpu"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["algorithm"], row["n"], row["samples"]) == ("bfs", 5, 6)
    batch = official.generate("bfs", n=5, count=6, seed=7, p=0.3)
    both = evaluate(algorist.load(trained), "bfs", batch, hints=True)
    assert [one["outputs"] for one in row["replicas"]] == [dict(e.outputs) for e in both]
    assert [one["correct"] for one in row["replicas"]] == [e.correct for e in both]
    assert len(row["replicas"][0]["hints_over_time"]["pi_h"]) == batch.steps - 1


def test_eval_shows_hints_and_how_they_change(capsys, trained):
    words = ["--split", "val", "--samples", "4", "--hints", "--over-time", "--device", "cpu"]
    assert main(["eval", str(trained), *words]) == 0
    text = capsys.readouterr().out
    assert "paper" not in text  # it has no scores for this set
    assert [line.split()[1:3] for line in text.splitlines() if "pi_h     pointer" in line]
    assert [line for line in text.splitlines() if line.split()[:1] == ["reach_h"]]


def test_several_sizes_are_a_table_and_a_plot(capsys, tmp_path, trained):
    words = ["eval", str(trained), "--n", "4,6", "--count", "3", "--device", "cpu"]
    for ending in ("png", "svg"):
        file = tmp_path / f"sizes.{ending}"
        assert main([*words, "--plot", str(file)]) == 0
        heading, row = capsys.readouterr().out.splitlines()[:2]
        assert heading.split() == ["score", "%", "n", "=", "4", "n", "=", "6"]
        assert row.split()[0] == "bfs"
        assert row.count("±") == 2
        assert file.stat().st_size > 1000
    assert main([*words, "--json"]) == 0
    assert [row["n"] for row in json.loads(capsys.readouterr().out)] == [4, 6]


def test_several_learners_are_compared(capsys, tmp_path, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")  # paths of folders may be long
    other = tmp_path / "other"
    train(other, "bfs", "dijkstra", "--steps", "1")
    capsys.readouterr()
    words = [
        "eval",
        str(trained),
        str(other),
        "--split",
        "val",
        "--samples",
        "2",
        "--device",
        "cpu",
    ]
    assert main(words) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["score", "%", str(trained), str(other)]
    assert [row.split()[0] for row in rows] == ["bfs", "dijkstra", "mean"]
    assert rows[1].split()[1] == "-"  # the first was not trained for it
    assert main([*words, "bfs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["model"] for row in found] == [str(trained), str(other)]


def test_development_sets_and_forced_hints_are_shown(capsys, trained):
    words = ["eval", str(trained), "--development", "--n", "16", "--hints", "--forced"]
    assert main([*words, "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "given the true hints" in text
    assert text.splitlines()[1].split()[:3] == ["bfs", "16", "32"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--forced"], "--forced: it is about hints, expected --hints too"),
        (["--n", "4,4"], "--n: got 4,4, expected each once"),
        (["--plot", "x.png"], "expected several, as in --n 8,16,32"),
        (["--n", "4,5", "--plot", "x.gif"], "--plot: got x.gif, expected a file.png"),
        (["--development", "--n", "5"], "--n: got 5, but --development has n = (16, 32, 64)"),
        (["--development", "--samples", "5"], "--samples: only fixed sets have it"),
        (["--development", "--seed", "5"], "--seed: only fresh problems have it"),
        (["dfs"], "unknown algorithm for this learner 'dfs': known: bfs"),
        (["--samples", "0"], "samples: got 0"),
        (["--count", "3"], "--count: only fresh problems have it, expected --n too"),
        (["--option", "p=1"], "--option: only fresh problems have it"),
        (["--n", "4", "--split", "val"], "--split: only fixed sets have it, expected no --n"),
        (["--n", "4", "--option", "count=3"], "unknown option 'count'"),
        (["--n", "0"], "n: got 0, expected a whole number of at least 1"),
        (["--split", "tset"], "invalid choice: 'tset'"),
        (["--official", "--split", "val"], "--split: got val, but --official is test"),
        (["--official", "--n", "4"], "--official: only fixed sets have it, expected no --n"),
        (["--html", "x.html", "--n", "4"], "--html: only the official test is kept"),
        (["--results", "x", "--split", "val"], "--results: only the official test is kept"),
        (["--html", "/dev/null/x.html"], "--html: got /dev/null, which is a file, expected"),
        (["--html", "/"], "--html: got /, which is a folder, expected a file"),
        (["--html", ""], "--html: got '', expected a file"),
        (["--results", __file__], f"--results: got {__file__}, which is a file, expected a folder"),
        (["--results", ""], "--results: got '', expected a folder"),
        (["--results", "x"], "which lies here, expected a shipped learner"),
        (["--model", "generalist"], "unknown algorithm '"),
    ],
)
def test_eval_refuses_what_makes_no_sense(capsys, trained, words, message):
    assert main(["eval", str(trained), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_learner_without_hints_has_none_to_show(capsys, tmp_path):
    train(tmp_path / "run", "bfs", "--steps", "1", "--hints", "none")
    assert main(["eval", str(tmp_path / "run"), "--hints"]) == 2
    assert "this learner predicts no hints" in capsys.readouterr().err
