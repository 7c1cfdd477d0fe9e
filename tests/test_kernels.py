"""Every compiled operation against its plain twin: values and all gradients; who computes what."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pytest
import small
import torch
from small import DEVICE
from torch import Tensor

from algorist.kernels import compiled, plain
from algorist.kernels.affine import Affine
from algorist.kernels.ops import choose, using
from algorist.model.fused.support import obstacle_to_fusing
from algorist.model.window import whole

HIDDEN, FEATURES, STEPS = 16, 8, 2


class Shape(NamedTuple):
    """Replicas, samples, nodes, raw numbers of an edge."""

    S: int
    B: int
    n: int
    F: int


SHAPES = [
    Shape(1, 2, 1, 2),
    Shape(3, 2, 2, 0),
    Shape(3, 2, 4, 3),
    Shape(3, 2, 7, 1),
    Shape(1, 2, 16, 0),
    Shape(1, 1, 20, 2),
]
by_shape = pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda shape: "S{}-B{}-n{}-F{}".format(*shape)
)


class Case(NamedTuple):
    """An operation: its weights, what it reads at each step, and how kernels prepare it."""

    weights: Sequence[Tensor]
    steps: Sequence[Sequence[Tensor]]
    prepare: Callable


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape)


def part(*shape: int) -> Tensor:
    """Values that are a part of wider rows, as projections are."""
    return draw(*shape[:-1], shape[-1] + 7)[..., 3:-4]


def said(kernels, case: Case, steps: int = STEPS) -> Tensor:
    """All that the operation says in the first steps."""
    operation = case.prepare(kernels, *case.weights)
    results = [operation(*step) for step in case.steps]
    return torch.cat([x.flatten() for result in results[:steps] for x in result])


def outcome(kernels, case: Case, steps: int = STEPS) -> list[Tensor]:
    """What the operation says, and the gradients of all weights and inputs."""
    tensors = [*case.weights, *(x for step in case.steps for x in step)]
    learning = [x.requires_grad_() for x in tensors]
    values = said(kernels, case, steps)
    loss = (values * torch.arange(1.0, 1.0 + len(values)).sin()).sum()
    grads = torch.autograd.grad(loss, learning, allow_unused=True, materialize_grads=True)
    return [values.detach(), *grads]


def assert_equal(got: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    for number, (mine, reference) in enumerate(zip(got, expected, strict=True)):
        assert mine.shape == reference.shape
        if reference.numel():
            error, scale = (mine - reference).abs().max(), reference.abs().max()
            assert error <= 1e-4 * scale, f"tensor {number}: off by {error}, largest {scale}"


def assert_twins(case: Case) -> None:
    """Equal where gradients are wanted, and where they are not."""
    expected = outcome(plain, case)
    assert_equal(outcome(compiled, case), expected)
    with torch.no_grad():
        assert_equal([said(compiled, case)], expected[:1])


def affine(S: int, width: int, out: int) -> Affine:
    return Affine(draw(S, width, out) / width**0.5, draw(S, out))


def message_case(shape: Shape, adjacency: Tensor | None) -> Case:
    S, B, n, F = shape

    def prepare(kernels, edge, first, bias, second):
        weights = (adjacency, edge, Affine(first, bias), second)
        return lambda receiver, sender, raw: kernels.message_max(receiver, sender, raw, *weights)

    weights = (draw(S, F, HIDDEN), *affine(S, HIDDEN, HIDDEN), draw(S, HIDDEN, HIDDEN))
    nodes = (S, B, n, HIDDEN)
    steps = [(part(*nodes), part(*nodes), draw(S, B, n, n, F)) for _ in range(STEPS)]
    return Case(weights, steps, prepare)


def triplet_case(shape: Shape) -> Case:
    S, B, n, F = shape
    steps = [(part(S, B, n, 3 * FEATURES), draw(S, B, n, n, F)) for _ in range(STEPS)]
    return Case(
        [draw(S, F, 3 * FEATURES)],
        steps,
        lambda kernels, edge: partial(kernels.triplet_maxima, edge=edge),
    )


def pointer_case(shape: Shape, triplets: bool) -> Case:
    S, B, n, F = shape
    wide = HIDDEN if triplets else 0
    weights = [draw(S, F, HIDDEN), draw(S, wide, HIDDEN) / 4, *affine(S, HIDDEN, 1)]

    def prepare(kernels, edge, triplet, score, bias):
        weights = {"edge": edge, "triplet": triplet, "score": Affine(score, bias)}
        operation = partial(kernels.pointer_scores, **weights)
        return operation if triplets else partial(operation, triplets=None)

    nodes, pairs = (S, B, n, HIDDEN), (S, B, n, n)
    steps = [[part(*nodes), part(*nodes), draw(*pairs, F)] for _ in range(STEPS)]
    for step in steps if triplets else []:
        step.append(part(*pairs, HIDDEN))
    return Case(weights, steps, prepare)


def neighbours(shape: Shape) -> Tensor:
    """Some pairs at random, and each node itself."""
    S, B, n, _ = shape
    return ((draw(S, B, n, n) > 0.5) | torch.eye(n).bool()).float()


@pytest.fixture(autouse=True)
def same_numbers():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@by_shape
def test_messages_are_the_plain_ones(shape):
    assert_twins(message_case(shape, adjacency=None))


@by_shape
def test_messages_of_neighbours_are_the_plain_ones(shape):
    assert_twins(message_case(shape, neighbours(shape)))


def test_nodes_without_neighbours_learn_nothing():
    shape = Shape(1, 2, 4, 2)
    adjacency = neighbours(shape)
    adjacency[:, 0, :, 1] = 0
    assert_twins(message_case(shape, adjacency))


def test_messages_among_more_nodes_than_a_byte_counts_are_the_plain_ones():
    assert_twins(message_case(Shape(1, 1, 140, 0), adjacency=None))


@by_shape
def test_triplets_are_the_plain_ones(shape):
    assert_twins(triplet_case(shape))


@pytest.mark.parametrize("triplets", [False, True])
@by_shape
def test_pointers_are_the_plain_ones(shape, triplets):
    assert_twins(pointer_case(shape, triplets))


EVERY_CASE = {
    "message": partial(message_case, adjacency=None),
    "triplet_max": triplet_case,
    "pointer": partial(pointer_case, triplets=True),
}
of_every_operation = pytest.mark.parametrize("case", EVERY_CASE.values(), ids=EVERY_CASE.keys())


@of_every_operation
def test_a_step_that_nobody_reads_teaches_nothing(case):
    case = case(Shape(1, 2, 3, 2))
    assert_equal(outcome(compiled, case, steps=1), outcome(plain, case, steps=1))


@of_every_operation
def test_inputs_learn_where_weights_are_frozen(case):
    weights, steps, prepare = case(Shape(1, 2, 3, 2))
    frozen = Case((), steps, lambda kernels: prepare(kernels, *weights))
    assert_equal(outcome(compiled, frozen), outcome(plain, frozen))


def test_operations_of_a_scan_share_the_raw_numbers():
    shape = Shape(1, 2, 5, 2)
    message, triplet = message_case(shape, adjacency=None), triplet_case(shape)
    pointer = pointer_case(shape, triplets=True)

    def prepare(kernels, *weights):
        say = message.prepare(kernels, *weights[:4])
        maxima = triplet.prepare(kernels, weights[4])
        score = pointer.prepare(kernels, *weights[5:])

        def step(receiver, sender, nodes, raw):
            heard, best = say(receiver, sender, raw), maxima(nodes, raw)
            return score(heard, sender, raw, best.repeat_interleave(HIDDEN // FEATURES, -1))

        return step

    weights = [*message.weights, *triplet.weights, *pointer.weights]
    steps = [
        (*nodes, triples, raw)
        for (*nodes, raw), (triples, _) in zip(message.steps, triplet.steps, strict=True)
    ]
    assert_twins(Case(weights, steps, prepare))


CPU = torch.device("cpu")


def test_kernels_of_other_names_are_errors():
    with pytest.raises(ValueError, match="unknown kernels 'quick'"), using("quick"):
        pass


def test_the_fastest_kernels_of_a_cpu_depend_on_whether_it_learns():
    assert choose(CPU) is compiled
    with torch.no_grad():
        assert choose(CPU) is plain
    with using("plain"):
        assert choose(CPU) is plain
    assert choose(CPU) is compiled


def rolled_by_fused_kernels(precision="tf32", device=DEVICE, **model):
    net = small.net("bfs", **model).to(device)
    net.kernels, net.precision = "fused", precision
    return net.rollout("bfs", whole([small.problems("bfs", n=4, count=1)]).to(device))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"hidden": 24}, "powers of two, got 24"),
        ({"triplet_features": 6}, "powers of two, got 6"),
        ({"triplet_features": 256}, "at most 128 features of triplets, got 256"),
        ({"hidden": 8}, "from 16 to 128, got 8"),
        ({"hidden": 256}, "from 16 to 128, got 256"),
        ({"processor": "gat"}, "know no gat; or choose plain"),
        ({"processor": "pgn_mask"}, "know no pgn_mask"),
        ({"precision": "fp8"}, "unknown precision 'fp8'"),
    ],
)
def test_what_fused_kernels_do_not_take_is_refused(model, message):
    pytest.importorskip("triton")
    with pytest.raises(ValueError, match=message):
        rolled_by_fused_kernels(**model)


def test_problems_that_are_too_large_for_fused_kernels_are_known():
    pytest.importorskip("triton")
    net = small.net("bfs").to(DEVICE)
    assert obstacle_to_fusing(net, "bfs", 256) is None
    assert obstacle_to_fusing(net, "bfs", 257) == "take at most 256 nodes, got 257"


def test_fused_kernels_are_not_for_cpus(monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ValueError, match="kernels: fused ones need a GPU, got cpu; or choose"):
        rolled_by_fused_kernels(device=CPU)


def test_fused_kernels_without_triton_say_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install"):
        rolled_by_fused_kernels()
