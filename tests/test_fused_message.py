"""Fused messages against their plain twin: values and all grads, from all nodes or from some."""

import pytest
import torch
from fused import assert_close, by_shape, draw, unwritten
from small import DEVICE, ON_GPU
from torch import Tensor

from algorist.kernels import plain
from algorist.kernels.affine import Affine, FactoredEdges

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels.fused import message
from algorist.kernels.fused.tiling import tiles

H, T, SPARE = 16, 8, 4  # hidden and triplet features, columns of the state that nobody reads here


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


class Messages:
    """Random messages: all that their kernels read, and buffer for what they write."""

    columns = (SPARE, SPARE + H + 3 * T)

    def __init__(self, S: int, B: int, n: int, F: int, message_mask: Tensor | None = None):
        self.S, self.B, self.n, self.message_mask = S, B, n, message_mask
        self.state, self.raw = draw(S, B, n, 2 * (SPARE + H) + 3 * T), draw(S, B, n, n, F)
        self.edge, self.bias = draw(S, F, H), draw(S, H)
        self.first, self.second = draw(S, H, H) / H**0.5, draw(S, H, H) / H**0.5
        self.messages = unwritten(S, B, n, H)
        self.winner = unwritten(S, B, n, H, dtype=torch.int16)
        self.built, self.inner = unwritten(S, B, n, n, H), unwritten(S, B, n, n, H)

    def run(self, keep: bool = True, precision: str = "ieee") -> Tensor:
        receiver, sender = (self.state[..., c : c + H] for c in self.columns)
        message.message(
            receiver, sender, self.edges, self.message_mask, Affine(self.first, self.bias),
            self.second, self.messages, None, self.kept if keep else message.Kept(),
            precision=precision,
        )  # fmt: skip
        return self.messages

    @property
    def edges(self) -> FactoredEdges:
        return FactoredEdges(self.raw, self.edge)

    @property
    def kept(self) -> message.Kept:
        return message.Kept(winner=self.winner, built=self.built, inner=self.inner)

    def run_backward(self, d_messages: Tensor, precision: str = "ieee") -> dict[str, Tensor]:
        """The grads by what they are of; those of the rows come last."""
        S, B, n = self.S, self.B, self.n
        blocks = tiles(n).blocks(n)
        d_state, d_raw = unwritten(*self.state.shape), unwritten(*self.raw.shape)
        d_sender = unwritten(S, B, blocks, n, H)
        d_edge = unwritten(S, B, blocks, *self.edge.shape[1:])
        rows = [unwritten(S, B, n, n, H) for _ in range(2)]
        d_receiver = d_state[..., SPARE : SPARE + H]
        wanted = message.MessageGrads(d_receiver, d_sender, d_raw, None, d_edge, *rows)
        message.message_backward(
            d_messages, None, self.kept, self.edges, None, self.first, self.second, wanted,
            precision=precision,
        )  # fmt: skip
        assert d_state.isnan().sum() == d_state.numel() - d_receiver.numel()
        grads = {"receiver": d_receiver, "sender": d_sender.sum(2), "raw": d_raw}
        grads |= {"edge": d_edge.sum((1, 2))}
        return grads | dict(zip(("result", "hidden"), rows, strict=True))

    def twin(self) -> tuple[Tensor, dict[str, Tensor]]:
        """The plain operation, and what it reads."""
        receiver, sender = (self.state[..., c : c + H].clone() for c in self.columns)
        read = {"receiver": receiver, "sender": sender, "raw": self.raw, "edge": self.edge}
        read |= {"first": self.first, "bias": self.bias, "second": self.second}
        read = {name: x.clone().requires_grad_() for name, x in read.items()}
        largest = plain.message_max(
            read["receiver"], read["sender"], FactoredEdges(read["raw"], read["edge"]),
            Affine(read["first"], read["bias"]), read["second"], self.message_mask,
        )  # fmt: skip
        return largest, read


def connections(S: int, B: int, n: int) -> Tensor:
    """Whose messages arrive; some nodes receive none."""
    return (draw(S, B, n, n) > 1).float()


def assert_messages_agree(case: Messages) -> None:
    expected, read = case.twin()
    assert_close(case.run(), expected.detach())
    d_messages = draw(*expected.shape)
    grads = dict(zip(read, torch.autograd.grad(expected, read.values(), d_messages), strict=True))
    got = case.run_backward(d_messages)
    for name in ("receiver", "sender", "raw", "edge"):
        assert_close(got[name], grads[name])

    def weight_grad(values: Tensor, grads: Tensor) -> Tensor:
        return values.flatten(1, 3).mT @ grads.flatten(1, 3)

    assert_close(weight_grad(case.built, got["hidden"]), grads["first"])
    assert_close(weight_grad(case.inner, got["result"]), grads["second"])
    assert_close(got["hidden"].sum((1, 2, 3)), grads["bias"])


@by_shape
def test_messages_and_all_their_grads(shape):
    assert_messages_agree(Messages(*shape))


@by_shape
def test_messages_from_some(shape):
    assert_messages_agree(Messages(*shape, message_mask=connections(*shape[:3])))


def test_the_first_of_equal_messages_wins():
    case = Messages(1, 2, 20, 0)
    case.state.zero_()
    for weights in (case.bias, case.second):  # sums of eighths are exact in any order
        weights.mul_(8).round_().div_(8)
    case.run()
    assert not case.winner.any()


@pytest.mark.parametrize("n", [4, 20])
def test_messages_when_nothing_is_kept(n):
    case = Messages(1, 2, n, 2)
    assert_close(case.run(keep=False), case.twin()[0].detach())


def test_messages_with_weights_turned_in_memory():
    case = Messages(3, 2, 4, 2)
    expected = case.run().clone()
    grads = case.run_backward(expected)
    case.first, case.second = (x.mT.contiguous().mT for x in (case.first, case.second))
    assert torch.equal(case.run(), expected)
    for name, grad in case.run_backward(expected).items():
        assert torch.equal(grad, grads[name])


def test_layers_that_lie_differently_in_memory_are_refused():
    case = Messages(1, 1, 4, 1)
    case.second = case.second.mT
    with pytest.raises(ValueError, match="second: got strides"):
        case.run()


@pytest.mark.skipif(not ON_GPU, reason="Triton's interpreter cannot multiply bfloat16")
def test_messages_with_rounded_operands_are_near():
    case = Messages(1, 2, 7, 2)
    expected = case.twin()[0].detach()
    assert_close(case.run(precision="bf16"), expected, 0.02)
    assert not torch.equal(case.messages, expected)
    rounded, exact = (
        case.run_backward(torch.ones_like(expected), precision) for precision in ("bf16", "ieee")
    )
    for name, grad in exact.items():
        assert_close(rounded[name], grad, 0.02)


@pytest.mark.parametrize("n", [1, 7, 20])
def test_nodes_are_connected_by_either_direction_and_to_themselves(n):
    raw, connected = draw(2, 3, n, n, 3), unwritten(2, 3, n, n)
    message.connect(raw, torch.tensor([0.5, torch.inf, 2.0], device=DEVICE), connected)
    both = raw + raw.transpose(2, 3)
    expected = torch.eye(n, device=DEVICE).bool() | (both[..., 0] > 0.5) | (both[..., 2] > 2.0)
    assert torch.equal(connected, expected.float())


def test_without_numbers_nodes_are_connected_to_themselves():
    connected = unwritten(1, 2, 7, 7)
    message.connect(draw(1, 2, 7, 7, 0), draw(0), connected)
    assert torch.equal(connected, torch.eye(7, device=DEVICE).expand(1, 2, 7, 7))
