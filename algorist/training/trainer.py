"""The training loop: in each step the net learns from one batch of every task.

The same loop serves one task and many, whole trajectories and chunks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from algorist.data.chunks import Cursor
from algorist.data.stream import Prefetch
from algorist.kernels.cuda_graphs import CAPTURE_LOCK, CudaGraphs
from algorist.model.compute_config import ON_CPU, ComputeConfig
from algorist.model.learner import Learner, load_weights
from algorist.training.averaged_weights import AveragedWeights
from algorist.training.captured_engine import CapturedEngine
from algorist.training.checkpoint import Checkpoint
from algorist.training.config import Config
from algorist.training.divergence import expect_finite_losses, expect_finite_weights
from algorist.training.engine import Engine
from algorist.training.job_pool import GpuContext
from algorist.training.loader import LoaderSpec, TaskStream
from algorist.training.packing import PackedBatch, StreamKey
from algorist.training.parallel import ALONE, Peers
from algorist.training.reschedule import reschedule
from algorist.training.saved_learners import best_learner
from algorist.training.schedules import DEFAULT_SCHEDULE, factor
from algorist.training.time_accounting import TimeAccount
from algorist.training.trainer_state import restore_state, save_state, saved_config
from algorist.training.transfer import load_processor
from algorist.training.validation import Validation
from algorist.training.validation_report import ValidationReport
from algorist.training.workers import Loader, WorkerPool

_POLL_SECONDS = 1e-3
"""The interval at which a trainer that waits for data checks whether the device is idle."""


class Trainer:
    """A learner in training, with its data, optimizer, validation and best weights."""

    def __init__(
        self,
        config: Config,
        computing: ComputeConfig = ON_CPU,
        weights: Mapping[str, Tensor] | None = None,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
    ):
        """Start from the given weights, or from fresh ones.

        A `context` lets several trainings run on one device; `peers` are the other processes that
        train the same net.
        """
        peers.check(config.data.batch_size)
        if config.convention.sparse and peers.share.of > 1:
            raise ValueError(
                f"sparse: got {peers.share.of} processes, expected one for sparse nets"
            )
        computing = peers.own_compute_config(computing)
        self.config, self.computing, self._context, self.peers = config, computing, context, peers
        self.time_account = TimeAccount()
        self.learner = _make_learner(config, computing, weights)
        self.net = self.learner.net
        self._graphs = self._make_graphs()
        self.engine = self._make_engine()
        self.task_streams = {name: TaskStream(config, name) for name in config.algorithms}
        for name, task_stream in self.task_streams.items():
            if not config.convention.sparse:
                self.net.check_kernels(name, max(task_stream.sizes))
        self.step = 0
        self._cursors: dict[StreamKey, Sequence[Cursor]] = {}
        self.summed_steps = 0
        self._rate = config.optimizer.learning_rate
        """The present learning rate of the optimizer."""
        self._reset_best()

    def _make_graphs(self) -> CudaGraphs | None:
        computing = self.computing
        if not computing.graphs or not computing.on_gpu or self.config.convention.sparse:
            return None
        return self._context.graphs() if self._context else CudaGraphs(self.device)

    def _make_engine(self) -> Engine:
        if self._graphs is None:
            return Engine(self.net, self.config, peers=self.peers)
        copies = self._context.copies if self._context else None
        return CapturedEngine(
            self.net, self.config, self._graphs, copies, time_account=self.time_account
        )

    def _reset_best(self) -> None:
        """Start averaging, if the configuration says so, and the search for the best weights."""
        steps, seeds = self.config.schedule.average, len(self.config.seeds)
        self.average = AveragedWeights(self.learner, steps) if steps else None
        self.best_scores: list[float] = [-math.inf] * seeds
        self.best_steps = [self.step] * seeds
        self.best = {
            name: p.detach().clone() for name, p in self.evaluated_model.net.named_parameters()
        }
        self._validation: Validation | None = None

    @property
    def evaluated_model(self) -> Learner:
        """The learner that is validated and saved: the averaged one, if there is one."""
        return self.average.learner if self.average else self.learner

    @property
    def device(self) -> torch.device:
        """The device of the net."""
        return self.net.device

    def run(self) -> Generator[ValidationReport | None, None, None]:
        """Train to the last step; yields after each step, a report where a validation is due."""
        with self._packed_batches() as packed_batches:
            while self.step < self.config.schedule.steps:
                self._set_learning_rate()
                for _ in self.task_streams:
                    self._learn(self._next_batch(packed_batches))
                if self.config.optimizer.accumulate:
                    self.engine.update()
                self.step += 1
                self.summed_steps += 1
                if self.average:
                    self.average.add(self.step)
                schedule = self.config.schedule  # `reschedule` may have replaced it
                due = self.step % schedule.validate_every == 0 or self.step == schedule.steps
                yield self._report() if due else None

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step: a pure function of the step."""
        settings, steps = self.config.optimizer, self.config.schedule.steps
        if settings.schedule == DEFAULT_SCHEDULE:
            return settings.learning_rate
        return settings.learning_rate * factor(settings.schedule, self.step / steps)

    def _set_learning_rate(self) -> None:
        rate = self.learning_rate
        if rate != self._rate:
            self.engine.optimizer.set_learning_rate(rate)
            self._rate = rate

    def _packed_batches(self) -> Prefetch[Any, PackedBatch] | Loader:
        """All remaining packed batches, prepared ahead by a thread or by worker processes."""
        cursors = {name: self.chunk_cursors(name) for name in self.task_streams}
        loader_spec = LoaderSpec(self.config, self.step, cursors, self.engine.fit, self.peers.share)
        workers = self.computing.worker_count
        if self._context and self._context.worker_pool:
            return Loader(self._context.worker_pool, loader_spec, alone=False)
        if workers > 1:
            return Loader(WorkerPool(workers), loader_spec)
        return Prefetch(loader_spec.packed_batch, loader_spec.work_items(), workers=1)

    def chunk_cursors(self, name: str) -> dict[str, Sequence[Cursor]]:
        """The cursors of a task's chunks, for each size."""
        known = {p.size: own for p, own in self._cursors.items() if p.algorithm == name}
        return self.task_streams[name].cursors(self.step, known)

    def _next_batch(self, packed_batches: Prefetch[Any, PackedBatch] | Loader) -> PackedBatch:
        """The next packed batch. Waiting for it is counted while the device is idle."""
        if self._context:
            self._context.check()
        seen_at_work, late = time.perf_counter(), not packed_batches.is_ready()
        while late and not (self.engine.idle() or packed_batches.is_ready(_POLL_SECONDS)):
            seen_at_work = time.perf_counter()
        late = late and self.engine.idle()
        packed_batch = next(packed_batches)
        if late:
            self.time_account.count("waiting", seen_at_work)
        self.time_account.begin()
        return packed_batch

    def _learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a packed batch; a subclass may time it."""
        self.engine.learn(packed_batch)
        self._cursors[packed_batch.key] = packed_batch.cursors

    def _report(self) -> ValidationReport:
        # Reading losses waits for the device, so that what follows is timed alone.
        expect_finite_losses(self.engine.losses(), self.config.seeds, self.step)
        is_first = self._graphs is not None and self._validation is None
        launches = is_first or (self._validation is not None and self._validation.launches)
        with (
            self.time_account.on("captures" if is_first else "validation"),
            CAPTURE_LOCK if self._graphs is not None and launches else nullcontext(),
        ):
            return self._validate()

    def _validate(self) -> ValidationReport:
        validation = self._validation = self._validation or self._new_validation()
        scores = self.peers.all_gather(validation.qualities(), self.config.algorithms)
        mean = [sum(column) / len(scores) for column in zip(*scores.values(), strict=True)]
        for replica, score in enumerate(mean):
            if score >= self.best_scores[replica]:  # among equal scores the latest is kept
                self._keep_best(replica, score)
        loss, terms = self.mean_loss, self.mean_terms
        self.engine.clear_losses()
        self.summed_steps = 0
        changes = self.config.optimizer.schedule != DEFAULT_SCHEDULE
        rate = self._rate if changes else None
        return ValidationReport(self.step, loss, scores, mean, list(self.best_steps), terms, rate)

    def _new_validation(self) -> Validation:
        graphs = self._graphs.with_own_pool() if self._graphs else None
        names = self.peers.own_tasks(self.config.algorithms)
        measure = self.config.schedule.validate_by
        return Validation(self.evaluated_model, names, self.best, graphs, measure)

    @property
    def mean_loss(self) -> dict[str, list[float]]:
        """The mean loss of each task and seed since the previous report."""
        steps = max(self.summed_steps, 1)
        return {
            task: [sum(parts) / steps for parts in zip(*features.values(), strict=True)]
            for task, features in self.engine.losses().items()
        }

    @property
    def mean_terms(self) -> dict[str, dict[str, list[float]]]:
        """The mean of each part of the loss of each task and seed since the previous report."""
        steps = max(self.summed_steps, 1)
        return {
            task: {name: [value / steps for value in sums] for name, sums in parts.items()}
            for task, parts in self.engine.losses().items()
        }

    def _keep_best(self, replica: int, score: float) -> None:
        """Keep the weights of a replica as its best so far."""
        self.best_scores[replica], self.best_steps[replica] = score, self.step
        assert self._validation, "a best net has been validated"
        self._validation.keep(replica)

    def best_learner(self) -> Learner:
        """A learner with the best weights of each seed so far."""
        return best_learner(self.config, self.best, self.step, self.best_steps, self.best_scores)

    def reschedule(self, **changes: Any) -> None:
        """Change settings from this step on (see `reschedule.py`).

        With a new `average` the search for the best weights starts again.
        """
        before = self.config.schedule.average
        self.config = reschedule(self.config, self.step, **changes)
        if self.config.schedule.average != before:
            self._reset_best()

    def checkpoint(self) -> Checkpoint:
        """Everything that is needed to resume the training exactly."""
        expect_finite_losses(self.engine.losses(), self.config.seeds, self.step)
        expect_finite_weights(self.net, self.step)
        return save_state(self)

    @classmethod
    def resume(
        cls,
        checkpoint: Checkpoint,
        computing: ComputeConfig = ON_CPU,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
    ) -> Trainer:
        """The trainer in the state of a checkpoint."""
        config = saved_config(checkpoint)
        trainer = cls(config, computing, checkpoint.below("net/"), context, peers)
        restore_state(trainer, checkpoint)
        return trainer


def _make_learner(
    config: Config, computing: ComputeConfig, weights: Mapping[str, Tensor] | None
) -> Learner:
    """A learner on its device, with the given weights, those of a saved processor or fresh ones."""
    parts = (config.algorithms, config.model, config.convention)
    if weights is None:
        learner = Learner.new(*parts, config.seeds)
    else:
        learner = Learner.blank(*parts, len(config.seeds))
    net = computing.apply(learner.net)
    if weights is not None:
        load_weights(net, weights)
    elif config.optimizer.processor_from:
        load_processor(net, config.optimizer.processor_from)
    if config.optimizer.freeze_processor:
        net.processor.requires_grad_(requires_grad=False)
    return learner
