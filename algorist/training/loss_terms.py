"""Registered terms of the loss: functions of a prediction and a batch, each with a weight.

The losses of outputs and hints have names too: those of their features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorist.errors import UnregisteredError, expect_unique
from algorist.model.scan import Rollout
from algorist.model.window import Window
from algorist.plugin_errors import user_error
from algorist.registry import registry
from algorist.spec import Spec

LossTerm = Callable[[Any, Any], Tensor]

LOSS_TERMS: dict[str, LossTerm] = registry("loss term", {})
"""The loss terms that users have registered, by name."""
OUTPUTS, HINTS = "outputs", "hints"
"""The names under which the losses of all outputs and of all hints are weighed."""


def loss_weights(terms: Sequence[str]) -> dict[str, float]:
    """The weights of `NAME=WEIGHT`, by name; a name alone weighs 1."""
    weights = {}
    for text in terms:
        name, equals, number = text.partition("=")
        if name not in (OUTPUTS, HINTS, *LOSS_TERMS):
            raise UnregisteredError("loss term", name, [OUTPUTS, HINTS, *LOSS_TERMS])
        try:
            weights[name] = float(number) if equals else 1.0
        except ValueError:
            weights[name] = math.nan
        if not math.isfinite(weights[name]):
            raise ValueError(f"loss_terms: got {text!r}, expected NAME=WEIGHT, such as {name}=0.1")
    expect_unique("loss_terms", [text.partition("=")[0] for text in terms])
    return weights


@dataclass(frozen=True)
class TermPrediction:
    """The predictions of one seed over a window: logits where a value is a choice."""

    outputs: Mapping[str, Tensor]
    """(E, ...) of each output, for E ends of trajectories."""
    hints: Mapping[str, Tensor]
    """(K, B, ...) of each hint after K steps of B samples."""


@dataclass(frozen=True)
class TermBatch:
    """The true values for a loss term, of one seed, as tensors on the device of the net."""

    algorithm: str
    spec: Spec
    inputs: Mapping[str, Tensor]
    """(B, ...); (K, B, ...) in training by chunks."""
    hints: Mapping[str, Tensor]
    """(K + 1, B, ...): `prediction.hints[name]` is to equal `hints[name][1:]`."""
    outputs: Mapping[str, Tensor]
    """(E, ...), like `prediction.outputs`."""
    hint_mask: Tensor
    """(K, B): 1 where a predicted hint counts, 0 past the end of a trajectory."""
    output_mask: Tensor
    """(E,): 1 where an output counts, 0 for padding."""


class WeightedTerms:
    """The weighted loss of a training: the losses of features, and registered terms."""

    def __init__(self, terms: Sequence[str]):
        self._weights = loss_weights(terms)
        self._own = {name: w for name, w in self._weights.items() if name in LOSS_TERMS}

    def weighted(
        self,
        algorithm: str,
        spec: Spec,
        parts: Mapping[str, Tensor],
        rollout: Rollout,
        window: Window,
    ) -> dict[str, Tensor]:
        """All weighted parts of the loss of a window, (S,) each: the given ones and the terms."""
        stages = {f.name: OUTPUTS for f in spec.outputs} | {f.name: HINTS for f in spec.hints}
        result = {
            name: part * self._weights.get(stages.get(name, name), 1.0)
            for name, part in parts.items()
        }
        for name, weight in self._own.items():
            if name in result:
                raise ValueError(f"loss term {name!r}: {algorithm} has a loss of that name already")
            values = [_value(name, *seen) for seen in _by_seed(algorithm, spec, rollout, window)]
            result[name] = weight * torch.stack(values)
        return result


def _value(name: str, prediction: TermPrediction, batch: TermBatch) -> Tensor:
    function = LOSS_TERMS[name]
    with user_error(f"loss term {name!r}", function):
        value = function(prediction, batch)
        if not isinstance(value, Tensor) or value.ndim:
            got = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else value
            raise ValueError(f"got {got}, expected a scalar tensor")
    return value


def _by_seed(
    algorithm: str, spec: Spec, rollout: Rollout, window: Window
) -> Iterator[tuple[TermPrediction, TermBatch]]:
    """The predictions and the truth of each replica, without the replica axis."""
    axis = 0 if window.is_first is None else 1
    for seed in range(window.end_weights.shape[0]):
        prediction = TermPrediction(
            outputs=_selected(rollout.outputs, 0, seed), hints=_selected(rollout.hints, 1, seed)
        )
        batch = TermBatch(
            algorithm=algorithm,
            spec=spec,
            inputs=_selected(window.inputs, axis, seed),
            hints=_selected(window.hints, 1, seed),
            outputs=_selected(window.outputs, 0, seed),
            hint_mask=window.follows[:, seed],
            output_mask=window.end_weights[seed],
        )
        yield prediction, batch


def _selected(values: Mapping[str, Tensor], axis: int, index: int) -> dict[str, Tensor]:
    return {name: value.select(axis, index) for name, value in values.items()}
