"""What the fused scan implements. Anything else is computed step by step."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

import torch

from algorist.extras import how_to_install
from algorist.model.processors import MessagePassing

if TYPE_CHECKING:
    from algorist.model.net import Net

PRECISIONS = {"fp32": "ieee", "tf32": "tf32", "bf16": "bf16"}
"""How fused kernels round the operands of matrix products, and their names for it."""


_MOST_CHANNELS, _MOST_FEATURES, _MOST_NODES = 128, 128, 256
"""For more, what a kernel holds at once does not fit into a multiprocessor of an H200."""


def obstacle_to_fusing(net: Net, algorithm: str, n: int) -> str | None:
    """What stands in the way of fused kernels for `n` nodes, and how to remove it."""
    if importlib.util.find_spec("triton") is None:
        return f"need Triton: {how_to_install('gpu')}"
    processor = net.processor
    if not isinstance(processor, MessagePassing) or processor.rules_out_non_edges:
        return f"know no {net.config.processor}"
    odd = [x for x in (net.config.hidden, processor.triplet_features) if x & (x - 1)]
    if odd:
        return f"need widths that are powers of two, got {odd[0]}"
    if processor.triplet_features > _MOST_FEATURES:
        return (
            f"take at most {_MOST_FEATURES} features of triplets, got {processor.triplet_features}"
        )
    if not 16 <= net.config.hidden <= _MOST_CHANNELS:
        return f"need a hidden size from 16 to {_MOST_CHANNELS}, got {net.config.hidden}"
    if n > _MOST_NODES:
        return f"take at most {_MOST_NODES} nodes, got {n}"
    from algorist.kernels.fused.feature_codes import CLASSES, CODES

    for hint in net.spec(algorithm).hints:
        if (hint.location, hint.kind) not in CODES or hint.classes > CLASSES:
            return f"know no hint like {hint.name!r}"
    return None if launched_on(net.device) else f"need a GPU, got {net.device.type}"


def launched_on(device: torch.device) -> bool:
    """Whether Triton launches kernels on a device: on others only its interpreter runs them."""
    return device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
