"""Reading the golden records in `tests/golden`, and comparing with them."""

import json
from pathlib import Path

import numpy as np

import algorist
from algorist import Kind

FOLDER = Path(__file__).parent / "golden"
SPECS = json.loads((FOLDER / "specs.json").read_text())
MATCHERS = ("kmp_matcher", "naive_string_matcher")
_SPARSE = ("articulation_points", "bridges", "mst_kruskal")
_P = tuple(0.1 + 0.1 * i for i in range(9))


def names(kind):
    """The algorithms that have records of one kind."""
    recorded = {path.stem for path in (FOLDER / kind).glob("*.npz")}
    return [name for name in algorist.algorithms() if name in recorded]


def load(kind, name):
    """The arrays of one record by their keys."""
    with np.load(FOLDER / kind / f"{name}.npz") as archive:
        return dict(archive)


def part(record, prefix):
    """The arrays of a record under one prefix, by the rest of their keys."""
    start = f"{prefix}/"
    return {key.removeprefix(start): a for key, a in record.items() if key.startswith(start)}


def train_options(name):
    """The sampler options of the training records."""
    values = {"p": tuple(p / 2 for p in _P) if name in _SPARSE else _P, "length_needle": -8}
    taken = algorist.get(name).sampler.options
    return {option: value for option, value in values.items() if option in taken}


def flat(batch):
    """The arrays of a batch or chunk under the keys that records have."""
    rest = ("lengths", "is_first", "is_last")
    stages = {"input": batch.inputs, "hint": batch.hints, "output": batch.outputs}
    return {
        **{f"{stage}/{name}": a for stage, arrays in stages.items() for name, a in arrays.items()},
        **{name: getattr(batch, name) for name in rest if hasattr(batch, name)},
    }


def assert_recorded(batch, record):
    """Every array is the recorded one: discrete values exactly, scalars to 1e-9."""
    got = flat(batch)
    assert got.keys() == record.keys()
    for key, expected in record.items():
        name = key.split("/")[-1]
        is_scalar = "/" in key and batch.spec[name].kind == Kind.SCALAR
        tolerance = 1e-9 if is_scalar else 0
        np.testing.assert_allclose(got[key], expected, rtol=0, atol=tolerance, err_msg=key)


def assert_same(one, other):
    """Two batches or chunks are alike in all their arrays, and in how they hold them."""
    assert one.spec == other.spec
    ours, theirs = flat(one), flat(other)
    assert ours.keys() == theirs.keys()
    for key, array in ours.items():
        assert array.dtype == theirs[key].dtype, key
        np.testing.assert_array_equal(array, theirs[key], err_msg=key)


def differ(one, other):
    """Whether two batches or chunks have other numbers somewhere."""
    ours, theirs = flat(one), flat(other)
    return any(not np.array_equal(ours[key], theirs[key]) for key in ours)
