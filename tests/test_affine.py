"""Linear maps of several replicas: values and gradients against `torch.einsum`."""

import pytest
import torch

from algorist.kernels.affine import Affine, add_product, product

REPLICAS = 3
ROWS = {"many parts": (4, 16), "some parts": (3, 4), "one part": (5, 7), "one row": ()}
"""The axes between replica and channel: how many parts they can be cut into for gradients."""
MAPS = {
    "affine": lambda x, weight, bias, base: Affine(weight, bias)(x),
    "product": lambda x, weight, bias, base: product(x, weight),
    "add_product": lambda x, weight, bias, base: add_product(base, x, weight),
}


def expected_of(name, x, weight, bias, base):
    found = torch.einsum("s...i,sio->s...o", x, weight)
    bias = bias.view(len(bias), *(1,) * (x.ndim - 2), -1)
    return found + {"affine": bias, "product": 0, "add_product": base}[name]


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("learnt", ["both", "x", "weight"])
def test_gradients_of_replicas_are_those_of_einsum(name, rows, learnt):
    generator = torch.Generator().manual_seed(len(rows))
    shapes = {
        "x": (REPLICAS, *rows, 5),
        "weight": (REPLICAS, 5, 6),
        "bias": (REPLICAS, 6),
        "base": (REPLICAS, *rows, 6),
    }
    given = {k: torch.randn(v, generator=generator).double() for k, v in shapes.items()}
    read = [k for k in ("x", "weight") if learnt in ("both", k)]
    for k in read:
        given[k].requires_grad_()
    got, expected = MAPS[name](**given), expected_of(name, **given)
    torch.testing.assert_close(got, expected)
    inputs = [given[k] for k in read]
    gradients = (torch.autograd.grad(y.sin().sum(), inputs) for y in (got, expected))
    for own, other in zip(*gradients, strict=True):
        torch.testing.assert_close(own, other)


def test_gradients_of_values_that_are_not_laid_out_in_order():
    weight = torch.randn(REPLICAS, 5, 6, requires_grad=True)
    x = torch.randn(5, 8, REPLICAS).permute(2, 1, 0)  # (S, rows, in)
    got = product(x, weight)
    (own,) = torch.autograd.grad(got.sum(), [weight])  # a gradient that is expanded
    torch.testing.assert_close(own, x.sum(1).unsqueeze(-1).expand_as(weight))


def test_products_can_be_mapped_over_a_further_axis():
    """Values have it, weights are shared: their gradients are sums over it."""
    x = torch.randn(2, REPLICAS, 4, 5, dtype=torch.float64)
    weight = torch.randn(REPLICAS, 5, 6, dtype=torch.float64, requires_grad=True)
    got = torch.vmap(product, in_dims=(0, None))(x, weight)
    expected = torch.einsum("msri,sio->msro", x, weight)
    torch.testing.assert_close(got, expected)
    gradients = [torch.autograd.grad(y.sin().sum(), weight) for y in (got, expected)]
    torch.testing.assert_close(*gradients)


def test_no_rows_have_gradients_of_zero():
    x = torch.randn(REPLICAS, 0, 5, requires_grad=True)
    weight = torch.randn(REPLICAS, 5, 6, requires_grad=True)
    got = product(x, weight)
    of_x, of_weight = torch.autograd.grad(got.sum(), [x, weight])
    assert got.shape == (REPLICAS, 0, 6)
    assert of_x.shape == x.shape
    assert torch.equal(of_weight, torch.zeros_like(weight))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("replicas", [1, 2])
def test_large_products_are_those_of_einsum(name, replicas):
    """On a CPU they are convolutions."""
    generator = torch.Generator().manual_seed(replicas)
    shapes = {
        "x": (replicas, 7, 36, 36, 32),
        "weight": (replicas, 32, 32),
        "bias": (replicas, 32),
        "base": (replicas, 7, 36, 36, 32),
    }
    given = {k: torch.randn(v, generator=generator, requires_grad=True) for k, v in shapes.items()}
    exact = {k: v.detach().double().requires_grad_() for k, v in given.items()}
    got, expected = MAPS[name](**given), expected_of(name, **exact)
    assert got.is_contiguous()
    torch.testing.assert_close(got, expected.float())
    for y in (got, expected):
        y.sin().sum().backward()
    for k in ("x", "weight", "bias", "base"):
        if given[k].grad is not None:
            torch.testing.assert_close(given[k].grad, exact[k].grad.float(), atol=1e-3, rtol=1e-4)


def test_large_products_can_be_mapped_over_a_further_axis():
    x, weight = torch.randn(2, 1, 512, 128), torch.randn(1, 128, 128)
    got = torch.vmap(product, in_dims=(0, None))(x, weight)
    torch.testing.assert_close(got, x @ weight, atol=1e-4, rtol=1e-4)
