"""The cost of a training step, from a packed window in memory to changed weights."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass, field

import torch

from algorist.bench.timing import (
    TimingConfig,
    Work,
    free_memory,
    reserved_mb,
    synchronize,
    time_call,
    time_rounds,
)
from algorist.model.compute_config import ComputeConfig
from algorist.training.config import Config
from algorist.training.loader import TaskStream
from algorist.training.packing import PackedBatch
from algorist.training.trainer import Trainer

_CANDIDATES = 9
"""The number of windows of which the one of median length is measured."""
_PROFILED_STEPS = 5


@dataclass(frozen=True)
class Kernel:
    """The calls and the time of a GPU kernel in a training step."""

    name: str
    calls: float
    microseconds: float


@dataclass(frozen=True)
class StepCost:
    """The cost of a training step, from a packed window in memory to changed weights."""

    algorithm: str
    n: int
    replicas: int
    batch_size: int
    steps: int
    """The steps of the algorithm in the window. Where single steps are drawn, as many as a batch
    has problems count as one."""
    padded_steps: int
    """The steps of the window with padding."""
    ms: float
    """The median of all rounds."""
    fastest_ms: float
    ms_per_algorithm_step: float
    """`ms` divided by `steps`."""
    ms_per_algorithm_step_and_replica: float
    samples_per_second: float
    first_s: float
    """The first step, in which kernels are compiled and graphs captured."""
    again_s: float
    """The first step of another net, in which graphs are captured."""
    memory_mb: float
    """On a GPU the memory reserved for this net, on a CPU the peak of the process."""
    kernels: list[Kernel] = field(default_factory=list)
    """By time; empty unless profiled."""


def step_cost(
    config: Config, computing: ComputeConfig, timing: TimingConfig, *, profile: bool = False
) -> StepCost:
    """Measure a training step of a configuration with one algorithm.

    With `profile` the GPU's kernels are listed.
    """
    (algorithm,) = config.algorithms
    device = torch.device(computing.device)
    trainer = _fresh(config, computing)
    stream = trainer.task_streams[algorithm]
    at = _typical_step(stream)
    drawn, batch_size = config.data.transitions, config.data.batch_size
    algorithm_steps = max(drawn // batch_size, 1) if drawn else stream.window(at).steps
    packed_batch = stream.packed_batch(at, trainer.engine.fit)
    first = time_call(_step(trainer, packed_batch), device)
    del trainer
    trainer = _fresh(config, computing)
    step = _step(trainer, packed_batch)
    again = time_call(step, device)
    rounds = time_rounds(step, device, timing)
    seconds, replicas = statistics.median(rounds), len(config.seeds)
    per_step = 1000 * seconds / algorithm_steps
    return StepCost(
        algorithm=algorithm,
        n=packed_batch.key.size,
        replicas=replicas,
        batch_size=batch_size,
        steps=algorithm_steps,
        padded_steps=packed_batch.layout.shape.steps,
        ms=1000 * seconds,
        fastest_ms=1000 * min(rounds),
        ms_per_algorithm_step=per_step,
        ms_per_algorithm_step_and_replica=per_step / replicas,
        samples_per_second=batch_size * replicas / seconds,
        first_s=first,
        again_s=again,
        memory_mb=reserved_mb(device),
        kernels=_kernels(step, device) if profile else [],
    )


def _fresh(config: Config, computing: ComputeConfig) -> Trainer:
    free_memory(torch.device(computing.device))
    return Trainer(config, computing)


def _typical_step(stream: TaskStream) -> int:
    """The step of median length among a few; step 0 is skipped: first chunks differ."""
    windows = {step: stream.window(step) for step in range(1, 1 + _CANDIDATES)}
    longer = sorted(windows, key=lambda s: (windows[s].steps, windows[s].end_weights.shape[1]))
    return longer[_CANDIDATES // 2]


def _step(trainer: Trainer, packed_batch: PackedBatch) -> Work:
    def step() -> None:
        trainer.engine.learn(packed_batch)
        if trainer.config.optimizer.accumulate:
            trainer.engine.update()

    return step


def _kernels(step: Work, device: torch.device) -> list[Kernel]:
    """The GPU kernels of a training step, by time."""
    # Tearing CUPTI down and initialising it again is unreliable with CUDA graphs.
    os.environ.setdefault("TEARDOWN_CUPTI", "0")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(_PROFILED_STEPS):
            step()
        synchronize(device)
    kernels = [
        Kernel(
            event.key, event.count / _PROFILED_STEPS, event.self_device_time_total / _PROFILED_STEPS
        )
        for event in profiler.key_averages()
        if str(event.device_type) == "DeviceType.CUDA" and not event.is_user_annotation
    ]
    return sorted(kernels, key=lambda kernel: -kernel.microseconds)
