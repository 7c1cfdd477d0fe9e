"""Autograd functions whose tensors all begin with the replica axis."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class ReplicaFunction(torch.autograd.Function):
    """A function of tensors (S, ...) that computes each replica by itself.

    So `torch.vmap` need not call it once per entry: the mapped axis is joined with the replicas.
    Subclasses define `setup_context`, as functions under `torch.vmap` must.
    """

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Apply the function to the mapped axis and the replicas as one axis."""
        size = info.batch_size

        def join(x: Any, dim: int | None) -> Any:
            if not isinstance(x, Tensor):
                return x
            x = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
            return x.flatten(0, 1)

        results = cls.apply(*(join(x, dim) for x, dim in zip(args, in_dims, strict=True)))
        if isinstance(results, Tensor):
            return results.unflatten(0, (size, -1)), 0
        split = [x.unflatten(0, (size, -1)) if isinstance(x, Tensor) else x for x in results]
        return tuple(split), tuple(0 if isinstance(x, Tensor) else None for x in split)
