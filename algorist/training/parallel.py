"""Several processes that train one net: each learns from its share of every batch.

`torchrun` starts them. All make the same batch, since it is a pure function of (seed, algorithm,
step), and each takes some of its lanes. Gradients are summed, so all processes take the same step:
that of one process, but for rounding. All must call collective operations in the same order.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, distributed, nn

from algorist.model.compute_config import ComputeConfig
from algorist.model.losses import ALMOST_NOTHING, amounts
from algorist.model.packed_values import PackedValues
from algorist.model.sparse.window import AnyWindow, SparseWindow
from algorist.spec import Spec

_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""The environment variables that `torchrun` sets."""


@dataclass(frozen=True)
class Share:
    """The lanes of every batch that one of several processes learns from."""

    number: int = 0
    of: int = 1

    def lanes(self, count: int) -> tuple[int, int]:
        """The first lane of the share and the one after its last. Shares may differ by one lane."""
        return self.number * count // self.of, (self.number + 1) * count // self.of

    def of_lanes(self, count: int) -> float:
        """The share of `count` lanes that this process has."""
        start, stop = self.lanes(count)
        return (stop - start) / count

    def take(self, spec: Spec, window: AnyWindow) -> AnyWindow:
        """This share of a window, with the weight of each feature's loss in the whole.

        Losses are means over unmasked values, whose number differs between lanes.
        """
        if self.of == 1 or isinstance(window, SparseWindow):  # which is trained by one process
            return window
        share = window.lanes(*self.lanes(window.follows.shape[-1]))
        own, all_of_it = amounts(spec, share), amounts(spec, window)
        shares = {name: own[name] / all_of_it[name].clamp(min=ALMOST_NOTHING) for name in own}
        return replace(share, shares=PackedValues.side_by_side(shares))

    def cut(self, carried: Tensor) -> Tensor:
        """The lanes of this share, of a tensor (S, B, ...)."""
        start, stop = self.lanes(carried.shape[1])
        return carried[:, start:stop].contiguous()


ALL = Share()


class Peers:
    """The processes that train one net; this base class is a single process.

    The methods have the names of their counterparts in `torch.distributed`.
    """

    share = ALL

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.share.number == 0

    def check(self, batch_size: int) -> None:
        """Raise a `ValueError` for batches with fewer samples than processes."""
        if batch_size < self.share.of:
            raise ValueError(
                f"batch_size: got {batch_size}, expected at least one sample for each of the "
                f"{self.share.of} processes"
            )

    def own_compute_config(self, computing: ComputeConfig) -> ComputeConfig:
        """The device and settings of this process."""
        return computing

    def barrier(self) -> None:
        """Wait until all processes have called this."""

    def any(self, wish: bool) -> bool:
        """Whether any process passes True."""
        return wish

    def all_reduce(self, values: Tensor) -> Tensor:
        """The sum of the values of all processes."""
        return values

    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes."""

    def own_tasks(self, names: Sequence[str]) -> Sequence[str]:
        """The tasks that this process does on behalf of all."""
        return names

    def all_gather(self, results: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The results of all tasks, gathered from the processes that did them."""
        return {name: results[name] for name in names}

    def all_gather_lanes(self, carried: Tensor) -> Tensor:
        """A tensor (S, B, ...) of all lanes, gathered from the shares of all processes."""
        return carried


ALONE = Peers()


class ProcessGroup(Peers):
    """One of several processes, connected by `torch.distributed`."""

    def __init__(self, local_rank: int = 0):
        """`local_rank` is its number on this machine."""
        self.share = Share(distributed.get_rank(), distributed.get_world_size())
        self._local_rank = local_rank

    def own_compute_config(self, computing: ComputeConfig) -> ComputeConfig:
        """On a GPU of its own, if there are enough; its steps are not captured as graphs."""
        return replace(computing, device=_device(computing.device, self._local_rank), graphs=False)

    def barrier(self) -> None:
        """Wait until all processes have called this."""
        distributed.barrier()

    def any(self, wish: bool) -> bool:
        """Whether any process passes True."""
        wishes = torch.tensor(int(wish))
        distributed.all_reduce(wishes, distributed.ReduceOp.MAX)
        return bool(wishes)

    def all_reduce(self, values: Tensor) -> Tensor:
        """The sum of the values of all processes."""
        sums = values.clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(sums)
        return sums

    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes, sent as one tensor."""
        learning = {p: p.grad for p in parameters if p.grad is not None}
        if not learning:
            return
        sums = self.all_reduce(torch.cat([gradient.reshape(-1) for gradient in learning.values()]))
        for p, own in zip(learning, sums.split([p.numel() for p in learning]), strict=True):
            p.grad = own.view(p.shape)

    def own_tasks(self, names: Sequence[str]) -> Sequence[str]:
        """The tasks that this process does on behalf of all."""
        return names[self.share.number :: self.share.of]

    def all_gather(self, results: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The results of all tasks, gathered from the processes that did them."""
        everything: dict[str, Any] = {}
        for part in self._gather_objects(dict(results)):
            everything |= part
        return {name: everything[name] for name in names}

    def all_gather_lanes(self, carried: Tensor) -> Tensor:
        """A tensor (S, B, ...) of all lanes, gathered from the shares of all processes."""
        return torch.cat(self._gather_objects(carried.cpu()), 1)

    def _gather_objects(self, thing: Any) -> list[Any]:
        things: list[Any] = [None] * self.share.of
        distributed.all_gather_object(things, thing)
        return things


@contextmanager
def join_process_group(device: str) -> Iterator[Peers]:
    """Join the processes that `torchrun` has started with this one; `ALONE` if there are none."""
    if not _is_one_of_several():
        yield ALONE
        return
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    own = torch.device(_device(device, local_rank))
    if own.type == "cuda":
        torch.cuda.set_device(own)
    # PyTorch imports this when it is first needed, and its functions then keep the group that
    # exists: its threads would outlive it, and a process whose threads run at its end is aborted.
    importlib.import_module("torch.distributed.nn")
    distributed.init_process_group(_backend(device))
    try:
        yield ProcessGroup(local_rank)
    finally:
        distributed.destroy_process_group()


def expect_alone() -> None:
    """Raise a `ValueError` if this is one of several processes, which would repeat the work."""
    if _is_one_of_several():
        raise ValueError(
            f"torchrun: got {os.environ['WORLD_SIZE']} processes, expected one: several train a "
            "single net (algorist train, algorist resume)"
        )


def _is_one_of_several() -> bool:
    return all(name in os.environ for name in _VARIABLES) and int(os.environ["WORLD_SIZE"]) > 1


def _device(device: str, local_rank: int) -> str:
    """The device of a process: the GPU with its local rank, unless another was asked for."""
    return f"cuda:{local_rank % torch.cuda.device_count()}" if device == "cuda" else device


def _backend(device: str) -> str:
    """NCCL, which needs a GPU for each process, with Gloo for tensors on CPUs; else Gloo alone."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    own_gpus = device == "cuda" and torch.cuda.device_count() >= here
    return "cpu:gloo,cuda:nccl" if own_gpus else "gloo"
