"""Transport: a checkpoint in less than half of its bytes, to go on with it on another machine.

The weights are kept to the bit. Moments, carries, and what the best weights have more than the
present ones are rounded to bfloat16: training goes on nearly as it would have gone on here.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from algorist.training.checkpoint import Checkpoint

_FORMS = {
    "net": torch.float32,
    "best": torch.bfloat16,
    "adam": torch.bfloat16,
    "carry": torch.bfloat16,
}
"""How the tensors of each part of a checkpoint are kept."""
_LIGHT = "light"
_RUN = 1 << 20
"""How many numbers are compressed at a time."""


def lightened(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint whose tensors are compressed bytes; its state says what they are."""
    tensors = _relative_to_net(checkpoint.tensors, -1)
    names: dict[str, list[str]] = {}
    for name in tensors:
        names.setdefault(name.split("/")[0], []).append(name)
    content = {
        f"{part}/{place:04d}": run
        for part, of_part in names.items()
        for place, run in enumerate(_compressed([tensors[n] for n in of_part], _FORMS[part]))
    }
    # In lists, since the names of a JSON object have no order.
    shapes = {part: [[n, list(tensors[n].shape)] for n in own] for part, own in names.items()}
    return Checkpoint(checkpoint.step, content, {**checkpoint.state, _LIGHT: shapes})


def restored(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint in full, whether or not it was lightened."""
    if _LIGHT not in checkpoint.state:
        return checkpoint
    state = dict(checkpoint.state)
    tensors: dict[str, Tensor] = {}
    for part, shapes in state.pop(_LIGHT).items():
        runs = sorted(name for name in checkpoint.tensors if name.startswith(f"{part}/"))
        values = _decompressed([checkpoint.tensors[name] for name in runs], _FORMS[part])
        own = values.split([math.prod(shape) for _, shape in shapes])
        named = zip(shapes, own, strict=True)
        tensors |= {name: value.view(shape).clone() for (name, shape), value in named}
    return Checkpoint(checkpoint.step, _relative_to_net(tensors, 1), state)


def _relative_to_net(tensors: Mapping[str, Tensor], sign: int) -> dict[str, Tensor]:
    """The tensors, with the present weights added to the best ones or taken away from them."""
    result = dict(tensors)
    for name in tensors:
        if name.startswith("best/"):
            result[name] = tensors[name] + sign * tensors[f"net/{name.removeprefix('best/')}"]
    return result


def _compressed(tensors: list[Tensor], form: torch.dtype) -> Iterator[Tensor]:
    """All numbers one after the other, run by run: first bytes first, which are much alike."""
    numbers = torch.cat([tensor.cpu().flatten() for tensor in tensors])
    for run in numbers.to(form).split(_RUN):
        planes = run.view(torch.uint8).view(-1, form.itemsize).T
        content = zlib.compress(planes.contiguous().numpy().tobytes(), 6)
        yield torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _decompressed(runs: list[Tensor], form: torch.dtype) -> Tensor:
    numbers = []
    for run in runs:
        content = bytearray(zlib.decompress(run.numpy().tobytes()))
        planes = torch.frombuffer(content, dtype=torch.uint8).view(form.itemsize, -1)
        numbers.append(planes.T.contiguous().flatten().view(form).float())
    return torch.cat(numbers)
