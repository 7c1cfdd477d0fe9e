"""Gradients of weights that steps share: one product for all steps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from algorist.kernels.affine import Affine, add_product, product
from algorist.kernels.step_gradients import step_gradients


def _gradients(function, leaves, *, enabled):
    for leaf in leaves:
        leaf.grad = None
    with step_gradients(enabled=enabled):
        loss = function()
    loss.backward()
    return [loss.detach(), *(leaf.grad for leaf in leaves)]


def _expect_equal(function, leaves):
    for got, expected in zip(
        _gradients(function, leaves, enabled=True),
        _gradients(function, leaves, enabled=False),
        strict=True,
    ):
        assert torch.allclose(got, expected, atol=1e-5), (got, expected)


@pytest.mark.parametrize("replicas", [1, 3])
def test_products_of_shared_weights(replicas: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(replicas, 2, 5, 4, requires_grad=True)
    weight = torch.randn(replicas, 4, 4, requires_grad=True)
    bias = torch.randn(replicas, 4, requires_grad=True)

    def steps() -> Tensor:
        state = x
        for _ in range(3):
            state = Affine(weight, bias)(state).tanh()
            state = add_product(product(state, weight), state, weight).tanh()
        return state.square().sum()

    _expect_equal(steps, [x, weight, bias])


def test_layers_of_torch() -> None:
    torch.manual_seed(0)
    layer, last = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)
    x = torch.randn(2, 5, 4, requires_grad=True)

    def steps() -> Tensor:
        state = x
        for _ in range(3):
            state = layer(state).relu_() + torch.vmap(last)(state)
        return last(state).square().sum()

    _expect_equal(steps, [x, *layer.parameters(), *last.parameters()])


def test_weights_that_do_not_learn_and_inputs_without_gradient() -> None:
    torch.manual_seed(0)
    layer, frozen = nn.Linear(4, 4), nn.Linear(4, 4)
    frozen.weight.requires_grad_(False)
    x = torch.randn(2, 5, 4)
    _expect_equal(
        lambda: frozen(layer(frozen(layer(x)))).square().sum(), [*layer.parameters(), frozen.bias]
    )


def test_a_layer_of_which_one_result_is_not_used() -> None:
    torch.manual_seed(0)
    layer, unused = nn.Linear(4, 4), nn.Linear(4, 4)
    x = torch.randn(2, 5, 4)

    def steps() -> Tensor:
        layer(x), unused(x)
        return layer(x).square().sum()

    _expect_equal(steps, list(layer.parameters()))
    assert unused.weight.grad is None


def test_gradients_of_all_steps_are_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    from algorist.kernels import step_gradients as module

    calls = []
    original = module.weight_gradient
    monkeypatch.setattr(
        module, "weight_gradient", lambda x, g: calls.append(x.shape) or original(x, g)
    )
    layer, x = nn.Linear(4, 4), torch.randn(2, 5, 4)
    _gradients(lambda: layer(layer(layer(x))).sum(), layer.parameters(), enabled=True)
    assert calls == [(1, 30, 4)]
