"""The fused operations on pairs of nodes against their plain twins: values and all slopes."""

import pytest
import torch
from torch import Tensor

from algorist.kernels import plain
from algorist.kernels.affine import Affine, product

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")

from algorist.kernels.fused import pairs

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
H, T, SPARE = 16, 8, 4  # hidden and triplet features, columns of the state that nobody reads here

SHAPES = [(1, 2, 1, 2), (3, 2, 4, 3), (1, 2, 7, 0), (3, 1, 16, 1), (1, 1, 20, 2)]  # S, B, n, F
if torch.cuda.is_available():
    SHAPES += [(3, 5, n, 3) for n in (4, 7, 11, 13, 16, 20, 64, 80)]
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda x: "S{}-B{}-n{}-F{}".format(*x))


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE)


def unwritten(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Where results go: an entry that is not written shows."""
    return torch.full(shape, -99 if dtype == torch.int16 else torch.nan, dtype=dtype, device=DEVICE)


def assert_close(got: Tensor, expected: Tensor, precision: float = 1e-5) -> None:
    scale = expected.abs().max() if expected.numel() else 1.0
    torch.testing.assert_close(got, expected, rtol=0, atol=float(precision * scale))


class Messages:
    """Random messages: all that their kernels read, and room for what they write."""

    columns = (SPARE, SPARE + H + 3 * T)

    def __init__(self, S: int, B: int, n: int, F: int, heard: Tensor | None = None):
        self.S, self.B, self.n, self.heard = S, B, n, heard
        self.state, self.raw = draw(S, B, n, 2 * (SPARE + H) + 3 * T), draw(S, B, n, n, F)
        self.edge, self.bias = draw(S, F, H), draw(S, H)
        self.first, self.second = draw(S, H, H) / H**0.5, draw(S, H, H) / H**0.5
        self.messages = unwritten(S, B, n, H)
        self.winner = unwritten(S, B, n, H, dtype=torch.int16)
        self.built, self.inner = unwritten(S, B, n, n, H), unwritten(S, B, n, n, H)

    def run(self, keep: bool = True, precision: str = "ieee") -> Tensor:
        pairs.message(
            self.state, self.columns, self.raw, self.heard, self.edge, self.first, self.bias,
            self.second, self.messages, *(self.kept if keep else (None, None, None)),
            precision=precision,
        )  # fmt: skip
        return self.messages

    @property
    def kept(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.winner, self.built, self.inner

    def run_backward(self, d_messages: Tensor, precision: str = "ieee") -> dict[str, Tensor]:
        """The slopes by what they are of; those of the rows come last."""
        S, B, n = self.S, self.B, self.n
        blocks = pairs.message_tiles(S * B, n).blocks(n)
        d_state, d_raw = unwritten(*self.state.shape), unwritten(*self.raw.shape)
        d_sender = unwritten(S, B, blocks, n, H)
        rows = [unwritten(S, B, n, n, H) for _ in range(3)]
        pairs.message_backward(
            d_messages, *self.kept, self.edge, self.first, self.second, d_state, self.columns[0],
            d_sender, d_raw, *rows, precision=precision,
        )  # fmt: skip
        d_receiver = d_state[..., SPARE : SPARE + H]
        assert d_state.isnan().sum() == d_state.numel() - d_receiver.numel()
        slopes = {"receiver": d_receiver, "sender": d_sender.sum(2), "raw": d_raw}
        return slopes | dict(zip(("result", "hidden", "built"), rows, strict=True))

    def twin(self) -> tuple[Tensor, dict[str, Tensor]]:
        """The plain operation, and what it reads."""
        receiver, sender = (self.state[..., c : c + H].clone() for c in self.columns)
        read = {"receiver": receiver, "sender": sender, "raw": self.raw, "edge": self.edge}
        read |= {"first": self.first, "bias": self.bias, "second": self.second}
        read = {name: x.clone().requires_grad_() for name, x in read.items()}
        largest = plain.message_max(
            read["receiver"], read["sender"], read["raw"], self.heard, read["edge"],
            Affine(read["first"], read["bias"]), read["second"],
        )  # fmt: skip
        return largest, read


def connections(S: int, B: int, n: int) -> Tensor:
    """Who hears whom: some hear nobody."""
    return (draw(S, B, n, n) > 1).float()


def assert_messages_agree(case: Messages) -> None:
    expected, read = case.twin()
    assert_close(case.run(), expected.detach())
    d_messages = draw(*expected.shape)
    slopes = dict(zip(read, torch.autograd.grad(expected, read.values(), d_messages), strict=True))
    got = case.run_backward(d_messages)
    for name in ("receiver", "sender", "raw"):
        assert_close(got[name], slopes[name])

    def weight_slope(values: Tensor, slopes: Tensor) -> Tensor:
        return values.flatten(1, 3).mT @ slopes.flatten(1, 3)

    assert_close(weight_slope(case.raw, got["built"]), slopes["edge"])
    assert_close(weight_slope(case.built, got["hidden"]), slopes["first"])
    assert_close(weight_slope(case.inner, got["result"]), slopes["second"])
    assert_close(got["hidden"].sum((1, 2, 3)), slopes["bias"])


@by_shape
def test_messages_and_all_their_slopes(shape):
    assert_messages_agree(Messages(*shape))


@by_shape
def test_messages_from_some(shape):
    assert_messages_agree(Messages(*shape, heard=connections(*shape[:3])))


@pytest.mark.parametrize("n", [7, 20])
def test_messages_in_larger_tiles_where_there_are_many(n, monkeypatch):
    small = pairs.message_tiles(2, n)
    monkeypatch.setattr(pairs, "FEW_PROGRAMS", 1)
    assert pairs.message_tiles(2, n).receivers == 2 * small.receivers
    assert_messages_agree(Messages(1, 2, n, 2))


@pytest.mark.parametrize("n", [4, 20])
def test_messages_when_nothing_is_kept(n):
    case = Messages(1, 2, n, 2)
    assert_close(case.run(keep=False), case.twin()[0].detach())


def test_messages_with_weights_turned_in_memory():
    case = Messages(3, 2, 4, 2)
    expected = case.run().clone()
    case.first, case.second = (x.mT.contiguous().mT for x in (case.first, case.second))
    assert torch.equal(case.run(), expected)


@pytest.mark.skipif(DEVICE.type == "cpu", reason="Triton's interpreter cannot multiply bfloat16")
def test_messages_with_rounded_operands_are_near():
    case = Messages(1, 2, 7, 2)
    expected, read = case.twin()
    assert_close(case.run(precision="bf16"), expected.detach(), 0.02)
    assert not torch.equal(case.messages, expected)
    slopes = case.run_backward(torch.ones_like(expected), precision="bf16")
    assert_close(
        slopes["raw"].sum(), torch.autograd.grad(expected.sum(), read["raw"])[0].sum(), 0.1
    )


@by_shape
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("more", [False, True], ids=["slots-alone", "extra"])
def test_triplet_maxima_and_all_their_slopes(shape, slots, more):
    S, B, n, F = shape
    state, raw, edge = draw(S, B, n, SPARE + 3 * T), draw(S, B, n, n, F), draw(S, F, 3 * T)
    maxima, winner = unwritten(S, B, n, n, T), unwritten(S, B, n, n, T, dtype=torch.int16)
    read = [x.clone().requires_grad_() for x in (state[..., SPARE:], raw, edge)]
    expected = plain.triplet_maxima(*read)
    pairs.triplet_max(state, SPARE, raw, edge, maxima, winner)
    assert_close(maxima, expected.detach())

    d_maxima, extra = draw(slots, S, B, n, n, T), draw(S, B, n, n, T) if more else None
    d_state, d_raw = unwritten(*state.shape), unwritten(*raw.shape)
    d_edges = unwritten(S, B, n, n, 3 * T)
    pairs.triplet_max_backward(d_maxima, extra, winner, edge, d_state, SPARE, d_edges, d_raw)
    slope = d_maxima.sum(0) + (0 if extra is None else extra)
    of_nodes, of_raw, of_edge = torch.autograd.grad(expected, read, slope)
    assert d_state[..., :SPARE].isnan().all()
    assert_close(d_state[..., SPARE:], of_nodes)
    assert_close(d_raw, of_raw)
    assert_close(raw.flatten(1, 3).mT @ d_edges.flatten(1, 3), of_edge)
    assert_close(product(d_edges, edge.mT.contiguous()), of_raw)


@pytest.mark.parametrize("n", [4, 40])
def test_triplet_maxima_when_nothing_is_kept(n):
    state, raw, edge = draw(1, 1, n, 3 * T), draw(1, 1, n, n, 1), draw(1, 1, 3 * T)
    maxima = unwritten(1, 1, n, n, T)
    pairs.triplet_max(state, 0, raw, edge, maxima, None)
    assert_close(maxima, plain.triplet_maxima(state, raw, edge))


def test_the_first_of_equal_triplets_wins():
    n = 20
    state, raw, edge = (
        torch.zeros(1, 1, n, 3 * T, device=DEVICE),
        draw(1, 1, n, n, 0),
        draw(1, 0, 24),
    )
    winner = unwritten(1, 1, n, n, T, dtype=torch.int16)
    pairs.triplet_max(state, 0, raw, edge, unwritten(1, 1, n, n, T), winner)
    assert not winner.any()


@pytest.mark.parametrize("n", [1, 7, 20])
def test_nodes_are_connected_by_either_direction_and_to_themselves(n):
    raw, connected = draw(2, 3, n, n, 3), unwritten(2, 3, n, n)
    pairs.connect(raw, torch.tensor([0.5, torch.inf, 2.0], device=DEVICE), connected)
    both = raw + raw.transpose(2, 3)
    expected = torch.eye(n, device=DEVICE).bool() | (both[..., 0] > 0.5) | (both[..., 2] > 2.0)
    assert torch.equal(connected, expected.float())


def test_without_numbers_nodes_are_connected_to_themselves():
    connected = unwritten(1, 2, 7, 7)
    pairs.connect(draw(1, 2, 7, 7, 0), draw(0), connected)
    assert torch.equal(connected, torch.eye(7, device=DEVICE).expand(1, 2, 7, 7))
