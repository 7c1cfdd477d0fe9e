"""The fused losses of hints agree with the model's objective, and their grads with autograd."""

from dataclasses import dataclass

import pytest
import torch
from small import DEVICE, ON_GPU
from torch import Tensor

pytest.importorskip("triton")
from algorist.kernels.fused import losses as fused
from algorist.kernels.fused.buffers import Logits
from algorist.kernels.fused.feature_codes import Code
from algorist.kernels.fused.losses import Predicted, loss_table, mean_losses
from algorist.kernels.fused.targets import Targets
from algorist.model.losses import feature_losses
from algorist.model.packed_values import PackedValues
from algorist.model.scan import Rollout
from algorist.model.window import Window
from algorist.spec import MASKED, Kind, Spec, edge, graph, node

CASES = [(1, 2, 1), (4, 2, 3), (17, 1, 1)]  # n, K, S
if ON_GPU:
    CASES += [(n, K, S) for n in (4, 7, 11, 13, 16, 20, 64, 80) for K in (1, 3) for S in (1, 3)]
MORE = 5
"""Columns of `decoded` that are no values of nodes."""


def hint(code: Code, column: int, width: int = 1) -> Predicted:
    """A hint whose targets have no place yet."""
    return Predicted(code, column, truth=-1, width=width)


EVERY_KIND = {
    "scalar": (node.scalar, hint(Code.NODE_SCALAR, 4)),
    "where": (node.pointer, hint(Code.POINTER, 1)),
    "mask": (node.mask, hint(Code.NODE_MASK, 0)),
    "choice": (node.mask_one, hint(Code.NODE_CHOICE, 5)),
    "classes": (node.categorical(3), hint(Code.NODE_CLASSES, 1, 3)),
    "whence": (node.pointer, hint(Code.POINTER, 0)),
    "edge_pointer": (edge.pointer, hint(Code.EDGE_POINTER, 0)),
    "edge_classes": (edge.categorical(4), hint(Code.EDGE_CLASSES, 1, 4)),
    "edge_scalar": (edge.scalar, hint(Code.EDGE_SCALAR, 5)),
    "edge_mask": (edge.mask, hint(Code.EDGE_MASK, 0)),
    "another_edge_pointer": (edge.pointer, hint(Code.EDGE_POINTER, 1)),
    "graph_mask": (graph.mask, hint(Code.GRAPH_MASK, 3)),
    "graph_scalar": (graph.scalar, hint(Code.GRAPH_SCALAR, 4)),
    "graph_classes": (graph.categorical(3), hint(Code.GRAPH_CLASSES, 0, 3)),
}


@dataclass
class Problem:
    """Predictions and targets of some hints, as the objective and as the kernels take them."""

    hints: dict
    targets: dict[str, Tensor]  # moments 0 to K
    follows: Tensor
    logits: Logits

    @property
    def spec(self) -> Spec:
        kinds = {name: kind for name, (kind, _) in self.hints.items()}
        return Spec.of(inputs={}, hints=kinds, outputs={})

    def expected(self) -> tuple[Tensor, Logits]:
        """Losses and grads, from the objective and autograd."""
        leaves = self.leaves()
        views = {name: view(leaves, hint) for name, (_, hint) in self.hints.items()}
        empty = torch.empty(0)
        window = Window({}, self.targets, {}, self.follows, (empty, empty), empty)
        parts = feature_losses(self.spec, Rollout(views, {}, None), window)
        return grads_of(torch.stack(list(parts.values())), leaves, 1.0)

    def fused(self, scale: Tensor | float = 1.0) -> tuple[Tensor, Logits]:
        """Losses and grads from the kernels; each loss counts so much."""
        leaves, values = self.leaves(), self.values()
        hints = [
            hint._replace(truth=values.slices[name].start) for name, (_, hint) in self.hints.items()
        ]
        # The scan hands on the values of nodes as some columns of what it makes of them.
        views = leaves._replace(
            decoded=None if leaves.decoded is None else leaves.decoded[..., :-MORE]
        )
        table = loss_table(hints, DEVICE)
        targets = Targets(*(part[1:].to(DEVICE) for part in values.parts))
        return grads_of(mean_losses(table, views, targets, self.follows), leaves, scale)

    def values(self) -> PackedValues:
        """The targets side by side, as windows hold them."""
        K, S, B = self.follows.shape
        replicas = [{k: x[:, s].cpu().numpy() for k, x in self.targets.items()} for s in range(S)]
        return PackedValues.of(self.spec.hints, replicas, (K + 1, S, B))

    def leaves(self) -> Logits:
        """The logits, as where gradients end."""
        return Logits(*(None if x is None else x.clone().requires_grad_() for x in self.logits))


def grads_of(losses: Tensor, leaves: Logits, scale: Tensor | float) -> tuple[Tensor, Logits]:
    """The losses (hints, S), and the grads of their sum, each times its scale."""
    (losses * scale).sum().backward()
    return losses.detach(), Logits(*(None if x is None else x.grad for x in leaves))


def view(stacks: Logits, hint: Predicted) -> Tensor:
    """The logits of one hint, as a decoder returns them."""
    if hint.code == Code.POINTER:
        return stacks.points[:, hint.column]
    if hint.code == Code.EDGE_POINTER:
        return stacks.edge_pointer_logits[:, hint.column]
    location = hint.code.name.split("_")[0]
    stack = {"NODE": stacks.decoded, "EDGE": stacks.edges, "GRAPH": stacks.graph}
    values = stack[location][..., hint.column : hint.column + hint.width]
    return values if hint.width > 1 else values.squeeze(-1)


def draw_truth(kind, shape, n, generator) -> Tensor:
    """A truth as batches hold it, some of it masked where the kind allows."""
    shape = (*shape, *kind.location.shape(n))
    if kind.kind == Kind.SCALAR:
        return torch.randn(shape, generator=generator)
    if kind.kind == Kind.MASK:
        return torch.randint(MASKED, 2, shape, generator=generator, dtype=torch.int8)
    if kind.kind == Kind.POINTER:
        return torch.randint(n, shape, generator=generator, dtype=torch.int16)
    if kind.kind == Kind.MASK_ONE:
        which = torch.randint(n, shape[:-1], generator=generator)
        return torch.nn.functional.one_hot(which, n).to(torch.int8)
    which = torch.randint(MASKED, kind.classes, shape, generator=generator)
    truth = torch.nn.functional.one_hot(which.clamp(min=0), kind.classes).to(torch.int8)
    truth[which == MASKED] = 0
    truth[..., -1][which == MASKED] = MASKED
    return truth


def problem(K, S, B, n, names=tuple(EVERY_KIND), seed=0, spread=3.0) -> Problem:
    generator = torch.Generator().manual_seed(seed)
    hints = {name: EVERY_KIND[name] for name in names}
    targets = {
        name: draw_truth(kind, (K + 1, S, B), n, generator).to(DEVICE)
        for name, (kind, _) in hints.items()
    }
    follows = (torch.rand(K, S, B, generator=generator) < 0.7).float()
    follows[0, :, 0] = 1.0
    shapes = Logits(
        (K, S, B, n, 6 + MORE), (K, 2, S, B, n, n), (K, S, B, n, n, 6), (K, 2, S, B, n, n, n),
        (K, S, B, 5),
    )  # fmt: skip
    logits = (spread * torch.randn(shape, generator=generator) for shape in shapes)
    return Problem(hints, targets, follows.to(DEVICE), Logits(*(x.to(DEVICE) for x in logits)))


def assert_agree(made: Problem, atol: float = 1e-7):
    losses, grads = made.fused()
    expected_losses, expected_grads = made.expected()
    torch.testing.assert_close(losses, expected_losses, rtol=2e-6, atol=1e-6)
    for name, grad, expected in zip(Logits._fields, grads, expected_grads, strict=True):
        if grad is None:
            assert expected is None, name
            continue
        torch.testing.assert_close(grad, expected, rtol=1e-5, atol=atol)


@pytest.mark.parametrize(("n", "K", "S"), CASES)
def test_losses_and_grads_of_every_kind_agree_with_the_objective(n, K, S):
    assert_agree(problem(K, S, B=1 if n in (16, 17) else 2, n=n))


def test_programs_may_take_several_steps_of_a_lane(monkeypatch):
    monkeypatch.setattr(fused, "_PARTS", 4)
    assert_agree(problem(K=3, S=1, B=2, n=4))


def test_there_may_be_more_lanes_than_partial_sums_are_added_up_at_once(monkeypatch):
    monkeypatch.setattr(fused, "_CHUNK", 16)
    alone = problem(K=2, S=1, B=20, n=4, names=["graph_mask"])
    alone.logits = Logits(graph=alone.logits.graph[..., 3:4].contiguous())
    alone.hints = {"graph_mask": (graph.mask, hint(Code.GRAPH_MASK, 0))}
    assert_agree(alone)


def test_what_an_algorithm_lacks_is_none():
    alone = problem(K=2, S=2, B=2, n=5, names=["where", "whence"])
    alone.logits = Logits(points=alone.logits.points)
    assert_agree(alone)


def test_more_classes_than_nodes():
    made = problem(K=2, S=1, B=2, n=4, names=["classes"])
    kind = node.categorical(19)
    made.hints = {"classes": (kind, hint(Code.NODE_CLASSES, 0, 19))}
    generator = torch.Generator().manual_seed(1)
    made.targets = {"classes": draw_truth(kind, (3, 1, 2), 4, generator).to(DEVICE)}
    decoded = torch.randn(2, 1, 2, 4, 19 + MORE, generator=generator)
    made.logits = Logits(decoded=decoded.to(DEVICE))
    assert_agree(made)


@pytest.mark.filterwarnings("ignore:overflow encountered in exp")  # of the interpreter's sigmoid
def test_logits_far_from_zero_neither_overflow_nor_vanish():
    assert_agree(problem(K=1, S=1, B=2, n=4, spread=100.0), atol=1e-6)


def test_a_replica_where_nothing_counts_loses_nothing():
    made = problem(K=1, S=2, B=1, n=4)
    made.follows[:, 1] = 0.0
    losses, grads = made.fused()
    assert (losses[:, 1] == 0).all()
    assert (grads.points[:, :, 1] == 0).all()
    assert (grads.edge_pointer_logits[:, :, 1] == 0).all()
    assert (grads.points[:, :, 0] != 0).all()


def test_grads_are_scaled_by_replica():
    made = problem(K=1, S=2, B=1, n=4)
    scale = torch.tensor([2.0, -0.5], device=DEVICE)  # of each replica
    (losses, grads), (same, scaled) = made.fused(), made.fused(scale)
    torch.testing.assert_close(same, losses, rtol=0, atol=0)
    torch.testing.assert_close(
        scaled.edge_pointer_logits, grads.edge_pointer_logits * scale.view(-1, 1, 1, 1, 1)
    )
    torch.testing.assert_close(scaled.graph, grads.graph * scale.view(-1, 1, 1))


@pytest.mark.skipif(not ON_GPU, reason="programs that run one by one always do the same")
def test_two_runs_are_the_same_bit_for_bit():
    made = problem(K=2, S=1, B=2, n=4)
    (losses, grads), (again, same) = made.fused(), made.fused()
    assert torch.equal(losses, again)
    for grad, other in zip(grads, same, strict=True):
        assert torch.equal(grad, other)
