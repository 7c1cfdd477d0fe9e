"""The cost of a training: preparation, cycles, validations and memory."""

from __future__ import annotations

import heapq
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch

from algorist.bench.timing import free_memory, reserved_mb, synchronize, time_call
from algorist.kernels.cuda_graphs import CAPTURE_LOCK
from algorist.model.compute_config import ComputeConfig
from algorist.training.config import Config
from algorist.training.job_pool import GpuContext
from algorist.training.packing import PackedBatch, Shape, StreamKey
from algorist.training.trainer import Trainer
from algorist.training.validation_report import ValidationReport


@dataclass(frozen=True)
class TrainingCost:
    """The cost of a training, measured over some cycles of one batch of every task."""

    algorithms: tuple[str, ...]
    replicas: int
    cycles: int
    ready_s: float
    """The seconds up to the end of the warm-up: net, data, captures, the first validation."""
    captures: int
    """The number of shapes of windows, for each of which graphs are captured or code compiled."""
    slowest_capture: StreamKey
    slowest_capture_s: float
    """The longest first step of a shape."""
    late_captures: int
    late_s: float
    """The seconds of captures after the warm-up, which no other number contains."""
    cycle_ms: float
    """The time of a cycle with its share of validations."""
    validation_s: float
    """The seconds of one validation of all tasks."""
    validation_share: float
    waiting_share: float
    """The share of time in which the device waited for data."""
    samples_per_second: float
    steps: int
    projected_minutes: float
    """The time of all `steps`, with preparation."""
    memory_mb: float
    """On a GPU the memory reserved at the end, on a CPU the peak of the process."""


def training_cost(
    config: Config,
    computing: ComputeConfig,
    context: GpuContext | None = None,
    *,
    warm_up: int = 10,
    cycles: int = 300,
) -> TrainingCost:
    """Train for some cycles after a warm-up, in which most shapes occur first, and measure them.

    In a context, other trainings may run at the same time: times and memory include them.
    """
    check_cycles(config, warm_up, cycles)
    seen = _measure(config, computing, context, warm_up, cycles)
    captures = seen.early.captures | seen.late.captures
    (slowest, _), slowest_s = max(captures.items(), key=lambda capture: capture[1])
    late_s, validation = sum(seen.late.captures.values()), statistics.fmean(seen.late.validations)
    steps, every = config.schedule.steps, config.schedule.validate_every
    cycle = seen.learning_s / cycles + validation / every
    samples = len(config.algorithms) * len(config.seeds) * config.data.batch_size
    return TrainingCost(
        algorithms=config.algorithms,
        replicas=len(config.seeds),
        cycles=cycles,
        ready_s=seen.ready_s,
        captures=len(captures),
        slowest_capture=slowest,
        slowest_capture_s=slowest_s,
        late_captures=len(seen.late.captures),
        late_s=late_s,
        cycle_ms=1000 * cycle,
        validation_s=validation,
        validation_share=validation / every / cycle,
        waiting_share=seen.waiting_share,
        samples_per_second=samples / cycle,
        steps=steps,
        projected_minutes=(seen.ready_s + late_s + steps * cycle) / 60,
        memory_mb=seen.memory_mb,
    )


def minutes_together(costs: Sequence[TrainingCost], at_once: int) -> float:
    """The minutes of all trainings, `at_once` at a time: when one ends, the next begins."""
    ends = [0.0] * at_once
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost.projected_minutes)
    return max(ends)


def check_cycles(config: Config, warm_up: int, cycles: int) -> None:
    """Raise a `ValueError` for numbers of cycles that a training does not have."""
    for name, value in (("warm_up", warm_up), ("cycles", cycles)):
        if value < 1:
            raise ValueError(f"{name}: got {value}, expected 1 or more")
    if warm_up + cycles > config.schedule.steps:
        raise ValueError(
            f"steps: got {config.schedule.steps}, expected at least the {warm_up + cycles} "
            "of warm_up and cycles together"
        )


_Captured = tuple[StreamKey, Shape | None]
"""What is captured once: the steps of a stream on windows of one shape."""


@dataclass
class _Times:
    """The seconds of captures, by what was captured, and of validations."""

    captures: dict[_Captured, float] = field(default_factory=dict)
    validations: list[float] = field(default_factory=list)


class _TimedTrainer(Trainer):
    """A trainer that times captures and validations."""

    def __init__(self, config: Config, computing: ComputeConfig, context: GpuContext | None = None):
        super().__init__(config, computing, context=context)
        self.times = _Times()
        self._seen: set[_Captured] = set()

    def validate(self) -> None:
        """Validate between the steps at which a validation is due."""
        self._report()

    def _learn(self, packed_batch: PackedBatch) -> None:
        learn, shape = partial(super()._learn, packed_batch), self._shape(packed_batch)
        if shape not in self._seen:
            self._seen.add(shape)
            self.times.captures[shape] = time_call(learn, self.device)
            return
        before = self.time_account["captures"]
        learn()
        if again := self.time_account["captures"] - before:  # in less memory
            self.times.captures[shape] = self.times.captures.get(shape, 0.0) + again

    def _shape(self, packed_batch: PackedBatch) -> _Captured:
        """The shape of a captured step; without graphs compiled kernels serve all shapes."""
        return packed_batch.shape if self._graphs else (packed_batch.key, None)

    def _report(self) -> ValidationReport:
        synchronize(self.device)
        start = time.perf_counter()
        report = super()._report()
        self.times.validations.append(time.perf_counter() - start)
        return report


class _Measurement(NamedTuple):
    """The times of one training."""

    ready_s: float
    early: _Times
    """Those of the warm-up."""
    late: _Times
    learning_s: float
    """The seconds of all cycles after the warm-up, without captures and validations."""
    waiting_share: float
    memory_mb: float


def _measure(
    config: Config, computing: ComputeConfig, context: GpuContext | None, warm_up: int, cycles: int
) -> _Measurement:
    device = torch.device(computing.device)
    with CAPTURE_LOCK:
        free_memory(device)
    start = time.perf_counter()
    trainer = _TimedTrainer(config, computing, context=context)
    with closing(trainer.run()) as run:
        for _ in range(warm_up):
            next(run)
        trainer.validate()
        ready = time.perf_counter() - start
        early, trainer.times = trainer.times, _Times()
        waited = trainer.time_account["waiting"]
        elapsed = time_call(lambda: [next(run) for _ in range(cycles)], device)
        waited = trainer.time_account["waiting"] - waited
    late = trainer.times
    elapsed -= sum(late.captures.values())
    learning = elapsed - sum(late.validations)
    if not late.validations:
        trainer.validate()
    with CAPTURE_LOCK:
        memory = reserved_mb(device)
    return _Measurement(ready, early, late, learning, waited / elapsed, memory)
