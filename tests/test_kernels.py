"""The operations: compiled and fused ones against plain PyTorch, values and all gradients."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
import small
import torch
from fused import assert_close
from small import DEVICE, ON_GPU, needs_gpu
from torch import Tensor, nn

from algorist import kernels
from algorist.kernels import FactoredEdges, compiled, plain
from algorist.kernels.affine import Affine
from algorist.model.fused.support import obstacle_to_fusing
from algorist.model.make_window import make_window

H, T = 16, 8


class Shape(NamedTuple):
    """Replicas, samples, nodes, raw numbers of an edge."""

    S: int
    B: int
    n: int
    F: int


SMALL = [Shape(1, 2, 1, 2), Shape(3, 2, 5, 3), Shape(1, 1, 17, 0)]
SHAPES = [*SMALL, Shape(3, 2, 2, 0), Shape(3, 2, 7, 1), Shape(1, 2, 16, 0), Shape(1, 1, 20, 2)]
named = partial(pytest.mark.parametrize, ids=lambda shape: "S{}-B{}-n{}-F{}".format(*shape))
by_shape = named("shape", SHAPES)
by_small_shape = named("shape", SHAPES if ON_GPU else SMALL)  # for the slow interpreter
with_and_without_mask = pytest.mark.parametrize("masked", [False, True])


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE)


def part(*shape: int) -> Tensor:
    """Values that are columns of wider rows, as projections are."""
    return draw(*shape[:-1], shape[-1] + 7)[..., 3:-4]


def mask_of(shape: Shape) -> Tensor:
    """Some pairs at random: a few nodes receive nothing."""
    S, B, n, _ = shape
    return (draw(S, B, n, n) > 0.8).float()


class Case(NamedTuple):
    """An operation, and the tensors that it is a function of."""

    call: Callable
    inputs: dict[str, Tensor]


def edges_of(shape: Shape, width: int, form: str) -> tuple[dict[str, Tensor], Callable]:
    """The tensors of edge features, and how they are made into edges."""
    S, B, n, F = shape
    tensors = {"raw": draw(S, B, n, n, F), "weight": draw(S, F, width)}
    dense = {"dense": part(S, B, n, n, width)}
    if form == "dense":
        return dense, lambda dense: dense
    if form == "none":
        return {}, lambda: None
    return (tensors if form == "factored" else tensors | dense), FactoredEdges


FORMS = ["factored", "dense", "both", "none"]
by_form = pytest.mark.parametrize("form", FORMS)


def layer(S: int, width: int, out: int, name: str) -> dict[str, Tensor]:
    return {f"{name}.weight": draw(S, width, out) / width**0.5, f"{name}.bias": draw(S, out)}


def message_case(
    shape: Shape, form: str = "factored", masked: bool = False, recompute: bool | None = None
) -> Case:
    S, B, n, _ = shape
    of_edges, made = edges_of(shape, H, form)
    layers = layer(S, H, H, "first") | layer(S, H, H, "second")
    nodes = {"receiver": part(S, B, n, H), "sender": part(S, B, n, H)}
    mask = mask_of(shape) if masked else None

    def call(receiver, sender, *rest):
        edges, (first, bias, second, second_bias) = made(*rest[:-4]), rest[-4:]
        layers = Affine(first, bias), Affine(second, second_bias)
        given = (receiver, sender, edges, *layers, mask)
        both = kernels.message_max_mean(*given, recompute=recompute)
        largest = kernels.message_max(*given, recompute=recompute)
        return both[0].sin() + both[1].cos() + largest.tanh()

    return Case(call, nodes | of_edges | layers)


def triplet_case(shape: Shape, form: str = "factored") -> Case:
    S, B, n, _ = shape
    of_edges, made = edges_of(shape, 3 * T, form)
    return Case(
        lambda nodes, *rest: kernels.triplet_max(nodes, made(*rest)),
        {"nodes": part(S, B, n, 3 * T)} | of_edges,
    )


def pointer_case(shape: Shape, form: str = "factored") -> Case:
    S, B, n, _ = shape
    of_edges, made = edges_of(shape, H, form)

    def call(source, target, *rest):
        return kernels.pointer_logits(source, target, made(*rest[:-2]), Affine(*rest[-2:]))

    nodes = {"source": part(S, B, n, H), "target": part(S, B, n, H)}
    return Case(call, nodes | of_edges | layer(S, H, 1, "score"))


def edge_pointer_case(shape: Shape) -> Case:
    S, B, n, _ = shape
    return Case(
        lambda pair, pointee, *score: kernels.edge_pointer_logits(pair, pointee, Affine(*score)),
        {"pair": part(S, B, n, n, H), "pointee": part(S, B, n, H)} | layer(S, H, 1, "score"),
    )


def triplet_logits_case(shape: Shape) -> Case:
    S, B, n, F = shape
    pairs = {name: part(S, B, n, n, H) for name in ("pair", "source", "target")}
    numbers = {"raw": draw(S, B, n, n, n, F), "weight": draw(S, F, H)}

    def call(pair, source, target, raw, weight, *score):
        return kernels.triplet_logits(pair, source, target, Affine(*score), raw, weight)

    return Case(call, pairs | numbers | layer(S, H, 1, "score"))


CASES = {
    "message_max": message_case,
    "triplet_max": triplet_case,
    "pointer_logits": pointer_case,
    "edge_pointer_logits": edge_pointer_case,
    "triplet_logits": triplet_logits_case,
}
of_every_operation = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def outcome(case: Case, implementation: str, frozen: tuple[str, ...] = ()) -> dict[str, Tensor]:
    """What an operation computes, and the gradients of its inputs."""
    learning = {name: x.clone().requires_grad_() for name, x in case.inputs.items()}
    for name in frozen:
        learning[name].requires_grad_(False)
    with kernels.using(implementation):
        value = case.call(*learning.values())
    wave = torch.arange(1.0, 1.0 + value.numel(), device=value.device).sin().view_as(value)
    learning = {name: x for name, x in learning.items() if x.requires_grad}
    grads = torch.autograd.grad(
        (value * wave).sum(), learning.values(), allow_unused=True, materialize_grads=True
    )
    return {"value": value.detach(), **dict(zip(learning, grads, strict=True))}


def assert_as_plain(case: Case, implementation: str, frozen: tuple[str, ...] = ()) -> None:
    """Equal where gradients are wanted, and where they are not."""
    expected = outcome(case, "plain", frozen)
    for name, got in outcome(case, implementation, frozen).items():
        assert got.shape == expected[name].shape, name
        assert_close(got, expected[name], 1e-4)
    with torch.no_grad(), kernels.using(implementation):
        assert_close(case.call(*case.inputs.values()), expected["value"], 1e-4)


@pytest.fixture(autouse=True)
def same_numbers():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


compiled_on_cpu = pytest.mark.skipif(ON_GPU, reason="on a GPU, auto means fused kernels")


@compiled_on_cpu
@with_and_without_mask
@by_shape
def test_compiled_messages_are_the_plain_ones(shape, masked):
    assert_as_plain(message_case(shape, masked=masked), "auto")


@compiled_on_cpu
def test_compiled_messages_among_more_nodes_than_a_byte_counts_are_the_plain_ones():
    assert_as_plain(message_case(Shape(1, 1, 140, 0)), "auto")


@compiled_on_cpu
@pytest.mark.parametrize("case", [triplet_case, pointer_case])
@by_shape
def test_other_compiled_operations_are_the_plain_ones(shape, case):
    assert_as_plain(case(shape), "auto")


@compiled_on_cpu
@by_form
@pytest.mark.parametrize("case", [message_case, triplet_case, pointer_case])
def test_compiled_operations_take_edges_of_every_form(case, form):
    assert_as_plain(case(Shape(2, 2, 3, 2), form), "auto")


@with_and_without_mask
@pytest.mark.parametrize("recompute", [False, True])
@by_small_shape
def test_fused_messages_are_the_plain_ones(shape, recompute, masked):
    pytest.importorskip("triton")
    assert_as_plain(message_case(shape, masked=masked, recompute=recompute), "fused")


@pytest.mark.parametrize(
    "case", [triplet_case, pointer_case, edge_pointer_case, triplet_logits_case]
)
@by_small_shape
def test_other_fused_operations_are_the_plain_ones(shape, case):
    pytest.importorskip("triton")
    assert_as_plain(case(shape), "fused")


@by_form
@pytest.mark.parametrize("case", [message_case, triplet_case, pointer_case])
def test_fused_operations_take_edges_of_every_form(case, form):
    pytest.importorskip("triton")
    assert_as_plain(case(Shape(2, 2, 3, 2), form), "fused")


@pytest.mark.parametrize("case", [message_case, triplet_case, pointer_case])
def test_fused_operations_take_many_raw_numbers(case):
    pytest.importorskip("triton")
    assert_as_plain(case(Shape(1, 2, 3, 40)), "fused")


def test_fused_logits_of_triplets_are_the_plain_ones_in_several_tiles():
    pytest.importorskip("triton")
    assert_as_plain(triplet_logits_case(Shape(2, 1, 17, 1)), "fused")


def test_logits_of_triplets_without_gradients_are_computed_for_few_pointees_at_once(monkeypatch):
    call, inputs = triplet_logits_case(Shape(2, 2, 5, 3))
    with torch.no_grad(), kernels.using("plain"):
        expected = call(*inputs.values())
        monkeypatch.setattr(plain, "_MOST_AT_ONCE", 2 * inputs["pair"].numel())
        assert_close(call(*inputs.values()), expected)


@of_every_operation
@pytest.mark.parametrize("implementation", ["auto", "fused"])
def test_inputs_learn_where_weights_are_frozen(case, implementation):
    pytest.importorskip("triton")
    case = case(Shape(1, 2, 3, 2))
    weights = tuple(name for name in case.inputs if "weight" in name or "bias" in name)
    assert_as_plain(case, implementation, frozen=(*weights, *{"raw"} & set(case.inputs)))


@pytest.mark.parametrize("masked", [False, True])
def test_messages_are_computed_again_in_chunks_of_samples(monkeypatch, masked):
    operation = pytest.importorskip("algorist.kernels.fused.message_operation")
    shape = Shape(2, 5, 4, 2)
    of_two_samples = 2 * 4 * 4 * H * 4
    monkeypatch.setattr(operation, "_CHUNK_BYTES", of_two_samples)
    assert_as_plain(message_case(shape, "both", masked=masked, recompute=True), "fused")


@pytest.mark.parametrize(("limit", "rows"), [(0, 0), (2**28, 2)])
def test_large_batches_keep_no_rows_unless_told(monkeypatch, limit, rows):
    operation = pytest.importorskip("algorist.kernels.fused.message_operation")
    monkeypatch.setattr(operation, "KEPT_BYTES", limit)
    case = message_case(Shape(1, 2, 3, 0), "none")
    kept = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x)
    with kernels.using("fused"), hooks:
        receiver, sender, *layers = (x.requires_grad_() for x in case.inputs.values())
        layers = Affine(*layers[:2]), Affine(*layers[2:])
        kernels.message_max(receiver, sender, None, *layers)
    assert sum(x.shape == (1, 2, 3, 3, H) for x in kept) == rows


@of_every_operation
@pytest.mark.parametrize("implementation", ["plain", "auto", "fused"])
def test_replicas_may_come_from_vmap(case, implementation):
    pytest.importorskip("triton")
    call, inputs = case(Shape(3, 2, 3, 2))
    with kernels.using(implementation):
        expected = call(*inputs.values())
        mapped = torch.vmap(lambda *each: call(*(x.unsqueeze(0) for x in each)).squeeze(0))
        assert_close(mapped(*inputs.values()), expected)


@pytest.mark.parametrize("implementation", ["plain", "auto", "fused"])
def test_torch_layers_and_tensors_without_a_replica_axis(implementation):
    pytest.importorskip("triton")
    first, second, score = nn.Linear(H, H), nn.Linear(H, H, bias=False), nn.Linear(H, 1)
    layers = nn.ModuleList([first, second, score]).to(DEVICE)
    receiver, sender, edges = draw(2, 3, H), draw(2, 3, H), draw(2, 3, 3, H)
    mask = torch.tensor([[[1, 0, 0], [1, 1, 0], [0, 1, 0]]] * 2, device=DEVICE)
    built = (receiver[:, None] + sender[:, :, None] + edges).relu()
    messages = second(first(built).relu())
    received = torch.where(mask[..., None] > 0, messages, -1e6)
    average = (messages * mask[..., None]).sum(1) / mask.sum(1).clamp(min=1)[..., None]
    with kernels.using(implementation):
        largest, mean = kernels.message_max_mean(receiver, sender, edges, *layers[:2], mask)
        logits = kernels.pointer_logits(receiver, sender, edges, score)
        of_edges = kernels.edge_pointer_logits(edges, sender, score)
        of_triplets = kernels.triplet_logits(edges, edges, edges, score)
        maxima = kernels.triplet_max(draw(2, 3, 3 * T), None)
    assert_close(largest, received.amax(1))
    assert_close(mean, average)
    larger = torch.maximum(receiver[:, None], sender[:, :, None] + edges)
    assert_close(logits, score(larger).squeeze(-1).mT)
    larger = torch.maximum(edges[:, :, :, None], sender[:, None, None])
    assert_close(of_edges, score(larger).squeeze(-1))
    sums = edges[:, :, :, None] + edges[:, :, None] + edges[:, None]
    assert_close(of_triplets, score(sums.relu()).squeeze(-1))
    assert maxima.shape == (2, 3, 3, T)
    largest.sum().backward()
    assert first.weight.grad.shape == (H, H)


@needs_gpu
@of_every_operation
def test_operations_can_be_captured(case):
    call, inputs = case(Shape(2, 3, 5, 2))
    learning = [x.clone().requires_grad_() for x in inputs.values()]

    def step():
        return torch.autograd.grad(call(*learning).square().sum(), learning)

    expected = step()
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        step()
    with torch.cuda.graph(graph):
        captured = step()
    graph.replay()
    for got, reference in zip(captured, expected, strict=True):
        assert_close(got, reference)


WRONG = {
    "receiver: got shape \\(3, 16\\)": {"receiver": (3, H)},
    "sender: got shape \\(1, 2, 4, 16\\), expected \\(1, 2, 3, 16\\)": {"sender": (2, 4, H)},
    "edges: got shape": {"edges": (2, 3, 3, 4)},
    "mask: got shape": {"mask": (2, 3)},
}


@pytest.mark.parametrize(("message", "shapes"), WRONG.items())
def test_wrong_shapes_are_refused(message, shapes):
    usual = {"receiver": (2, 3, H), "sender": (2, 3, H), "edges": (2, 3, 3, H), "mask": (2, 3, 3)}
    tensors = {name: torch.zeros(shape) for name, shape in (usual | shapes).items()}
    with pytest.raises(ValueError, match=message):
        kernels.message_max(**tensors, first=nn.Linear(H, H), second=nn.Linear(H, H))


def test_numbers_of_triplets_without_weights_are_refused():
    pairs, score = [draw(2, 3, 3, H)] * 3, nn.Linear(H, 1).to(DEVICE)
    with pytest.raises(ValueError, match="raw and weight: got one of them"):
        kernels.triplet_logits(*pairs, score, draw(2, 3, 3, 3, 2))
    with pytest.raises(ValueError, match=r"raw: got shape \(1, 2, 3, 3, 2, 1\), expected \(1, 2,"):
        kernels.triplet_logits(*pairs, score, draw(2, 3, 3, 2, 1), draw(1, H))


def test_wrong_layers_are_refused():
    nodes = torch.zeros(2, 3, H)
    with pytest.raises(ValueError, match=r"the weight of second: got shape \(1, 16, 4\), expected"):
        kernels.message_max(nodes, nodes, None, nn.Linear(H, H), nn.Linear(H, 4))
    with pytest.raises(ValueError, match=r"score: got Sequential, expected nn\.Linear or Affine"):
        kernels.pointer_logits(nodes, nodes, None, nn.Sequential())


def test_what_fused_kernels_cannot_compute_is_an_error_if_they_are_asked_for():
    pytest.importorskip("triton")
    nodes = draw(2, 3, 24)
    with kernels.using("fused"), pytest.raises(ValueError, match=r"a power of two .*, got 24"):
        kernels.pointer_logits(nodes, nodes, None, nn.Linear(24, 1).to(DEVICE))
    with kernels.using("fused"), pytest.raises(ValueError, match="at most 256 nodes, got 257"):
        kernels.triplet_max(draw(1, 257, 3 * T), None)
    with (
        kernels.using("fused"),
        pytest.raises(ValueError, match=r"need float32, got torch\.float64"),
    ):
        kernels.triplet_max(draw(1, 2, 3 * T).double(), None)


@needs_gpu
def test_what_fused_kernels_cannot_compute_is_computed_by_plain_ones_with_a_warning():
    nodes = draw(2, 3, 24)
    with pytest.warns(UserWarning, match="plain kernels, several times slower: fused ones need"):
        kernels.pointer_logits(nodes, nodes, None, nn.Linear(24, 1).to(DEVICE))


CPU = torch.device("cpu")


def test_kernels_and_precisions_of_other_names_are_errors():
    with pytest.raises(ValueError, match="unknown kernels 'quick'"), kernels.using("quick"):
        pass
    with pytest.raises(ValueError, match="unknown precision 'fp8'"), kernels.using(precision="fp8"):
        pass


def test_the_fastest_kernels_of_a_cpu_depend_on_whether_it_learns(monkeypatch):
    chosen = []
    for module in (plain, compiled):
        monkeypatch.setattr(
            module, "triplet_max", lambda nodes, *_, of=module: chosen.append(of) or nodes
        )
    nodes = torch.zeros(1, 2, 3)
    kernels.triplet_max(nodes, None)
    with torch.no_grad():
        kernels.triplet_max(nodes, None)
    with kernels.using("plain"):
        kernels.triplet_max(nodes, None)
    kernels.triplet_max(nodes.double(), None)
    assert chosen == [compiled, plain, plain, plain]


def test_the_operations_are_there_without_triton():
    import subprocess
    import sys

    program = "import sys, algorist.kernels; print('triton' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"


def rolled_by_fused_kernels(precision="tf32", device=DEVICE, **model):
    net = small.net("bfs", **model).to(device)
    net.kernels, net.precision = "fused", precision
    return net.rollout("bfs", make_window([small.problems("bfs", n=4, count=1)]).to(device))


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
