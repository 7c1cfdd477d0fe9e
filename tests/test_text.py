"""CLRS-Text: the strings of dm-clrs, from recordings and from the package where it is installed."""

import gzip
import hashlib
import itertools
import json

import golden_records
import numpy as np
import pytest

import algorist
from algorist import node, record
from algorist.algorithms.samplers.arrays import keys
from algorist.cli import main
from algorist.data import numpy_ties, text
from algorist.data.feature_text import order_of

RECORDED = json.loads(gzip.decompress((golden_records.FOLDER / "text.json.gz").read_bytes()))


@pytest.mark.parametrize("name", golden_records.SPECS)
@pytest.mark.parametrize("form", ["plain", "hints"])
def test_texts_are_the_recorded_ones(name, form):
    for n in (4, 5, 8, 16):
        recorded = RECORDED[f"{name}/{n}/{form}"]
        made = list(text(name, n=n, count=6, seed=recorded["seed"], hints=form == "hints"))
        texts = [example["text"] for example in made]
        assert texts[0] == recorded.get("text", texts[0])
        digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:16]
        assert digest == recorded["digest"], (n, texts[0])


def official_texts(name, n, count, seed, hints, decimals):
    clrs = pytest.importorskip("clrs", reason="dm-clrs is not installed")
    sampler, _ = clrs.build_sampler(
        name,
        num_samples=-1,
        seed=seed,
        length=n,
        track_max_steps=False,
        truncate_decimals=decimals,
    )
    for _ in range(count):
        sample = sampler.next(batch_size=1)
        yield clrs.clrs_text.clrs_utils.format_clrs_example(name, sample, use_hints=hints)


@pytest.mark.parametrize("name", golden_records.SPECS)
@pytest.mark.parametrize("hints", [False, True])
def test_texts_are_those_of_the_installed_package(name, hints):
    for n, decimals, seed in itertools.product((4, 7, 17), (2, 3, None), (0, 11)):
        how = {"n": n, "count": 4, "seed": seed, "hints": hints, "decimals": decimals}
        made = [(example["question"], example["answer"]) for example in text(name, **how)]
        assert made == list(official_texts(name, **how)), how


@pytest.mark.parametrize("hints", [False, True])
def test_examples_are_those_of_the_installed_generator_for_hugging_face(hints):
    pytest.importorskip("clrs", reason="dm-clrs is not installed")
    from clrs._src.clrs_text.huggingface_generators import clrs_generator

    theirs = clrs_generator({"heapsort": [6]}, num_samples=5, use_hints=hints, seed=4)
    assert list(text("heapsort", n=6, count=5, seed=4, hints=hints)) == list(theirs)


@pytest.mark.parametrize("name", sorted(numpy_ties.TIED))
def test_ties_are_broken_as_in_the_installed_package(name):
    n, decimals = (5, 2) if name == "graham_scan" else (19, 1)
    how = {"n": n, "count": 40, "seed": 3, "hints": True, "decimals": decimals}
    made = [(example["question"], example["answer"]) for example in text(name, **how)]
    assert made == list(official_texts(name, **how))


def test_examples_have_the_keys_of_the_generator_for_hugging_face():
    (example,) = text("binary_search", n=5, count=1, seed=0, hints=True)
    question = (
        "binary_search:\nkey: [0.423 0.544 0.548 0.602 0.715], target: 0.645, "
        "initial_trace: (0, 4)\ntrace | (low, high):\n"
    )
    answer = "(3, 4) | (4, 4)\n\n"
    assert list(example.items()) == [
        ("text", question + answer),
        ("question", question),
        ("answer", answer),
        ("algo_name", "binary_search"),
        ("length", 5),
        ("use_hints", True),
    ]


def test_texts_go_on_where_a_batch_ends_and_without_end():
    few = list(text("bfs", n=4, count=3, seed=5))
    many = list(text("bfs", n=4, count=150, seed=5))
    endless = list(itertools.islice(text("bfs", n=4, count=None, seed=5), 150))
    assert many == endless
    assert many[:3] == few
    assert len({example["text"] for example in many}) > 140


def test_inputs_are_truncated_before_the_algorithm_runs():
    batch = algorist.data.official.generate(
        "insertion_sort", n=20, count=1, seed=0, truncate_decimals=1
    )
    (key,) = batch.inputs["key"]
    full = np.random.RandomState(0).uniform(size=20)
    np.testing.assert_array_equal(key, np.trunc(full * 10) / 10)
    (order,) = order_of(batch.outputs["pred"])
    assert (np.diff(key[order]) >= 0).all()
    assert order.tolist() == np.argsort(key, kind="stable").tolist()


def test_points_are_drawn_again_if_three_are_collinear_when_truncated():
    drawn = algorist.get("graham_scan").sample(8, 50, 0, {"truncate_decimals": 1})
    full = algorist.get("graham_scan").sample(8, 50, 0)
    first = np.trunc(full.inputs["x"] * 10) / 10
    assert np.abs(drawn.inputs["x"] - first).max() > 0.2


@pytest.mark.parametrize("name", sorted(numpy_ties.TIED))
def test_runs_without_ties_are_the_same_when_interpreted(name, monkeypatch):
    """With every sample run again, nothing changes: the interpreted code is the compiled one."""
    algorithm = algorist.get(name)
    batch = algorithm.sample(9, 6, 2)
    assert numpy_ties.break_ties_as_numpy(algorithm, batch) is batch
    monkeypatch.setitem(numpy_ties.TIED, name, lambda batch: np.ones(len(batch), bool))
    golden_records.assert_recorded(
        numpy_ties.break_ties_as_numpy(algorithm, batch), golden_records.flat(batch)
    )


@pytest.mark.parametrize("name", sorted(set(numpy_ties.TIED) - {"graham_scan"}))
def test_ties_are_found_where_inputs_are_coarse(name):
    batch = algorist.get(name).sample(12, 20, 0, {"truncate_decimals": 1})
    assert numpy_ties.TIED[name](batch).any()


@pytest.mark.parametrize("name", sorted(numpy_ties.TIED))
def test_runs_that_are_interpreted_sort_with_numpy(name, monkeypatch):
    """Also after the helpers that are replaced got other names, which must not go unseen."""
    batch, calls = algorist.get(name).sample(6, 1, 0, {"p": 0.9} if "mst" in name else {}), []
    usual = np.argsort
    monkeypatch.setattr(np, "argsort", lambda x: calls.append(x) or usual(x))
    monkeypatch.setitem(numpy_ties.TIED, name, lambda batch: np.ones(1, bool))
    numpy_ties.break_ties_as_numpy(algorist.get(name), batch)
    assert calls


def test_equal_values_have_the_order_of_argsort(monkeypatch):
    """Here one that puts the last of several first."""
    key = [0.5, 0.5, 0.9, 0.5]
    batch = algorist.get("task_scheduling").trace(d=[1, 1, 2, 3], w=key)
    monkeypatch.setattr(np, "argsort", lambda x: len(x) - 1 - np.lexsort((x[::-1],)))
    after = numpy_ties.break_ties_as_numpy(algorist.get("task_scheduling"), batch)
    assert after.hints["i"].argmax(-1)[1:, 0].tolist() == [2, 3, 1, 0]


@algorist.algorithm(
    "made up",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={"total_h": algorist.graph.scalar},
    outputs={"total": algorist.graph.scalar, "big": node.mask},
    sampler=keys,
)
def add_up(key, total_h, total, big, trace):
    """Add up keys."""
    record(trace)
    for i in range(len(key)):
        total_h[0] += key[i]
        big[i] = key[i] > 0.5
        record(trace)
    total[0] = total_h[0]


@algorist.algorithm(
    "made up",
    inputs={"pos": node.scalar, "height": node.scalar},
    hints={},
    outputs={"pred": node.should_be_permutation},
    sampler=algorist.sampler()(lambda rng, height: algorist.fill_uniform(rng, height, 0.0, 1.0)),
)
def order_of_heights(height, pred, trace):
    """Leave them as they stand."""
    for i in range(len(height)):
        pred[i] = max(i - 1, 0)
    record(trace)


def test_an_algorithm_of_a_users_own_has_texts_too():
    (example,) = text(add_up, n=3, count=1, seed=0, hints=True, decimals=2)
    assert example["text"] == (
        "add_up:\nkey: [0.54 0.71 0.6], initial_trace: 0.0\ntrace | total, big:\n"
        "0.54, 1.25 | 1.85, [1 1 1]\n\n"
    )
    with pytest.raises(ValueError, match="pred: got an order of nodes, which is written as"):
        next(text(order_of_heights, n=3, count=1, seed=0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "bsf"}, "unknown algorithm 'bsf': did you mean 'bfs'"),
        ({"n": 0}, "n: got 0"),
        ({"count": 0}, "count: got 0"),
        ({"seed": -1}, "seed: got -1"),
        ({"decimals": 0}, "decimals: got 0, expected a whole number of at least 1"),
        ({"decimals": 1.5}, r"decimals: got 1\.5"),
        ({"decimals": 23}, "option truncate_decimals: got 23, expected 1 to 22 decimal places"),
        ({"truncate_decimals": 2}, "option truncate_decimals: expected the argument decimals"),
        ({"length": 3}, "unknown option 'length'"),
        ({"algorithm": "strongly_connected_components", "n": 3}, "n: got 3 nodes, expected at"),
    ],
)
def test_bad_arguments_are_refused_at_once(change, message):
    given = {"algorithm": "bfs", "n": 4, "count": 1, "seed": 0, **change}
    with pytest.raises(ValueError, match=message):
        text(given.pop("algorithm"), **given)


def test_the_command_writes_the_same_texts(tmp_path, capsys):
    file = tmp_path / "texts.jsonl"
    command = f"text insertion_sort --n 8 --count 100 --seed 0 --hints --decimals 3 --out {file}"
    assert main(command.split()) == 0
    assert "100 texts, written to" in capsys.readouterr().out
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines == list(text("insertion_sort", n=8, count=100, seed=0, hints=True))


def test_the_command_prints_texts_and_takes_options(capsys):
    assert main(["text", "dijkstra", "--n", "5", "--decimals", "none", "--option", "p=0.9"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    (expected,) = text("dijkstra", n=5, count=1, seed=0, decimals=None, p=0.9)
    assert json.loads(line) == expected
    assert max(map(len, expected["question"].split())) > 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--decimals x", "argument --decimals: got 'x', expected a whole number or none"),
        ("--out nowhere/a.jsonl", "nowhere"),
        ("--count -3", "count: got -3"),
    ],
)
def test_mistakes_in_the_command_are_one_line(words, message, capsys, tmp_path, monkeypatch):
    (tmp_path / "nowhere").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["text", "bfs", *words.split()]) == 2
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1
