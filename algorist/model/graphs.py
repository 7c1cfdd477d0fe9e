"""CUDA graphs: work that is recorded once and then replayed at once, kernel after kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


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

    @contextmanager
    def aside(self) -> Iterator[None]:
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
        """A graph of all that some work does on the GPU; nothing of it is done yet."""
        graph = torch.cuda.CUDAGraph()
        with self.aside():
            # Other threads may meanwhile allocate memory for data.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                work()
            finally:
                graph.capture_end()
        return graph
