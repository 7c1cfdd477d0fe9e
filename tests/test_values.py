"""Values side by side are the arrays that they were made of."""

import pickle

import numpy as np
import pytest
import torch

from algorist.model.packed_values import PackedValues
from algorist.spec import Spec, edge, graph, node

SPEC = Spec.of(
    inputs={},
    hints={
        "distance": node.scalar,
        "next": node.pointer,
        "weight": edge.scalar,
        "phase": graph.categorical(3),
        "seen": node.mask,
        "count": graph.scalar,
    },
    outputs={},
)


def arrays(steps, lanes, n=4, seed=0):
    rng = np.random.default_rng(seed)
    return {f.name: rng.integers(0, 4, (steps, lanes, *f.shape(n))) for f in SPEC.hints}


@pytest.fixture
def values():
    return PackedValues.of(SPEC.hints, [arrays(3, 2), arrays(2, 2, seed=1)], (3, 2, 2))


def test_each_feature_is_found_by_its_name(values):
    assert list(values) == [feature.name for feature in SPEC.hints]
    for name, array in arrays(3, 2).items():
        assert values[name][:, 0].tolist() == array.tolist()


def test_what_is_shorter_is_padded_by_zeros(values):
    for name, array in arrays(2, 2, seed=1).items():
        assert values[name][:2, 1].tolist() == array.tolist()
        assert not values[name][2, 1].any()


def test_there_is_one_tensor_for_each_type_of_number(values):
    assert [part.dtype for part in values.parts] == [torch.float32, torch.int8, torch.int16]
    assert [part.shape[-1] for part in values.parts] == [4 + 16 + 1, 3 + 4, 4]
    assert values["next"].untyped_storage().data_ptr() == values.parts[2].data_ptr()


def test_a_function_of_the_first_axes_applies_to_all_features(values):
    later = values.map(lambda part: part[1:])
    for name, value in values.items():
        assert torch.equal(later[name], value[1:])


def test_values_without_features_have_no_columns():
    assert [part.shape for part in PackedValues.of([], [{}, {}], (3, 2, 5)).parts] == [
        (3, 2, 5, 0)
    ] * 3


def test_values_survive_being_sent_to_another_process(values):
    copy = pickle.loads(pickle.dumps(values))
    assert all(torch.equal(copy[name], value) for name, value in values.items())
