"""Side streams: work that overlaps with the rest of a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch


class SideStream:
    """A second stream; on devices without streams, work simply runs in order."""

    def __init__(self, device: torch.device):
        on_gpu = device.type == "cuda"
        self._device, self._forked = device, False
        self._stream = beside(torch.cuda.current_stream(device)) if on_gpu else None

    @contextmanager
    def work(self) -> Iterator[None]:
        """Launch work that may overlap with what is launched after this block, until `join`."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        self._forked = True
        with torch.cuda.stream(self._stream):
            yield

    def join(self) -> None:
        """Let what is launched from now on wait for the work of the side stream."""
        if self._forked:  # in a graph, a stream that has not forked from it cannot be waited for
            self._forked = False
            torch.cuda.current_stream(self._device).wait_stream(self._stream)


def on(device: torch.device) -> AbstractContextManager:
    """Launch kernels on a device, whichever is the current one."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@cache
def beside(stream: torch.cuda.Stream) -> torch.cuda.Stream:
    """The side stream of a stream: each net that is trained at once has its own."""
    return torch.cuda.Stream(stream.device)
