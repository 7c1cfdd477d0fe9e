"""Predictions and losses of a net of one seed, as tensors without a replica axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algorist.batch import Batch
from algorist.model.losses import feature_losses
from algorist.model.scan import Rollout
from algorist.model.window import Window

if TYPE_CHECKING:
    from algorist.model.net import Net


@dataclass(frozen=True, repr=False)
class Prediction:
    """The raw predictions of a net for a batch: logits where a value is a choice."""

    algorithm: str
    outputs: Mapping[str, Tensor]
    """(B, ...)"""
    hints: Mapping[str, Tensor]
    """(T - 1, B, ...): the predictions of steps 1 to T - 1."""
    net: Net
    batch: Batch
    """The batch that the net was given."""
    window: Window
    rollout: Rollout

    def __repr__(self) -> str:
        shapes = {
            **{name: tuple(x.shape) for name, x in self.outputs.items()},
            **{name: tuple(x.shape) for name, x in self.hints.items()},
        }
        named = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        return f"Prediction({self.algorithm}: {named})"


def predict_tensors(net: Net, batch: Batch, algorithm: str | None = None) -> Prediction:
    """Predict a batch of the benchmark with a net of one seed; hints are fed back as predicted."""
    if net.replicas != 1:
        raise ValueError(
            f"net: got one of {net.replicas} seeds, expected one seed: take one of them with "
            "learner.replica(0).net, or the best with learner.best_replica().net"
        )
    algorithm = algorithm_of(net, batch, algorithm)
    seen = net.encoding.batch(algorithm, batch.numpy())
    window = net.encoding.window([seen]).to(net.device)
    rollout = net.rollout(algorithm, window)
    steps = max(batch.steps - 1, 0)
    return Prediction(
        algorithm,
        {name: value[0] for name, value in rollout.outputs.items()},
        {name: value[:steps, 0] for name, value in rollout.hints.items()},
        net,
        batch,
        window,
        rollout,
    )


def algorithm_of(net: Net, batch: Batch, algorithm: str | None = None) -> str:
    """The name of a batch's algorithm: the one in the batch, or else the only one of the net."""
    if not isinstance(batch, Batch):
        raise TypeError(
            f"batch: got {type(batch).__name__}, expected a Batch, as of algorist.data.Stream"
        )
    name = algorithm or batch.algorithm
    if name is None and len(net.specs) == 1:
        (name,) = net.specs
    if name is None:
        raise ValueError(
            "batch: got one that does not say its algorithm, and the net serves several: "
            "pass algorithm=..., or use batches of algorist.data.Stream"
        )
    net.spec(name)
    return name


def loss_terms(prediction: Prediction, batch: Batch) -> dict[str, Tensor]:
    """The loss of each feature and penalty, scalar tensors by name."""
    if not isinstance(prediction, Prediction):
        raise TypeError(
            f"prediction: got {type(prediction).__name__}, expected what net(batch) returns"
        )
    if batch is not prediction.batch:
        _expect_same(prediction.batch, batch)
    net, window = prediction.net, prediction.window
    parts = feature_losses(net.spec(prediction.algorithm), prediction.rollout, window)
    return {name: part[0] for name, part in parts.items()}


def loss(prediction: Prediction, batch: Batch) -> Tensor:
    """What training minimises (paper, section 3.1): the sum of all `loss_terms`."""
    return torch.stack(list(loss_terms(prediction, batch).values())).sum()


def _expect_same(predicted: Batch, batch: Batch) -> None:
    same = predicted.spec == batch.spec and len(predicted) == len(batch)
    if not same or predicted.n != batch.n:
        raise ValueError("batch: got another batch than the one that was predicted")
