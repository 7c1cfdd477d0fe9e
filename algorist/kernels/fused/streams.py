"""Work that runs beside the rest of a step, on a stream of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch


class SideStream:
    """A second stream. On devices without streams all runs in turn."""

    def __init__(self, device: torch.device):
        on_gpu = device.type == "cuda"
        self._device, self._forked = device, False
        self._stream = beside(torch.cuda.current_stream(device)) if on_gpu else None

    @contextmanager
    def work(self) -> Iterator[None]:
        """What is begun here may run beside what comes after it, until `join`."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        self._forked = True
        with torch.cuda.stream(self._stream):
            yield

    def join(self) -> None:
        """What comes after this waits for the work aside."""
        if self._forked:  # in a graph, a stream that has not forked from it cannot be waited for
            self._forked = False
            torch.cuda.current_stream(self._device).wait_stream(self._stream)


def on(device: torch.device) -> AbstractContextManager:
    """Kernels that are launched here go to a device, whichever is the current one elsewhere."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@cache
def beside(stream: torch.cuda.Stream) -> torch.cuda.Stream:
    """The second stream of a stream. Nets that are trained at once each have one of their own."""
    return torch.cuda.Stream(stream.device)
