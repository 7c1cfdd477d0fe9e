"""Decoders that users register for the features of one location and kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from algorist.model.decoders import DecoderSizes
from algorist.model.factored import Factored, Joint, dense
from algorist.model.feature_values import one_hot_shape
from algorist.model.per_seed import PerSeed, expect_tensor
from algorist.registry import registry
from algorist.spec import Feature, Kind, Location


class Decoder(nn.Module):
    """Predicts the features of one location and kind: the base class of decoders of your own.

    Such a class is made of ordinary torch layers and has no replica axis. `__init__` receives
    `DecoderSizes`: the channels of nodes, edges and graph, and the number of classes. Nets that are
    made after it is registered use it.
    """

    location: str
    """The location of the features that it decodes: node, edge or graph."""
    kind: str
    """Their kind: scalar, mask, mask_one, categorical, pointer or permutation_pointer."""

    def forward(self, nodes: Tensor, edges: Tensor, graph: Tensor) -> Tensor:
        """The prediction, (B, ...): logits with an axis over nodes or classes for choices.

        Nodes (B, n, 3h) are the encoding, the state before the step and the state after it; edges
        (B, n, n, h) the encoding, with the processor's edge states beside it if it has any (2h);
        graph (B, h) is the encoding.
        """
        raise NotImplementedError("expected forward(self, nodes, edges, graph)")


USER_DECODERS: dict[str, type[Decoder]] = registry("decoder", {})
"""The decoders that users have registered, by name."""


def find_user_decoder(feature: Feature, among: Mapping[str, type[Decoder]]) -> str | None:
    """The name of the decoder for a feature that was registered last; None if there is none."""
    names = [
        name
        for name, cls in among.items()
        if (_read(cls, "location", Location), _read(cls, "kind", Kind))
        == (feature.location, feature.kind)
    ]
    return names[-1] if names else None


def _read(cls: type[Decoder], name: str, kind: Any) -> Any:
    try:
        return kind(getattr(cls, name, None))
    except ValueError:
        raise ValueError(
            f"{cls.__name__}: got {getattr(cls, name, None)!r} as its {name}, "
            f"expected one of {', '.join(kind)}"
        ) from None


class DecoderPerSeed(PerSeed):
    """A user's decoder, with a copy for each seed."""

    def __init__(self, cls: type[Decoder], feature: Feature, sizes: DecoderSizes, replicas: int):
        super().__init__(lambda: cls(sizes), cls, replicas)
        self.feature = feature
        nodes, edges, graph = (
            torch.zeros(replicas, 2, *axes, width)
            for axes, width in zip(((3,), (3, 3), ()), sizes, strict=False)
        )
        with self.probing():
            self(nodes, edges, graph)  # a mistake is found before anything is trained

    def forward(self, nodes: Joint, edges: Joint, graph: Tensor | Factored) -> Tensor:
        """The predictions of all seeds, (S, B, ...)."""
        values = [dense(nodes), dense(edges), dense(graph)]
        _, B, n, _ = values[0].shape
        shape = (B, *one_hot_shape(self.feature, n))
        predictions = []
        for replica, call in enumerate(self.bound()):
            with self.explained():
                prediction = call(*(value[replica] for value in values))
                what = f"a prediction of {self.feature.name!r}"
                expect_tensor(what, prediction, shape, values[0].dtype)
            predictions.append(prediction)
        return torch.stack(predictions)
