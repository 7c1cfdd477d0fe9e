"""Time and memory of work on any device."""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Work = Callable[[], Any]


@dataclass(frozen=True)
class TimingConfig:
    """How long to measure."""

    rounds: int = 5
    """The number of rounds, of which the median is reported."""
    seconds: float = 0.2
    """The length of a round, which has at least one step."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds: got {self.rounds}, expected 1 or more")
        if not 0 <= self.seconds < float("inf"):
            raise ValueError(f"seconds: got {self.seconds}, expected 0 or more")


def synchronize(device: torch.device) -> None:
    """Wait for the work that this thread has launched on the device.

    Other streams are not waited for, since that is an error while another thread captures.
    """
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()


def time_call(work: Work, device: torch.device) -> float:
    """The seconds of one call, with all the work that it launches on the device."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


def time_rounds(step: Work, device: torch.device, timing: TimingConfig) -> list[float]:
    """The mean seconds of a step, for each round."""
    step()
    times = max(1, int(timing.seconds / time_call(step, device)))
    mean_seconds = _seconds_on_gpu if device.type == "cuda" else _seconds_on_cpu
    return [mean_seconds(step, times, device) for _ in range(timing.rounds)]


def _seconds_on_gpu(step: Work, times: int, device: torch.device) -> float:
    """The mean seconds of a step by CUDA events."""
    with torch.cuda.device(device):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(times):
            step()
        end.record()
        end.synchronize()
    return float(start.elapsed_time(end)) / 1000 / times


def _seconds_on_cpu(step: Work, times: int, device: torch.device) -> float:
    start = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - start) / times


def free_memory(device: torch.device) -> None:
    """Free cached memory and reset the peak that `peak_mb` reports."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.init()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def reserved_mb(device: torch.device) -> float:
    """The memory that training keeps: on a GPU what its graphs reserve, on a CPU the peak."""
    if device.type != "cuda":
        return peak_mb(device)
    torch.cuda.empty_cache()  # which steps have filled before they were captured
    return torch.cuda.memory_reserved(device) / 2**20


def peak_mb(device: torch.device) -> float:
    """The peak memory: on a GPU since `free_memory`, on a CPU since the process began."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device) / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
