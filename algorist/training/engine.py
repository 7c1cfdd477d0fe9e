"""The engine: it learns from one window after the other.

`Engine` says what a learning step is and computes it directly, on any device. `CapturedEngine`
captures the very same step as a CUDA graph, once for each shape of windows, and replays it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import cycle
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algorist.kernels.cuda_graphs import CAPTURE_LOCK, CudaGraphs
from algorist.kernels.fused.streams import on
from algorist.kernels.rounding import rounded_products
from algorist.model.losses import feature_losses
from algorist.model.net import Net
from algorist.model.scan import Carry
from algorist.model.sparse.window import AnyWindow
from algorist.model.window import Window
from algorist.training.config import Config
from algorist.training.loss_terms import WeightedTerms
from algorist.training.optimizer import Optimizer
from algorist.training.packing import PackedBatch, Shape, StreamKey, bucket_window, pack_lanes
from algorist.training.parallel import ALONE, Peers
from algorist.training.time_accounting import TimeAccount

_PINNED_BUFFERS = 8
"""How many packed batches may be in flight to a GPU; a capture waits for all of them."""


class Engine:
    """A net in training: its optimizer, what chunks hand on, and the losses so far.

    Losses are added up where they are computed, so that no step waits for another's result.
    """

    fit = staticmethod(pack_lanes)
    """How windows are put into shape."""

    def __init__(self, net: Net, config: Config, *, peers: Peers = ALONE):
        self.net, self._peers = net, peers
        self.optimizer = Optimizer(net, config.optimizer)
        terms = config.optimizer.loss_terms
        self._terms = WeightedTerms(terms) if terms else None
        share = peers.share
        self._lanes_share = share.of_lanes(config.data.batch_size) if share.of > 1 else 1.0
        self.carries: dict[StreamKey, Carry] = {}
        self._chunked = config.data.chunk > 0
        self._accumulates = config.optimizer.accumulate
        self._updates_at_once = not self._accumulates
        """Whether an update is part of every learning step."""
        self.has_further_losses = False
        """Whether there are losses beside those of features: terms, or penalties of a processor."""
        self._features = {
            name: [feature.name for feature in net.decoded_features(spec)]
            for name, spec in net.specs.items()
        }
        self._losses = {name: _LossSums(own, net) for name, own in self._features.items()}

    def learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a window: unless gradients accumulate, the weights change.

        When this returns the packed batch's bytes are no longer needed.
        """
        with on(self.net.device):
            self._learn(packed_batch.key, packed_batch.window(self.net.device))

    def update(self) -> None:
        """Change the weights by accumulated gradients."""
        with on(self.net.device):
            self._change_weights()

    def idle(self) -> bool:
        """Whether all that was begun is done."""
        return not self._on_gpu or torch.cuda.current_stream(self.net.device).query()

    def losses(self) -> dict[str, dict[str, list[float]]]:
        """The sums of the losses of each task, by feature and seed."""
        everything = iter(torch.cat([own.sums for own in self._losses.values()]).tolist())
        return {
            task: {name: next(everything) for name in own.names}
            for task, own in self._losses.items()
        }

    def set_losses(self, sums: Mapping[str, Mapping[str, list[float]]]) -> None:
        """Go on with sums that `losses` returned."""
        for task, own in self._losses.items():
            if len(sums[task]) > len(own.names):
                own.add_names(sums[task])
                self.has_further_losses = True
            rows = [sums[task][name] for name in own.names]
            own.sums.copy_(torch.tensor(rows, dtype=torch.float64))

    def clear_losses(self) -> None:
        """Start all sums anew."""
        for own in self._losses.values():
            own.sums.zero_()

    @property
    def _on_gpu(self) -> bool:
        return self.net.device.type == "cuda"

    def _learn(self, key: StreamKey, window: AnyWindow) -> None:
        """The learning step: gradients, losses, an update, and what the next chunk starts from."""
        losses, carry = self._differentiate(key, window)
        self._losses[key.algorithm].sums += self._peers.all_reduce(losses)
        if self._updates_at_once:
            self._change_weights()
        if self._chunked:
            self._keep(key, carry)

    def _change_weights(self) -> None:
        """Take a step along the gradients of all processes."""
        self._peers.all_reduce_gradients(self.optimizer.parameters.values())
        self.optimizer.step()

    def _differentiate(self, key: StreamKey, window: AnyWindow) -> tuple[Tensor, Carry]:
        """Add to the gradients; returns all parts of the loss, (F, S), and the new carry."""
        algorithm, net, kept = key.algorithm, self.net, self._losses[key.algorithm]
        net.train()
        rollout = net.rollout(algorithm, window, self.carries.get(key))
        spec = net.specs[algorithm]
        parts = feature_losses(spec, rollout, window)
        if self._terms is not None:
            assert isinstance(window, Window), "sparse nets have no further loss terms"
            parts = self._terms.weighted(algorithm, spec, parts, rollout, window)
        if len(parts) > len(self._features[algorithm]) or self.has_further_losses:
            self._weigh_further(kept, parts, self._features[algorithm])
        losses = torch.stack([parts[name] for name in kept.names])
        losses.backward(kept.ones)
        return losses.detach(), rollout.carry.detach()

    def _weigh_further(
        self, kept: _LossSums, parts: dict[str, Tensor], features: Sequence[str]
    ) -> None:
        """Have sums for all parts beside features: means over the lanes of all processes."""
        kept.add_names(parts)
        self.has_further_losses = True
        for name in kept.names[len(features) :]:
            parts[name] = parts.get(name, kept.ones[0] * 0.0) * self._lanes_share

    def _keep(self, key: StreamKey, carry: Carry) -> None:
        """Carries stay where they are in memory, once they are there."""
        if key not in self.carries:
            self.carries[key] = carry.map(torch.clone)
            return
        new = carry.tensors()
        for name, value in self.carries[key].tensors().items():
            value.copy_(new[name])


class _LossSums:
    """The sums of all parts of a task's loss, on the device: features first, then further ones."""

    def __init__(self, names: Sequence[str], net: Net):
        self.names, self._net = list(names), net
        self.sums = torch.zeros(len(names), net.replicas, dtype=torch.float64, device=net.device)
        self.ones = torch.ones(len(names), net.replicas, device=net.device)

    def add_names(self, names: Iterable[str]) -> None:
        """Have sums for parts that were not known yet."""
        new = [name for name in names if name not in self.names]
        if new:
            grown = _LossSums([*self.names, *new], self._net)
            grown.sums[: len(self.names)] = self.sums
            self.names, self.sums, self.ones = grown.names, grown.sums, grown.ones


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
