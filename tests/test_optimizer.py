"""Clipping and Adam."""

from unittest.mock import Mock

import pytest
import small
import torch

from algorist.training.optimizer import Optimizer, clipped


def test_each_replica_is_clipped_by_its_own_norm():
    gradients = [torch.tensor([[3.0, 0.0], [0.3, 0.0]]), torch.tensor([[[4.0]], [[0.4]]])]
    got = clipped(gradients, 1.0)
    torch.testing.assert_close(got[0], torch.tensor([[0.6, 0.0], [0.3, 0.0]]))
    torch.testing.assert_close(got[1], torch.tensor([[[0.8]], [[0.4]]]))


def test_gradients_that_are_one_tensor_are_scaled_once():
    shared = torch.tensor([[3.0, 4.0]])
    for got in clipped([shared, shared.view(1, 2)], 1.0):
        torch.testing.assert_close(got, shared / 50**0.5)
    net = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(1, 2)) for _ in range(2)])
    optimizer = Optimizer(net, small.training("bfs").optimizer)
    for parameter in net:
        parameter.grad = shared.view(1, 2)
    optimizer.step()
    for name in ("0", "1"):
        moment = optimizer.tensors()[f"{name}.exp_avg"]
        torch.testing.assert_close(moment, 0.1 * shared / 50**0.5)


def test_a_gradient_of_zero_stays_zero():
    assert torch.equal(clipped([torch.zeros(1, 3)], 1.0)[0], torch.zeros(1, 3))


@pytest.mark.parametrize(("limit", "change"), [(0.0, 2.0), (0.5, 0.5)])
def test_clipping_can_be_switched_off(limit, change):
    config = small.training("bfs", optimizer={"clip": limit, "learning_rate": 1.0}).optimizer
    net = torch.nn.Linear(1, 1, bias=False)
    optimizer = Optimizer(net, config)
    net.weight.grad = torch.full((1, 1), 2.0)
    optimizer.step()
    assert optimizer.tensors()["weight.exp_avg"].item() == pytest.approx(0.1 * change)
    assert net.weight.grad is None


@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize("beta2", [0.999, 0.9])
def test_squared_gradients_are_forgotten_as_slowly_as_is_asked_for(name, beta2):
    settings = {"optimizer": name, "beta2": beta2, "clip": 0.0}
    net = torch.nn.Linear(1, 1, bias=False)
    optimizer = Optimizer(net, small.training("bfs", optimizer=settings).optimizer)
    for gradient in (2.0, 0.0):
        net.weight.grad = torch.full((1, 1), gradient)
        optimizer.step()
    squares = optimizer.tensors()["weight.exp_avg_sq"].item()
    assert squares == pytest.approx(beta2 * (1 - beta2) * 4)
    assert optimizer.tensors()["weight.exp_avg"].item() == pytest.approx(0.9 * 0.1 * 2)


@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize(("eps", "share"), [(1e-8, 1.0), (2.0, 0.5)])
def test_tiny_gradients_move_weights_as_little_as_is_asked_for(name, eps, share):
    """The first step is the learning rate times g / (|g| + eps)."""
    settings = {"optimizer": name, "eps": eps, "clip": 0.0, "learning_rate": 0.1}
    net = torch.nn.Linear(1, 1, bias=False)
    optimizer = Optimizer(net, small.training("bfs", optimizer=settings).optimizer)
    before = net.weight.item()
    net.weight.grad = torch.full((1, 1), 2.0)
    optimizer.step()
    assert before - net.weight.item() == pytest.approx(0.1 * share, rel=1e-4)


def test_only_float32_weights_on_a_gpu_are_updated_by_the_fused_kernels():
    """The kernels write float32 at the addresses of the weights, whatever lies there."""
    optimizer = Optimizer(torch.nn.Linear(1, 1), small.training("bfs").optimizer)
    fits = Mock(is_cuda=True, dtype=torch.float32)
    for other in ({"is_cuda": True, "dtype": torch.bfloat16}, {"is_cuda": False}):
        assert optimizer._fused_adam({fits: None, Mock(**other): None}) is None
