"""The data room: splits on disk, sources, transforms, chunks and threads that compute ahead."""

import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from zlib import crc32

import golden_records as golden
import numpy as np
import pytest

import algorist
from algorist import Batch, Kind, Spec, Stage, get, node
from algorist.data import cache, official, stream
from algorist.data.chunks import Chunker
from algorist.data.stream import Fixed, OneSize, Online, Prefetch, Purpose
from algorist.data.transforms import (
    Permutations,
    PlainPointers,
    RandomPositions,
    StaticHint,
    Transformed,
    standard,
    transformed,
    transformed_spec,
)


def assert_same(one, other):
    assert one.spec == other.spec
    ours, theirs = golden.flat(one), golden.flat(other)
    assert ours.keys() == theirs.keys()
    for key, array in ours.items():
        assert array.dtype == theirs[key].dtype, key
        np.testing.assert_array_equal(array, theirs[key], err_msg=key)


def differ(one, other):
    ours, theirs = golden.flat(one), golden.flat(other)
    return any(not np.array_equal(ours[key], theirs[key]) for key in ours)


# Splits on disk


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    folder = tmp_path / "new" / "cache"
    monkeypatch.setenv("ALGORIST_CACHE", str(folder))
    return folder


def test_splits_follow_the_protocol(cache_folder):
    wanted = {"train": (16, 1000, 1), "val": (16, 32, 2), "test": (64, 32, 3)}
    for split, (n, count, seed) in wanted.items():
        expected = official.generate("insertion_sort", n=n, count=count, seed=seed)
        assert_same(official.split("insertion_sort", split), expected)


def test_multiplier_and_stretch_change_the_evaluation_sets(cache_folder):
    stretched = replace(get("insertion_sort"), name="stretched", stretch=1.25, eval_multiplier=3)
    sizes = {name: official.split(stretched, name) for name in official.SPLITS}
    assert {name: (len(batch), batch.n) for name, batch in sizes.items()} == {
        "train": (1000, 20),
        "val": (96, 20),
        "test": (96, 80),
    }


def test_a_split_is_read_from_disk_the_second_time(cache_folder, monkeypatch):
    first = official.split("dijkstra", "val")
    monkeypatch.setattr(official.Split, "generate", None)
    assert_same(official.split("dijkstra", "val"), first)
    assert [path.name for path in cache_folder.iterdir()] == ["dijkstra-val-v1.npz"]


def test_any_flipped_byte_is_noticed(cache_folder):
    expected = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    content = path.read_bytes()
    for place in (0, 10, len(content) // 3, len(content) // 2, len(content) - 40, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(cache.Damaged):
            cache.load(path, expected.spec)
    with pytest.warns(UserWarning, match="damaged: building it again"):
        assert_same(official.split("insertion_sort", "val"), expected)
    assert path.read_bytes() == content


@pytest.mark.parametrize("kept", [0, 7, 2000])
def test_a_torn_file_is_built_again(cache_folder, kept):
    expected = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.warns(UserWarning, match="damaged: building it again"):
        assert_same(official.split("insertion_sort", "val"), expected)


def test_numpy_opens_the_files_without_pickle(cache_folder):
    batch = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    with np.load(path, allow_pickle=False) as archive:
        assert np.array_equal(archive["input/key"], batch.inputs["key"])


def test_a_failed_write_leaves_nothing_behind_and_the_split_is_still_returned(
    cache_folder, monkeypatch
):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="not kept on disk: no space left"):
        assert len(official.split("insertion_sort", "val")) == 32
    assert list(cache_folder.iterdir()) == []


def test_a_split_that_is_kept_may_be_read_by_others(cache_folder):
    official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    (cache_folder / "usual").touch()
    assert path.stat().st_mode == (cache_folder / "usual").stat().st_mode


def test_a_split_that_cannot_be_read_is_drawn(cache_folder, monkeypatch):
    expected = official.split("insertion_sort", "val")
    (path,) = cache_folder.iterdir()
    path.unlink()
    path.mkdir()  # also where everything is allowed, it is not a file
    with pytest.warns(UserWarning, match="the split") as warned:
        assert_same(official.split("insertion_sort", "val"), expected)
    unread, unkept = (str(each.message) for each in warned)
    assert "the split on disk is not read" in unread
    assert "the split is not kept on disk" in unkept


def test_processes_may_build_a_split_at_once(cache_folder):
    program = (
        "import sys, warnings; warnings.simplefilter('error'); from algorist.data import official;"
        "batch = official.split('insertion_sort', 'train'); print(batch.inputs['key'].sum())"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=os.environ)
        for _ in range(3)
    ]
    printed = {run.communicate()[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len(printed) == 1
    assert [path.name for path in cache_folder.iterdir()] == ["insertion_sort-train-v1.npz"]
    with warnings.catch_warnings(action="error"):
        official.split("insertion_sort", "train")


def test_algorithms_from_outside_are_never_taken_from_disk(cache_folder):
    official.split("insertion_sort", "val")
    altered = replace(get("insertion_sort"), sampler=replace(get("insertion_sort").sampler))
    official.split(altered, "test")
    assert [path.name for path in cache_folder.iterdir()] == ["insertion_sort-val-v1.npz"]


def test_the_cache_is_where_users_expect_it(monkeypatch, tmp_path):
    monkeypatch.setenv("ALGORIST_CACHE", str(tmp_path / "chosen"))
    assert cache.folder() == tmp_path / "chosen"
    monkeypatch.delenv("ALGORIST_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "algorist"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "algorist"


# Sources


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
        Online(**{"algorithm": "dijkstra", "seed": 0, **arguments})


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


# Transforms


def separate_samples(batch):
    return [batch.take(np.array([b])) for b in range(len(batch))]


@pytest.mark.parametrize("name", golden.names("transformed"))
def test_transformed_samples_are_the_recorded_ones(name):
    record = golden.load("transformed", name)
    recorded, algorithm = golden.part(record, "batch"), get(name)
    spec = transformed_spec(standard(algorithm), algorithm.spec)
    expected_spec = json.loads(str(record["spec"]))
    for stage in Stage:
        assert [(f.name, f.location, f.kind) for f in spec.at(stage)] == [
            (name, *rest) for name, (at, *rest) in expected_spec.items() if at == stage
        ]
    for b, length in enumerate(recorded["lengths"]):
        own = {f.name: recorded[f"input/{f.name}"][b] for f in algorithm.spec.inputs}
        batch = transformed(standard(algorithm), algorithm.trace(**own))
        assert batch.spec == spec
        sample = {
            key: array[:length, [b]] if key.startswith("hint/") else array[[b]]
            for key, array in recorded.items()
        }
        golden.assert_recorded(batch, sample)


@pytest.mark.parametrize("name", algorist.algorithms())
def test_transformed_batches_fit_the_transformed_spec(name):
    algorithm = get(name)
    transforms = (RandomPositions(0, name), *standard(algorithm))
    source = Transformed(Online(name, seed=0), transforms)
    batch = source.batch(4)
    assert batch.spec == source.spec == transformed_spec(transforms, algorithm.spec)
    for stage in Stage:
        assert list(batch.at(stage)) == [feature.name for feature in source.spec.at(stage)]
    for feature in source.spec:
        leading = 2 if feature.stage == Stage.HINT else 1
        array = batch.at(feature.stage)[feature.name]
        assert array.shape[leading:] == feature.shape(batch.n)
        assert feature.kind != Kind.SHOULD_BE_PERMUTATION
    assert_same(batch, source.batch(4))


def strings(*first_lengths, n=8):
    spec = Spec.of(inputs={"string": node.mask, "pos": node.scalar}, hints={}, outputs={})
    string = (np.arange(n) >= np.array(first_lengths)[:, None]).astype(np.int8)
    pos = np.zeros(string.shape, np.float32)
    lengths = np.ones(len(string), np.int64)
    return Batch(spec, {"string": string, "pos": pos}, {}, {}, lengths)


def test_random_positions_ascend_within_each_string():
    batch = strings(3, 1, 8, 5)
    changed = RandomPositions(7, "lcs").batch(batch, 11)
    rng = np.random.RandomState(stream.key(7, "lcs", 11, Purpose.POSITIONS))
    drawn = rng.uniform(size=(4, 8))
    for b, first in enumerate((3, 1, 8, 5)):
        expected = sorted(drawn[b, :first]) + sorted(drawn[b, first:])
        assert changed.inputs["pos"][b].tolist() == np.float32(expected).tolist()
    assert changed.inputs["pos"].dtype == np.float32
    assert_same(RandomPositions(7, "lcs").batch(batch, 11), changed)
    assert differ(RandomPositions(7, "lcs").batch(batch, 12), changed)
    assert differ(RandomPositions(8, "lcs").batch(batch, 11), changed)
    assert not batch.inputs["pos"].any()


def test_a_static_hint_becomes_an_input():
    spec = Spec.of(
        inputs={"pos": node.scalar}, hints={"next_h": node.pointer, "i": node.mask}, outputs={}
    )
    static = np.array([[[1, 2, 2], [0, 0, 1]], [[1, 2, 2], [0, 0, 0]]], np.int16)
    lengths = np.array([2, 1])
    hints = {"next_h": static, "i": np.zeros((2, 2, 3), np.int8)}
    batch = Batch(spec, {"pos": np.zeros((2, 3))}, hints, {}, lengths)
    changed = StaticHint("next_h").batch(batch, 0)
    assert changed.inputs["next"].tolist() == [[1, 2, 2], [0, 0, 1]]
    assert list(changed.hints) == ["i"]
    assert changed.spec == StaticHint("next_h").spec(spec)
    assert changed.spec["next"].stage == Stage.INPUT
    with pytest.raises(ValueError, match="next_h: got a hint that changes"):
        StaticHint("next_h").batch(replace(batch, lengths=np.array([2, 2])), 0)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_permutation_outputs_are_permutations_that_lead_back_to_the_pointers(n):
    batch = get("insertion_sort").sample(n, 20, 0)
    changed = Permutations().batch(batch, 0)
    matrix, mask = changed.outputs["pred"], changed.outputs["pred_mask"]
    assert matrix.dtype == mask.dtype == np.int8
    assert (matrix.sum(-1) == 1).all()
    assert (matrix.sum(-2) == 1).all()
    assert (mask.sum(-1) == 1).all()
    pointers = np.where(mask == 1, np.arange(n), matrix.argmax(-1))
    assert np.array_equal(pointers, batch.outputs["pred"])
    first, last = mask.argmax(-1), np.argmax(batch.inputs["key"], -1)
    assert np.array_equal(matrix.argmax(-1)[np.arange(20), first], last)


def test_chains_may_stay_plain_pointers():
    batch = get("insertion_sort").sample(5, 3, 0)
    changed = PlainPointers().batch(batch, 0)
    assert changed.spec["pred"].kind == Kind.POINTER
    assert changed.outputs is batch.outputs
    off = standard(get("insertion_sort"), static_hint=False, permutations=False)
    assert transformed_spec(off, batch.spec) == changed.spec


# Chunks


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


def test_the_data_room_works_without_torch():
    program = "import sys, algorist; algorist.data.chunks; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
