"""The tiles that rows are cut into, matrix products of tiles, and dependent launches."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

ROWS = 64
"""The rows of a tile: enough for the matrix units, few enough for the registers."""
MANY = 2048
"""This many nodes, of all samples, keep a device busy even in large tiles; then two kernels do not
fit on it at once."""


class Tiles(NamedTuple):
    """How many receivers and senders a tile has; for pointers, targets and sources."""

    receivers: int
    senders: int

    def blocks(self, n: int) -> int:
        """How many tiles the receivers of one sample need."""
        return triton.cdiv(n, self.receivers)


def padded(n: int) -> int:
    """The length of an axis that holds n nodes: a power of two, large enough for matrix units."""
    return max(16, triton.next_power_of_2(n))


def tiles(n: int) -> Tiles:
    """All senders in every tile, and as many receivers as fill it."""
    senders = padded(n)
    return Tiles(max(1, ROWS // senders), senders)


@triton.jit
def dot(a, b, PRECISION: tl.constexpr):
    """A matrix product with operands rounded as PRECISION says, summed in float32."""
    if PRECISION == "bf16":
        return tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))
    else:
        return tl.dot(a, b, input_precision=PRECISION)


@triton.jit
def exact_dot(a, b, PRECISION: tl.constexpr):
    """A matrix product of raw numbers, which must not be rounded: small differences may decide."""
    if PRECISION == "ieee":
        return tl.dot(a, b, input_precision="ieee")
    else:
        return tl.dot(a, b, input_precision="tf32x3")


_HAS_PDL = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (9, 0)
_IN_KERNELS = tl.constexpr(_HAS_PDL)


def pdl_options(nodes: int) -> dict[str, bool]:
    """Launch options of a kernel that calls `wait_for_previous`, for this number of nodes."""
    return {"launch_pdl": True} if _HAS_PDL and nodes < MANY else {}


@triton.jit
def wait_for_previous():
    """Wait for the previous kernel, and let the next one be launched while this one runs.

    What earlier kernels wrote may be read before this call.
    """
    if _IN_KERNELS:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
