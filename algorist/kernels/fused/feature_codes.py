"""How the kernels call features: a code says where a feature's logits are and what they mean."""

from __future__ import annotations

from enum import IntEnum

import triton.language as tl

from algorist.spec import Kind, Location


class Code(IntEnum):
    """How the kernels call each (location, kind) of a hint: a place, in fours, and a meaning."""

    NODE_SCALAR, NODE_MASK, NODE_CLASSES = range(3)
    NODE_CHOICE = 6  # one of all nodes
    GRAPH_SCALAR, GRAPH_MASK, GRAPH_CLASSES = range(8, 11)
    EDGE_SCALAR, EDGE_MASK, EDGE_CLASSES = range(12, 15)
    POINTER = 18
    EDGE_POINTER = 22


# What kernels compare: code // 4
AMONG_NODES, GRAPH, EDGE, POINTER, EDGE_POINTER = (
    tl.constexpr(code // 4)
    for code in (
        Code.NODE_CHOICE, Code.GRAPH_SCALAR, Code.EDGE_SCALAR, Code.POINTER, Code.EDGE_POINTER
    )
)  # fmt: skip
# and code % 4
SCALAR, MASK, CHOICE = (
    tl.constexpr(code % 4) for code in (Code.NODE_SCALAR, Code.NODE_MASK, Code.NODE_CLASSES)
)

CODES = {
    (Location.NODE, Kind.SCALAR): Code.NODE_SCALAR,
    (Location.NODE, Kind.MASK): Code.NODE_MASK,
    (Location.NODE, Kind.MASK_ONE): Code.NODE_CHOICE,
    (Location.NODE, Kind.CATEGORICAL): Code.NODE_CLASSES,
    (Location.NODE, Kind.POINTER): Code.POINTER,
    (Location.EDGE, Kind.SCALAR): Code.EDGE_SCALAR,
    (Location.EDGE, Kind.MASK): Code.EDGE_MASK,
    (Location.EDGE, Kind.CATEGORICAL): Code.EDGE_CLASSES,
    (Location.EDGE, Kind.POINTER): Code.EDGE_POINTER,
    (Location.GRAPH, Kind.SCALAR): Code.GRAPH_SCALAR,
    (Location.GRAPH, Kind.MASK): Code.GRAPH_MASK,
    (Location.GRAPH, Kind.CATEGORICAL): Code.GRAPH_CLASSES,
}
"""The code of each (location, kind) that a hint may have."""

CLASSES = 32
"""The most classes that a hint may have."""
