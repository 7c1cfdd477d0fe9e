"""The net: encode, process, decode, step by step (paper, section 3.1).

One net serves any number of algorithms: each has its own encoders and decoders, all share the
processor. Everything is one scan over time: a whole trajectory, a chunk of one, and a stretch of
a long evaluation differ only in their windows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import nn

from algorist.errors import unknown
from algorist.kernels.fused.streams import on
from algorist.kernels.ops import using
from algorist.model import processors
from algorist.model.decoders import make_decoder
from algorist.model.encoders import make_encoders
from algorist.model.fused.support import obstacle_to_fusing
from algorist.model.layers import Named
from algorist.model.nests import from_leaves
from algorist.model.processors.bound import BoundReplicated
from algorist.model.scan import Carry, Rollout, Scan
from algorist.model.window import Window
from algorist.spec import Feature, Spec

_CHOICES = {
    "hints": ("encoded_decoded", "decoded_only", "none"),
    "feedback": ("soft", "hard", "hard_on_eval"),
    "scalar_hint_init": ("xavier", "default"),
}


@dataclass(frozen=True)
class ModelConfig:
    """What a net is made of."""

    processor: str = "triplet_gmpnn"
    """The processor's name."""
    hidden: int = 128
    """The number of channels of nodes, edges and graph."""
    triplet_features: int = 8
    """The number of features of each triplet of nodes."""
    heads: int = 1
    """The number of attention heads (gat and gatv2)."""
    layer_norm: bool = True
    """Normalise the new node states."""
    hints: str = "encoded_decoded"
    """How hints are used: encoded_decoded, decoded_only or none."""
    feedback: str = "soft"
    """How predicted hints are fed back: soft, hard or hard_on_eval."""
    scalar_hint_init: str = "xavier"
    """How the encoders of scalar hints start: xavier (small) or default."""

    def __post_init__(self) -> None:
        processors.get(self.processor)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(unknown(name, getattr(self, name), choices))
        for name in ("hidden", "triplet_features", "heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected 1 or more")


class Net(nn.Module):
    """Encoders and decoders for each algorithm around one processor, for each seed."""

    kernels: str = "auto"
    """Which kernels compute it: plain, fused, or auto.

    auto means fused kernels on GPUs, compiled ones for training on CPUs, and plain ones otherwise.
    """
    precision: str = "fp32"
    """How fused kernels round the operands of matrix products: tf32, fp32 (not at all) or bf16."""

    def __init__(self, specs: Mapping[str, Spec], config: ModelConfig, replicas: int = 1):
        """A net whose weights are still to be drawn or loaded."""
        super().__init__()
        self.specs, self.config, self.replicas = dict(specs), config, replicas
        h = config.hidden
        self.processor = processors.get(config.processor)(
            processors.Sizes(replicas, h, config.triplet_features, config.heads, config.layer_norm)
        )
        edge_states = self.processor.has_edge_states
        xavier = config.scalar_hint_init == "xavier"
        self.encoders, self.decoders = Named(), Named()
        for name, spec in specs.items():
            self.encoders[name] = Named(
                make_encoders(self.encoded(spec), replicas, h, xavier=xavier, reversal=False)
            )
            self.decoders[name] = Named(
                {
                    f.name: make_decoder(f, replicas, h, edge_states=edge_states)
                    for f in self.decoded(spec)
                }
            )
        self.fused_cache: dict[tuple[Any, ...], Any] = {}
        """What fused kernels look up, by algorithm, device and layout of windows."""

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.parameters()).device

    @property
    def size(self) -> int:
        """The number of weights of each replica."""
        return sum(parameter.numel() for parameter in self.parameters()) // self.replicas

    def spec(self, algorithm: str) -> Spec:
        """The features of one of the algorithms that the net serves."""
        if algorithm not in self.specs:
            raise ValueError(unknown("algorithm for this net", algorithm, self.specs))
        return self.specs[algorithm]

    def encoded(self, spec: Spec) -> tuple[Feature, ...]:
        """The features that the net reads, inputs first."""
        return (*spec.inputs, *(spec.hints if self.config.hints == "encoded_decoded" else ()))

    def decoded(self, spec: Spec) -> tuple[Feature, ...]:
        """The features that the net predicts, outputs first."""
        return (*spec.outputs, *(() if self.config.hints == "none" else spec.hints))

    def bound_processor(self) -> BoundReplicated:
        """The processor as a scan calls it."""
        return BoundReplicated(self.processor)

    def draw(self, seeds: Sequence[int]) -> None:
        """Draw all weights, those of each replica by its seed."""
        for replica, seed in enumerate(seeds):
            generator = torch.Generator().manual_seed(seed)
            for module in self.modules():
                if hasattr(module, "reset"):
                    module.reset(replica, generator)

    def saved_carry(self, tensors: Mapping[str, torch.Tensor]) -> Carry:
        """The carry whose `tensors` these were."""
        hints = {
            name.removeprefix("hint/"): value
            for name, value in tensors.items()
            if name.startswith("hint/")
        }
        first = self.bound_processor().initial_state(1, 1, 1)
        state = from_leaves(first, (tensors[f"state/{i}"] for i in count()))
        return Carry(tensors["hidden"], hints, state)

    @property
    def hard_feedback(self) -> bool:
        """Whether predicted hints are rounded before they are fed back."""
        return self.config.feedback == "hard" or (
            self.config.feedback == "hard_on_eval" and not self.training
        )

    def rollout(
        self, algorithm: str, window: Window, carry: Carry | None = None, *, keep_hints: bool = True
    ) -> Rollout:
        """Predict the hints of every moment of a window, and the outputs at every end.

        Without `keep_hints` the hints are fed back but not returned.
        """
        with on(self.device), using(self.kernels):
            scan = self._scan_type(algorithm, window.nodes)(self, algorithm, window)
            return scan.run(carry, keep_hints=keep_hints)

    def check(self, algorithm: str, n: int) -> None:
        """Complain about kernels that do not take windows of `n` nodes, before there is one."""
        self._scan_type(algorithm, n)

    def _scan_type(self, algorithm: str, n: int) -> Callable[[Net, str, Window], Any]:
        """How a window is computed: step by step in PyTorch, or by fused kernels."""
        if self.kernels == "fused" or (self.kernels == "auto" and self.device.type == "cuda"):
            obstacle = obstacle_to_fusing(self, algorithm, n)
            if obstacle is None:
                from algorist.model.fused.scan import FusedScan

                return FusedScan
            if self.kernels == "fused":
                raise ValueError(f"kernels: fused ones {obstacle}; or choose plain")
            warnings.warn(f"plain kernels are used: fused ones {obstacle}", stacklevel=3)
        return Scan
