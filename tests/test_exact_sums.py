"""Gated scalars, whose new values are exact sums."""

import numpy as np
import pytest
import torch
from executing import ENCODING, LOCATIONS, config, is_gated, seen, sum_logits
from torch.nn.functional import one_hot

import algorist
from algorist.model.executing.decoder_features import DecoderFeatures
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.exact_sums import SumLogits, with_constants
from algorist.model.feature_values import one_hot_values
from algorist.model.kinds import row
from algorist.model.net import ModelConfig
from algorist.spec import Feature, Kind, Location, Stage


def test_terms_follow_the_selections_of_the_next_step():
    spec = ENCODING.spec("dijkstra")
    derived = DerivedFeatures((*spec.inputs, *spec.hints), ModelConfig(dereference=True))
    reads = DecoderFeatures(derived)
    batch = seen("dijkstra", n=4, count=1)
    values = {
        f.name: row(f).ops.one_hot(torch.from_numpy(np.asarray(x)), 4)
        for f in (*spec.inputs, *spec.hints)
        for x in [batch.inputs[f.name] if f.stage == Stage.INPUT else batch.hints[f.name][1]]
    }
    values = derived.derive_values(values, None)
    same, other = (
        reads.scalar_terms(values, {**values, "pi_h": one_hot(torch.tensor([[to] * 4]), 4).float()})
        for to in (0, 1)
    )
    assert not torch.equal(same.at(Location.NODE), other.at(Location.NODE))
    for location in LOCATIONS:
        assert same.at(location).shape[-1] == reads.terms_width(location)


@pytest.mark.parametrize("location", LOCATIONS)
def test_closed_gates_keep_scalars_exactly(location):
    ops = row(Feature("d", Stage.HINT, location, Kind.GATED_SCALAR)).ops
    shape = location.shape(3)
    old, new, no_loss = torch.full(shape, 0.3), torch.full(shape, 9.0), torch.zeros(shape)
    shut, wide = (torch.stack((torch.full(shape, g), new, old, no_loss), -1) for g in (-1.0, 1.0))
    assert torch.equal(ops.feedback(shut, True), old)
    assert torch.equal(ops.final(wide), new)


def test_a_learnt_value_counts_alike_whether_one_entry_changes_or_all():
    ops = row(Feature("d", Stage.HINT, Location.NODE, Kind.GATED_SCALAR)).ops
    old, truth = torch.zeros(2, 4), torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 1]])
    prediction = torch.stack((old, torch.full((2, 4), 0.5), old, old), -1)
    loss = ops.loss(prediction, truth).mean(1)
    torch.testing.assert_close(loss[0], loss[1])
    assert loss[0] > 0


def test_the_likeliest_terms_make_the_new_value():
    predicted = torch.full((1, 1), 7.0)
    assert sum_logits(1.0, 0, 1).decide(predicted).item() == pytest.approx(0.8)
    assert sum_logits(1.0, 0, 3).decide(predicted).item() == pytest.approx(0.31)
    assert sum_logits(1.0, 1, 6).decide(predicted).item() == pytest.approx(0.2)
    assert sum_logits(1.0, 6, 3).decide(predicted).item() == 7.0


def test_every_pair_of_terms_that_makes_the_truth_is_right():
    old, truth = torch.full((1, 1), 0.3), torch.full((1, 1), 0.8)
    for first, second in ((0, 1), (1, 0)):
        loss, is_no_sum = sum_logits(20.0, first, second).loss(old, truth)
        assert loss.item() < 1e-3
        assert is_no_sum.item() == 0
    assert sum_logits(20.0, 0, 2).loss(old, truth)[0].item() > 10
    assert sum_logits(-20.0, 0, 1).loss(old, truth)[0].item() > 10


def test_what_no_sum_makes_is_predicted():
    old, truth = torch.full((1, 1), 0.3), torch.full((1, 1), 0.777)
    loss, is_no_sum = sum_logits(20.0, 6, 0).loss(old, truth)
    assert loss.item() < 1e-3
    assert is_no_sum.item() == 1


def test_to_keep_a_number_and_to_copy_the_same_one_are_both_right():
    old = torch.full((1, 1), 0.3)
    assert sum_logits(-20.0, 1, 1).loss(old, old)[0].item() < 1e-3
    assert sum_logits(20.0, 0, 2).loss(old, old)[0].item() < 1e-3
    assert sum_logits(20.0, 1, 2).loss(old, old)[0].item() > 10


@pytest.mark.parametrize("gate", [-40.0, 5.0, 18.0, 40.0])
@pytest.mark.parametrize("truth", [0.3, 0.8, 0.777])
@pytest.mark.parametrize("first", [1, 4])
def test_gradients_of_wrong_choices_neither_vanish_nor_explode(gate, truth, first):
    chosen = sum_logits(gate, first, 2)
    chosen = SumLogits(*(x * 4 if x is not chosen.terms else x for x in chosen))  # logits of 80
    leaves = [x.requires_grad_() for x in chosen[:3]]
    chosen.loss(torch.full((1, 1), 0.3), torch.full((1, 1), truth))[0].backward()
    largest = max(float(x.grad.abs().max()) for x in leaves)
    assert largest < 2
    is_right = truth == 0.3 and gate < 0
    assert is_right == (largest < 1e-3)


@pytest.mark.parametrize(
    "name",
    [name for name in algorist.algorithms() if any(map(is_gated, ENCODING.spec(name).hints))],
)
def test_all_changes_of_scalars_are_sums_of_two_known_numbers(name):
    batch = seen(name, n=8, count=2)
    spec, n = batch.spec, batch.n
    derived = DerivedFeatures((*spec.inputs, *spec.hints), config(name).model)
    arrays = {f.name: batch.inputs[f.name] for f in spec.inputs}
    inputs = one_hot_values(spec.inputs, {k: torch.from_numpy(x) for k, x in arrays.items()}, n)
    truths = {f.name: torch.from_numpy(batch.hints[f.name]) for f in spec.hints}
    hints = one_hot_values(spec.hints, truths, n)
    for t in range(batch.steps - 1):
        values = derived.derive_values(inputs | {name: x[t] for name, x in hints.items()}, None)
        following = {name: x[t + 1] for name, x in hints.items()}
        scalars = DecoderFeatures(derived).scalar_terms(values, following)
        for f in filter(is_gated, spec.hints):
            terms = with_constants(scalars.at(f.location), n)
            changed = (following[f.name] - values[f.name]).abs() > 1e-7
            first, true = terms[changed], following[f.name][changed][:, None, None]
            sums = first.unsqueeze(-1) + torch.cat((first, -first), -1).unsqueeze(-2)
            assert ((sums - true).abs() < 2e-6).flatten(1).any(1).all()
