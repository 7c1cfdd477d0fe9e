"""The one loop: every step, each task is read once and the weights change.

One task is many tasks with a single entry; a whole trajectory is a chunk with nothing before it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from algorist.data.chunks import Cursor
from algorist.data.stream import Prefetch
from algorist.errors import counted
from algorist.kernels.cuda_graphs import CAPTURE_LOCK, CudaGraphs
from algorist.model.computing import ON_CPU, Computing
from algorist.model.learner import Learner, load_weights, plain_specs
from algorist.training.averaging import Average
from algorist.training.checkpoint import Checkpoint
from algorist.training.config import Config
from algorist.training.engine import CapturedEngine, Engine
from algorist.training.job_pool import GpuContext
from algorist.training.loader import LoaderSpec, TaskStream
from algorist.training.packing import PackedBatch, StreamKey
from algorist.training.parallel import ALONE, Peers
from algorist.training.saved_learners import best_learner
from algorist.training.schedules import DEFAULT_SCHEDULE, factor
from algorist.training.time_accounting import TimeAccount
from algorist.training.transfer import load_processor
from algorist.training.validation import Validation
from algorist.training.workers import Loader, WorkerPool

_GLANCE = 1e-3
"""Seconds between two looks at whether the device still works, while data is not there yet."""


_OPTIMIZER = "adam"
"""What the state of the optimizer, whichever it is, is called in checkpoints."""


class DivergedError(RuntimeError):
    """A loss or a weight is no longer a number."""


@dataclass(frozen=True)
class Report:
    """How a run stands after a validation."""

    step: int
    loss: Mapping[str, list[float]]
    """The mean loss of each task since the report before, for each seed."""
    scores: Mapping[str, list[float]]
    """The validation score of each task, by what the run is validated by; of errors, minus that."""
    score: list[float]
    """The mean over the tasks."""
    best_step: list[int]
    """The step at which each seed's best model so far was found."""
    terms: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    """The mean loss of each task since the report before, by feature, loss term and penalty."""
    learning_rate: float | None = None
    """The rate of the step before, where a schedule changes it."""


class Trainer:
    """A learner in training, and all that must be kept to go on later."""

    def __init__(
        self,
        config: Config,
        computing: Computing = ON_CPU,
        weights: Mapping[str, Tensor] | None = None,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
    ):
        """Begin with fresh weights, or with the given ones, alone or beside others in a context.

        With peers, this is one of several processes that train the same net.
        """
        peers.check(config.data.batch_size)
        if config.convention.sparse and peers.share.of > 1:
            raise ValueError(
                f"sparse: got {peers.share.of} processes, expected one for sparse nets"
            )
        computing = peers.place(computing)
        self.config, self.computing, self._context, self.peers = config, computing, context, peers
        self.time_account = TimeAccount()
        parts = (config.algorithms, config.model, config.convention)
        if weights is None:
            self.learner = Learner.new(*parts, config.seeds)
        else:
            self.learner = Learner.blank(*parts, len(config.seeds))
        self.net = computing.apply(self.learner.net)
        if weights is not None:
            load_weights(self.net, weights)
        elif config.optimizer.processor_from:
            load_processor(self.net, config.optimizer.processor_from)
        if config.optimizer.freeze_processor:
            self.net.processor.requires_grad_(requires_grad=False)
        captures = computing.graphs and computing.on_gpu and not config.convention.sparse
        self._graphs = self._own_graphs() if captures else None
        self.engine = (
            CapturedEngine(
                self.net,
                config,
                self._graphs,
                context.copies if context else None,
                time_account=self.time_account,
            )
            if self._graphs
            else Engine(self.net, config, peers=peers)
        )
        self.task_streams = {name: TaskStream(config, name) for name in config.algorithms}
        for name, task_stream in self.task_streams.items():
            if not config.convention.sparse:
                self.net.check(name, max(task_stream.sizes))
        self.step = 0
        self._cursors: dict[StreamKey, Sequence[Cursor]] = {}
        self._summed_steps = 0
        self._rate = config.optimizer.learning_rate
        """What the optimizer has at present."""
        self._reset_best()

    def _reset_best(self) -> None:
        """Judge the weights from now on, or their mean, if one is wanted; none is the best yet."""
        steps, seeds = self.config.schedule.average, len(self.config.seeds)
        self.average = Average(self.learner, steps) if steps else None
        self.best_scores: list[float] = [-math.inf] * seeds
        self.best_steps = [self.step] * seeds
        self.best = {
            name: p.detach().clone() for name, p in self.evaluated_model.net.named_parameters()
        }
        self._validation: Validation | None = None

    @property
    def evaluated_model(self) -> Learner:
        """The learner that is validated and of which the best is kept."""
        return self.average.learner if self.average else self.learner

    @property
    def device(self) -> torch.device:
        """Where the net is trained."""
        return self.net.device

    def _own_graphs(self) -> CudaGraphs:
        return self._context.graphs() if self._context else CudaGraphs(self.device)

    def run(self) -> Generator[Report | None, None, None]:
        """Train to the last step, yielding after each one: a report where one is due."""
        with self._packed_batches() as packed_batches:
            while self.step < self.config.schedule.steps:
                self._set_learning_rate()
                for _ in self.task_streams:
                    self._learn(self._awaited(packed_batches))
                if self.config.optimizer.accumulate:
                    self.engine.update()
                self.step += 1
                self._summed_steps += 1
                if self.average:
                    self.average.add(self.step)
                schedule = self.config.schedule  # which may change on the way
                due = self.step % schedule.validate_every == 0 or self.step == schedule.steps
                yield self._report() if due else None

    @property
    def learning_rate(self) -> float:
        """The rate of the next step: a pure function of how many are done."""
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
        """All packed batches to come, prepared by a thread or by processes."""
        cursors = {name: self._chunk_cursors(name) for name in self.task_streams}
        loader_spec = LoaderSpec(self.config, self.step, cursors, self.engine.fit, self.peers.share)
        workers = self.computing.worker_count
        if self._context and self._context.worker_pool:
            return Loader(self._context.worker_pool, loader_spec, alone=False)
        if workers > 1:
            return Loader(WorkerPool(workers), loader_spec)
        return Prefetch(loader_spec.packed_batch, loader_spec.order(), workers=1)

    def _chunk_cursors(self, name: str) -> dict[str, Sequence[Cursor]]:
        """Where the chunks of a task stand."""
        known = {p.size: own for p, own in self._cursors.items() if p.algorithm == name}
        return self.task_streams[name].cursors(self.step, known)

    def _awaited(self, packed_batches: Prefetch[Any, PackedBatch] | Loader) -> PackedBatch:
        """The next packed batch. While the device has nothing to do, waiting for it is counted."""
        if self._context:
            self._context.check()
        seen_at_work, late = time.perf_counter(), not packed_batches.is_ready()
        while late and not (self.engine.idle() or packed_batches.is_ready(_GLANCE)):
            seen_at_work = time.perf_counter()
        late = late and self.engine.idle()
        packed_batch = next(packed_batches)
        if late:
            self.time_account.count("waiting", seen_at_work)
        self.time_account.begin()
        return packed_batch

    def _learn(self, packed_batch: PackedBatch) -> None:
        """Learn from a packed batch. Those who measure time it here."""
        self.engine.learn(packed_batch)
        self._cursors[packed_batch.key] = packed_batch.cursors

    def _check_losses(self) -> None:
        """No step waits for its losses: they are looked at before anything is made of them."""
        for task, features in self.engine.losses().items():
            for place, seed in enumerate(self.config.seeds):
                values = {name: sums[place] for name, sums in features.items()}
                bad = {name: value for name, value in values.items() if not math.isfinite(value)}
                if bad:
                    raise DivergedError(
                        f"the loss of {task} is {next(iter(bad.values()))} by step {self.step} "
                        f"(seed {seed}, in {', '.join(bad)}); "
                        "the last checkpoint is kept: lower learning_rate or set clip"
                    )

    def _check_weights(self) -> None:
        """A loss can be finite and its gradient not: no such weights may be saved."""
        parameters = dict(self.net.named_parameters())
        finite = torch.stack([p.isfinite().all() for p in parameters.values()]).tolist()
        bad = [name for name, good in zip(parameters, finite, strict=True) if not good]
        if bad:
            raise DivergedError(
                f"{bad[0]} and {len(bad) - 1} other weights are not finite after step {self.step}; "
                "the last checkpoint is kept: lower learning_rate or set clip"
            )

    def _report(self) -> Report:
        self._check_losses()  # which waits for the device: what follows is its time alone
        is_first = self._graphs is not None and self._validation is None
        launches = is_first or (self._validation is not None and self._validation.launches)
        with (
            self.time_account.on("captures" if is_first else "validation"),
            CAPTURE_LOCK if self._graphs is not None and launches else nullcontext(),
        ):
            return self._validated()

    def _validated(self) -> Report:
        validation = self._validation = self._validation or self._new_validation()
        scores = self.peers.all_gather(validation.qualities(), self.config.algorithms)
        mean = [sum(column) / len(scores) for column in zip(*scores.values(), strict=True)]
        for place, score in enumerate(mean):
            if score >= self.best_scores[place]:  # of equals, the one that has learnt more
                self._keep_best(place, score)
        loss, terms = self.mean_loss, self.mean_terms
        self.engine.clear_losses()
        self._summed_steps = 0
        changes = self.config.optimizer.schedule != DEFAULT_SCHEDULE
        rate = self._rate if changes else None
        return Report(self.step, loss, scores, mean, list(self.best_steps), terms, rate)

    def _new_validation(self) -> Validation:
        graphs = self._graphs.with_own_pool() if self._graphs else None
        names = self.peers.own_tasks(self.config.algorithms)
        measure = self.config.schedule.validate_by
        return Validation(self.evaluated_model, names, self.best, graphs, measure)

    @property
    def mean_loss(self) -> dict[str, list[float]]:
        """The mean loss of each task since the report before."""
        steps = max(self._summed_steps, 1)
        return {
            task: [sum(parts) / steps for parts in zip(*features.values(), strict=True)]
            for task, features in self.engine.losses().items()
        }

    @property
    def mean_terms(self) -> dict[str, dict[str, list[float]]]:
        """The mean of each part of each task's loss since the report before."""
        steps = max(self._summed_steps, 1)
        return {
            task: {name: [value / steps for value in sums] for name, sums in parts.items()}
            for task, parts in self.engine.losses().items()
        }

    def _keep_best(self, place: int, score: float) -> None:
        """The model of the seed at that place is its best so far."""
        self.best_scores[place], self.best_steps[place] = score, self.step
        assert self._validation, "a best net has been validated"
        self._validation.keep(place)

    def best_learner(self) -> Learner:
        """Each seed's best model by validation."""
        return best_learner(self.config, self.best, self.step, self.best_steps, self.best_scores)

    def reschedule(
        self,
        *,
        steps: int | None = None,
        average: int | None = None,
        learning_rate: float | None = None,
        schedule: str | None = None,
    ) -> None:
        """Go on with other settings; None leaves them.

        Of a new mean of weights the best is to be kept, whatever scored better without it. What
        changes the learning rate is noted in the configuration: such a run is another one than
        those that were trained with these settings from the beginning.
        """
        self._change_times(_given(steps=steps, average=average))
        rates = _given(learning_rate=learning_rate, schedule=schedule)
        self._note_changes(self.config.optimizer, rates)
        self.config = replace(self.config, optimizer=replace(self.config.optimizer, **rates))

    def _note_changes(self, settings: Any, changes: Mapping[str, Any]) -> None:
        notes = tuple(
            f"step {self.step}: {name} {getattr(settings, name)} -> {value}"
            for name, value in changes.items()
            if value != getattr(settings, name)
        )
        self.config = replace(self.config, changes=self.config.changes + notes)

    def _change_times(self, changes: Mapping[str, Any]) -> None:
        before, schedule = self.config.schedule, replace(self.config.schedule, **changes)
        if "steps" in changes and schedule.steps <= self.step:
            raise ValueError(
                f"steps: got {schedule.steps}, expected more than the {self.step} that are done"
            )
        has_new_mean = schedule.average != before.average
        if has_new_mean and schedule.steps <= self.step:
            raise ValueError(
                f"average: got {schedule.average}, but all {counted(self.step, 'step')} are done, "
                "expected more steps too"
            )
        if self.config.optimizer.schedule != DEFAULT_SCHEDULE and "steps" in changes:
            self._note_changes(before, {"steps": schedule.steps})
        self.config = replace(self.config, schedule=schedule)
        if has_new_mean:
            self._reset_best()

    def checkpoint(self) -> Checkpoint:
        """All that is needed to go on exactly here."""
        self._check_losses()
        self._check_weights()
        optimizer = self.engine.optimizer
        tensors: dict[str, Tensor] = {f"net/{name}": p for name, p in self.net.named_parameters()}
        tensors |= {f"best/{name}": p for name, p in self.best.items()}
        if self.average:
            tensors |= {f"mean/{n}": p for n, p in self.evaluated_model.net.named_parameters()}
        tensors |= {f"{_OPTIMIZER}/{name}": x for name, x in optimizer.tensors().items()}
        for (algorithm, size), carry in self.engine.carries.items():
            place = f"carry/{algorithm}/{size}"
            for name, value in sorted(carry.tensors().items()):  # all processes in one order
                tensors[f"{place}/{name}"] = self.peers.all_gather_lanes(value)
        state = {
            "config": self.config.to_json(),
            "specs": plain_specs(self.net.specs),
            "updates": optimizer.counts(),
            "cursors": {name: self._chunk_cursors(name) for name in self.task_streams},
            "loss_sums": self.engine.losses(),
            "summed_steps": self._summed_steps,
            "best_scores": self.best_scores,
            "best_steps": self.best_steps,
        }
        if not optimizer.is_capturable and (numbers := optimizer.numbers()):
            state["optimizer_numbers"] = numbers
        return Checkpoint(self.step, tensors, state)

    @classmethod
    def resume(
        cls,
        checkpoint: Checkpoint,
        computing: Computing = ON_CPU,
        context: GpuContext | None = None,
        peers: Peers = ALONE,
    ) -> Trainer:
        """The trainer that a checkpoint was made of."""
        state: Mapping[str, Any] = checkpoint.state
        config = Config.from_json(state["config"])
        _expect_specs(state.get("specs", {}), config)
        trainer = cls(config, computing, checkpoint.below("net/"), context, peers)
        engine = trainer.engine
        trainer.step = checkpoint.step
        for name, value in checkpoint.below("best/").items():
            trainer.best[name].copy_(value)
        if trainer.average:
            trainer.average.restore(checkpoint.below("mean/"))
        engine.optimizer.restore(
            checkpoint.below(f"{_OPTIMIZER}/"), state["updates"], state.get("optimizer_numbers")
        )
        for name, task_stream in trainer.task_streams.items():
            task_stream.seek(state["cursors"][name])
            for size in task_stream.sizes:
                saved = checkpoint.below(f"carry/{name}/{size}/")
                if saved:
                    moved = {k: peers.share.cut(v).to(trainer.device) for k, v in saved.items()}
                    engine.carries[StreamKey(name, size)] = trainer.net.saved_carry(moved)
        engine.set_losses(_by_feature(state["loss_sums"], engine.losses()))
        trainer._summed_steps = state["summed_steps"]
        trainer.best_scores, trainer.best_steps = state["best_scores"], state["best_steps"]
        return trainer


def _given(**settings: Any) -> dict[str, Any]:
    """Those settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


def _expect_specs(saved: Mapping[str, Any], config: Config) -> None:
    """Complain if an algorithm has other features than when a checkpoint was written."""
    now = plain_specs({name: config.convention.spec(name) for name in config.algorithms})
    for name, features in saved.items():
        if features != now[name]:
            raise ValueError(
                f"{name}: it has other features than when this run was trained: "
                "load the plug-in as it was then, or train anew"
            )


def _by_feature(sums: Mapping[str, Any], like: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of losses by task and feature; older checkpoints have only those of all features."""
    result = dict(sums)
    for task, features in like.items():
        if isinstance(sums[task], list):
            first, *others = features
            nothing = [0.0] * len(sums[task])
            result[task] = {first: sums[task], **dict.fromkeys(others, nothing)}
    return result
