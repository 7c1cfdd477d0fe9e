"""Measuring: what training and evaluation cost, on any device."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from algorist.model.computing import Computing
from algorist.training.config import Config
from algorist.training.engine import Lesson
from algorist.training.feed import Feed, Portion
from algorist.training.trainer import Trainer

_LOOKED_AT = 9
"""How many windows there are to choose a typical one from."""
_PROFILED = 5
"""How many training steps are profiled."""

Work = Callable[[], Any]


@dataclass(frozen=True)
class Pace:
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


@dataclass(frozen=True)
class Kernel:
    """What one kernel takes of a training step."""

    name: str
    calls: float
    microseconds: float


@dataclass(frozen=True)
class StepCost:
    """What a training step costs, from a packed window in memory to changed weights."""

    algorithm: str
    n: int
    replicas: int
    batch_size: int
    steps: int
    """Of the algorithm, in the window."""
    padded_steps: int
    """With those that are appended, so that windows share graphs."""
    ms: float
    """The median of all rounds."""
    fastest_ms: float
    ms_per_algorithm_step: float
    """Padding is not counted as steps."""
    ms_per_algorithm_step_and_replica: float
    samples_per_second: float
    first_s: float
    """The first step: kernels are compiled, graphs captured."""
    again_s: float
    """The first step of another net: graphs are captured, kernels are there."""
    peak_mb: float
    """On a GPU all that is reserved for this net, on a CPU the most that the process ever had."""
    kernels: list[Kernel] = field(default_factory=list)
    """By time, if they were asked for."""


def step_cost(
    config: Config, computing: Computing, pace: Pace, *, profile: bool = False
) -> StepCost:
    """Measure the training step of a configuration's only algorithm."""
    (algorithm,) = config.algorithms
    device = torch.device(computing.device)
    trainer = _fresh(config, computing)
    portion = _typical(trainer.feeds[algorithm])
    lesson = trainer.engine.lesson(portion)
    first = _seconds(_step(trainer, lesson), device)
    del trainer
    trainer = _fresh(config, computing)
    step = _step(trainer, lesson)
    again = _seconds(step, device)
    rounds = _rounds(step, device, pace)
    seconds, replicas = statistics.median(rounds), len(config.seeds)
    per_step = 1000 * seconds / portion.window.steps
    return StepCost(
        algorithm=algorithm,
        n=portion.size,
        replicas=replicas,
        batch_size=config.data.batch_size,
        steps=portion.window.steps,
        padded_steps=lesson.packed.window.steps,
        ms=1000 * seconds,
        fastest_ms=1000 * min(rounds),
        ms_per_algorithm_step=per_step,
        ms_per_algorithm_step_and_replica=per_step / replicas,
        samples_per_second=config.data.batch_size * replicas / seconds,
        first_s=first,
        again_s=again,
        peak_mb=_peak_mb(device),
        kernels=_kernels(step, device) if profile else [],
    )


def _fresh(config: Config, computing: Computing) -> Trainer:
    _tidy(torch.device(computing.device))
    return Trainer(config, computing)


def _typical(feed: Feed) -> Portion:
    """The one in the middle of a few by length. The first of all chunks is not like the others."""
    portions = [feed.portion(step) for step in range(1, 1 + _LOOKED_AT)]
    portions.sort(key=lambda portion: (portion.window.steps, portion.window.end_weights.shape[1]))
    return portions[_LOOKED_AT // 2]


def _step(trainer: Trainer, lesson: Lesson) -> Work:
    def step() -> None:
        trainer.engine.learn(lesson)
        if trainer.config.optimiser.accumulate:
            trainer.engine.update()

    return step


# Clocks


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _seconds(work: Work, device: torch.device) -> float:
    """How long some work takes, with all that the device has to do for it."""
    _synchronise(device)
    start = time.perf_counter()
    work()
    _synchronise(device)
    return time.perf_counter() - start


def _rounds(step: Work, device: torch.device, pace: Pace) -> list[float]:
    """The mean seconds of a step in each round."""
    step()
    times = max(1, int(pace.seconds / _seconds(step, device)))
    several = _seconds_on_gpu if device.type == "cuda" else _seconds_on_cpu
    return [several(step, times, device) for _ in range(pace.rounds)]


def _seconds_on_gpu(step: Work, times: int, device: torch.device) -> float:
    """The mean time between events before and after some steps."""
    with torch.cuda.device(device):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(times):
            step()
        end.record()
        end.synchronize()
    return start.elapsed_time(end) / 1000 / times


def _seconds_on_cpu(step: Work, times: int, _: torch.device) -> float:
    start = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - start) / times


# Memory


def _tidy(device: torch.device) -> None:
    """Let go of all that is no longer needed, and of the peak that it made."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.init()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def _peak_mb(device: torch.device) -> float:
    """Graphs keep what they reserve, so that counts on a GPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_reserved(device) / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


# Profiles


def _kernels(step: Work, device: torch.device) -> list[Kernel]:
    """What a GPU does in a training step, by time."""
    # Tracing that is torn down and begun again does not go well with graphs.
    os.environ.setdefault("TEARDOWN_CUPTI", "0")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(_PROFILED):
            step()
        _synchronise(device)
    kernels = [
        Kernel(event.key, event.count / _PROFILED, event.self_device_time_total / _PROFILED)
        for event in profiler.key_averages()
        if event.device_type == torch.autograd.DeviceType.CUDA and not event.is_user_annotation
    ]
    return sorted(kernels, key=lambda kernel: -kernel.microseconds)
