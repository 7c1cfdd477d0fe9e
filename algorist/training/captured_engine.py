"""An engine that captures its steps as CUDA graphs, once for each shape of windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import cycle
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.kernels.cuda_graphs import CAPTURE_LOCK, CudaGraphs
from algorist.kernels.rounding import rounded_products
from algorist.model.net import Net
from algorist.model.scan import Carry
from algorist.model.sparse.window import AnyWindow
from algorist.training.config import Config
from algorist.training.engine import Engine
from algorist.training.packing import PackedBatch, Shape, StreamKey, bucket_window
from algorist.training.time_accounting import TimeAccount

_PINNED_BUFFERS = 8
"""How many packed batches may be in flight to a GPU; a capture waits for all of them."""


class CapturedEngine(Engine):
    """An engine whose steps are CUDA graphs, one for each key and shape of windows.

    A graph reads its window from a buffer of its own, which is filled while the previous step runs.
    """

    fit = staticmethod(bucket_window)

    def __init__(
        self,
        net: Net,
        config: Config,
        graphs: CudaGraphs,
        copies: torch.cuda.Stream | None = None,
        *,
        time_account: TimeAccount | None = None,
    ):
        """Windows are copied to the GPU on the stream `copies`, or on a new one."""
        super().__init__(net, config)
        # Registered optimizers are not captured: they may do what a CUDA graph cannot.
        self._updates_at_once = not self._accumulates and self.optimizer.is_capturable
        self._graphs, self._time_account = graphs, time_account or TimeAccount()
        self._steps: dict[tuple[StreamKey, Shape], _Step] = {}
        self._loaded: set[tuple[StreamKey, Shape]] = set()
        """The shapes whose kernels are loaded."""
        self._copies = copies or torch.cuda.Stream(net.device)
        self._pinned_buffers = cycle(
            [_PinnedBuffer(pinned=self._on_gpu) for _ in range(_PINNED_BUFFERS)]
        )
        self._gradients: dict[str, Tensor] = {}
        """The gradients of an update that is not part of a captured step."""
        self._learning: dict[StreamKey, list[str]] = {}
        """The parameters that have a gradient, by key."""
        self._update: torch.cuda.CUDAGraph | None = None

    def learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a window: unless gradients accumulate, the weights change."""
        step = self._steps.get(packed_batch.shape)
        if step is None:
            with self._capturing():
                step = self._steps[packed_batch.shape] = self._capture(packed_batch)
        pinned, current = next(self._pinned_buffers), torch.cuda.current_stream(self.net.device)
        content = pinned.fill(packed_batch.content)
        with torch.cuda.stream(self._copies):
            self._copies.wait_event(step.done)
            step.content.copy_(content, non_blocking=True)
            pinned.left.record(self._copies)
        current.wait_event(pinned.left)
        step.graph.replay()
        if not (self._updates_at_once or self._accumulates):
            names = self._learning[packed_batch.key]
            self._apply_gradients({name: self._gradients[name] for name in names})
        step.done.record(current)

    def update(self) -> None:
        """Change the weights by accumulated gradients."""
        if not self.optimizer.is_capturable:
            self._apply_gradients(self._gradients)
            return
        if self._update is None:
            with self._capturing():
                self._set_gradients(self._gradients)
                with self._graphs.on_stream():
                    self.optimizer.prepare()
                self._update = self._graphs.capture(lambda: self._apply_gradients(self._gradients))
        self._update.replay()

    @contextmanager
    def _capturing(self) -> Iterator[None]:
        """Capture in the block: no other thread captures, and all steps have ended."""
        torch.cuda.current_stream(self.net.device).synchronize()
        with self._time_account.on("captures"), CAPTURE_LOCK:
            yield

    def _rounding(self, key: StreamKey) -> AbstractContextManager[None]:
        """The rounding of matrix products in a step; the fused scan rounds its own."""
        net = self.net
        if net.kernels == "plain" or net.precision == "fp32" or net.is_fused(*key[:2]):
            return nullcontext()
        return rounded_products()

    def _capture(self, packed_batch: PackedBatch) -> _Step:
        """Capture the step of a packed batch; the state of training does not change."""
        key, content = packed_batch.key, packed_batch.content.to(self.net.device, copy=True)
        window = packed_batch.layout.window(content)
        if packed_batch.shape not in self._loaded:
            self._warm_up(key, window)
            self._loaded.add(packed_batch.shape)

        def learn() -> None:
            self._set_gradients(self._gradients)  # a failed attempt may have left others
            with self._rounding(packed_batch.key):
                self._learn(key, window)

        graph = self._graphs.capture(learn)
        if self._graphs.is_outgrown:
            del graph
            self._forget_steps()
            graph = self._graphs.capture(learn)
        done = torch.cuda.Event()
        done.record(torch.cuda.current_stream(self.net.device))
        return _Step(graph, content, done)

    def _warm_up(self, key: StreamKey, window: AnyWindow) -> None:
        """Run the step once outside of a graph, to load its kernels and make its buffers."""
        self._set_gradients({})
        known = list(self._losses[key.algorithm].names)
        with self._graphs.on_stream():
            if self._chunked and key not in self.carries:
                self.carries[key] = self._empty_carry(key, window)
            with self._rounding(key):
                self._differentiate(key, window)
            self.optimizer.prepare()
        if self._losses[key.algorithm].names != known:
            # Captured steps add to sums that have moved.
            kept = {k: v for k, v in self._steps.items() if k[0].algorithm != key.algorithm}
            self._steps = kept
        parameters = self.optimizer.parameters
        self._learning[key] = [n for n, p in parameters.items() if p.grad is not None]
        if not self._updates_at_once:
            self._make_gradients()
        self._set_gradients({})

    def _forget_steps(self) -> None:
        """Drop all graphs: they are captured again, in less memory, when they are needed."""
        self._steps.clear()
        self._update = None
        self._graphs.reset()

    @torch.no_grad()
    def _empty_carry(self, key: StreamKey, window: AnyWindow) -> Carry:
        """Zeros, which no lane reads: all lanes of the first window begin a trajectory."""
        return self.net.rollout(key.algorithm, window).carry.detach().map(torch.zeros_like)

    def _make_gradients(self) -> None:
        """Allocate a gradient for each parameter that has one, in which several graphs add up."""
        for name, parameter in self.optimizer.parameters.items():
            if parameter.grad is not None and name not in self._gradients:
                self._gradients[name] = torch.zeros_like(parameter)

    def _set_gradients(self, gradients: Mapping[str, Tensor]) -> None:
        for name, parameter in self.optimizer.parameters.items():
            parameter.grad = gradients.get(name)

    def _apply_gradients(self, gradients: Mapping[str, Tensor]) -> None:
        self._set_gradients(gradients)  # a failed attempt may have left others
        self.optimizer.update()
        torch._foreach_zero_(list(gradients.values()))


class _Step(NamedTuple):
    """A captured step, the bytes that it reads, and the end of its latest replay."""

    graph: torch.cuda.CUDAGraph
    content: Tensor
    done: torch.cuda.Event


class _PinnedBuffer:
    """A buffer for copies to a GPU, which are fastest from pinned memory."""

    def __init__(self, *, pinned: bool):
        self._pinned, self._room = pinned, torch.empty(0, dtype=torch.uint8)
        self.left = torch.cuda.Event()
        """The end of the copy; record it after each use."""

    def fill(self, content: Tensor) -> Tensor:
        """Copy bytes into the buffer, once those before them have left it."""
        self.left.synchronize()
        size = len(content)
        if len(self._room) < size:
            self._room = torch.empty(size, dtype=torch.uint8, pin_memory=self._pinned)
        room = self._room[:size]
        np.copyto(room.numpy(), content.numpy())  # in this thread alone: all others may be at work
        return room
