"""The engine: it learns from one window after the other.

`Engine` says what a learning step is and computes it directly, on any device. `CapturedEngine`
captures the very same step as a CUDA graph, once for each shape of windows, and replays it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.kernels.fused.streams import on
from algorist.model import objective
from algorist.model.graphs import CAPTURES, Graphs
from algorist.model.net import Net
from algorist.model.scan import Carry
from algorist.model.window import Window
from algorist.training.bucketing import bucket_window, pack_window
from algorist.training.config import Config
from algorist.training.loader import PackedBatch, StreamKey, pack_batch
from algorist.training.optimizer import Optimizer
from algorist.training.packing import Shape
from algorist.training.parallel import ALONE, Peers
from algorist.training.task_stream import TaskBatch
from algorist.training.time_accounting import TimeAccount

PerSeed = list[float]

_PINNED_BUFFERS = 8
"""How many packed batches may be in flight to a GPU; a capture waits for all of them."""


class Engine:
    """A net in training: its optimizer, what chunks hand on, and the losses so far.

    Losses are added up where they are computed, so that no step waits for another's result.
    """

    fit = staticmethod(pack_window)
    """How windows are put into shape."""

    def __init__(self, net: Net, config: Config, *, captured: bool = False, peers: Peers = ALONE):
        self.net, self._peers = net, peers
        self.optimizer = Optimizer(net, config.optimizer, captured=captured)
        self.carries: dict[StreamKey, Carry] = {}
        self._chunked = config.data.chunk > 0
        self._accumulates = config.optimizer.accumulate
        self._features = {
            name: [feature.name for feature in net.decoded(spec)]
            for name, spec in net.specs.items()
        }
        counts = [len(features) for features in self._features.values()]
        self._all_sums = torch.zeros(
            sum(counts), net.replicas, dtype=torch.float64, device=net.device
        )
        self._sums = dict(zip(self._features, self._all_sums.split(counts), strict=True))
        self._ones = torch.ones(max(counts), net.replicas, device=net.device)

    def packed_batch(self, task_batch: TaskBatch) -> PackedBatch:
        """The packed batch that this engine can learn from."""
        return pack_batch(task_batch, self.fit)

    def learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a window: unless gradients accumulate, the weights change.

        When this returns the packed batch's bytes are no longer needed.
        """
        with on(self.net.device):
            self._learn(packed_batch.place, packed_batch.packed.to(self.net.device).window)

    def update(self) -> None:
        """Change the weights by accumulated gradients."""
        with on(self.net.device):
            self._change_weights()

    def idle(self) -> bool:
        """Whether all that was begun is done."""
        return not self._on_gpu or torch.cuda.current_stream(self.net.device).query()

    def losses(self) -> dict[str, dict[str, PerSeed]]:
        """The sums of the losses of each task, by feature and seed."""
        everything = iter(self._all_sums.tolist())
        return {
            task: {name: next(everything) for name in features}
            for task, features in self._features.items()
        }

    def set_losses(self, sums: Mapping[str, Mapping[str, PerSeed]]) -> None:
        """Go on with sums that `losses` returned."""
        rows = [sums[task][name] for task, names in self._features.items() for name in names]
        self._all_sums.copy_(torch.tensor(rows, dtype=torch.float64))

    def clear_losses(self) -> None:
        """Start all sums anew."""
        self._all_sums.zero_()

    @property
    def _on_gpu(self) -> bool:
        return self.net.device.type == "cuda"

    def _learn(self, place: StreamKey, window: Window) -> None:
        """The learning step: gradients, losses, an update, and what the next chunk starts from."""
        losses, carry = self._differentiate(place, window)
        self._sums[place.algorithm] += self._peers.total(losses)
        if not self._accumulates:
            self._change_weights()
        if self._chunked:
            self._keep(place, carry)

    def _change_weights(self) -> None:
        """Take a step along the gradients of all processes."""
        self._peers.add_up_gradients(self.optimizer.parameters.values())
        self.optimizer.step()

    def _differentiate(self, place: StreamKey, window: Window) -> tuple[Tensor, Carry]:
        """Add to the gradients; returns the losses of all features, (F, S), and the new carry."""
        algorithm, net = place.algorithm, self.net
        net.train()
        rollout = net.rollout(algorithm, window, self.carries.get(place))
        parts = objective.losses(net.specs[algorithm], rollout, window)
        losses = torch.stack([parts[name] for name in self._features[algorithm]])
        losses.backward(self._ones[: len(losses)])
        return losses.detach(), rollout.carry.detach()

    def _keep(self, place: StreamKey, carry: Carry) -> None:
        """Carries stay where they are in memory, once they are there."""
        if place not in self.carries:
            hints = {name: value.clone() for name, value in carry.hints.items()}
            self.carries[place] = Carry(carry.hidden.clone(), hints)
            return
        kept = self.carries[place]
        kept.hidden.copy_(carry.hidden)
        for name, value in kept.hints.items():
            value.copy_(carry.hints[name])


class CapturedEngine(Engine):
    """An engine whose steps are CUDA graphs, one for each place and shape of windows.

    A graph reads its window from bytes of its own. They are filled while the step before runs.
    """

    fit = staticmethod(bucket_window)

    def __init__(
        self,
        net: Net,
        config: Config,
        graphs: Graphs,
        copies: torch.cuda.Stream | None = None,
        *,
        time_account: TimeAccount | None = None,
    ):
        """Windows are copied to the GPU on a new stream, or on a given one."""
        super().__init__(net, config, captured=True)
        self._graphs, self._time_account = graphs, time_account or TimeAccount()
        self._steps: dict[tuple[StreamKey, Shape], _Step] = {}
        self._loaded: set[tuple[StreamKey, Shape]] = set()
        """Those whose kernels are loaded."""
        self._copies = copies or torch.cuda.Stream(net.device)
        self._pinned_buffers = cycle(
            [_PinnedBuffer(pinned=self._on_gpu) for _ in range(_PINNED_BUFFERS)]
        )
        self._gradients: dict[str, Tensor] = {}
        self._update: torch.cuda.CUDAGraph | None = None

    def learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a window: unless gradients accumulate, the weights change."""
        step = self._steps.get(packed_batch.shape)
        if step is None:
            with self._capturing():
                step = self._steps[packed_batch.shape] = self._captured(packed_batch)
        pinned, current = next(self._pinned_buffers), torch.cuda.current_stream(self.net.device)
        content = pinned.taken(packed_batch.packed.content)
        with torch.cuda.stream(self._copies):
            self._copies.wait_event(step.done)
            step.content.copy_(content, non_blocking=True)
            pinned.left.record(self._copies)
        current.wait_event(pinned.left)
        step.graph.replay()
        step.done.record(current)

    def update(self) -> None:
        """Change the weights by accumulated gradients."""
        if self._update is None:
            with self._capturing():
                self._update = self._graphs.captured(self._apply_gradients)
        self._update.replay()

    @contextmanager
    def _capturing(self) -> Iterator[None]:
        """When no other thread does, and no step is under way any more."""
        torch.cuda.current_stream(self.net.device).synchronize()
        with self._time_account.on("captures"), CAPTURES:
            yield

    def _captured(self, packed_batch: PackedBatch) -> _Step:
        """The step of a packed batch, ready for a replay. The state of training is not touched."""
        place, content = (
            packed_batch.place,
            packed_batch.packed.content.to(self.net.device, copy=True),
        )
        window = packed_batch.packed.layout.window(content)
        if packed_batch.shape not in self._loaded:
            self._load(place, window)
            self._loaded.add(packed_batch.shape)

        def learn() -> None:
            self._set_gradients(self._gradients)  # an attempt before may have left others
            self._learn(place, window)

        graph = self._graphs.captured(learn)
        if self._graphs.is_outgrown:
            del graph
            self._forget_steps()
            graph = self._graphs.captured(learn)
        done = torch.cuda.Event()
        done.record(torch.cuda.current_stream(self.net.device))
        return _Step(graph, content, done)

    def _load(self, place: StreamKey, window: Window) -> None:
        """Have all kernels of a step loaded and all made that a capture finds there."""
        self._set_gradients({})
        with self._graphs.aside():
            if self._chunked and place not in self.carries:
                self.carries[place] = self._empty_carry(place, window)
            self._differentiate(place, window)
            self.optimizer.prepare()
        if self._accumulates:
            self._make_gradients()
        self._set_gradients({})

    def _forget_steps(self) -> None:
        """Have all that was captured captured again when it comes, in less memory."""
        self._steps.clear()
        self._update = None
        self._graphs.begin_anew()

    @torch.no_grad()
    def _empty_carry(self, place: StreamKey, window: Window) -> Carry:
        """Zeros: the first window begins all of its lanes, so it does not read them."""
        carry = self.net.rollout(place.algorithm, window).carry.detach()
        hints = {name: torch.zeros_like(value) for name, value in carry.hints.items()}
        return Carry(torch.zeros_like(carry.hidden), hints)

    def _make_gradients(self) -> None:
        """Room where gradients of several graphs add up, for all parameters that have one."""
        for name, parameter in self.optimizer.parameters.items():
            if parameter.grad is not None and name not in self._gradients:
                self._gradients[name] = torch.zeros_like(parameter)

    def _set_gradients(self, gradients: Mapping[str, Tensor]) -> None:
        for name, parameter in self.optimizer.parameters.items():
            parameter.grad = gradients.get(name)

    def _apply_gradients(self) -> None:
        self._set_gradients(self._gradients)  # an attempt before may have left others
        self.optimizer.update()
        torch._foreach_zero_(list(self._gradients.values()))


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
