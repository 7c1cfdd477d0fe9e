"""Clocks: how long work takes, and how much memory, on any device."""

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
    """The median of so many is taken."""
    seconds: float = 0.2
    """A round has as many steps as take about so long, and one at least."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds: got {self.rounds}, expected 1 or more")
        if not 0 <= self.seconds < float("inf"):
            raise ValueError(f"seconds: got {self.seconds}, expected 0 or more")


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all that it was told, in this thread.

    To wait for all of a GPU is not allowed while another thread captures.
    """
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()


def seconds(work: Work, device: torch.device) -> float:
    """How long some work takes, with all that the device has to do for it."""
    synchronise(device)
    start = time.perf_counter()
    work()
    synchronise(device)
    return time.perf_counter() - start


def rounds(step: Work, device: torch.device, timing: TimingConfig) -> list[float]:
    """The mean seconds of a step in each round."""
    step()
    times = max(1, int(timing.seconds / seconds(step, device)))
    several = _seconds_on_gpu if device.type == "cuda" else _seconds_on_cpu
    return [several(step, times, device) for _ in range(timing.rounds)]


def _seconds_on_gpu(step: Work, times: int, device: torch.device) -> float:
    """The mean time between events before and after some steps."""
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


def tidy(device: torch.device) -> None:
    """Let go of all that is no longer needed, and of the peak that it made."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.init()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def kept_mb(device: torch.device) -> float:
    """What nets in training have for good: on a GPU what their graphs reserve, else the peak."""
    if device.type != "cuda":
        return peak_mb(device)
    torch.cuda.empty_cache()  # what steps took before they were captured
    return torch.cuda.memory_reserved(device) / 2**20


def peak_mb(device: torch.device) -> float:
    """The most that there was: on a GPU since it was tidied, on a CPU ever."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device) / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
