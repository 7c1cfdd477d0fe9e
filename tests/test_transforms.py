"""Transforms: random positions, static hints as inputs, permutations."""

import json
from dataclasses import replace

import golden_records as golden
import numpy as np
import pytest
from golden_records import assert_same, differ

import algorist
from algorist import Batch, Kind, Spec, Stage, get, node
from algorist.data import stream
from algorist.data.stream import Online, Purpose
from algorist.data.transforms import (
    Permutations,
    PlainPointers,
    RandomPositions,
    StaticHint,
    Transformed,
    apply_transforms,
    standard_transforms,
    transform_spec,
)


def separate_samples(batch):
    return [batch.take(np.array([b])) for b in range(len(batch))]


@pytest.mark.parametrize("name", golden.names("transformed"))
def test_transformed_samples_are_the_recorded_ones(name):
    record = golden.load("transformed", name)
    recorded, algorithm = golden.part(record, "batch"), get(name)
    spec = transform_spec(standard_transforms(algorithm), algorithm.spec)
    expected_spec = json.loads(str(record["spec"]))
    for stage in Stage:
        assert [(f.name, f.location, f.kind) for f in spec.at(stage)] == [
            (name, *rest) for name, (at, *rest) in expected_spec.items() if at == stage
        ]
    for b, length in enumerate(recorded["lengths"]):
        own = {f.name: recorded[f"input/{f.name}"][b] for f in algorithm.spec.inputs}
        batch = apply_transforms(standard_transforms(algorithm), algorithm.trace(**own))
        assert batch.spec == spec
        sample = {
            key: array[:length, [b]] if key.startswith("hint/") else array[[b]]
            for key, array in recorded.items()
        }
        golden.assert_recorded(batch, sample)


@pytest.mark.parametrize("name", algorist.algorithms())
def test_transformed_batches_fit_the_transformed_spec(name):
    algorithm = get(name)
    transforms = (RandomPositions(0, name), *standard_transforms(algorithm))
    source = Transformed(Online(name, seed=0), transforms)
    batch = source.batch(4)
    assert batch.spec == source.spec == transform_spec(transforms, algorithm.spec)
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
    off = standard_transforms(get("insertion_sort"), static_hint=False, permutations=False)
    assert transform_spec(off, batch.spec) == changed.spec
