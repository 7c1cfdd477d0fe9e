"""The engine of a training: gradients, losses and updates of one window after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from algorist.kernels.fused.streams import on
from algorist.model.losses import feature_losses
from algorist.model.net import Net
from algorist.model.scan import Carry
from algorist.model.sparse.window import AnyWindow
from algorist.model.window import Window
from algorist.training.config import Config
from algorist.training.loss_terms import WeightedTerms
from algorist.training.optimizer import Optimizer
from algorist.training.packing import PackedBatch, StreamKey, pack_lanes
from algorist.training.parallel import ALONE, Peers


class Engine:
    """A net in training: its optimizer, the carries of its chunks, and the sums of its losses.

    Losses are summed on the device, so no step waits for a result of the one before.
    """

    fit = staticmethod(pack_lanes)
    """The function that packs windows for this engine."""

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

        The bytes of the packed batch may be overwritten when this returns.
        """
        with on(self.net.device):
            self._learn(packed_batch.key, packed_batch.window(self.net.device))

    def update(self) -> None:
        """Change the weights by accumulated gradients."""
        with on(self.net.device):
            self._change_weights()

    def idle(self) -> bool:
        """Whether the device has finished all steps."""
        return not self._on_gpu or torch.cuda.current_stream(self.net.device).query()

    def losses(self) -> dict[str, dict[str, list[float]]]:
        """The sums of the losses of each task, by feature and seed."""
        everything = iter(torch.cat([own.sums for own in self._losses.values()]).tolist())
        return {
            task: {name: next(everything) for name in own.names}
            for task, own in self._losses.items()
        }

    def set_losses(self, sums: Mapping[str, Mapping[str, list[float]]]) -> None:
        """Set the sums to those that `losses` returned."""
        for task, own in self._losses.items():
            if len(sums[task]) > len(own.names):
                own.add_names(sums[task])
                self.has_further_losses = True
            rows = [sums[task][name] for name in own.names]
            own.sums.copy_(torch.tensor(rows, dtype=torch.float64))

    def clear_losses(self) -> None:
        """Set all sums to zero."""
        for own in self._losses.values():
            own.sums.zero_()

    @property
    def _on_gpu(self) -> bool:
        return self.net.device.type == "cuda"

    def _learn(self, key: StreamKey, window: AnyWindow) -> None:
        """The learning step: gradients, losses, an update, and the carry for the next chunk."""
        losses, carry = self._differentiate(key, window)
        self._losses[key.algorithm].sums += self._peers.all_reduce(losses)
        if self._updates_at_once:
            self._change_weights()
        if self._chunked:
            self._store_carry(key, carry)

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
            self._add_further_losses(kept, parts, self._features[algorithm])
        losses = torch.stack([parts[name] for name in kept.names])
        losses.backward(kept.ones)
        return losses.detach(), rollout.carry.detach()

    def _add_further_losses(
        self, kept: _LossSums, parts: dict[str, Tensor], features: Sequence[str]
    ) -> None:
        """Add sums for losses beside those of features: means over the lanes of all processes."""
        kept.add_names(parts)
        self.has_further_losses = True
        for name in kept.names[len(features) :]:
            parts[name] = parts.get(name, kept.ones[0] * 0.0) * self._lanes_share

    def _store_carry(self, key: StreamKey, carry: Carry) -> None:
        """Store the carry of a stream in the same memory each time."""
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
        """Add sums for new parts of the loss."""
        new = [name for name in names if name not in self.names]
        if new:
            grown = _LossSums([*self.names, *new], self._net)
            grown.sums[: len(self.names)] = self.sums
            self.names, self.sums, self.ones = grown.names, grown.sums, grown.ones
