"""Learners that come with the package: found by name, tested, shown, and what is said of them."""

import json
import os
import subprocess
import sys
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import small
import torch
from made_up import write_shipped
from safetensors import safe_open

import algorist
from algorist import weights
from algorist.cli import main
from algorist.commands import export
from algorist.data import official
from algorist.data.sparse import sparse_set
from algorist.evaluation.evaluator import evaluate
from algorist.evaluation.sparse import evaluate_sparse
from algorist.experiments.plan import ALGORITHMS
from algorist.experiments.results import SHIPPED, Results, file_of, read, sample_count
from algorist.report.paper_results import PaperResults
from algorist.report.published import published
from algorist.report.shipped_table import shipped_scores
from algorist.spec import Kind
from algorist.training.run import Run
from algorist.training.run_files import pack_run
from algorist.training.saved_learners import load

pytestmark = pytest.mark.usefixtures("piped")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two algorithms and two seeds, stopped after four of six steps."""
    schedule = {"validate_every": 2, "checkpoint_every": 2}
    config = small.training("bfs", "minimum", seeds=(0, 1), steps=6, schedule=schedule)
    started = Run.start(tmp_path_factory.mktemp("run"), config)
    started.train(should_stop=lambda: started.trainer.step >= 4)
    return started.folder


@pytest.fixture
def shipped(run, tmp_path, monkeypatch):
    """A package that ships two small learners; its folder of weights."""
    folder = tmp_path / "weights"
    (folder / "specialists").mkdir(parents=True)
    monkeypatch.setattr(weights, "FOLDER", folder)
    monkeypatch.chdir(tmp_path)
    load(run).replica(0).save(folder / "generalist.safetensors", half=True)
    load(run).replica(1).save(folder / "specialists" / "bfs.safetensors", half=True)
    return folder


def same_weights(one, other):
    pairs = zip(one.net.state_dict().values(), other.net.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


# Names


def test_shipped_learners_are_loaded_by_their_names(shipped):
    assert list(weights.shipped()) == ["generalist", "specialists/bfs"]
    for name in weights.shipped():
        assert same_weights(algorist.load(name), load(shipped / f"{name}.safetensors"))


def test_what_has_the_name_here_comes_first(shipped, run, tmp_path):
    Path("generalist").mkdir()  # holds no learner, so it does not count
    assert load("generalist").metadata["replicas"][0]["seed"] == 0
    load(run).replica(1).save(Path("generalist") / "best.safetensors")
    assert load("generalist").metadata["replicas"][0]["seed"] == 1


def test_a_folder_stands_for_all_learners_in_it(shipped, capsys):
    words = ["--samples", "2", "--json", "--device", "cpu"]
    for named in (["specialists"], ["--model", "specialists"], ["specialists", "bfs"]):
        assert main(["eval", *named, *words]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        (expected,) = evaluate(
            load("specialists/bfs"), "bfs", official.first_samples("bfs", "test", 2)
        )
        assert (row["algorithm"], row["replicas"][0]["score"]) == ("bfs", expected.score)
    assert main(["eval", "specialists", *words, "--results", "results"]) == 0
    (kept,) = read(file_of("results", SHIPPED))
    assert (kept.part, kept.score) == ("specialists/bfs", 100 * expected.score)
    with pytest.raises(
        ValueError, match="got several learners, expected one of them, such as spec"
    ):
        load("specialists")


def test_a_folder_that_is_no_run_is_none_of_the_shipped(shipped, capsys):
    for words in (["eval", "."], ["run", "bfs", "--random", "4", "--model", "."]):
        assert main(words) == 2
        assert "there is no file, run or shipped learner '.'" in capsys.readouterr().err
    for words in (["resume", "."], ["pack", "specialists", "out"]):
        assert main(words) == 2
        assert f"{words[1]}: there is no run here (no config.json)" in capsys.readouterr().err


def test_an_unknown_name_is_told_with_those_that_there_are(shipped):
    message = (
        r"^there is no file, run or shipped learner 'nobody'; shipped: generalist, specialists$"
    )
    with pytest.raises(ValueError, match=message):
        load("nobody")


def test_the_list_of_models_says_what_each_file_holds(shipped, capsys):
    assert main(["list", "--models"]) == 0
    _, *rows, _, last = (line.split() for line in capsys.readouterr().out.splitlines())
    assert last[:4] == ["specialists", "is", "a", "model"]
    assert [cells[0] for cells in rows] == ["generalist", "specialists/bfs"]
    best = [load(name).metadata["replicas"][0] for name in weights.shipped()]
    assert [cells[-3:] for cells in rows] == [
        [str(one["seed"]), str(one["step"]), f"{100 * one['validation']:.2f}"] for one in best
    ]
    assert main(["list", "--models", "--json"]) == 0
    first, _ = json.loads(capsys.readouterr().out)
    assert first["algorithms"] == ["bfs", "minimum"]
    assert json.loads(first["config"])["model"]["hidden"] == 16
    assert main(["list", "--models", "--family", "sorting"]) == 2
    assert "--family: it is for algorithms" in capsys.readouterr().err


def test_a_package_without_weights_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(weights, "FOLDER", tmp_path)
    assert main(["list", "--models"]) == 0
    assert "no learners" in capsys.readouterr().out
    assert main(["run", "minimum", "3", "1"]) == 2
    assert "'generalist'; shipped: none" in capsys.readouterr().err


# Packed runs and exports


def test_the_best_nets_of_a_packed_run_are_loaded_from_its_checkpoint(run, tmp_path):
    pack_run(run, tmp_path / "packed")
    got, expected = load(tmp_path / "packed"), load(run)
    assert got.metadata == expected.metadata
    assert got.metadata["steps"] == 4
    assert not got.net.training
    for name, value in expected.net.state_dict().items():  # differences are kept in bfloat16
        torch.testing.assert_close(got.net.state_dict()[name], value, rtol=1e-2, atol=1e-4)


def test_a_packed_run_is_exported_in_one_command(run, tmp_path, capsys):
    pack_run(run, tmp_path / "packed")
    file = tmp_path / "one.safetensors"
    words = ["export", str(tmp_path / "packed"), str(file), "--seed", "1", "--half"]
    assert main(words) == 0
    got, expected = load(file), load(tmp_path / "packed").replica(1)
    for name, value in expected.net.state_dict().items():
        assert torch.equal(got.net.state_dict()[name], value.half().float())
    assert got.metadata["replicas"] == expected.metadata["replicas"]
    assert got.metadata["exported"]["version"] == algorist.__version__


def test_the_best_seed_can_be_exported(run, tmp_path):
    learner, file = load(run), tmp_path / "best.safetensors"
    for place, score in enumerate((0.25, 0.5)):
        learner.metadata["replicas"][place]["validation"] = score
    learner.save(tmp_path / "both.safetensors")
    assert main(["export", str(tmp_path / "both.safetensors"), str(file), "--best"]) == 0
    assert same_weights(load(file), learner.replica(1))
    assert load(file).metadata["replicas"] == [learner.metadata["replicas"][1]]


def test_the_commit_is_that_of_the_package_not_of_what_is_around_it(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # a hook's, which lead to another repository
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)

    for name in ("kept.py", "other.py"):
        (tmp_path / name).write_text("")
    assert export.commit_of(tmp_path / "kept.py") is None
    git("init", "-q")
    git("add", "kept.py")
    git("commit", "-qm", "first")
    assert export.commit_of(tmp_path / "kept.py") == git("rev-parse", "HEAD").stdout.strip()
    assert export.commit_of(tmp_path / "other.py") is None


# Commands


@pytest.mark.parametrize(
    "words",
    [
        ["--official"],
        ["--model", "generalist", "--official"],
        ["generalist"],
        ["bfs", "minimum"],
        ["--model", "generalist", "bfs", "minimum"],
        ["generalist", "bfs", "minimum", "--split", "test"],
    ],
)
def test_the_generalist_is_tested_unless_another_learner_is_given(shipped, words, capsys):
    assert main(["eval", *words, "--samples", "2", "--json", "--device", "cpu"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(r["algorithm"], r["n"], r["samples"]) for r in rows] == [
        ("bfs", 64, 2),
        ("minimum", 64, 2),
    ]
    learner = load("generalist")
    for one in rows:
        batch = official.first_samples(one["algorithm"], "test", 2)
        (expected,) = evaluate(learner, one["algorithm"], batch)
        assert one["replicas"][0]["score"] == expected.score


def test_eval_says_how_many_samples_it_took_and_what_the_paper_has(shipped, capsys):
    assert main(["eval", "--samples", "2", "--device", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "samples: only the first 2 of each official test" in out
    (mean,) = (line.split() for line in out.splitlines() if line.startswith("mean"))
    paper = [published()[name]["triplet_gmpnn"].mean for name in ("bfs", "minimum")]
    assert mean[-1] == f"{sum(paper) / 2:.2f}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bsf"], "unknown algorithm or learner 'bsf': did you mean 'bfs'?"),
        (["runs/none"], "no file, run or shipped learner 'runs/none'; shipped: generalist"),
        (["dfs"], "unknown algorithm for this learner 'dfs'"),
        (["--model", "specialists/bsf"], "no file, run or shipped learner 'specialists/bsf'"),
    ],
)
def test_unknown_learners_and_algorithms_are_told_apart(shipped, words, message, capsys):
    assert main(["eval", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_generalist_runs_unless_another_learner_is_given(shipped, capsys):
    assert main(["run", "minimum", "3", "1", "2", "--json"]) == 0
    got = json.loads(capsys.readouterr().out)
    expected = load("generalist").run("minimum", key=[3, 1, 2], compare=True)
    assert got["answer"] == expected.answer
    assert got["hints_right"] == expected.comparison.share


def test_the_page_of_a_test_has_scores_means_and_trajectories(shipped, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["eval", "--samples", "1", "--html", str(page), "--device", "cpu"]) == 0
    assert f"written to {page}" in capsys.readouterr().out
    text = page.read_text()
    assert "the first samples of the official tests" in text
    assert text.count("<tr><th>mean</th>") == 1
    assert text.count('<section class="trajectory">') == 1  # of bfs alone, which is a usual one
    solution = load("generalist").run("bfs", **drawn("bfs"), compare=True)
    wrong = sum(int(mask.sum()) for mask in solution.comparison.wrong.values())
    explained = 1  # in the text above
    assert text.count("<mark>") == wrong + explained > explained


def drawn(name):
    """The problem that pages show."""
    inputs = algorist.get(name).sample(6, 1, 1).inputs
    return {key: array[0] for key, array in inputs.items() if key not in ("pos", "adj")}


# Scores


def test_scores_of_a_test_are_kept_and_those_of_older_weights_dropped(shipped, run, capsys):
    words = ["eval", "--samples", "1", "--results", "results", "--device", "cpu"]
    assert main(words) == 0
    (first, second) = read(file_of("results", SHIPPED))
    metadata = load("generalist").metadata
    assert (first.part, first.algorithm, first.seed, first.samples) == ("generalist", "bfs", 0, 1)
    assert first.validation == 100 * metadata["replicas"][0]["validation"]
    assert first.steps == metadata["steps"] == 4
    assert main([*words, "minimum"]) == 0
    assert [r.score for r in read(file_of("results", SHIPPED))] == [first.score, second.score]
    load(run).replica(1).save(shipped / "generalist.safetensors")
    assert main([*words, "minimum"]) == 0
    (only,) = read(file_of("results", SHIPPED))
    assert (only.algorithm, only.seed) == ("minimum", 1)


def test_scores_on_more_samples_are_not_lost(shipped, capsys):
    words = ["eval", "--results", "results", "--device", "cpu", "--samples"]
    assert main([*words, "3"]) == 0
    before = file_of("results", SHIPPED).read_text()
    assert main([*words, "2", "minimum"]) == 2
    assert "has the scores of generalist in minimum on 3" in capsys.readouterr().err
    assert file_of("results", SHIPPED).read_text() == before
    assert main([*words, "2", "--model", "specialists"]) == 0  # others have none yet


def test_scores_are_kept_as_soon_as_they_are_known(shipped, run, monkeypatch):
    from algorist.commands import evaluate_each

    evaluate = evaluate_each.evaluate

    def cut_off(learner, algorithm, *others, **options):
        if algorithm == "minimum":
            raise KeyboardInterrupt
        return evaluate(learner, algorithm, *others, **options)

    monkeypatch.setattr(evaluate_each, "evaluate", cut_off)
    with suppress(KeyboardInterrupt):
        main(["eval", "--samples", "1", "--results", "results", "--device", "cpu"])
    assert [row.algorithm for row in read(file_of("results", SHIPPED))] == ["bfs"]


def test_the_table_has_scores_of_whole_tests_beside_the_paper_and_their_mean(tmp_path):
    rows = write_shipped(tmp_path)
    table = shipped_scores(PaperResults(tmp_path))
    assert [name for name, _ in table.rows] == list(ALGORITHMS)
    for place, (name, (paper, score, _)) in enumerate(table.rows):
        assert score.mean == 50 + place
        assert paper.mean == published()[name]["triplet_gmpnn"].mean
    assert table.summary[0][1][1] == pytest.approx(64.5)
    assert not table.notes
    assert len(table.headings) == 4
    alone = replace(rows[5], part=f"specialists/{rows[5].algorithm}", score=99.0)
    Results(tmp_path, SHIPPED).add([alone])
    table = shipped_scores(PaperResults(tmp_path))
    assert [cells[3] and cells[3].mean for _, cells in table.rows][4:7] == [None, 99.0, None]
    assert table.notes[0].startswith("the shipped specialists: 29 of 30 algorithms are missing")
    Results(tmp_path, SHIPPED).add([replace(rows[3], samples=2)])
    table = shipped_scores(PaperResults(tmp_path))
    assert rows[3].algorithm not in dict(table.rows)
    assert table.summary[0][1][1] is None  # no mean of what is not whole
    assert "1 of 30 algorithms are missing" in table.notes[0]


# What is really shipped


def test_the_generalist_knows_all_algorithms():
    assert load("generalist").algorithms == ALGORITHMS


def test_a_former_name_says_what_replaced_it():
    with pytest.warns(UserWarning, match="'algorist2026' is called 'generalist' now"):
        former = load("algorist2026")
    assert same_weights(former, load("generalist"))


@pytest.mark.parametrize(
    ("algorithm", "n"),
    [("heapsort", 8), ("dfs", 8), ("bfs", 8), ("quicksort", 8), ("kmp_matcher", 16)],
)
def test_the_generalist_takes_every_step_as_the_algorithm_does(algorithm, n):
    """Answers and discrete hints are right, scalars but for rounding."""
    batch = official.generate(algorithm, n=n, count=4, seed=7)
    learner = load("generalist")
    (got,) = evaluate(learner, algorithm, batch, hints=True)
    assert got.score == got.correct == 1
    hints = learner.encoding.spec(algorithm).hints
    assert {f.name for f in hints} == got.hints.keys()
    for f in hints:
        score = got.hints[f.name]
        assert score < 1e-6 if f.kind == Kind.GATED_SCALAR else score == 1, f.name


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_there_is_a_specialist_for_each_algorithm(algorithm):
    assert load(f"specialists/{algorithm}").algorithms == (algorithm,)


@pytest.mark.parametrize("name", weights.shipped())
def test_files_are_of_one_net_in_half_precision_and_say_where_it_is_from(name):
    with safe_open(str(weights.shipped()[name]), "pt") as file:
        kinds = {file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118
    assert kinds == {"F16"}
    metadata = load(name).metadata
    (best,) = metadata["replicas"]
    assert best["validation"] > 0.9
    assert metadata["exported"].keys() >= {"version"}


def test_files_are_small():
    sizes = {name: file.stat().st_size for name, file in weights.shipped().items()}
    assert sizes.pop("generalist") <= 20e6
    assert sum(sizes.values()) < 40e6


def test_the_generalist_solves_what_the_readme_gives_it():
    learner = load("generalist")
    roads = {"home": {"shop": 1, "park": 3}, "shop": {"park": 1}, "park": {"sea": 4}, "sea": {}}
    assert learner.run("bfs", A=roads, s="home").right
    assert learner.run("minimum", key=[5, 2, 9, 1]).right


@pytest.mark.parametrize("weight", [1, 5])
@pytest.mark.parametrize(
    ("algorithm", "source"),
    [
        ("bellman_ford", {"s": 0}),
        ("dijkstra", {"s": 0}),
        ("floyd_warshall", {}),
        ("mst_kruskal", {}),
        ("mst_prim", {"s": 0}),
    ],
)
def test_the_generalist_solves_graphs_of_equal_weights(algorithm, source, weight):
    ring = [(i, (i + 1) % 6, weight) for i in range(6)]
    solution = load("generalist").run(algorithm, A=ring, **source, directed=False, compare=True)
    assert solution.right


@pytest.mark.parametrize("algorithm", ["bfs", "bellman_ford", "dijkstra"])
def test_the_generalist_follows_edges_in_their_direction(algorithm):
    roads = [(0, 1, 2), (1, 2, 1), (2, 0, 4), (3, 0, 1), (2, 4, 3), (4, 3, 2)]
    solution = load("generalist").run(algorithm, A=roads, s=0, directed=True, compare=True)
    assert solution.right


def test_the_sparse_nets_are_small_and_solve_a_large_graph():
    files = {n: f for n, f in weights.shipped().items() if n.startswith("sparse/")}
    assert sum(file.stat().st_size for file in files.values()) < 5e6
    learner = load("sparse/bfs")
    (own,) = evaluate_sparse(learner, "bfs", sparse_set("bfs", "er_800", 1))
    assert own.node_accuracy > 0.95


def kept_scores():
    """What results/ say of the shipped learners: a row for each name and algorithm."""
    return {(r.part, r.algorithm): r for r in read(file_of(ROOT / "results", SHIPPED))}


@pytest.mark.parametrize("name", [x for x in weights.shipped() if not x.startswith("sparse/")])
def test_the_kept_scores_are_of_the_files_and_of_whole_tests(name):
    learner, kept = load(name), kept_scores()
    (best,) = learner.metadata["replicas"]
    for algorithm in learner.algorithms:
        row = kept[name, algorithm]
        assert (row.seed, row.best_step) == (best["seed"], best["step"])
        assert row.validation == pytest.approx(100 * best["validation"])
        assert row.samples == sample_count(algorithm, None)


@pytest.mark.parametrize("algorithm", ["bfs", "bellman_ford", "segments_intersect"])
@pytest.mark.parametrize("name", ["generalist", "specialists/{}"])
def test_the_kept_scores_are_what_the_files_score(name, algorithm):
    name = name.format(algorithm)
    (got,) = evaluate(load(name), algorithm, official.split(algorithm, "test"))
    kept = kept_scores()[name, algorithm]
    assert 100 * got.score == pytest.approx(kept.score, abs=0.5)  # sums differ between machines


def test_the_wheel_has_the_weights_and_all_other_data(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        for name, file in weights.shipped().items():
            assert archive.read(f"algorist/weights/{name}.safetensors") == file.read_bytes()
    assert {"algorist/report/learner_page.html", "algorist/report/published.csv"} <= names
