"""Every compiled and fused operation against its plain twin: values and all gradients."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from algorist.kernels.affine import Affine, join
from algorist.kernels.ops import Compiled, Fused, Plain, Triplets, choose
from algorist.kernels.plain import Update

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
HIDDEN, FEATURES, STEPS = 16, 8, 2

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="fused kernels need Triton, which is not installed"
)
needs_cpu = pytest.mark.skipif(DEVICE.type != "cpu", reason="compiled kernels are for CPUs")
quick_kernels = pytest.mark.parametrize(
    "kernels",
    [
        pytest.param(Compiled, id="compiled", marks=needs_cpu),
        pytest.param(partial(Fused, STEPS, "ieee"), id="fused", marks=needs_triton),
    ],
)


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
    return torch.randn(*shape, device=DEVICE)


def part(*shape: int) -> Tensor:
    """Values that are a part of wider rows, as projections are."""
    return draw(*shape[:-1], shape[-1] + 7)[..., 3:-4]


def said(kernels, case: Case, steps: int = STEPS) -> Tensor:
    """All that the operation says in the first steps."""
    operation = case.prepare(kernels(), *case.weights)
    results = [operation(*step) for step in case.steps]
    return torch.cat([x.flatten() for result in results[:steps] for x in result])


def outcome(kernels, case: Case, steps: int = STEPS) -> list[Tensor]:
    """What the operation says, and the gradients of all weights and inputs."""
    tensors = [*case.weights, *(x for step in case.steps for x in step)]
    learning = [x.requires_grad_() for x in tensors]
    values = said(kernels, case, steps)
    loss = (values * torch.arange(1.0, 1.0 + len(values), device=DEVICE).sin()).sum()
    slopes = torch.autograd.grad(loss, learning, allow_unused=True, materialize_grads=True)
    return [values.detach(), *slopes]


def assert_equal(got: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    for number, (mine, reference) in enumerate(zip(got, expected, strict=True)):
        assert mine.shape == reference.shape
        if reference.numel():
            error, scale = (mine - reference).abs().max(), reference.abs().max()
            assert error <= 1e-4 * scale, f"tensor {number}: off by {error}, largest {scale}"


def assert_twins(kernels, case: Case) -> None:
    """Equal where gradients are wanted, and where they are not."""
    expected = outcome(Plain, case)
    assert_equal(outcome(kernels, case), expected)
    with torch.no_grad():
        assert_equal([said(kernels, case)], expected[:1])


def affine(S: int, width: int, out: int) -> Affine:
    return Affine(draw(S, width, out) / width**0.5, draw(S, out))


def project_case(shape: Shape) -> Case:
    S, B, n, _ = shape
    sizes = (HIDDEN, 24, 5)

    def prepare(kernels, *weights):
        return kernels.project(join([Affine(*weights[i : i + 2]) for i in (0, 2, 4)]))

    weights = [tensor for size in sizes for tensor in affine(S, HIDDEN + 3, size)]
    return Case(weights, [(part(S, B, n, 3), part(S, B, n, HIDDEN)) for _ in range(STEPS)], prepare)


def message_case(shape: Shape, adjacency: Tensor | None) -> Case:
    S, B, n, F = shape

    def prepare(kernels, edge, first, bias, second):
        operation = kernels.message(edge, Affine(first, bias), second)
        return lambda receiver, sender, raw: operation(receiver, sender, raw, adjacency)

    weights = (draw(S, F, HIDDEN), *affine(S, HIDDEN, HIDDEN), draw(S, HIDDEN, HIDDEN))
    nodes = (S, B, n, HIDDEN)
    steps = [(part(*nodes), part(*nodes), draw(S, B, n, n, F)) for _ in range(STEPS)]
    return Case(weights, steps, prepare)


def renew_case(shape: Shape, normed: bool, gated: bool) -> Case:
    S, B, n, _ = shape
    weights = [*affine(S, HIDDEN, (1 + gated) * HIDDEN)]
    weights += [draw(S, HIDDEN), draw(S, HIDDEN)] if normed else []
    weights += affine(S, HIDDEN, HIDDEN) if gated else []

    def prepare(kernels, weight, bias, *rest):
        norm = rest[:2] if normed else None
        gate = Affine(*rest[-2:]) if gated else None
        operation = kernels.renew(Update(Affine(weight, bias), norm, gate))
        if gated:
            return operation
        return lambda keep, messages, hidden: operation(keep, None, messages, hidden)

    inputs = 4 if gated else 3
    return Case(
        weights, [[part(S, B, n, HIDDEN) for _ in range(inputs)] for _ in range(STEPS)], prepare
    )


def triplet_case(shape: Shape) -> Case:
    S, B, n, F = shape
    steps = [(part(S, B, n, 3 * FEATURES), draw(S, B, n, n, F)) for _ in range(STEPS)]
    return Case([draw(S, F, 3 * FEATURES)], steps, lambda kernels, edge: kernels.triplet_max(edge))


def pointer_case(shape: Shape, triplets: bool) -> Case:
    S, B, n, F = shape
    wide = HIDDEN if triplets else 0
    weights = [draw(S, F, HIDDEN), draw(S, wide, HIDDEN) / 4, *affine(S, HIDDEN, 1)]
    weights += affine(S, FEATURES, HIDDEN) if triplets else []

    def prepare(kernels, edge, triplet, score, bias, *widen):
        widen = Affine(*widen) if widen else None
        operation = kernels.pointer(edge, triplet, Affine(score, bias), widen)

        def scores(source, target, raw, maxima=None):
            known = None if maxima is None else Triplets(maxima, widen)
            return operation(source, target, raw, known)

        return scores

    nodes, pairs = (S, B, n, HIDDEN), (S, B, n, n)
    steps = [[part(*nodes), part(*nodes), draw(*pairs, F)] for _ in range(STEPS)]
    for step in steps if triplets else []:
        step.append(part(*pairs, FEATURES))
    return Case(weights, steps, prepare)


def neighbours(shape: Shape) -> Tensor:
    """Some pairs at random, and each node itself."""
    S, B, n, _ = shape
    return ((draw(S, B, n, n) > 0.5) | torch.eye(n, device=DEVICE).bool()).float()


@pytest.fixture(autouse=True)
def same_numbers():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@needs_triton
@by_shape
def test_projections_are_the_plain_ones(shape):
    assert_twins(partial(Fused, STEPS, "ieee"), project_case(shape))


@quick_kernels
@by_shape
def test_messages_are_the_plain_ones(kernels, shape):
    assert_twins(kernels, message_case(shape, adjacency=None))


@quick_kernels
@by_shape
def test_messages_of_neighbours_are_the_plain_ones(kernels, shape):
    assert_twins(kernels, message_case(shape, neighbours(shape)))


@quick_kernels
def test_nodes_without_neighbours_learn_nothing(kernels):
    shape = Shape(1, 2, 4, 2)
    adjacency = neighbours(shape)
    adjacency[:, 0, :, 1] = 0
    assert_twins(kernels, message_case(shape, adjacency))


@quick_kernels
def test_messages_among_more_nodes_than_a_byte_counts_are_the_plain_ones(kernels):
    assert_twins(kernels, message_case(Shape(1, 1, 140, 0), adjacency=None))


@needs_triton
@pytest.mark.parametrize(("normed", "gated"), [*product((False, True), repeat=2)])
@by_shape
def test_new_states_are_the_plain_ones(shape, normed, gated):
    assert_twins(partial(Fused, STEPS, "ieee"), renew_case(shape, normed, gated))


@quick_kernels
@by_shape
def test_triplets_are_the_plain_ones(kernels, shape):
    assert_twins(kernels, triplet_case(shape))


@quick_kernels
@pytest.mark.parametrize("triplets", [False, True])
@by_shape
def test_pointers_are_the_plain_ones(kernels, shape, triplets):
    assert_twins(kernels, pointer_case(shape, triplets))


EVERY_CASE = {
    "project": project_case,
    "message": partial(message_case, adjacency=None),
    "renew": partial(renew_case, normed=True, gated=True),
    "triplet_max": triplet_case,
    "pointer": partial(pointer_case, triplets=True),
}
of_every_operation = pytest.mark.parametrize("case", EVERY_CASE.values(), ids=EVERY_CASE.keys())


@quick_kernels
@of_every_operation
def test_a_step_that_nobody_reads_teaches_nothing(kernels, case):
    case = case(Shape(1, 2, 3, 2))
    assert_equal(outcome(kernels, case, steps=1), outcome(Plain, case, steps=1))


@quick_kernels
@of_every_operation
def test_inputs_learn_where_weights_are_frozen(kernels, case):
    weights, steps, prepare = case(Shape(1, 2, 3, 2))
    frozen = Case((), steps, lambda kernels: prepare(kernels, *weights))
    assert_equal(outcome(kernels, frozen), outcome(Plain, frozen))


@quick_kernels
def test_operations_of_a_scan_share_the_raw_numbers(kernels):
    shape = Shape(1, 2, 5, 2)
    message, triplet = message_case(shape, adjacency=None), triplet_case(shape)
    pointer = pointer_case(shape, triplets=True)

    def prepare(kernels, *weights):
        say = message.prepare(kernels, *weights[:4])
        maxima = triplet.prepare(kernels, weights[4])
        score = pointer.prepare(kernels, *weights[5:])

        def step(receiver, sender, nodes, raw):
            heard = say(receiver, sender, raw)
            return score(heard, sender, raw, maxima(nodes, raw))

        return step

    weights = [*message.weights, *triplet.weights, *pointer.weights]
    steps = [
        (*nodes, triples, raw)
        for (*nodes, raw), (triples, _) in zip(message.steps, triplet.steps, strict=True)
    ]
    assert_twins(kernels, Case(weights, steps, prepare))


def test_kernels_of_other_names_are_errors():
    with pytest.raises(ValueError, match="unknown kernels 'quick'"):
        choose("quick", "fp32", DEVICE, steps=1)


def test_precisions_of_other_names_are_errors():
    with pytest.raises(ValueError, match="unknown precision 'fp8'"):
        choose("plain", "fp8", DEVICE, steps=1)


def test_the_fastest_kernels_of_a_cpu_depend_on_whether_it_learns():
    cpu = torch.device("cpu")
    assert type(choose("auto", "tf32", cpu, steps=1)) is Compiled
    with torch.no_grad():
        assert type(choose("auto", "tf32", cpu, steps=1)) is Plain


def test_the_fastest_kernels_of_a_gpu_are_fused():
    assert type(choose("auto", "tf32", torch.device("cuda"), steps=1)) is Fused


def test_kernels_are_chosen_by_name():
    assert type(choose("plain", "tf32", DEVICE, steps=1)) is Plain
    assert type(choose("fused", "tf32", DEVICE, steps=1)) is Fused


def test_widths_that_fused_kernels_do_not_take_are_refused_or_computed_plainly():
    with pytest.raises(ValueError, match="powers of two, got 24"):
        choose("fused", "tf32", torch.device("cpu"), 1, (24, 8))
    with pytest.raises(ValueError, match="at least 16, got 8"):
        choose("fused", "tf32", torch.device("cpu"), 1, (8, 8))
    with pytest.warns(UserWarning, match="plain kernels are used"):
        assert type(choose("auto", "tf32", torch.device("cuda"), 1, (128, 6))) is Plain


def test_fused_kernels_without_triton_say_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install"):
        choose("fused", "tf32", torch.device("cpu"), 1)
