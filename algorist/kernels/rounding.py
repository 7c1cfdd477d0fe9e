"""How PyTorch's own matrix products are rounded on a GPU.

Products of learnt layers are several times faster if cuBLAS may round their operands to TF32.
Products with masks and pointers select numbers and must not be rounded. PyTorch has one setting for
the whole process, so only one thread at a time may be in `rounded_products`, and others must not
launch products meanwhile: captures of CUDA graphs are serialized anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_ROUNDS = ContextVar("rounds", default=False)


@contextmanager
def rounded_products() -> Iterator[None]:
    """Let cuBLAS round the operands of float32 products to TF32, except in `exact_products`."""
    token = _ROUNDS.set(True)
    try:
        with _tf32(allowed=True):
            yield
    finally:
        _ROUNDS.reset(token)


@contextmanager
def exact_products() -> Iterator[None]:
    """Round no product that is launched in this context and by this thread."""
    if not _ROUNDS.get():
        yield
        return
    with _tf32(allowed=False):
        yield


@contextmanager
def _tf32(*, allowed: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
