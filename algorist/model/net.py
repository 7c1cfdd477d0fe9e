"""The net: encode, process, decode, step by step (paper, section 3.1).

One net serves any number of algorithms: each has its own encoders and decoders, all share the
processor. Everything is one scan over time: a whole trajectory, a chunk of one, and a stretch of
a long evaluation differ only in their windows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from algorist.batch import Batch
from algorist.errors import UnregisteredError, unknown
from algorist.kernels.fused.streams import on
from algorist.kernels.ops import using
from algorist.model.decoders import DecoderSizes
from algorist.model.decoding import make_decoder
from algorist.model.encoders import make_encoders
from algorist.model.executing.derived_features import DerivedFeatures
from algorist.model.executing.kept_hints import KeptHints
from algorist.model.fused.support import changed_part, obstacle_to_fusing
from algorist.model.layers import LayerNorm, Linear, LSTMCell, NamedLayers
from algorist.model.model_config import ModelConfig
from algorist.model.per_seed import PerSeed
from algorist.model.processors import Sizes, make_processor
from algorist.model.processors.bound import Bound, BoundPerSeed, BoundReplicated
from algorist.model.pytree import PyTree, tree_unflatten
from algorist.model.scan import Carry, Rollout, Scan
from algorist.model.sparse.scan import SparseScan, sparse_processor
from algorist.model.sparse.window import AnyWindow, SparseWindow
from algorist.model.task_encoding import TaskEncoding
from algorist.model.user_decoders import USER_DECODERS, DecoderPerSeed, find_user_decoder
from algorist.model.window import Window
from algorist.spec import Feature, Kind, Spec

if TYPE_CHECKING:
    from algorist.model.prediction import Prediction

__all__ = ["ModelConfig", "Net"]

_SETTINGS = [field.name for field in fields(ModelConfig)]


class Net(nn.Module):
    """Encoders and decoders for each algorithm around one processor, for each seed.

    Made of names of algorithms it has fresh weights. Applied to a batch it predicts hints and
    outputs, for a loop of your own:

        >>> import algorist
        >>> net = Net(["bfs"], hidden=16, seed=0)
        >>> batch = algorist.get("bfs").sample(n=4, count=2, seed=0)
        >>> net(batch).outputs["pi"].shape
        torch.Size([2, 4, 4])
    """

    kernels: str = "auto"
    """Which kernels compute it: plain, fused, or auto.

    auto means fused kernels on GPUs, compiled ones for training on CPUs, and plain ones otherwise.
    """
    precision: str = "fp32"
    """How matrix products round their operands on a GPU: tf32, fp32 (not at all) or bf16, which is
    tf32 where PyTorch multiplies. Plain kernels do not round."""

    def __init__(
        self,
        algorithms: Sequence[str] | Mapping[str, Spec],
        config: ModelConfig | None = None,
        replicas: int = 1,
        *,
        encoding: TaskEncoding | None = None,
        user_decoders: Iterable[str] | None = None,
        seed: int | None = None,
        **settings: Any,
    ):
        """Make a net for algorithms by name, or for specs; settings are those of `ModelConfig`.

        Weights are drawn, except for specs without a seed, whose weights must be drawn or loaded
        afterwards. `user_decoders` names the registered decoders to use, by default all.
        """
        super().__init__()
        self.encoding = encoding or TaskEncoding()
        for name in settings:
            if name not in _SETTINGS:
                raise TypeError(unknown("setting", name, _SETTINGS))
        self.config = replace(config or ModelConfig(), **settings)
        self.specs, self.replicas = _specs(algorithms, self.encoding), replicas
        c = self.config
        if any(f.kind == Kind.GATED_SCALAR for spec in self.specs.values() for f in spec):
            c.expect_hints_read("gated_scalars", "a scalar", "cannot be kept")
        sizes = Sizes(replicas, c.hidden, c.triplet_features, c.heads, c.layer_norm)
        self.processor = make_processor(c.processor, sizes)
        if self.encoding.sparse:
            sparse_processor(self)
        self.user_decoders = _known_decoders(user_decoders)
        self.encoders, self.decoders = NamedLayers(), NamedLayers()
        self.derived: dict[str, DerivedFeatures] = {}
        """The derived features of each algorithm, which encoders read beside its own."""
        edge_states = self.bound_processor().has_edge_states(c.hidden)
        for name, spec in self.specs.items():
            derived = self.derived[name] = DerivedFeatures(self.encoded_features(spec), c)
            self.encoders[name] = NamedLayers(
                make_encoders(self.encoded_features(spec), derived, replicas, c)
            )
            self.decoders[name] = NamedLayers(
                {
                    f.name: self._make_decoder(f, edge_states, derived)
                    for f in self.decoded_features(spec)
                }
            )
        self.kept_hints = NamedLayers()
        if c.conditional_hints and c.keep_unselected:
            for name, derived in self.derived.items():
                kept = KeptHints(replicas, derived.features)
                if kept.hints:
                    self.kept_hints[name] = kept
        self.lstm = LSTMCell(replicas, c.hidden) if c.use_lstm else None
        self.fused_cache: dict[tuple[Any, ...], Any] = {}
        """The tables and composed weights of fused kernels, by algorithm, device and layout."""
        if seed is not None or not isinstance(algorithms, Mapping):
            self.draw([(seed or 0) + replica for replica in range(replicas)])

    def _make_decoder(
        self, feature: Feature, edge_states: bool, derived: DerivedFeatures
    ) -> nn.Module:
        h = self.config.hidden
        sizes = DecoderSizes(3 * h, 2 * h if edge_states else h, h, feature.classes)
        among = {name: USER_DECODERS[name] for name in self.user_decoders}
        name = find_user_decoder(feature, among)
        if name is not None:
            return DecoderPerSeed(among[name], feature, sizes, self.replicas)
        return make_decoder(feature, sizes, self.replicas, self.config, derived)

    def __repr__(self) -> str:
        names = ", ".join(list(self.specs)[:3]) + (", ..." if len(self.specs) > 3 else "")
        seeds = f", {self.replicas} seeds" if self.replicas > 1 else ""
        return (
            f"Net({names}: {self.config.processor}, hidden {self.config.hidden}, "
            f"{self.size:,} weights{seeds}, on {self.device})"
        )

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.parameters()).device

    @property
    def size(self) -> int:
        """The number of weights of each replica."""
        return sum(parameter.numel() for parameter in self.parameters()) // self.replicas

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The names of its algorithms."""
        return tuple(self.specs)

    def spec(self, algorithm: str) -> Spec:
        """The features of one of its algorithms; raises a `ValueError` for another."""
        if algorithm not in self.specs:
            raise ValueError(unknown("algorithm for this net", algorithm, self.specs))
        return self.specs[algorithm]

    def encoded_features(self, spec: Spec) -> tuple[Feature, ...]:
        """The features that the net reads, inputs first."""
        return (*spec.inputs, *(spec.hints if self.config.hints == "encoded_decoded" else ()))

    def decoded_features(self, spec: Spec) -> tuple[Feature, ...]:
        """The features that the net predicts, outputs first."""
        return (*spec.outputs, *(() if self.config.hints == "none" else spec.hints))

    def kept(self, algorithm: str) -> KeptHints | None:
        """The hints of an algorithm that are kept where nothing is selected, if any are."""
        kept: dict[str, Any] = dict(self.kept_hints.items())
        return kept.get(algorithm)

    def bound_processor(self) -> Bound:
        """The processor with its present weights, as a scan calls it."""
        if isinstance(self.processor, PerSeed):
            return BoundPerSeed(self.processor)
        return BoundReplicated(self.processor)

    def initial_state(self, replicas: int, batch_size: int, n: int) -> tuple[PyTree, PyTree]:
        """The initial further states of a trajectory: the processor's and the LSTM's."""
        first = self.bound_processor().initial_state(replicas, batch_size, n)
        if self.lstm is None:
            return first, None
        return first, torch.zeros(replicas, batch_size, n, self.config.hidden, device=self.device)

    def draw(self, seeds: Sequence[int]) -> None:
        """Draw all weights, those of each replica by its seed."""
        for replica, seed in enumerate(seeds):
            generator = torch.Generator().manual_seed(seed)
            for module in self.modules():
                if isinstance(module, Linear | LayerNorm | PerSeed):
                    module.reset(replica, generator)

    def load_carry(self, tensors: Mapping[str, torch.Tensor]) -> Carry:
        """The carry of which `Carry.tensors` returned these tensors."""
        hints, read = (
            {
                name.removeprefix(prefix): value
                for name, value in tensors.items()
                if name.startswith(prefix)
            }
            for prefix in ("hint/", "read/")
        )
        first = self.initial_state(1, 1, 1)
        state = tree_unflatten(first, (tensors[f"state/{i}"] for i in count()))
        return Carry(tensors["hidden"], hints, state, read)

    @property
    def hard_feedback(self) -> bool:
        """Whether predicted hints are rounded before they are fed back."""
        return self.config.feedback == "hard" or (
            self.config.feedback == "hard_on_eval" and not self.training
        )

    def forward(self, batch: Batch, algorithm: str | None = None) -> Prediction:
        """Predict a batch of the benchmark with a net of one seed: tensors by name.

        Hints are fed back as they are predicted. `algorithm` is by default that of the batch, or
        the only one of the net.
        """
        from algorist.model.prediction import predict_tensors

        return predict_tensors(self, batch, algorithm)

    def rollout(
        self,
        algorithm: str,
        window: AnyWindow,
        carry: Carry | None = None,
        *,
        keep_hints: bool = True,
    ) -> Rollout:
        """Predict the hints of every step of a window but the first, and the outputs at every end.

        Without `keep_hints` the hints are fed back but not returned.
        """
        if isinstance(window, SparseWindow):
            return SparseScan(self, algorithm, window).run(carry, keep_hints=keep_hints)
        operations = "plain" if self.kernels == "plain" else "auto"
        with on(self.device), using(operations, precision=self.precision):
            scan = self._scan_type(algorithm, window.nodes)(self, algorithm, window)
            rollout: Rollout = scan.run(carry, keep_hints=keep_hints)
        return rollout

    def check_kernels(self, algorithm: str, n: int) -> None:
        """Raise a `ValueError` if the chosen kernels cannot compute windows of `n` nodes."""
        self._scan_type(algorithm, n)

    def is_fused(self, algorithm: str, n: int) -> bool:
        """Whether windows of `n` nodes are computed by the fused scan."""
        return (
            self._may_be_fused
            and changed_part(self, algorithm) is None
            and obstacle_to_fusing(self, algorithm, n) is None
        )

    @property
    def _may_be_fused(self) -> bool:
        return self.kernels == "fused" or (self.kernels == "auto" and self.device.type == "cuda")

    def _scan_type(self, algorithm: str, n: int) -> Callable[[Net, str, Window], Any]:
        """How a window is computed: step by step in PyTorch, or by fused kernels.

        What users have changed is computed in PyTorch even where fused kernels are asked for.
        """
        if self._may_be_fused:
            changed = changed_part(self, algorithm)
            obstacle = changed or obstacle_to_fusing(self, algorithm, n)
            if obstacle is None:
                from algorist.model.fused.scan import FusedScan

                return FusedScan
            if self.kernels == "fused" and changed is None:
                raise ValueError(f"kernels: fused ones {obstacle}; or choose plain")
            warnings.warn(
                f"plain kernels are used: fused ones {obstacle} (about 5 times slower on a GPU)",
                stacklevel=3,
            )
        return Scan


def _specs(
    algorithms: Sequence[str] | Mapping[str, Spec], encoding: TaskEncoding
) -> dict[str, Spec]:
    if isinstance(algorithms, Mapping):
        return dict(algorithms)
    if isinstance(algorithms, str) or not algorithms:
        raise ValueError(
            f"algorithms: got {algorithms!r}, expected a list of names, such as ['bfs']"
        )
    return {name: encoding.spec(name) for name in algorithms}


def _known_decoders(names: Iterable[str] | None) -> tuple[str, ...]:
    names = tuple(USER_DECODERS if names is None else names)
    for name in names:
        if name not in USER_DECODERS:
            raise UnregisteredError("decoder", name, USER_DECODERS)
    return names
