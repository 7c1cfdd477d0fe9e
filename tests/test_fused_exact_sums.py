"""The fused loss of exact sums against its plain twin: values and grads."""

import pytest
import torch
from small import DEVICE

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist import kernels
from algorist.model.executing import exact_sums
from algorist.model.executing.exact_sums import SumLogits, with_constants


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


def case(shape=(2, 3, 4), known=5, spread=1.0, changed=0.5):
    """Logits, old values and true ones. Most that change are sums, and many of others are terms."""

    def draw(*columns):
        return spread * torch.randn(*shape, *columns, device=DEVICE)

    terms = with_constants(torch.rand(*shape, known, device=DEVICE).round(decimals=1), 4)
    count = terms.shape[-1]
    pairs = torch.randint(count, (*shape, 3), device=DEVICE)
    old, first, second = terms.gather(-1, pairs).unbind(-1)
    truth = torch.where(torch.rand_like(old) < 0.8, first - second, 0.777)
    truth = torch.where(torch.rand_like(old) < changed, truth, old)
    return SumLogits(draw(), draw(count + 1), draw(2 * count), terms), old, truth


def computed(logits, old, truth, weights, implementation):
    """The loss, where no sum makes the truth, the decisions, and grads of the weighted loss."""
    leaves = [x.clone().requires_grad_() for x in logits[:3]]
    with kernels.using(implementation):
        loss, no_sum = SumLogits(*leaves, logits.terms).loss(old, truth)
        with torch.no_grad():
            value = logits.decide(torch.full_like(old, 7.0))
    (loss * weights).sum().backward()
    return loss.detach(), no_sum, value, *(x.grad for x in leaves)


def assert_agree(logits, old, truth):
    weights = torch.randn_like(old)
    found, expected = (computed(logits, old, truth, weights, which) for which in ("fused", "plain"))
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)
    return found


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 5), (3, 2, 3, 3), (2, 1, 1)])
@pytest.mark.parametrize("known", [0, 4, 13])
def test_values_and_grads_agree_with_the_plain_ones(shape, known):
    assert_agree(*case(shape, known))


def test_as_many_terms_as_algorithms_have():
    assert_agree(*case((2, 3), 81 - exact_sums.CONSTANTS))


@pytest.mark.parametrize("spread", [0.0, 30.0, 80.0])
def test_logits_of_any_size(spread):
    logits, old, truth = case((2, 4, 5), 4)
    signs = SumLogits(*(spread * x.sign() for x in logits[:3]), logits.terms)
    for found in (logits._replace(gate=spread * logits.gate), signs):
        grads = assert_agree(found, old, truth)[3:]
        assert all(x.isfinite().all() for x in grads)


@pytest.mark.parametrize("changed", [0.0, 1.0])
def test_none_and_all_that_change(changed):
    assert_agree(*case(changed=changed))


def test_truths_that_no_sum_makes():
    logits, old, _ = case()
    no_sum = assert_agree(logits, old, torch.full_like(old, 7.77))[1]
    assert (no_sum == 1).all()


def test_more_entries_than_are_sampled(monkeypatch):
    monkeypatch.setattr(exact_sums, "_ENTRIES", 5)
    assert_agree(*case((2, 3, 7), changed=0.7))
    logits, old, _ = case((2, 3, 7))
    no_sum = assert_agree(logits, old, torch.full_like(old, 7.77))[1]
    assert (no_sum == 1).all()


def test_the_same_entries_are_sampled():
    logits, old, truth = case((2, 90, 3), 1, changed=0.9)
    assert_agree(logits, old, truth)


def test_inputs_of_any_strides():
    logits, old, truth = case((3, 2, 4))
    turned = SumLogits(*(x.transpose(0, 2) for x in logits))
    assert_agree(turned, old.transpose(0, 2), truth.transpose(0, 2))


def test_plain_kernels_call_no_triton(monkeypatch):
    fused = pytest.importorskip("algorist.kernels.fused.exact_sums")
    for name in ("sum_loss", "decide"):
        monkeypatch.setattr(fused, name, None)
    logits, old, truth = case()
    computed(logits, old, truth, torch.ones_like(old), "plain")


def test_decisions_keep_gradients_of_terms():
    logits, old, _ = case()
    terms = logits.terms.requires_grad_()
    with kernels.using("fused"):
        logits.decide(old).sum().backward()
    assert terms.grad.abs().sum() > 0
