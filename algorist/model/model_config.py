"""The settings of a net."""

from __future__ import annotations

from dataclasses import dataclass

from algorist.errors import unknown
from algorist.model import processors

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
    pointer_reversal: bool = False
    """Encode every feature of edges, pointers included, the other way round as well."""
    comparisons: bool = False
    """Encode which of two scalars is smaller, which node comes next in order, and ranks."""
    dereference: bool = False
    """Encode the scalars, bits and classes that pointers and one-hot masks select."""
    hint_changes: bool = False
    """Encode which hints the step before changed, and which nodes one-hot hints have selected so
    far: some states come twice in a run."""
    edge_pointers: bool = False
    """Encode and decode pointers of edges whole, instead of their means over nodes."""
    conditional_hints: bool = False
    """Decode hints after the one-hot masks of the next step, given what these select; present
    values have a head start."""
    orders: bool = False
    """Beside comparisons: encode the order of scalar hints instead of how large they are."""
    places: bool = False
    """Beside comparisons: encode which node is halfway between two, and add places along chains of
    pointers to the terms of gated scalars."""
    splits: bool = False
    """Beside comparisons: suggest to pointers of edges where a problem is best split, and compare
    entries of tables with their neighbours."""
    outputs_from_hints: bool = False
    """Beside conditional hints: decode outputs given the last hint of the same name, which has a
    head start."""
    keep_unselected: bool = False
    """Beside conditional hints: keep hints at nodes that no one-hot mask selects, if training has
    never changed them there."""
    local_decoders: bool = False
    """Beside conditional hints: decode hints also from bits of each node alone, without the states
    of the processor."""
    message_passing_steps: int = 1
    """How often the processor is applied in each step."""
    carry_state: bool = True
    """Go on with the hidden states of the step before; otherwise each step starts at zero."""
    dropout: float = 0.0
    """The share of the new node states that is set to zero in training."""
    use_lstm: bool = False
    """Pass the new node states through an LSTM, whose state goes on from step to step."""

    def __post_init__(self) -> None:
        processors.get(self.processor)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(unknown(name, getattr(self, name), choices))
        if self.conditional_hints:
            self.expect_hints_read("conditional_hints", "a hint", "has no present value")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout: got {self.dropout}, expected at least 0 and less than 1")
        if self.use_lstm and not self.carry_state:
            raise ValueError(
                "use_lstm: got carry_state = false, expected true: an LSTM reads its last state"
            )
        for name in ("hidden", "triplet_features", "heads", "message_passing_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected 1 or more")

    def expect_hints_read(self, setting: str, what: str, consequence: str) -> None:
        """Refuse a setting that needs present values of hints where the net does not read any."""
        if self.hints != "encoded_decoded":
            raise ValueError(
                f"{setting}: got hints {self.hints}, expected encoded_decoded: {what} that the net "
                f"does not read {consequence}"
            )
