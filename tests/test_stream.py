"""Sources of batches, and threads that compute ahead."""

import itertools
import random
import threading
import time
from dataclasses import replace
from zlib import crc32

import networkx as nx
import numpy as np
import pytest
from golden_records import assert_same, differ

import algorist
from algorist import get
from algorist.data import official
from algorist.data.chunks import Chunker
from algorist.data.stream import Fixed, OneSize, Online, Prefetch, Stream
from algorist.training.config import DataConfig


@pytest.mark.parametrize("name", algorist.algorithms())
def test_online_batches_are_a_pure_function_of_seed_algorithm_and_step(name):
    algorithm, steps = get(name), [4, 0, 7, 2]
    expected = {
        step: algorithm.sample(
            algorithm.size(16) if algorithm.stretch != 1 else (4, 7, 11, 13, 16)[step % 5],
            32,
            [5, crc32(name.encode()), step, 0],
            algorithm.train_options,
        ).single_precision()
        for step in steps
    }
    source = Online(name, seed=5)
    for step in steps:
        assert_same(source.batch(step), expected[step])
    for workers in (1, 4):
        with Prefetch(Online(name, seed=5).batch, steps, workers=workers) as batches:
            for step, batch in zip(steps, batches, strict=True):
                assert_same(batch, expected[step])


def test_seeds_steps_and_algorithms_draw_different_numbers():
    keys = Online("insertion_sort", seed=1).batch(4).inputs["key"]
    renamed = replace(get("insertion_sort"), name="another_sort")
    for other in (
        Online("insertion_sort", seed=2).batch(4),
        Online("insertion_sort", seed=1).batch(9),
        Online(renamed, seed=1).batch(4),
    ):
        assert keys.shape == other.inputs["key"].shape
        assert not np.isin(keys, other.inputs["key"]).any()


def test_online_batches_hold_single_precision():
    batch = Online("dijkstra", seed=0).batch(3)
    assert {a.dtype for a in (batch.inputs["A"], batch.inputs["pos"], batch.hints["d"])} == {
        np.dtype(np.float32)
    }


def test_training_options_can_be_switched_off():
    def densities(varied):
        source = Online("dijkstra", seed=0, varied=varied, sizes=(16,))
        edges = np.concatenate([source.batch(step).inputs["A"] != 0 for step in range(5)])
        return edges[:, ~np.eye(16, dtype=bool)].mean(-1)

    assert densities(varied=True).std() > 2 * densities(varied=False).std()
    assert densities(varied=False).mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("name", ["bfs", "bellman_ford", "dijkstra", "floyd_warshall"])
def test_some_graphs_are_directed_if_that_is_asked_for(name):
    def directed(share):
        graphs = Online(name, seed=0, sizes=(16,), ood_share=share).batch(0).inputs["A"]
        return sum((A != A.T).any() for A in graphs)

    assert directed(0.0) == 0
    assert 4 <= directed(0.5) <= 28
    assert directed(1.0) == 32


def test_some_directed_graphs_have_negative_weights_but_no_negative_cycle():
    graphs = Online("floyd_warshall", seed=0, sizes=(16,), ood_share=1.0).batch(0).inputs["A"]
    negative = [A for A in graphs if (A < 0).any()]
    assert 4 <= len(negative) <= 28
    for A in negative:
        nx.johnson(nx.from_numpy_array(A, create_using=nx.DiGraph))  # raises for negative cycles
    for name in ("dijkstra", "bellman_ford"):
        assert (Online(name, seed=0, ood_share=1.0).batch(0).inputs["A"] >= 0).all()


def test_graphs_that_must_be_undirected_stay_so():
    for name in ("mst_prim", "articulation_points"):
        batches = [Online(name, seed=0, ood_share=x).batch(0) for x in (0.0, 1.0)]
        np.testing.assert_array_equal(*(batch.inputs["A"] for batch in batches))


@pytest.mark.parametrize("name", ["naive_string_matcher", "kmp_matcher"])
def test_some_patterns_need_not_occur_if_that_is_asked_for(name):
    def absent(share):
        batch = Online(name, seed=0, sizes=(16,), ood_share=share).batch(0)
        needle = batch.inputs["string"].argmax(1)
        return (batch.outputs["match"].argmax(1) == needle).sum()

    assert absent(0.0) == 0
    assert 2 <= absent(0.5) < absent(1.0) <= 32


def test_the_share_of_ood_problems_is_a_share():
    with pytest.raises(ValueError, match="ood_share: got 2, expected 0 to 1"):
        DataConfig(ood_share=2)


def test_stretched_algorithms_have_one_size():
    source = Online(replace(get("insertion_sort"), stretch=1.25), seed=0, batch_size=2)
    assert source.sizes == (20,)
    assert [source.batch(step).n for step in range(4)] == [20] * 4


def test_fixed_batches_are_picked_from_the_training_split(cache_folder):
    source, train = Fixed("dijkstra", seed=3), official.split("dijkstra", "train")
    rng = np.random.RandomState([3, crc32(b"dijkstra"), 8, 1])
    expected = train.take(rng.randint(1000, size=32)).single_precision()
    assert_same(source.batch(8), expected)
    assert differ(source.batch(9), expected)
    assert source.sizes == (16,)


def test_one_size_takes_every_batch_of_that_size_in_order():
    source = Online("insertion_sort", seed=0, sizes=(4, 7, 4), batch_size=3)
    for size, steps in ((4, [0, 2, 3, 5, 6]), (7, [1, 4, 7])):
        view = OneSize(source, size)
        assert view.sizes == (size,)
        for count, step in enumerate(steps):
            assert_same(view.batch(count), source.batch(step))
    with pytest.raises(ValueError, match=r"size: got 16, expected one of \(4, 7, 4\)"):
        OneSize(source, 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size: got 0"),
        ({"sizes": ()}, "sizes: got none"),
        ({"sizes": 4}, "sizes: got 4, expected several or one"),
        ({"seed": -1}, "seed: got -1, expected"),
        ({"seed": "a"}, "seed: got 'a', expected"),
        ({"sizes": (4, -7)}, "sizes: got -7"),
        (
            {"algorithm": "kmp_matcher", "sizes": (8,)},
            "sizes: kmp_matcher cannot be drawn at size 10: option length_needle: got -8",
        ),
        (
            {"algorithm": "matrix_chain_order", "sizes": (4, 1)},
            "sizes: matrix_chain_order cannot be drawn at size 1: .* expected 2 to",
        ),
    ],
)
def test_bad_sources_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Stream(**{"algorithm": "dijkstra", "seed": 0, **arguments})


def test_negative_steps_are_refused():
    with pytest.raises(ValueError, match="step: got -1, expected 0 or more"):
        Online("dijkstra", seed=0).batch(-1)
    with pytest.raises(ValueError, match="step: got -1, expected 0 or more"):
        Chunker(Online("dijkstra", seed=0, sizes=(4,)).batch).chunk(-1)


# Threads that compute ahead


def slow_square(number):
    time.sleep(random.Random(number).random() / 500)
    return number**2


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_results_come_in_order_whatever_the_number_of_workers(workers):
    assert list(Prefetch(slow_square, range(50), workers=workers)) == [i**2 for i in range(50)]


def prefetch_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def test_an_exception_comes_out_in_its_place_and_ends_the_threads():
    def fragile(number):
        return 6 // (3 - number)

    results = Prefetch(fragile, itertools.count())
    assert [next(results), next(results), next(results)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert next(results, "end") == "end"
    assert prefetch_threads() == []


def test_only_so_much_is_computed_ahead_and_closing_stops_it():
    started = []
    with Prefetch(started.append, itertools.count(), workers=3, ahead=5) as results:
        for _ in range(4):
            next(results)
        deadline = time.monotonic() + 60
        while len(started) < 9 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sorted(started) == list(range(9))
    assert prefetch_threads() == []
    assert next(results, "end") == "end"
    assert len(started) == 9


@pytest.mark.parametrize("bad", [{"workers": 0}, {"ahead": 0}])
def test_bad_numbers_of_threads_are_refused(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))}: got 0"):
        Prefetch(slow_square, range(3), **bad)
