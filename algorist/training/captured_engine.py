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
from algorist.model.sparse_window import AnyWindow
from algorist.training.config import Config
from algorist.training.engine import Engine
from algorist.training.packing import PackedBatch, Shape, StreamKey, bucket_window
from algorist.training.time_accounting import TimeAccount

_PINNED_BUFFERS = 8
"""How many packed batches may be in flight to a GPU; a capture waits for all of them."""


class CapturedEngine(Engine):
    """An engine whose steps are CUDA graphs, one for each key and shape of windows.

    A graph reads its window from bytes of its own. They are filled while the step before runs.
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
        """Windows are copied to the GPU on a new stream, or on a given one."""
        super().__init__(net, config)
        # An optimizer of one's own is not captured: it may do what a CUDA graph cannot.
        self._updates_at_once = not self._accumulates and self.optimizer.is_capturable
        self._graphs, self._time_account = graphs, time_account or TimeAccount()
        self._steps: dict[tuple[StreamKey, Shape], _Step] = {}
        self._loaded: set[tuple[StreamKey, Shape]] = set()
        """Those whose kernels are loaded."""
        self._copies = copies or torch.cuda.Stream(net.device)
        self._pinned_buffers = cycle(
            [_PinnedBuffer(pinned=self._on_gpu) for _ in range(_PINNED_BUFFERS)]
        )
        self._gradients: dict[str, Tensor] = {}
        """Where gradients are kept for an update that is not part of a captured step."""
        self._learning: dict[StreamKey, list[str]] = {}
        """The parameters that have a gradient, by key."""
        self._update: torch.cuda.CUDAGraph | None = None

    def learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a window: unless gradients accumulate, the weights change."""
        step = self._steps.get(packed_batch.shape)
        if step is None:
            with self._capturing():
                step = self._steps[packed_batch.shape] = self._captured(packed_batch)
        pinned, current = next(self._pinned_buffers), torch.cuda.current_stream(self.net.device)
        content = pinned.taken(packed_batch.content)
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
                self._update = self._graphs.capture(lambda: self._apply_gradients(self._gradients))
        self._update.replay()

    @contextmanager
    def _capturing(self) -> Iterator[None]:
        """When no other thread does, and no step is under way any more."""
        torch.cuda.current_stream(self.net.device).synchronize()
        with self._time_account.on("captures"), CAPTURE_LOCK:
            yield

    def _rounding(self, key: StreamKey) -> AbstractContextManager[None]:
        """How the products of a step are rounded; the fused scan rounds its own."""
        net = self.net
        if net.kernels == "plain" or net.precision == "fp32" or net.is_fused(*key[:2]):
            return nullcontext()
        return rounded_products()

    def _captured(self, packed_batch: PackedBatch) -> _Step:
        """The step of a packed batch, ready for a replay. The state of training is not touched."""
        key, content = packed_batch.key, packed_batch.content.to(self.net.device, copy=True)
        window = packed_batch.layout.window(content)
        if packed_batch.shape not in self._loaded:
            self._load(key, window)
            self._loaded.add(packed_batch.shape)

        def learn() -> None:
            self._set_gradients(self._gradients)  # an attempt before may have left others
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

    def _load(self, key: StreamKey, window: AnyWindow) -> None:
        """Have all kernels of a step loaded and all made that a capture finds there."""
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
        """Have all that was captured captured again when it comes, in less memory."""
        self._steps.clear()
        self._update = None
        self._graphs.reset()

    @torch.no_grad()
    def _empty_carry(self, key: StreamKey, window: AnyWindow) -> Carry:
        """Zeros: the first window begins all of its lanes, so it does not read them."""
        return self.net.rollout(key.algorithm, window).carry.detach().map(torch.zeros_like)

    def _make_gradients(self) -> None:
        """Room where gradients of several graphs add up, for all parameters that have one."""
        for name, parameter in self.optimizer.parameters.items():
            if parameter.grad is not None and name not in self._gradients:
                self._gradients[name] = torch.zeros_like(parameter)

    def _set_gradients(self, gradients: Mapping[str, Tensor]) -> None:
        for name, parameter in self.optimizer.parameters.items():
            parameter.grad = gradients.get(name)

    def _apply_gradients(self, gradients: Mapping[str, Tensor]) -> None:
        self._set_gradients(gradients)  # an attempt before may have left others
        self.optimizer.update()
        torch._foreach_zero_(list(gradients.values()))


class _Step(NamedTuple):
    """A captured step, the bytes that it reads, and the end of its latest replay."""

    graph: torch.cuda.CUDAGraph
    content: Tensor
    done: torch.cuda.Event


class _PinnedBuffer:
    """Memory in which bytes wait for their copy to a GPU, which is fastest from pinned memory."""

    def __init__(self, *, pinned: bool):
        self._pinned, self._room = pinned, torch.empty(0, dtype=torch.uint8)
        self.left = torch.cuda.Event()
        """When the bytes have been copied. It is to be recorded after each use."""

    def taken(self, content: Tensor) -> Tensor:
        """Some bytes, here, as soon as those before them have left."""
        self.left.synchronize()
        size = len(content)
        if len(self._room) < size:
            self._room = torch.empty(size, dtype=torch.uint8, pin_memory=self._pinned)
        room = self._room[:size]
        np.copyto(room.numpy(), content.numpy())  # in this thread alone: all others may be at work
        return room
