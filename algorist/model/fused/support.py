"""What the fused scan implements. Anything else is computed step by step, in plain PyTorch."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import nn

from algorist.extras import how_to_install
from algorist.kernels.ops import MOST_CHANNELS, MOST_NODES, launched_on
from algorist.model import decoders, kinds
from algorist.model.layers import LayerNorm, Linear, NamedLayers, is_plain
from algorist.model.per_seed import PerSeed
from algorist.model.processors import PROCESSORS, MessagePassing
from algorist.model.processors.base import ReplicatedProcessor

if TYPE_CHECKING:
    from algorist.model.net import Net

_MOST_FEATURES = 128
"""For more, what a kernel holds at once does not fit into a multiprocessor of an H200."""

_CLASSES = (MessagePassing, ReplicatedProcessor, Linear, LayerNorm, *decoders.BUILT_IN.values())
_IMPLEMENTED: dict[type, dict[str, Any]] = {cls: dict(vars(cls)) for cls in _CLASSES}
_ROWS = dict(kinds.TABLE)
_OTHERS = (nn.ModuleList, nn.ModuleDict, NamedLayers)
"""Modules that compute nothing."""
_DEFAULTS = {
    "pointer_reversal": False,
    "comparisons": False,
    "dereference": False,
    "hint_changes": False,
    "edge_pointers": False,
    "conditional_hints": False,
    "orders": False,
    "places": False,
    "splits": False,
    "outputs_from_hints": False,
    "keep_unselected": False,
    "local_decoders": False,
    "message_passing_steps": 1,
    "dropout": 0.0,
    "use_lstm": False,
}
"""Settings that fused kernels know no other value of."""


def changed_part(net: Net, algorithm: str) -> str | None:
    """What of a net is not ours, as the end of a sentence: fused kernels would ignore it."""
    if type(net.processor) is not MessagePassing and not _is_built_in(net):
        return f"know no {_class_name(net.processor)}"
    for feature in net.spec(algorithm):
        key = (feature.location, feature.kind)
        if kinds.TABLE.get(key) is not _ROWS.get(key):
            return f"know only the built-in row of {feature.location} {feature.kind}"
    for name, module in _parts(net, algorithm):
        if not _is_ours(module):
            return f"know no {_class_name(module)} like that of {name}"
    return None


def _class_name(module: nn.Module) -> str:
    """The class that a user knows: that of their own module, not of what holds its replicas."""
    return (module.cls if isinstance(module, PerSeed) else type(module)).__name__


def _is_built_in(net: Net) -> bool:
    """Whether its processor is one of the library, as it was made there."""
    made = PROCESSORS.get(net.config.processor)
    cls = getattr(made, "func", made)
    return type(net.processor) is cls and cls.__module__.startswith("algorist.")


def _parts(net: Net, algorithm: str) -> Iterator[tuple[str, nn.Module]]:
    for name in ("processor", f"encoders.{algorithm}", f"decoders.{algorithm}"):
        top = net.processor if name == "processor" else getattr(net, name.split(".")[0])[algorithm]
        yield from top.named_modules(prefix=name)


def _is_ours(module: nn.Module) -> bool:
    """Whether a module computes what its class does, and that is what we wrote."""
    cls = type(module)
    if cls in _OTHERS:
        return True
    if not cls.__module__.startswith("algorist.model.") or not is_plain(module, cls):
        return False
    known = _IMPLEMENTED.get(cls, {})
    own = any(name in vars(module) for name, value in known.items() if callable(value))
    return not own and all(vars(cls).get(name) is value for name, value in known.items())


def obstacle_to_fusing(net: Net, algorithm: str, n: int) -> str | None:
    """What stands in the way of fused kernels for `n` nodes, and how to remove it."""
    if importlib.util.find_spec("triton") is None:
        return f"need Triton: {how_to_install('gpu')}"
    processor = net.processor
    if not isinstance(processor, MessagePassing) or processor.rules_out_non_edges:
        return f"know no {net.config.processor}"
    for name, value in _DEFAULTS.items():
        if getattr(net.config, name) != value:
            return f"know no {name} {getattr(net.config, name)}"
    odd = [x for x in (net.config.hidden, processor.triplet_features) if x & (x - 1)]
    if odd:
        return f"need widths that are powers of two, got {odd[0]}"
    if processor.triplet_features > _MOST_FEATURES:
        return (
            f"take at most {_MOST_FEATURES} features of triplets, got {processor.triplet_features}"
        )
    if not 16 <= net.config.hidden <= MOST_CHANNELS:
        return f"need a hidden size from 16 to {MOST_CHANNELS}, got {net.config.hidden}"
    if n > MOST_NODES:
        return f"take at most {MOST_NODES} nodes, got {n}"
    from algorist.kernels.fused.feature_codes import CLASSES, CODES

    for hint in net.spec(algorithm).hints:
        if (hint.location, hint.kind) not in CODES or hint.classes > CLASSES:
            return f"know no hint like {hint.name!r}"
    return None if launched_on(net.device) else f"need a GPU, got {net.device.type}"
