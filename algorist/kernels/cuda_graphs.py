"""CUDA graphs: kernel launches that are captured once and then replayed in one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any

import torch

from algorist.kernels.fused.streams import beside

CAPTURE_LOCK = RLock()
"""Held while a thread captures a graph, loads kernels for one or returns memory to the GPU. Other
threads may replay graphs meanwhile."""
_WASTED_SHARE = 1 / 16
"""The share of a GPU's memory that a graph pool may waste before it counts as outgrown."""


class CudaGraphs:
    """Captures graphs on one GPU, all of which share one memory pool for intermediate results.

    A result that outlasts a replay must be written to a tensor that was allocated before the
    capture. Tensors that a graph reads or writes must live as long as the graph.
    """

    def __init__(self, device: torch.device, stream: torch.cuda.Stream | None = None):
        """Capture on `stream`, by default a new one."""
        self._device, self._pool = device, torch.cuda.graph_pool_handle()
        # Before others: what a step does beside its main line may wait.
        self.stream = stream or torch.cuda.Stream(device, priority=-1)
        self.is_outgrown = False
        """Whether the latest capture had to enlarge the pool, so that much of it is wasted."""

    def with_own_pool(self) -> CudaGraphs:
        """Return a `CudaGraphs` with the same stream and a memory pool of its own."""
        return CudaGraphs(self._device, self.stream)

    @contextmanager
    def on_stream(self) -> Iterator[None]:
        """Run the block on the capture stream, in order with the work before and after it.

        Work must have run here once before it is captured, so that its kernels are loaded. Work
        with gradients must never have run on another stream: parameters remember theirs.
        """
        current = torch.cuda.current_stream(self._device)
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            yield
        current.wait_stream(self.stream)

    def capture(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        """Capture the kernels that `work` launches, without running them.

        If memory does not suffice, the cache of PyTorch's allocator is emptied and the capture is
        tried again. The cache cannot be emptied during a capture, and emptying it before each one
        would be slow: every block that is freed waits for the GPU.
        """
        with CAPTURE_LOCK:
            with suppress(torch.OutOfMemoryError):
                return self._capture(work)
            torch.cuda.empty_cache()
            return self._capture(work)

    def _capture(self, work: Callable[[], Any]) -> torch.cuda.CUDAGraph:
        graph, before = torch.cuda.CUDAGraph(), self.reserved_bytes()
        with self.on_stream():
            # Other threads may meanwhile allocate memory for data.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                work()
            except BaseException:
                self._join()
                with suppress(RuntimeError):  # the error of the work is raised instead
                    graph.capture_end()
                if not before:  # it was the only graph, and PyTorch lets no other into its memory
                    self._pool = torch.cuda.graph_pool_handle()
                raise
            graph.capture_end()
        wasted = _WASTED_SHARE * torch.cuda.get_device_properties(self._device).total_memory
        self.is_outgrown = before > wasted and self.reserved_bytes() > 1.25 * before
        return graph

    def reset(self) -> None:
        """Use a new memory pool for graphs from now on; the old one is freed with its graphs.

        A graph that is larger than all before cannot use their memory, but they can use its.
        """
        self._pool, self.is_outgrown = torch.cuda.graph_pool_handle(), False
        with CAPTURE_LOCK:
            torch.cuda.empty_cache()

    def _join(self) -> None:
        """Join the side stream after a failure: a capture cannot end while it is forked.

        PyTorch would otherwise believe that the capture is still under way.
        """
        aside = beside(self.stream)
        with torch.cuda.stream(aside):
            has_begun = torch.cuda.is_current_stream_capturing()
        if has_begun:
            self.stream.wait_stream(aside)

    def reserved_bytes(self) -> int:
        """The size of the memory pool in bytes."""
        return sum(segment["total_size"] for segment in torch.cuda.memory_snapshot(self._pool))
