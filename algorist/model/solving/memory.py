"""The memory that problems take while a net solves them."""

from __future__ import annotations

import torch

from algorist.machine import memory
from algorist.model.feature_values import raw_width
from algorist.model.inference import WINDOW_STEPS
from algorist.model.kinds import row
from algorist.model.net import Net
from algorist.spec import Kind, Location

_COPIES = 8
"""An upper bound of the numbers that a step allocates for each channel of a pair of nodes."""
_LARGE_NODES = 64
"""From how many nodes on fewer than `WINDOW_STEPS` steps are computed at once."""


def expect_enough_memory(net: Net, algorithm: str, n: int) -> None:
    """Raise a `ValueError` if a problem of `n` nodes takes more memory than may be allocated."""
    available = available_bytes(net)
    if needed_bytes(net, algorithm, n) <= available:
        return
    most = next(k for k in range(n, -1, -1) if needed_bytes(net, algorithm, k) <= available)
    raise ValueError(
        f"{algorithm}: got {n} nodes, expected at most {most}: "
        "larger problems need more memory than is available"
    )


def batch_size(net: Net, algorithm: str, n: int) -> int:
    """The number of problems of `n` nodes that are solved together, at least one."""
    return max(1, int(available_bytes(net) // needed_bytes(net, algorithm, n)))


def window_steps(n: int) -> int:
    """The number of steps in one window: fewer for many nodes, to bound the memory."""
    return max(1, min(WINDOW_STEPS, WINDOW_STEPS * _LARGE_NODES**2 // n**2))


def needed_bytes(net: Net, algorithm: str, n: int) -> int:
    """About what one problem of `n` nodes takes while a net computes it."""
    spec = net.spec(algorithm)
    edge_pointers = any(f.kind == Kind.POINTER and f.location == Location.EDGE for f in spec)
    of_pairs = [
        f
        for f in net.encoded_features(spec)
        if row(f).decoder_type.encode_location == Location.EDGE
    ]
    derived = net.derived[algorithm].groups.values()
    kept = sum(map(raw_width, of_pairs)) + net.bound_processor().kept_per_edge(net.config.hidden)
    kept += sum(x.numbers.shape[-1] for x in derived if x.location == Location.EDGE)
    step = _COPIES * net.config.hidden + (2 * n if edge_pointers else 0)
    return 4 * n * n * (step + 2 * window_steps(n) * kept)  # twice: outputs are read all at once


def available_bytes(net: Net) -> float:
    """The bytes that a solution may allocate: half of the memory."""
    if net.device.type == "cuda":
        return float(torch.cuda.get_device_properties(net.device).total_memory / 2)
    return memory() / 2
