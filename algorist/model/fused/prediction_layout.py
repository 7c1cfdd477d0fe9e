"""Where the predictions of features stand among those that the fused kernels make together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torch import Tensor

from algorist.model.decoders import BUILT_IN, DecoderType
from algorist.model.kinds import PostprocessInputs, row
from algorist.spec import Feature


class Decoded(NamedTuple):
    """Raw predictions by decoder_type, those of several features side by side; any leading axes."""

    nodes: Tensor | None  # (..., n, C)
    points: Sequence[Tensor]  # (..., n, n) each: from source to target
    edges: Tensor | None  # (..., n, n, C)
    edge_pointer_logits: Sequence[Tensor]  # (..., n, n, n) each: from an edge to a node
    graph: Tensor | None  # (..., C)


def width(feature: Feature) -> int:
    """How many numbers a prediction has for each of its nodes, edges or graph."""
    return feature.classes or 1


class PredictionLayout:
    """Where each of some features stands among the predictions of its decoder_type."""

    def __init__(self, features: Iterable[Feature]):
        self.features = tuple(features)
        self.of = {
            decoder_type: [f for f in self.features if row(f).decoder_type == decoder_type]
            for decoder_type in BUILT_IN
        }

    def widths(self, decoder_type: DecoderType) -> list[int]:
        """The widths of the features of a decoder_type."""
        return [width(feature) for feature in self.of[decoder_type]]

    def place(self, feature: Feature) -> int:
        """Its first column among those of its decoder_type; of pointers, which one it is."""
        decoder_type = row(feature).decoder_type
        before = self.of[decoder_type].index(feature)
        return before if decoder_type.is_pointer else sum(self.widths(decoder_type)[:before])

    def predictions(
        self,
        decoded: Decoded,
        noise: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Finished predictions by the names of their features."""
        found, inputs = self._named(decoded), PostprocessInputs(None, noise, fused=True)
        return {f.name: row(f).postprocess(found[f.name], inputs) for f in self.features}

    def _named(self, decoded: Decoded) -> dict[str, Tensor]:
        parts: dict[DecoderType, Iterable[Tensor]] = {
            DecoderType.POINTER: decoded.points,
            DecoderType.EDGE_POINTER: decoded.edge_pointer_logits,
        }
        wide = {
            DecoderType.NODE: decoded.nodes,
            DecoderType.EDGE: decoded.edges,
            DecoderType.GRAPH: decoded.graph,
        }
        for decoder_type, values in wide.items():
            parts[decoder_type] = (
                () if values is None else values.split(self.widths(decoder_type), -1)
            )
        return {
            f.name: part if decoder_type.is_pointer or f.classes else part.squeeze(-1)
            for decoder_type, features in self.of.items()
            for f, part in zip(features, parts[decoder_type], strict=True)
        }
