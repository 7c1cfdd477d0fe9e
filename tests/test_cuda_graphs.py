"""CudaGraphs: the stream on which work is captured, and the memory that it takes."""

import weakref
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch
from small import needs_gpu

from algorist.kernels import cuda_graphs as home
from algorist.kernels.cuda_graphs import CudaGraphs
from algorist.kernels.fused.streams import SideStream, beside

GB = 2**30


class Stream:
    """Notes whom it waits for."""

    def __init__(self, *_, **options):
        self.options, self.waited, self.device = options, [], "cuda"

    def wait_stream(self, other):
        self.waited.append(other)


@pytest.fixture
def current(monkeypatch):
    """The stream that others work on."""
    stream = Stream()
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    return stream


def test_graphs_work_on_the_stream_that_they_are_given(current):
    given = Stream()
    graphs = CudaGraphs(torch.device("cuda"), given)
    assert graphs.stream is given
    with graphs.on_stream():
        assert given.waited == [current]
        assert current.waited == []
    assert current.waited == [given]


def test_graphs_have_streams_of_their_own_that_go_first(current):
    one, other = (CudaGraphs(torch.device("cuda")) for _ in range(2))
    assert one.stream is not other.stream
    assert one.stream.options == {"priority": -1}
    assert one.with_own_pool().stream is one.stream


# Captures, as far as they can be told without a GPU


class Card:
    """Stands for what PyTorch says of captures and memory."""

    def __init__(self, monkeypatch):
        self.segments, self.capturing, self._active = [], set(), []
        self.ended, self.broken, self.uses = 0, False, {}
        self.pools, self.given_back = 0, 0
        card = self

        class Graph:
            def capture_begin(self, *, pool, capture_error_mode):
                if card.uses.get(pool) == 0:
                    raise RuntimeError("the memory of graphs that are all gone")
                card.uses[pool] = card.uses.get(pool, 0) + 1
                weakref.finalize(self, card.gone, pool)

            def capture_end(self):
                card.ended += 1
                if card.broken:
                    raise RuntimeError("no graph")

        def handle():
            card.pools += 1
            return (0, card.pools)

        @contextmanager
        def active(stream):
            card._active.append(stream)
            yield
            card._active.pop()

        monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
        monkeypatch.setattr(torch.cuda, "graph_pool_handle", handle)
        monkeypatch.setattr(torch.cuda, "stream", active)
        monkeypatch.setattr(torch.cuda, "memory_snapshot", card.segments_of)
        monkeypatch.setattr(torch.cuda, "empty_cache", card.give_back)
        memory = SimpleNamespace(total_memory=64 * GB)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: memory)
        monkeypatch.setattr(
            torch.cuda,
            "is_current_stream_capturing",
            lambda: card._active[-1] in card.capturing,
        )

    def gone(self, pool):
        self.uses[pool] -= 1

    def take(self, size, pool):
        self.segments.append({"total_size": size, "segment_pool_id": pool})

    def segments_of(self, pool):
        return [each for each in self.segments if each["segment_pool_id"] == pool]

    def give_back(self):
        self.given_back += 1


def test_a_graph_that_finds_no_room_in_the_memory_of_others_says_so(current, monkeypatch):
    card = Card(monkeypatch)
    graphs = CudaGraphs(torch.device("cuda"))
    kept = []
    for size, outgrown in ((5 * GB, False), (GB, False), (0, False), (2 * GB, True)):
        kept.append(graphs.capture(lambda size=size: card.take(size, (0, 1))))
        assert graphs.is_outgrown == outgrown
    kept.clear()
    graphs.reset()
    assert not graphs.is_outgrown
    for size, outgrown in ((3 * GB, False), (3 * GB, False), (6 * GB, True)):
        kept.append(graphs.capture(lambda size=size: card.take(size, (0, 2))))
        assert graphs.is_outgrown == outgrown


def test_memory_is_given_back_only_to_a_capture_that_finds_no_room(current, monkeypatch):
    card, tries = Card(monkeypatch), []

    def work(enough):
        tries.append(card.given_back)
        if card.given_back < enough:
            raise torch.OutOfMemoryError("full")

    graphs = CudaGraphs(torch.device("cuda"))
    kept = [graphs.capture(lambda enough=enough: work(enough)) for enough in (0, 1)]
    assert len(kept) == 2
    assert tries == [0, 0, 1]
    with pytest.raises(torch.OutOfMemoryError, match="full"):
        graphs.capture(lambda: work(3))
    assert tries == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("has_begun", [True, False])
def test_a_capture_that_fails_ends_with_what_was_begun_beside_it(current, monkeypatch, has_begun):
    card = Card(monkeypatch)
    graphs = CudaGraphs(torch.device("cuda"))
    side_stream = beside(graphs.stream)

    def failing():
        if has_begun:
            card.capturing.add(side_stream)
        raise torch.OutOfMemoryError("full")

    for broken in (False, True):  # what is told is why the work failed
        card.broken, graphs.stream.waited = broken, []
        with pytest.raises(torch.OutOfMemoryError, match="full"):
            graphs.capture(failing)
    assert card.ended == 4  # each was tried twice
    assert graphs.stream.waited == [current, *[side_stream] * has_begun] * 2
    card.broken = False
    assert graphs.capture(lambda: None)


# On a GPU


@needs_gpu
@pytest.mark.parametrize("when", ["before", "beside", "after"])
def test_after_a_capture_that_failed_others_succeed(when):
    device = torch.device("cuda")
    graphs, numbers = CudaGraphs(device), torch.zeros(1 << 20, device=device)

    def work(fail):
        side_stream = SideStream(device)
        if fail and when == "before":
            raise torch.OutOfMemoryError
        with side_stream.work():
            more = numbers + 1
            if fail and when == "beside":
                raise torch.OutOfMemoryError
        if fail and when == "after":
            raise torch.OutOfMemoryError
        side_stream.join()
        numbers.copy_(more)

    with graphs.on_stream():
        work(fail=False)
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            graphs.capture(lambda: work(fail=True))
    graph = graphs.capture(lambda: work(fail=False))
    for _ in range(3):
        graph.replay()
    assert numbers.eq(4).all()


@needs_gpu
def test_memory_of_graphs_is_known_and_given_back(monkeypatch):
    monkeypatch.setattr(home, "_WASTED_SHARE", 0)
    device = torch.device("cuda")
    graphs, total = CudaGraphs(device), torch.zeros((), device=device)

    def captured(megabytes):
        return graphs.capture(lambda: total.add_(torch.ones(megabytes << 18, device=device).sum()))

    with graphs.on_stream():
        total.add_(torch.ones(4, device=device).sum())
    total.zero_()
    small, large = captured(64), captured(256)
    assert graphs.is_outgrown
    assert 320 << 20 <= graphs.reserved_bytes() <= 400 << 20
    del small, large
    graphs.reset()
    graph, reserved = captured(256), torch.cuda.memory_reserved()
    smaller = captured(64)
    assert not graphs.is_outgrown
    assert 256 << 20 <= graphs.reserved_bytes() <= 300 << 20
    assert torch.cuda.memory_reserved() - reserved < 32 << 20
    graph.replay()
    smaller.replay()
    assert total == (256 + 64) << 18
