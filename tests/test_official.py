"""Our data against recordings of the benchmark, number by number."""

import golden_records as golden
import numpy as np
import pytest

import algorist
from algorist.data import official

RECORDED = golden.names("data")


@pytest.mark.parametrize("name", RECORDED)
def test_validation_samples_are_the_benchmarks(name):
    n = 20 if name in golden.MATCHERS else 16
    batch = official.generate(name, n=n, count=8, seed=2)
    golden.assert_recorded(batch, golden.part(golden.load("data", name), "val"))


@pytest.mark.parametrize(("n", "seed"), [(4, 46), (11, 53)])
@pytest.mark.parametrize("name", RECORDED)
def test_training_samples_are_the_benchmarks(name, n, seed):
    record = golden.part(golden.load("data", name), f"train{n}")
    n = 20 if name in golden.MATCHERS else n
    batch = official.generate(name, n=n, count=4, seed=seed, **golden.train_options(name))
    golden.assert_recorded(batch, record)


@pytest.mark.parametrize("name", RECORDED)
def test_the_validation_split_begins_with_the_recorded_samples(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ALGORIST_CACHE", str(tmp_path))
    batch = official.split(name, "val")
    assert len(batch) == 32 * golden.SPECS[name]["eval_multiplier"]
    golden.assert_recorded(batch.take(np.arange(8)), golden.part(golden.load("data", name), "val"))


def test_every_algorithm_of_the_benchmark_is_compared():
    assert set(RECORDED) == set(golden.SPECS)
    assert len(RECORDED) == 30


def test_an_algorithm_may_be_given_by_itself():
    by_name = official.generate("dijkstra", n=5, count=3, seed=9)
    by_itself = official.generate(algorist.get("dijkstra"), n=5, count=3, seed=9)
    golden.assert_recorded(by_itself, golden.flat(by_name))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n: got 0, expected a whole number of at least 1"),
        ({"n": 2.5}, "n: got 2.5"),
        ({"n": True}, "n: got True"),
        ({"count": -1}, "count: got -1"),
        ({"count": "8"}, "count: got '8'"),
        ({"seed": -1}, "seed: got -1"),
        ({"length_needle": 3}, "unknown option 'length_needle'"),
        ({"p": (2.0,)}, "option p: got"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        official.generate("dijkstra", **{"n": 4, "count": 2, "seed": 1, **arguments})


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="unknown algorithm 'dikstra': did you mean 'dijkstra'"):
        official.generate("dikstra", n=4, count=1, seed=0)
    with pytest.raises(ValueError, match="unknown split 'tests': did you mean 'test'"):
        official.split("dijkstra", "tests")
