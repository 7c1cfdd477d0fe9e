"""What happens at the nodes, fused, against plain PyTorch and its grads."""

import pytest
import torch
from small import DEVICE, ON_GPU

pytest.importorskip("triton", reason="fused kernels need Triton")

from algorist.kernels import plain
from algorist.kernels.affine import Affine, product
from algorist.kernels.fused import graph_pooling, node_projection, state_update
from algorist.kernels.scan_weights import UpdateWeights

H, B = 16, 2
SIZES = [(3, 1), (3, 7), (1, 17)]  # replicas and nodes
if ON_GPU:
    SIZES += [(1, 4), (1, 11), (3, 13), (1, 16), (1, 20), (1, 64), (2, 80)]

sizes = pytest.mark.parametrize(("S", "n"), SIZES)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def draw(*shape):
    return torch.randn(*shape, device=DEVICE)


def blank(*shape, dtype=torch.float32):
    """A place for results where what nobody writes shows."""
    return torch.full(shape, float("nan"), device=DEVICE).to(dtype)


def learnt(*shape):
    return draw(*shape).requires_grad_()


def grads_of(result, gradient, *inputs):
    return torch.autograd.grad(result, inputs, gradient)


def assert_close(got, expected):
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


@sizes
@pytest.mark.parametrize(("states", "F", "C"), [(1, 5, 70), (2, 19, 136), (2, 1, 3)])
def test_a_projection_multiplies_its_parts_side_by_side(S, n, states, F, C):
    parts = [draw(S, B, n, F), *(draw(S, B, n, H) for _ in range(states))]
    weight, out = draw(S, F + states * H, C), blank(S, B, n, C)
    node_projection.project(parts, weight, out, "ieee")
    assert_close(out, product(torch.cat(parts, -1), weight))


@sizes
@pytest.mark.parametrize(
    ("states", "groups"),
    [
        (1, ()),
        (1, ((1, 24, 0, 1),)),
        (2, ((3, 8, 2 * H, 2), (2, 100, 3 * H, 6), (1, 180, H, 1))),
        (2, ((2, 3, 2 * H + 1, 5),)),
    ],
)
def test_grads_of_a_projection_go_back_to_its_parts_and_partial_ones_are_summed(
    S, n, states, groups
):
    F, C = 5, 203
    weight, full, grads = draw(S, F + states * H, C), draw(S, B, n, C), blank(S, B, n, C)
    grads.copy_(full)
    partials = []
    for count, first, stride, blocks in groups:
        partials.append((draw(count, S, B, blocks, n, H), first, stride))
        for p, part in enumerate(partials[-1][0]):
            columns = slice(first + p * stride, first + p * stride + H)
            full[..., columns] = part.sum(2)
            grads[..., columns] = float("nan")
    d_parts = [blank(S, B, n, F), *(blank(S, B, n, H) for _ in range(states))]
    node_projection.project_backward(grads, weight, partials, d_parts, "ieee")
    assert_close(grads, full)
    assert_close(torch.cat(d_parts, -1), product(full, weight.mT))


def update_weights(S, normed, gated):
    of_message = learnt(S, H, H * (1 + gated))
    norm = (learnt(S, H), learnt(S, H)) if normed else None
    return UpdateWeights(of_message, norm, Affine(learnt(S, H, H), learnt(S, H)) if gated else None)


@sizes
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("gated", [False, True])
def test_states_are_renewed_as_in_plain_pytorch(S, n, normed, gated):
    keep, gate = 7, 7 + H if gated else None
    C = 9 + H * (1 + gated)
    state, messages, before = learnt(S, B, n, C), learnt(S, B, n, H), learnt(S, B, n, H)
    maps = update_weights(S, normed, gated)
    gate_state = state[..., gate : gate + H] if gated else None
    expected = plain.update(state[..., keep : keep + H], gate_state, messages, before, maps)
    kept = [blank(S, B, n, H), *(blank(S, B, n, H) if gated else None for _ in range(2))]
    after, unkept = blank(S, B, n, H), blank(S, B, n, H)
    given = (state.detach(), (keep, gate), messages.detach(), before.detach(), maps)
    state_update.update_states(*given, after, kept, "ieee")
    state_update.update_states(*given, unkept, None, "ieee")
    assert_close(after, expected.detach())
    assert torch.equal(after, unkept)

    grad_buffers = draw(3, S, B, n, H)
    total = grad_buffers.sum(0)
    weights = [maps.of_message, *(maps.norm or ()), *(maps.gate or ())]
    inputs = (state, messages, *([before] if gated else []), *weights)
    d_state, d_messages, *rest = grads_of(expected, total, *inputs)
    grads, d_message = torch.zeros(S, B, n, C, device=DEVICE), blank(S, B, n, H)
    d_before, d_gate = (blank(S, B, n, H) if gated else None for _ in range(2))
    d_norm = (blank(S, B, n, H), blank(S, B, n, H)) if normed else None
    state_update.update_states_backward(
        grad_buffers, before.detach(), maps, kept, grads, (keep, gate), d_message, d_before,
        d_gate, d_norm, "ieee",
    )  # fmt: skip
    assert_close(grads, d_state)
    assert_close(d_message, d_messages)
    if gated:
        assert_close(d_before, rest.pop(0))
    message_mask = grads[..., keep : keep + H * (1 + gated)]
    found = [affine_grads(messages, message_mask)[0]]
    if normed:
        found += [x.sum((1, 2)) for x in d_norm]
    if gated:
        found += affine_grads(kept[2], d_gate)
    for got, wanted in zip(found, rest, strict=True):
        assert_close(got, wanted)


def affine_grads(x, grads):
    """Of a map's weight and bias."""
    rows = grads.flatten(1, 2)
    return x.detach().flatten(1, 2).mT @ rows, rows.sum(1)


def pooled_values(x, before, after, encoder, weight, graph_weight):
    nodes = product(x, encoder)
    largest = torch.cat([values.max(2).values for values in (nodes, before, after)], -1)
    return largest, product(largest, weight) + product(x[:, :, 0], graph_weight)


@sizes
@pytest.mark.parametrize("Cg", [1, 3])
def test_the_graph_reads_the_largest_of_its_nodes(S, n, Cg):
    F = 5
    x, before, after = learnt(S, B, n, F), learnt(S, B, n, H), learnt(S, B, n, H)
    weights = learnt(S, F, H), learnt(S, 3 * H, Cg), learnt(S, F, Cg)
    largest, expected = pooled_values(x, before, after, *weights)
    kept = blank(S, B, 3 * H), torch.full((S, B, 3, H), -7, dtype=torch.int16, device=DEVICE)
    out, unkept = blank(S, B, Cg), blank(S, B, Cg)
    graph_pooling.pool(x, before, after, *weights, out, kept, "ieee")
    graph_pooling.pool(x, before, after, *weights, unkept, None, "ieee")
    assert_close(out, expected.detach())
    assert_close(kept[0], largest.detach())
    assert torch.equal(out, unkept)

    gradient = draw(S, B, Cg)
    *d_parts, d_encoder, d_weight, d_graph = grads_of(
        expected, gradient, x, before, after, *weights
    )
    results = [blank(S, B, n, width) for width in (F, H, H, H)]
    graph_pooling.pool_backward(gradient, kept[1], *weights, *results, "ieee")
    for got, wanted in zip(results, d_parts, strict=False):
        assert_close(got, wanted)
    assert_close(x.detach().flatten(1, 2).mT @ results[3].flatten(1, 2), d_encoder)
    assert_close(kept[0].mT @ gradient, d_weight)
    assert_close(x.detach()[:, :, 0].mT @ gradient, d_graph)


def test_the_first_of_equal_nodes_is_the_largest():
    n, F, Cg = 20, 2, 1
    x, states = torch.ones(1, B, n, F, device=DEVICE), torch.zeros(1, B, n, H, device=DEVICE)
    weights = draw(1, F, H), draw(1, 3 * H, Cg), draw(1, F, Cg)
    kept = blank(1, B, 3 * H), torch.full((1, B, 3, H), -7, dtype=torch.int16, device=DEVICE)
    graph_pooling.pool(x, states, states, *weights, blank(1, B, Cg), kept, "ieee")
    assert (kept[1] == 0).all()


@pytest.mark.parametrize(
    "precision",
    [
        "tf32",
        pytest.param(
            "bf16",
            marks=pytest.mark.skipif(
                not ON_GPU, reason="Triton's interpreter cannot multiply bfloat16"
            ),
        ),
    ],
)
def test_other_precisions_round_their_operands_only(precision):
    S, n, F, C = 1, 7, 5, 40
    parts = [draw(S, B, n, F), draw(S, B, n, H), draw(S, B, n, H)]
    weight, out = draw(S, F + 2 * H, C), blank(S, B, n, C)
    node_projection.project(parts, weight, out, precision)
    expected = product(torch.cat(parts, -1), weight)
    torch.testing.assert_close(out, expected, rtol=0.05, atol=0.2)
