"""The net: encode, process, decode, step by step (paper, section 3.1).

One net serves any number of algorithms: each has its own encoders and decoders, all share the
processor. Everything is one scan over time: a whole trajectory, a chunk of one, and a stretch of
a long evaluation differ only in their windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from algorist.errors import unknown
from algorist.kernels.ops import choose
from algorist.model import processors
from algorist.model.decoding import Decoders, Moment, decoder
from algorist.model.encoding import adjacency, dense, encoder, joint_encoder, raw_numbers
from algorist.model.kinds import row
from algorist.model.window import Window, expanded
from algorist.spec import Feature, Location, Spec, Stage

_CHOICES = {
    "processor": tuple(processors.PROCESSORS),
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
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(unknown(name, getattr(self, name), choices))
        for name in ("hidden", "triplet_features", "heads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected 1 or more")


class Carry(NamedTuple):
    """What one window hands to the next."""

    hidden: Tensor  # (S, B, n, h)
    hints: Mapping[str, Tensor]  # the predictions of the last step

    def detach(self) -> Carry:
        """The same values, cut off from the gradient.

        They are laid out as they will be when they come back from a file: the last bit of some
        operations depends on that.
        """
        hints = {name: value.detach().contiguous() for name, value in self.hints.items()}
        return Carry(self.hidden.detach().contiguous(), hints)


class Rollout(NamedTuple):
    """What a net predicted over a window: raw values, logits where they stand for choices."""

    hints: Mapping[str, Tensor]  # (K, S, B, ...)
    outputs: Mapping[str, Tensor]  # (S, E, ...)
    carry: Carry


class Net(nn.Module):
    """Encoders and decoders for each algorithm around one processor, for each seed."""

    kernels: str = "auto"
    """Which kernels compute it: plain, fused, or auto.

    auto means fused kernels on GPUs, compiled ones for training on CPUs, and plain ones otherwise.
    """
    precision: str = "tf32"
    """How fused kernels round the operands of matrix products: tf32 or fp32."""

    def __init__(self, specs: Mapping[str, Spec], config: ModelConfig, seeds: Sequence[int] = (0,)):
        super().__init__()
        self.specs, self.config, self.replicas = dict(specs), config, len(seeds)
        replicas, h = self.replicas, config.hidden
        self.processor = processors.build(
            config.processor,
            processors.Sizes(replicas, h, config.triplet_features, config.heads, config.layer_norm),
        )
        triplets = self.processor.triplet_features > 0
        xavier = config.scalar_hint_init == "xavier"
        self.encoders = nn.ModuleDict(
            {
                name: nn.ModuleDict(
                    {f.name: encoder(f, replicas, h, xavier=xavier) for f in self.encoded(spec)}
                )
                for name, spec in specs.items()
            }
        )
        self.decoders = nn.ModuleDict(
            {
                name: nn.ModuleDict(
                    {f.name: decoder(f, replicas, h, triplets=triplets) for f in self.decoded(spec)}
                )
                for name, spec in specs.items()
            }
        )
        self.register_buffer("no_code", torch.zeros(replicas, h), persistent=False)
        for replica, seed in enumerate(seeds):
            self.reset(replica, seed)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.no_code.device

    def spec(self, algorithm: str) -> Spec:
        """The features of one of the algorithms that the net serves."""
        if algorithm not in self.specs:
            raise ValueError(unknown("algorithm", algorithm, self.specs))
        return self.specs[algorithm]

    def encoded(self, spec: Spec) -> tuple[Feature, ...]:
        """The features that the net reads, inputs first."""
        return (*spec.inputs, *(spec.hints if self.config.hints == "encoded_decoded" else ()))

    def decoded(self, spec: Spec) -> tuple[Feature, ...]:
        """The features that the net predicts, outputs first."""
        return (*spec.outputs, *(() if self.config.hints == "none" else spec.hints))

    def reset(self, replica: int, seed: int) -> None:
        """Draw all weights of one replica anew."""
        generator = torch.Generator().manual_seed(seed)
        for module in self.modules():
            if module is not self and hasattr(module, "reset"):
                module.reset(replica, generator)

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
        scan = _Scan(self, algorithm, window)
        moments, predictions = [], []
        for k in range(window.steps):
            moment = scan.step(k, carry)
            carry = Carry(moment.after, scan.decode_hints(moment))
            moments.append(moment)
            if keep_hints:
                predictions.append(carry.hints)
        assert carry is not None, "a window has at least one step"
        names = tuple(carry.hints) if keep_hints else ()
        stacked = {name: torch.stack([hints[name] for hints in predictions]) for name in names}
        return Rollout(stacked, scan.decode_outputs(moments), carry)


class _Scan:
    """The steps of one algorithm through a window, its maps composed and joined beforehand."""

    def __init__(self, net: Net, algorithm: str, window: Window):
        self.net, self.window, self.spec = net, window, net.spec(algorithm)
        self.lanes, self.n = window.follows.shape[1:], window.inputs["pos"].shape[-1]
        features = net.encoded(self.spec)
        self.hints = [feature for feature in features if feature.stage == Stage.HINT]
        encoders = {
            location: joint_encoder(features, net.encoders[algorithm], location, net.no_code)
            for location in Location
        }
        device, widths = window.follows.device, (net.config.hidden, net.config.triplet_features)
        kernels = choose(net.kernels, net.precision, device, window.steps, widths)
        reads_edges = any("edge" in row(f).place.reads for f in net.decoded(self.spec))
        self.process = net.processor.prepare(encoders, kernels, triplets=reads_edges)
        decoded_hints = [f for f in net.decoded(self.spec) if f.stage == Stage.HINT]
        modules = net.decoders[algorithm]
        self.decode_hints = Decoders(decoded_hints, modules, encoders, net.processor, kernels)
        # Outputs are decoded once, all ends together.
        once = choose(net.kernels, net.precision, device, 1, widths)
        self.decode_ends = Decoders(self.spec.outputs, modules, encoders, net.processor, once)

        inputs = dense(self.spec.inputs, window.inputs, self.n)
        self.raw_inputs = raw_numbers(self.spec.inputs, inputs)
        self.adjacent_inputs = adjacency(self.spec.inputs, inputs)
        self.true_hints = dense(self.hints, window.hints, self.n)

    def step(self, k: int, carry: Carry | None) -> Moment:
        """Read moment k and process it."""
        hints, hidden = self._hints(k, carry), self._hidden(k, carry)
        raw = {
            location: self._side_by_side(location, [self._at(k, x) for x in inputs], more)
            for (location, inputs), more in zip(
                self.raw_inputs.items(), raw_numbers(self.hints, hints).values(), strict=True
            )
        }
        connected = self._adjacency(k, hints) if self.net.processor.needs_adjacency else None
        after, triplets = self.process(raw, connected, hidden)
        return Moment(*raw.values(), hidden, after, triplets, connected)

    def decode_outputs(self, moments: Sequence[Moment]) -> dict[str, Tensor]:
        """The outputs at the ends of trajectories: decoded there alone."""
        steps, lanes = self.window.ends
        replicas = torch.arange(len(steps), device=steps.device).unsqueeze(1)
        at_ends = [
            None if parts[0] is None else torch.stack(parts)[steps, replicas, lanes]
            for parts in zip(*moments, strict=True)
        ]
        return self.decode_ends(Moment(*at_ends), self.window.noise)

    def _at(self, k: int, inputs: Tensor) -> Tensor:
        return inputs if self.window.is_first is None else inputs[k]

    def _hints(self, k: int, carry: Carry | None) -> dict[str, Tensor]:
        """The hints that the net reads: the true ones where it is given them, else its own."""
        truth = {name: value[k] for name, value in self.true_hints.items()}
        if carry is None:
            return truth
        hard = self.net.hard_feedback
        own = {f.name: row(f).meaning.feedback(carry.hints[f.name], hard) for f in self.hints}
        given = [m[k] for m in (self.window.is_first, self.window.forced) if m is not None]
        if not given:
            return own
        mask = torch.stack(given).any(0)
        return {
            name: torch.where(expanded(mask, value), truth[name], value)
            for name, value in own.items()
        }

    def _hidden(self, k: int, carry: Carry | None) -> Tensor:
        if carry is None:
            h = self.net.config.hidden
            return torch.zeros(*self.lanes, self.n, h, device=self.window.follows.device)
        if self.window.is_first is None:
            return carry.hidden
        return torch.where(expanded(self.window.is_first[k], carry.hidden), 0.0, carry.hidden)

    def _side_by_side(
        self, location: Location, inputs: list[Tensor], hints: list[Tensor]
    ) -> Tensor:
        if inputs or hints:
            return torch.cat((*inputs, *hints), -1)
        return self.window.follows.new_zeros(*self.lanes, *location.shape(self.n), 0)

    def _adjacency(self, k: int, hints: Mapping[str, Tensor]) -> Tensor:
        connected = torch.eye(self.n, device=self.window.follows.device).expand(
            *self.lanes, self.n, self.n
        )
        parts = [self._at(k, x) for x in self.adjacent_inputs] + adjacency(self.hints, hints)
        for part in parts:
            connected = torch.where(part, 1.0, connected)
        return connected
