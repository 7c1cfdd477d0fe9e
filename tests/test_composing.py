"""Composed weights against those that PyTorch's own operations make."""

import copy

import pytest
import small
import torch
from small import DEVICE
from torch import Tensor

from algorist.kernels.weight_layout import Copies, WeightLayout

ROWS, INNER, COLUMNS = 3, 5, 40


def copy_each(buffer: Tensor, copies: Copies, *, back: bool) -> None:
    """Copies one after the other, in plain PyTorch."""
    for own in copies.all:
        source, target = (buffer.as_strided(*place) for place in own)
        if back:
            source.copy_(target)
        else:
            target.copy_(source[0] if len(source) == 1 else source.sum(0))


def copy_grouped(*arguments, **options):
    copying = pytest.importorskip("algorist.kernels.fused.copying", reason="Triton is missing")
    copying.copy_grouped(*arguments, **options)


ways = pytest.mark.parametrize("copying", [copy_each, copy_grouped])
replicas = pytest.mark.parametrize("S", [1, 3])


def learnt(*shape: int) -> Tensor:
    return torch.randn(shape, device=DEVICE).requires_grad_()


class Example:
    """All that a plan may ask for: sums, constants, parts of everything in results."""

    def __init__(self, S: int):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.numbers, self.wide = learnt(S, 2, 4), learnt(S, 70, COLUMNS)
            self.biases = [learnt(S, 4) for _ in range(3)]
        self.parameters = [self.numbers, *self.biases, self.wide]

    def plan(self) -> WeightLayout:
        plan = WeightLayout(self.parameters, ROWS, INNER, COLUMNS)
        plan.copy(plan.of(self.numbers), plan.left[:, :2, :4])
        plan.copy(plan.stack_of(self.biases), plan.left[:, 2, :4])
        plan.set(plan.left[:, 2, 4:], 2.0)
        plan.copy(plan.of(self.wide)[:, :INNER], plan.right)
        below, cut, other = plan.result(65, COLUMNS), plan.result(2, 7), plan.result(2, 4)
        plan.copy(plan.of(self.wide)[:, INNER:], below)
        plan.copy(plan.product[:, :2, 3:10], cut)
        plan.copy(plan.left[:, 1:, :4], other)
        plan.copy(plan.product[:, 2, :6], plan.result(6))
        plan.result(0, 4)
        return plan

    def expected(self) -> list[Tensor]:
        S = len(self.numbers)
        rows = torch.cat((self.numbers, sum(self.biases).unsqueeze(1)), 1)
        last = torch.tensor([0.0, 0.0, 2.0], device=rows.device).view(1, 3, 1).expand(S, 3, 1)
        product = torch.cat((rows, last), 2) @ self.wide[:, :INNER]
        parts = [self.wide[:, INNER:], product[:, :2, 3:10], rows[:, 1:], product[:, 2, :6]]
        return [*parts, rows[:, :0]]


def grads(values: list[Tensor], parameters: list[Tensor]) -> list[Tensor]:
    weights = [torch.arange(x.numel(), device=DEVICE).view_as(x).cos() for x in values]
    total = sum((x * weight).sum() for x, weight in zip(values, weights, strict=True))
    return torch.autograd.grad(total, parameters, allow_unused=True, materialize_grads=True)


@ways
@replicas
def test_results_and_gradients_are_those_of_plain_operations(S, copying):
    example = Example(S)
    got, expected = example.plan().compose(example.parameters, copying), example.expected()
    torch.testing.assert_close(list(got), expected)
    one, other = (grads(values, example.parameters) for values in (got, expected))
    torch.testing.assert_close(one, other)


@ways
def test_results_that_nobody_reads_teach_nothing(copying):
    example = Example(2)
    got, expected = example.plan().compose(example.parameters, copying), example.expected()
    one, other = (grads(values[1:2], example.parameters) for values in (got, expected))
    torch.testing.assert_close(one, other)


def test_each_result_is_in_one_piece_and_begins_with_a_line_of_memory():
    example = Example(2)
    for result in example.plan().compose(example.parameters, copy_each):
        assert result.is_contiguous()
        assert result.storage_offset() % 64 == 0


def test_a_copy_of_a_net_is_composed_of_its_own_weights():
    net, batch = small.net("bfs"), small.problems("bfs")
    before = small.rolled(net, "bfs", batch)
    other = small.lively(copy.deepcopy(net))
    small.assert_same(small.rolled(net, "bfs", batch), before)
    small.assert_same(
        small.rolled(other, "bfs", batch),
        small.rolled(small.lively(small.net("bfs")), "bfs", batch),
    )
