"""Graphs: the stream on which work is captured."""

from contextlib import nullcontext

import pytest
import torch

from algorist.model.graphs import Graphs


class Stream:
    """Notes whom it waits for."""

    def __init__(self, *_, **options):
        self.options, self.waited = options, []

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
    graphs = Graphs(torch.device("cuda"), given)
    assert graphs.stream is given
    with graphs.aside():
        assert given.waited == [current]
        assert current.waited == []
    assert current.waited == [given]


def test_graphs_have_streams_of_their_own_that_go_first(current):
    one, other = (Graphs(torch.device("cuda")).stream for _ in range(2))
    assert one is not other
    assert one.options == {"priority": -1}
