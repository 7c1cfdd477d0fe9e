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
_MARGIN = 1.25
"""So much more than it needs a graph should find free: memory is taken in large pieces."""


def make_room(device: torch.device, needed: float) -> None:
    """Have so many bytes of a GPU's memory free, if PyTorch keeps enough that nobody uses.

    No graph can use what was taken for other work or for another net's graphs. But it is given back
    only where it must be: with each piece of it the GPU is waited for, and others keep it busy.
    """
    free, _ = torch.cuda.mem_get_info(device)
    if free < needed:
        with CAPTURES:
            torch.cuda.empty_cache()


class Graphs:
    """Captures work on one GPU. All graphs share the memory of what they compute on the way.

    So what is to outlast a replay must be written to tensors that were made before the capture,
    and those that a graph reads and writes must be kept alive as long as the graph.
    """

    def __init__(self, device: torch.device, stream: torch.cuda.Stream | None = None):
        """Capture on a new stream, or on a given one."""
        self._device = device
        self._take_new_memory()
        # Before others: what a step does beside its main line may wait.
        self.stream = stream or torch.cuda.Stream(device, priority=-1)

    def _take_new_memory(self) -> None:
        """For the graphs to come; that of others is free when they are gone."""
        self._pool, self._taken = torch.cuda.graph_pool_handle(), 0
        self.is_outgrown = False
        """Whether the latest graph found little room in the memory of those before it."""

    def others(self) -> Graphs:
        """Captures other graphs on the same stream, which have memory of their own."""
        return Graphs(self._device, self.stream)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Work on the stream of captures, after all before it and before all after it."""
        current = torch.cuda.current_stream(self._device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            yield
        current.wait_stream(self.stream)

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Work aside that is to be captured next: its kernels are loaded, and there is room then.

        Work with gradients must never have run elsewhere: parameters remember on which stream.
        """
        torch.cuda.reset_peak_memory_stats(self._device)
        before = torch.cuda.memory_allocated(self._device)
        with self.aside():
            yield
        needed = torch.cuda.max_memory_allocated(self._device) - before
        make_room(self._device, _MARGIN * needed)

    def captured(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        """A graph of all that some work does on the GPU; nothing of it is done yet."""
        with CAPTURES:
            return self._captured(work)

    def _captured(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        graph, before = torch.cuda.CUDAGraph(), torch.cuda.memory_reserved(self._device)
        with self.aside():
            # Other threads may meanwhile allocate memory for data.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                work()
            except BaseException:
                self._join()
                with suppress(RuntimeError):  # what is told is why the work failed
                    graph.capture_end()
                # If this was its only graph, PyTorch lets no other into the memory.
                self._take_new_memory()
                raise
            graph.capture_end()
        more = torch.cuda.memory_reserved(self._device) - before
        little = _LITTLE * torch.cuda.get_device_properties(self._device).total_memory
        self.is_outgrown = self._taken > little and more > 0.25 * self._taken
        self._taken += more
        return graph

    def begin_anew(self) -> None:
        """Have new memory for the graphs to come, when those before are no longer needed.

        A graph that is larger than all before cannot use their memory, but they can use its.
        """
        self._take_new_memory()
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
