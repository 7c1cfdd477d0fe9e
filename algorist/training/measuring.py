"""Measuring: what training and evaluation cost, on any device."""

from __future__ import annotations

import heapq
import os
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch

from algorist.batch import Batch
from algorist.evaluation.evaluate import evaluate
from algorist.kernels.cuda_graphs import CAPTURE_LOCK
from algorist.model.computing import Computing
from algorist.model.learner import Learner
from algorist.training.config import Config
from algorist.training.job_pool import GpuContext
from algorist.training.loader import TaskStream
from algorist.training.packing import PackedBatch, Shape, StreamKey
from algorist.training.timing import (
    TimingConfig,
    Work,
    free_memory,
    peak_mb,
    reserved_mb,
    synchronize,
    time_call,
    time_rounds,
)
from algorist.training.trainer import Report, Trainer

_LOOKED_AT = 9
"""How many windows there are to choose a typical one from."""
_PROFILED = 5
"""How many training steps are profiled."""


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
    """Of the algorithm, in the window; where single steps are drawn, as many as a batch has
    problems are counted as one."""
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
    memory_mb: float
    """On a GPU all that is reserved for this net, on a CPU the most that the process ever had."""
    kernels: list[Kernel] = field(default_factory=list)
    """By time, if they were asked for."""


def step_cost(
    config: Config, computing: Computing, timing: TimingConfig, *, profile: bool = False
) -> StepCost:
    """Measure the training step of a configuration's only algorithm."""
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


def _fresh(config: Config, computing: Computing) -> Trainer:
    free_memory(torch.device(computing.device))
    return Trainer(config, computing)


def _typical_step(stream: TaskStream) -> int:
    """The one in the middle of a few by length. The first of all chunks is not like the others."""
    windows = {step: stream.window(step) for step in range(1, 1 + _LOOKED_AT)}
    longer = sorted(windows, key=lambda s: (windows[s].steps, windows[s].end_weights.shape[1]))
    return longer[_LOOKED_AT // 2]


def _step(trainer: Trainer, packed_batch: PackedBatch) -> Work:
    def step() -> None:
        trainer.engine.learn(packed_batch)
        if trainer.config.optimizer.accumulate:
            trainer.engine.update()

    return step


def _kernels(step: Work, device: torch.device) -> list[Kernel]:
    """What a GPU does in a training step, by time."""
    # Tracing that is torn down and begun again does not go well with graphs.
    os.environ.setdefault("TEARDOWN_CUPTI", "0")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(_PROFILED):
            step()
        synchronize(device)
    kernels = [
        Kernel(event.key, event.count / _PROFILED, event.self_device_time_total / _PROFILED)
        for event in profiler.key_averages()
        if str(event.device_type) == "DeviceType.CUDA" and not event.is_user_annotation
    ]
    return sorted(kernels, key=lambda kernel: -kernel.microseconds)


@dataclass(frozen=True)
class TrainingCost:
    """What a training costs, measured in some cycles: in each, every task is read once."""

    algorithms: tuple[str, ...]
    replicas: int
    cycles: int
    ready_s: float
    """From nothing to the end of the warm-up: net, data, captures, the first validation."""
    captures: int
    """Shapes of windows for each of which something was compiled or captured."""
    slowest_capture: StreamKey
    slowest_capture_s: float
    """The first step of the shape for which that took longest."""
    late_captures: int
    late_s: float
    """Captures after the warm-up: they are counted here alone."""
    cycle_ms: float
    """With the share of validation that falls to a cycle."""
    validation_s: float
    """A validation of all tasks."""
    validation_share: float
    waiting_share: float
    """The part of the time in which the device had nothing to do and data was not there."""
    samples_per_second: float
    steps: int
    projected_minutes: float
    """All so many steps, with what makes them ready."""
    memory_mb: float
    """On a GPU all that is reserved at the end, on a CPU the most that the process ever had."""


def training_cost(
    config: Config,
    computing: Computing,
    context: GpuContext | None = None,
    *,
    warm_up: int = 10,
    cycles: int = 300,
) -> TrainingCost:
    """Train in earnest for some cycles, after others in which shapes are seen first.

    In a context, others train at the same time: then all times and the memory are those with them.
    """
    check_cycles(config, warm_up, cycles)
    seen = _seen(config, computing, context, warm_up, cycles)
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
    """How long trainings take, so many at a time: whenever one ends, the next begins."""
    ends = [0.0] * at_once
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost.projected_minutes)
    return max(ends)


def check_cycles(config: Config, warm_up: int, cycles: int) -> None:
    """Complain about numbers of cycles that a training does not have."""
    for name, value in (("warm_up", warm_up), ("cycles", cycles)):
        if value < 1:
            raise ValueError(f"{name}: got {value}, expected 1 or more")
    if warm_up + cycles > config.schedule.steps:
        raise ValueError(
            f"steps: got {config.schedule.steps}, expected at least the {warm_up + cycles} "
            "of warm_up and cycles together"
        )


_Captured = tuple[StreamKey, Shape | None]
"""What is done once: for a place, and for windows of one shape."""


@dataclass
class _Times:
    """Seconds of what is not done in every step."""

    captures: dict[_Captured, float] = field(default_factory=dict)
    validations: list[float] = field(default_factory=list)


class _Watched(Trainer):
    """A trainer with a clock for captures and validations."""

    def __init__(self, config: Config, computing: Computing, context: GpuContext | None = None):
        super().__init__(config, computing, context=context)
        self.times = _Times()
        self._seen: set[_Captured] = set()

    def validate(self) -> None:
        """Make a report that is not due."""
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
        """Without graphs only kernels are compiled, and those serve all shapes."""
        return packed_batch.shape if self._graphs else (packed_batch.key, None)

    def _report(self) -> Report:
        synchronize(self.device)
        start = time.perf_counter()
        report = super()._report()
        self.times.validations.append(time.perf_counter() - start)
        return report


class _Seen(NamedTuple):
    """What was measured while a net was trained."""

    ready_s: float
    early: _Times
    """In the warm-up."""
    late: _Times
    learning_s: float
    """All cycles after the warm-up, without captures and validations."""
    waiting_share: float
    memory_mb: float


def _seen(
    config: Config, computing: Computing, context: GpuContext | None, warm_up: int, cycles: int
) -> _Seen:
    """Train a fresh net for some cycles, after the warm-up."""
    device = torch.device(computing.device)
    with CAPTURE_LOCK:
        free_memory(device)
    start = time.perf_counter()
    trainer = _Watched(config, computing, context=context)
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
    return _Seen(ready, early, late, learning, waited / elapsed, memory)


@dataclass(frozen=True)
class EvaluationCost:
    """What it costs to score a learner on one set of problems."""

    algorithm: str
    n: int
    samples: int
    steps: int
    """The algorithm's, in the longest sample."""
    replicas: int
    data_s: float
    """Reading the problems, or drawing them if they are not on disk."""
    score_s: float
    """The learner's answers, their scores, and which of them are right."""
    memory_mb: float
    """The most at any time; on a CPU that the process ever had."""


def evaluation_cost(
    learner: Learner, algorithm: str, draw: Callable[[str], Batch]
) -> EvaluationCost:
    """Score a learner on the problems that `draw` gives."""
    device = learner.net.device
    free_memory(device)
    start = time.perf_counter()
    batch = draw(algorithm)
    drawn = time.perf_counter() - start
    scored = time_call(lambda: evaluate(learner, algorithm, batch), device)
    return EvaluationCost(
        algorithm=algorithm,
        n=batch.n,
        samples=len(batch),
        steps=batch.steps,
        replicas=learner.net.replicas,
        data_s=drawn,
        score_s=scored,
        memory_mb=peak_mb(device),
    )
