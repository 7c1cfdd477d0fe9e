"""The scan over a window by fused kernels: what they need to know of a net and an algorithm."""

from __future__ import annotations


class FusedScan: ...


def obstacle_to_fusing(net, algorithm):
    return "x"
