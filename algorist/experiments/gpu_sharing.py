"""Processes that share a GPU: NVIDIA's Multi-Process Service (MPS) runs their kernels at once.

Without it they take turns, and small nets leave most of the GPU idle.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

_CONTROL = "nvidia-cuda-mps-control"
_LIMIT = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"


@contextmanager
def multi_process_service() -> Iterator[None]:
    """Run the service in the block, if this machine has it and it does not run already."""
    control = shutil.which(_CONTROL)
    if control is None:
        yield
        return
    started = subprocess.run([control, "-d"], capture_output=True, check=False).returncode == 0
    try:
        yield
    finally:
        if started:
            subprocess.run([control], input=b"quit\n", capture_output=True, check=False)


def memory_limits(per_gpu: int) -> Mapping[str, str]:
    """The environment that limits a process to its share of the memory of each GPU, under MPS.

    A net that finds no room for a test computes it in smaller parts; one in training would fail.
    """
    sizes = [
        torch.cuda.get_device_properties(number).total_memory // per_gpu // 2**20
        for number in range(torch.cuda.device_count())
    ]
    return {_LIMIT: ",".join(f"{number}={size}M" for number, size in enumerate(sizes))}
