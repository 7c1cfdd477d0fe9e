"""Settings of computation: device, kernels, precision, CUDA graphs and worker processes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from algorist.errors import unknown
from algorist.kernels.ops import KERNELS, PRECISIONS
from algorist.machine import cores
from algorist.model.net import Net

_MOST_WORKERS = 14


@dataclass(frozen=True)
class ComputeConfig:
    """The settings of computation. Except for rounding, none of them changes what a net learns."""

    device: str = "cpu"
    """cpu, cuda, cuda:1, ..."""
    kernels: str = "auto"
    """plain, fused (for GPUs), or auto: the fastest that the device has."""
    precision: str = "tf32"
    """The rounding of matrix products on a GPU: tf32, fp32 (none) or bf16, which is
    tf32 where PyTorch multiplies. Plain kernels do not round."""
    graphs: bool = True
    """On a GPU, capture steps as CUDA graphs and replay them."""
    workers: int = 0
    """Processes that prepare data; 1 is a thread. 0 means 1, or for a GPU all cores but two."""

    def __post_init__(self) -> None:
        for name, choices in (("kernels", KERNELS), ("precision", PRECISIONS)):
            if getattr(self, name) not in choices:
                raise ValueError(unknown(name, getattr(self, name), choices))
        if self.workers < 0:
            raise ValueError(f"workers: got {self.workers}, expected 0 or more")

    @property
    def on_gpu(self) -> bool:
        """Whether the device is an NVIDIA GPU."""
        return torch.device(self.device).type == "cuda"

    @property
    def worker_count(self) -> int:
        """The number of workers that prepare data."""
        if self.workers or not self.on_gpu:
            return self.workers or 1
        return max(1, min(_MOST_WORKERS, cores() - 2))

    def exactly(self) -> ComputeConfig:
        """The same settings without rounding, as used in tests."""
        return replace(self, precision=Net.precision)

    def apply(self, net: Net) -> Net:
        """Move a net to the device and set its kernels and precision; returns it."""
        net.kernels, net.precision = self.kernels, self.precision
        return net.to(self.device)


def device_name(device: torch.device) -> str:
    """The name of a device: cpu, or the model of the GPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


ON_CPU = ComputeConfig()
