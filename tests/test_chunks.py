"""Chunks: windows of some steps over one sample after the other."""

import json
import random
import time

import golden_records as golden
import numpy as np
import pytest
from golden_records import assert_same

from algorist.data import official
from algorist.data.chunks import Chunker
from algorist.data.stream import Online, Prefetch


@pytest.mark.parametrize("name", golden.names("chunk"))
def test_chunks_are_the_benchmarks(name):
    record = golden.load("chunk", name)
    full = official.generate(name, n=6, count=12, seed=5)
    golden.assert_recorded(full, golden.part(record, "full"))
    chunker = Chunker(lambda k: full.take(np.arange(4) + 4 * (k % 3)))
    for step in range(3):
        chunk = chunker.chunk(step)
        golden.assert_recorded(chunk, golden.part(record, f"chunk{step}"))


# Runs of different lengths: the lanes drift apart.
small_batches = Online("dijkstra", seed=1, sizes=(7,), batch_size=5).batch


@pytest.fixture(scope="module")
def in_order():
    chunker = Chunker(small_batches, length=6)
    return [chunker.chunk(step) for step in range(60)]


def test_lanes_follow_one_sample_after_the_other(in_order):
    for lane in range(5):
        expected = {"is_first": [], "is_last": [], "A": [], "d": [], "pi": []}
        for k in range(100):
            batch = small_batches(k)
            for t in range(batch.lengths[lane]):
                expected["is_first"].append(t == 0)
                expected["is_last"].append(t == batch.lengths[lane] - 1)
                expected["A"].append(batch.inputs["A"][lane])
                expected["d"].append(batch.hints["d"][t, lane])
                expected["pi"].append(batch.outputs["pi"][lane])
        for t in range(60 * 6):
            chunk, row = in_order[t // 6], t % 6
            assert chunk.is_first[row, lane] == expected["is_first"][t]
            assert chunk.is_last[row, lane] == expected["is_last"][t]
            assert np.array_equal(chunk.inputs["A"][row, lane], expected["A"][t])
            assert np.array_equal(chunk.hints["d"][row, lane], expected["d"][t])
            assert np.array_equal(chunk.outputs["pi"][row, lane], expected["pi"][t])


def test_chunks_are_the_same_in_any_order(in_order):
    steps = random.Random(0).sample(range(60), 25)
    chunker = Chunker(small_batches, length=6)
    for step in [*steps, *steps[:5]]:
        assert_same(chunker.chunk(step), in_order[step])


def test_chunks_are_the_same_on_any_number_of_threads(in_order):
    def delayed(step):
        time.sleep(random.Random(step).random() / 200)
        return chunker.chunk(step)

    chunker = Chunker(small_batches, length=6)
    for step, chunk in enumerate(Prefetch(delayed, range(60), workers=6, ahead=12)):
        assert_same(chunk, in_order[step])


def test_a_saved_cursor_goes_on_without_a_replay(in_order):
    asked = []

    def counted(k):
        asked.append(k)
        return small_batches(k)

    ahead = Chunker(small_batches, length=6)
    for step in range(40):
        ahead.chunk(step)
    cursor = json.loads(json.dumps(ahead.cursor(30)))
    resumed = Chunker(counted, length=6, cursor=cursor)
    for step in range(30, 60):
        assert_same(resumed.chunk(step), in_order[step])
    assert min(asked) == min(cursor["batches"]) > 10
    assert len(asked) == len(set(asked))
    assert_same(resumed.chunk(2), in_order[2])
    assert_same(resumed.chunk(31), in_order[31])


def test_every_batch_is_asked_for_once_when_steps_come_in_order():
    asked = []

    def counted(k):
        asked.append(k)
        return small_batches(k)

    chunker = Chunker(counted, length=6)
    for passage in range(2):  # the second begins where the chunker has forgotten how it stood
        for step in range(320):
            chunker.cursor(step)
            chunker.chunk(step)
        assert asked == [0, *range(len(asked) - 1)], passage
        asked.clear()


def test_cursors_do_not_depend_on_the_way_there():
    one, other = Chunker(small_batches, length=6), Chunker(small_batches, length=6)
    for step in range(12):
        one.chunk(step)
    assert one.cursor(9) == other.cursor(9)
    assert one.cursor(0) == {"step": 0, "batches": [0] * 5, "offsets": [0] * 5}


def test_batches_of_different_sizes_cannot_be_chunked_together():
    chunker = Chunker(Online("insertion_sort", seed=0, batch_size=2).batch)
    with pytest.raises(ValueError, match="batch 1: got 2 samples of 7 nodes, expected 2 of 4"):
        chunker.chunk(0)
