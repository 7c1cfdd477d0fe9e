"""Compressed checkpoints, in less than half of the bytes, to continue on another machine.

The present weights are kept to the bit. The differences of the best and the averaged weights from
them are rounded to bfloat16; moments and carries are rounded to one bit less (by 0.8 % at most).
So training continues nearly as it would have here.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from algorist.training.checkpoint import Checkpoint


class _Form(NamedTuple):
    """The precision of compressed numbers."""

    kind: torch.dtype
    bits: int
    """The number of mantissa bits that are kept; the others become zeros."""


_FORMS = {
    "net": _Form(torch.float32, 23),
    "best": _Form(torch.bfloat16, 7),
    "mean": _Form(torch.bfloat16, 7),
    "adam": _Form(torch.bfloat16, 6),
    "carry": _Form(torch.bfloat16, 6),
}
"""The form of the tensors of each part of a checkpoint."""
_LIGHT, _STATE = "light", "state"
_RUN = 1 << 18
"""The number of values that are compressed at a time."""


def compress(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint of compressed bytes: the tensors, and the state, which says what they are."""
    tensors = _relative_to_net(checkpoint.tensors, -1)
    names: dict[str, list[str]] = {}
    for name in tensors:
        names.setdefault(name.split("/")[0], []).append(name)
    content = {
        f"{part}/{number:04d}": run
        for part, of_part in names.items()
        for number, run in enumerate(_compressed([tensors[n] for n in of_part], _FORMS[part]))
    }
    # In lists, since the names of a JSON object have no order.
    shapes = {part: [[n, list(tensors[n].shape)] for n in own] for part, own in names.items()}
    state = json.dumps({**checkpoint.state, _LIGHT: shapes}, sort_keys=True)
    return Checkpoint(checkpoint.step, {**content, _STATE: _deflated(state.encode())}, {})


def decompress(checkpoint: Checkpoint) -> Checkpoint:
    """The full checkpoint, whether or not the given one is compressed."""
    state = dict(checkpoint.state)
    if _STATE in checkpoint.tensors:  # older versions did not compress it
        state = json.loads(_inflated(checkpoint.tensors[_STATE]))
    if _LIGHT not in state:
        return checkpoint
    tensors: dict[str, Tensor] = {}
    for part, shapes in state.pop(_LIGHT).items():
        runs = sorted(name for name in checkpoint.tensors if name.startswith(f"{part}/"))
        values = _decompressed([checkpoint.tensors[name] for name in runs], _FORMS[part])
        own = values.split([math.prod(shape) for _, shape in shapes])
        named = zip(shapes, own, strict=True)
        tensors |= {name: value.view(shape).clone() for (name, shape), value in named}
    return Checkpoint(checkpoint.step, _relative_to_net(tensors, 1), state)


def _relative_to_net(tensors: Mapping[str, Tensor], sign: int) -> dict[str, Tensor]:
    """The tensors, with the present weights added to the other ones or taken away from them."""
    result = dict(tensors)
    for name in tensors:
        part, _, own = name.partition("/")
        if part in ("best", "mean"):
            result[name] = tensors[name] + sign * tensors[f"net/{own}"]
    return result


def _compressed(tensors: list[Tensor], form: _Form) -> Iterator[Tensor]:
    """All numbers one after the other, run by run: first bytes first, which are much alike."""
    numbers = torch.cat([tensor.cpu().flatten() for tensor in tensors])
    for run in _rounded(numbers, form.bits).to(form.kind).split(_RUN):
        planes = run.view(torch.uint8).view(-1, form.kind.itemsize).T
        yield _deflated(planes.contiguous().numpy().tobytes())


def _decompressed(runs: list[Tensor], form: _Form) -> Tensor:
    numbers = []
    for run in runs:
        planes = torch.frombuffer(_inflated(run), dtype=torch.uint8).view(form.kind.itemsize, -1)
        numbers.append(planes.T.contiguous().flatten().view(form.kind).float())
    return torch.cat(numbers)


def _rounded(numbers: Tensor, bits: int) -> Tensor:
    """The nearest numbers with this many binary digits after the first."""
    dropped = 23 - bits
    if not dropped:
        return numbers
    half = 1 << dropped - 1
    return ((numbers.view(torch.int32) + half) >> dropped << dropped).view(torch.float32)


def _deflated(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(zlib.compress(content, 6)), dtype=torch.uint8)


def _inflated(content: Tensor) -> bytearray:
    return bytearray(zlib.decompress(content.numpy().tobytes()))
