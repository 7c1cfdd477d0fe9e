"""Processors by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from algorist.errors import UnregisteredError
from algorist.model.per_seed import PerSeed
from algorist.model.processors.attention import Attention
from algorist.model.processors.base import Processor, ReplicatedProcessor, Sizes, StepOutput
from algorist.model.processors.memory_network import Memory
from algorist.model.processors.message_passing import MessagePassing
from algorist.model.processors.neighbourhood import GraphIsomorphism, RecurrentNeighbourhood
from algorist.registry import registry

__all__ = [
    "PROCESSORS",
    "Attention",
    "Memory",
    "MessagePassing",
    "Processor",
    "ReplicatedProcessor",
    "Sizes",
    "StepOutput",
    "get",
    "make_processor",
]

_BUILDERS: dict[str, Callable[[Sizes], Processor]] = {
    "deepsets": partial(MessagePassing, senders="itself"),
    "gat": Attention,
    "gat_full": partial(Attention, senders="all"),
    "gatv2": partial(Attention, dynamic=True),
    "gatv2_full": partial(Attention, dynamic=True, senders="all"),
    "gin": GraphIsomorphism,
    "recgnn": RecurrentNeighbourhood,
    "memnet_full": Memory,
    "memnet_masked": partial(Memory, senders="neighbours"),
}


def _variants() -> dict[str, Callable[[Sizes], Processor]]:
    """The family of MPNN and PGN by the benchmark's names: [triplet_][g](mpnn|pgn)[_mask]."""
    bases: dict[str, dict[str, Any]] = {
        "mpnn": {},
        "pgn": {"senders": "neighbours"},
        "pgn_mask": {"senders": "neighbours", "rules_out_non_edges": True},
    }
    return {
        f"{'triplet_' if triplets else ''}{'g' if gated else ''}{base}": partial(
            MessagePassing, triplets=triplets, gated=gated, **options
        )
        for base, options in bases.items()
        for triplets in (False, True)
        for gated in (False, True)
    }


PROCESSORS: dict[str, Callable[..., Processor]] = registry(
    "processor", {**_BUILDERS, **_variants()}
)
"""Every processor by its name."""


def get(name: str) -> Callable[..., Processor]:
    """What makes a processor of that name."""
    if name not in PROCESSORS:
        raise UnregisteredError("processor", name, PROCESSORS)
    return PROCESSORS[name]


def make_processor(name: str, sizes: Sizes) -> ReplicatedProcessor | PerSeed:
    """A new processor of that name, for all replicas."""
    make = get(name)
    if not inspect.isclass(make) or issubclass(make, ReplicatedProcessor):
        made = make(sizes)
        assert isinstance(made, ReplicatedProcessor)
        return made
    if not issubclass(make, Processor):
        raise ValueError(
            f"processor {name!r}: got the class {make.__name__}, expected one that is derived from "
            "algorist.Processor"
        )
    return PerSeed(partial(make, sizes.hidden), make, sizes.replicas)
