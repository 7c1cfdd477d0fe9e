"""Pointers that splits and paths suggest to edges, and comparisons with neighbours in tables."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import algorist
from algorist.data import official
from algorist.model.executing.comparisons import compare_tables
from algorist.model.executing.decoder_features import DecoderFeatures
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.splits import SPLITS, suggest_pointers
from algorist.model.executing.task_features import TaskFeatures
from algorist.model.feature_values import one_hot_values
from algorist.model.learner import TaskEncoding
from algorist.model.net import ModelConfig
from algorist.spec import Location
from algorist.training.recipes import recipe

ENCODING = TaskEncoding(gated_scalars=True, output_step=True)


def steps(name, n, count=2, seed=5):
    """The features that are read, and the dense values of each moment that all problems have."""
    batch = official.generate(name, n=algorist.get(name).size(n), count=count, seed=seed)
    batch = ENCODING.batch(name, batch)
    truths = {name: torch.from_numpy(np.asarray(x)) for name, x in batch.inputs.items()}
    inputs = one_hot_values(batch.spec.inputs, truths, batch.n)
    moments = []
    for t in range(batch.lengths.min()):
        hints = {name: torch.from_numpy(np.asarray(x[t])) for name, x in batch.hints.items()}
        moments.append(inputs | one_hot_values(batch.spec.hints, hints, batch.n))
    return TaskFeatures((*batch.spec.inputs, *batch.spec.hints)), moments


@pytest.mark.parametrize(
    ("name", "pointer", "column"),
    [("matrix_chain_order", "s_h", 1), ("optimal_bst", "root_h", 0), ("floyd_warshall", "Pi_h", 0)],
)
def test_edges_point_as_is_suggested_or_as_before(name, pointer, column):
    selection, moments = steps(name, n=24)
    changes = 0
    for now, following in pairwise(moments):
        suggested = suggest_pointers(selection, now)[..., column]
        expected = torch.where(suggested.amax(-1, keepdim=True) > 0, suggested, now[pointer])
        filled = following["msk"] > 0.5
        assert torch.equal(expected[filled], following[pointer][filled])
        changes += (now[pointer] != following[pointer]).any(-1).sum()
    assert changes > 100


def test_parts_that_are_not_known_yet_make_no_split():
    selection, moments = steps("matrix_chain_order", n=6, count=1)
    suggested = suggest_pointers(selection, moments[0])[0, ..., 1]
    expected = torch.zeros(6, 6, 6)
    for i in range(1, 5):
        expected[i, i + 1, i] = 1  # two matrices
    assert torch.equal(suggested, expected)


def test_tables_are_compared_with_the_entries_before():
    selection, moments = steps("lcs_length", n=8, count=1)
    values = moments[1] | {"c": torch.randint(0, 4, (1, 8, 8)).float()}
    bits = compare_tables(selection, values)[0]
    c, i, j = values["c"][0], 2, 6
    others = (c[i - 1, j], c[i, j - 1], c[i - 1, j - 1])
    expected = [float(bit) for x in others for bit in (c[i, j] < x, x < c[i, j])]
    assert bits[i, j].tolist() == expected


@pytest.mark.parametrize("name", ["lcs_length", "bellman_ford"])
def test_only_pointers_of_edges_are_suggested(name):
    spec = ENCODING.spec(name)
    model: ModelConfig = recipe("algorist2026", [name]).model
    derived = DerivedFeatures((*spec.inputs, *spec.hints), model)
    assert DecoderFeatures(derived).splits_width == 0
    assert SPLITS not in derived.groups
    tables = derived.groups.get("selected_tables_")
    assert (tables is not None) == (name == "lcs_length")  # weights of graphs are no tables
    assert tables is None or tables.location == Location.EDGE


def test_decoders_of_scalars_read_how_the_entry_that_a_class_names_compares():
    spec, (_, moments) = ENCODING.spec("lcs_length"), steps("lcs_length", n=8)
    model: ModelConfig = recipe("algorist2026", ["lcs_length"]).model
    reads = DecoderFeatures(DerivedFeatures((*spec.inputs, *spec.hints), model))
    for now, following in pairwise(moments):
        read = reads.next_hint_features(Location.EDGE, now, following)
        assert read.shape[-1] == reads.next_hint_width(Location.EDGE)
        match, up, left = read[..., -24:].unflatten(-1, (4, 6))[..., :3, :].unbind(-2)
        is_above_diagonal = match[..., 5] > 0
        differs = (up[..., :2] + left[..., 2:4]).amax(-1) > 0
        matches = following["b_h"][..., 0] > 0
        changes = (matches & ~is_above_diagonal) | differs
        inner = (slice(None), slice(1, 4), slice(5, 8))  # the margins are filled at first
        assert torch.equal(changes[inner], (now["c"] != following["c"])[inner])
