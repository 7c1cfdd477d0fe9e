"""CUDA graphs: work that is recorded once and then replayed at once, kernel after kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any

import torch

from algorist.kernels.fused.streams import beside

CAPTURES = RLock()
"""Held by whoever captures or gives memory back to a GPU, and loads kernels for that: of several
threads that train, one at a time. Meanwhile others may replay."""
_LITTLE = 1 / 16
"""This share of a GPU's memory may be wasted."""


class Graphs:
    """Captures work on one GPU. All graphs share the memory of what they compute on the way.

    So what is to outlast a replay must be written to tensors that were made before the capture,
    and those that a graph reads and writes must be kept alive as long as the graph.
    """

    def __init__(self, device: torch.device, stream: torch.cuda.Stream | None = None):
        """Capture on a new stream, or on a given one."""
        self._device, self._pool = device, torch.cuda.graph_pool_handle()
        # Before others: what a step does beside its main line may wait.
        self.stream = stream or torch.cuda.Stream(device, priority=-1)
        self.is_outgrown = False
        """Whether the latest graph found little room in the memory of those before it."""

    def others(self) -> Graphs:
        """Captures other graphs on the same stream, which have memory of their own."""
        return Graphs(self._device, self.stream)

    @contextmanager
    def on_stream(self) -> Iterator[None]:
        """Work on the stream of captures, after all before it and before all after it.

        What is captured must have run here once, so that its kernels are loaded. Work with
        gradients must never have run elsewhere: parameters remember the stream they were used on.
        """
        current = torch.cuda.current_stream(self._device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            yield
        current.wait_stream(self.stream)

    def captured(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        """A graph of all that some work does on the GPU; nothing of it is done yet.

        If it finds no room, PyTorch gives back what it keeps for later, and the work is captured
        again: during a capture nothing can be given back, and before each it would take long. The
        GPU is waited for with every piece, while others keep it busy.
        """
        with CAPTURES:
            with suppress(torch.OutOfMemoryError):
                return self._captured(work)
            torch.cuda.empty_cache()
            return self._captured(work)

    def _captured(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        graph, before = torch.cuda.CUDAGraph(), self.reserved_bytes()
        with self.on_stream():
            # Other threads may meanwhile allocate memory for data.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                work()
            except BaseException:
                self._join()
                with suppress(RuntimeError):  # what is told is why the work failed
                    graph.capture_end()
                if not before:  # it was the only graph, and PyTorch lets no other into its memory
                    self._pool = torch.cuda.graph_pool_handle()
                raise
            graph.capture_end()
        little = _LITTLE * torch.cuda.get_device_properties(self._device).total_memory
        self.is_outgrown = before > little and self.reserved_bytes() > 1.25 * before
        return graph

    def reset(self) -> None:
        """Have new memory for the graphs to come; that of others is free when they are gone.

        A graph that is larger than all before cannot use their memory, but they can use its.
        """
        self._pool, self.is_outgrown = torch.cuda.graph_pool_handle(), False
        with CAPTURES:
            torch.cuda.empty_cache()

    def _join(self) -> None:
        """Bring back what was begun beside the work: without that a capture cannot end.

        And of one that has not ended PyTorch would go on to think that it is under way.
        """
        aside = beside(self.stream)
        with torch.cuda.stream(aside):
            has_begun = torch.cuda.is_current_stream_capturing()
        if has_begun:
            self.stream.wait_stream(aside)

    def reserved_bytes(self) -> int:
        """What the memory of the graphs amounts to."""
        return sum(segment["total_size"] for segment in torch.cuda.memory_snapshot(self._pool))
