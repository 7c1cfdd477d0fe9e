"""The one loop: every step, each task is read once and the weights change.

One task is many tasks with a single entry; a whole trajectory is a chunk with nothing before it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from algorist.batch import Batch
from algorist.data import official
from algorist.data.stream import Prefetch
from algorist.evaluation.evaluate import evaluate
from algorist.model import objective
from algorist.model.learner import Learner, load
from algorist.model.net import Carry, Net
from algorist.training.checkpoint import Checkpoint
from algorist.training.config import Config
from algorist.training.feed import Feed, Portion
from algorist.training.optimiser import Optimiser

PerSeed = list[float]


class DivergedError(RuntimeError):
    """A loss or a weight is no longer a number."""


@dataclass(frozen=True)
class Report:
    """How a run stands after a validation."""

    step: int
    loss: Mapping[str, PerSeed]
    """The mean loss of each task since the report before, for each seed."""
    scores: Mapping[str, PerSeed]
    """The validation score of each task."""
    score: PerSeed
    """The mean over the tasks."""
    best_step: list[int]
    """The step at which each seed's best model so far was found."""


class Trainer:
    """A learner in training, and all that must be kept to go on later."""

    def __init__(
        self,
        config: Config,
        device: torch.device | str = "cpu",
        weights: Mapping[str, Tensor] | None = None,
    ):
        """Begin with fresh weights, or with the given ones."""
        self.config, self.device = config, torch.device(device)
        self.learner = Learner.new(config.algorithms, config.model, config.convention, config.seeds)
        self.net = self.learner.net.to(self.device)
        if weights is not None:
            self.net.load_state_dict(weights)
        elif config.optimiser.processor_from:
            self._take_over_processor(config.optimiser.processor_from)
        self.net.processor.requires_grad_(not config.optimiser.freeze_processor)
        self.optimiser = Optimiser(self.net, config.optimiser)
        self.feeds = {name: Feed(config, name) for name in config.algorithms}
        self.step = 0
        self._carries: dict[tuple[str, int], Carry] = {}
        self._loss_sums = {name: [0.0] * len(config.seeds) for name in config.algorithms}
        self._summed_steps = 0
        # By quality, which is the score where that is not an error.
        self.best_scores: PerSeed = [-math.inf] * len(config.seeds)
        self.best_steps = [0] * len(config.seeds)
        self.best = {name: p.detach().clone() for name, p in self.net.named_parameters()}

    def _take_over_processor(self, source: str) -> None:
        """Start from a saved processor: the same for all seeds, or each from its own."""
        given, own = load(source, self.device).net, self.net
        if given.replicas not in (1, own.replicas):
            raise ValueError(
                f"processor_from: {source} has {given.replicas} replicas, "
                f"expected 1 or as many as there are seeds, {own.replicas}"
            )
        if _kind_of_processor(given) != _kind_of_processor(own):
            raise ValueError(
                f"processor_from: {source} has another kind of processor, "
                f"got one of {given.config}, expected one of {own.config}"
            )
        wanted = own.processor.state_dict()
        values = given.processor.state_dict().items()
        own.processor.load_state_dict({name: x.expand_as(wanted[name]) for name, x in values})

    def run(self, *, workers: int = 1) -> Generator[Report | None, None, None]:
        """Train to the last step, yielding after each one: a report where one is due."""
        tasks = list(self.feeds.values())
        schedule = self.config.schedule
        arguments = ((step, feed) for step in range(self.step, schedule.steps) for feed in tasks)
        with Prefetch(lambda a: a[1].portion(a[0]), arguments, workers=workers) as portions:
            while self.step < schedule.steps:
                for _ in tasks:
                    self._train(next(portions))
                if self.config.optimiser.accumulate:
                    self.optimiser.step()
                self.step += 1
                self._summed_steps += 1
                due = self.step % schedule.validate_every == 0 or self.step == schedule.steps
                yield self._report() if due else None

    def _train(self, portion: Portion) -> None:
        self.net.train()
        place = (portion.algorithm, portion.size)
        window = portion.window.to(self.device, non_blocking=True)
        rollout = self.net.rollout(portion.algorithm, window, self._carries.get(place))
        parts = objective.losses(self.net.specs[portion.algorithm], rollout, window)
        loss = objective.total(parts)  # (S,)
        values = loss.tolist()
        self._check(portion.algorithm, values, parts)
        loss.sum().backward()
        if self.config.data.chunk:
            self._carries[place] = rollout.carry.detach()
        if not self.config.optimiser.accumulate:
            self.optimiser.step()
        sums = self._loss_sums[portion.algorithm]
        self._loss_sums[portion.algorithm] = [a + b for a, b in zip(sums, values, strict=True)]

    def _check(self, algorithm: str, loss: PerSeed, parts: Mapping[str, Tensor]) -> None:
        bad = [place for place, value in enumerate(loss) if not math.isfinite(value)]
        if not bad:
            return
        culprits = [name for name, part in parts.items() if not math.isfinite(part[bad[0]].item())]
        raise DivergedError(
            f"the loss of {algorithm} is {loss[bad[0]]} at step {self.step} "
            f"(seed {self.config.seeds[bad[0]]}, in {', '.join(culprits)}); "
            "the last checkpoint is kept: lower learning_rate or set clip"
        )

    def _check_weights(self) -> None:
        """A loss can be finite and its gradient not: no such weights may be saved."""
        bad = [name for name, p in self.net.named_parameters() if not p.isfinite().all()]
        if bad:
            raise DivergedError(
                f"{bad[0]} and {len(bad) - 1} other weights are not finite after step {self.step}; "
                "the last checkpoint is kept: lower learning_rate or set clip"
            )

    def _report(self) -> Report:
        results = {
            name: evaluate(self.learner, name, problems)
            for name, problems in self._validation.items()
        }
        for place, of_tasks in enumerate(zip(*results.values(), strict=True)):
            quality = sum(evaluation.quality for evaluation in of_tasks) / len(of_tasks)
            if quality > self.best_scores[place]:
                self._keep_best(place, quality)
        scores = {name: [e.score for e in of_seeds] for name, of_seeds in results.items()}
        mean = [sum(column) / len(scores) for column in zip(*scores.values(), strict=True)]
        loss = self.mean_loss
        self._loss_sums = {name: [0.0] * len(self.config.seeds) for name in self._loss_sums}
        self._summed_steps = 0
        return Report(self.step, loss, scores, mean, list(self.best_steps))

    @cached_property
    def _validation(self) -> dict[str, Batch]:
        """The benchmark's validation problems, read once for all reports."""
        return {name: official.split(name, "val") for name in self.config.algorithms}

    @property
    def mean_loss(self) -> dict[str, PerSeed]:
        """The mean loss of each task since the report before."""
        steps = max(self._summed_steps, 1)
        return {name: [total / steps for total in sums] for name, sums in self._loss_sums.items()}

    def _keep_best(self, place: int, quality: float) -> None:
        """The model of the seed at that place is its best so far."""
        self.best_scores[place], self.best_steps[place] = quality, self.step
        for name, parameter in self.net.named_parameters():
            self.best[name][place] = parameter.detach()[place]

    def best_learner(self) -> Learner:
        """Each seed's best model by validation."""
        replicas = zip(self.config.seeds, self.best_steps, self.best_scores, strict=True)
        about = {
            "config": self.config.to_json(),
            "replicas": [
                # Before the first validation there is no score, and JSON knows no infinity.
                {"seed": seed, "step": step, "validation": score if step else None}
                for seed, step, score in replicas
            ],
        }
        learner = Learner.new(
            self.config.algorithms, self.config.model, self.config.convention, self.config.seeds
        )
        learner.net.load_state_dict(self.best)
        return Learner(learner.net.to(self.device), self.config.convention, about)

    def extend(self, steps: int) -> None:
        """Train for so many steps in all; nothing before the last step depends on their number."""
        if steps <= self.step:
            raise ValueError(
                f"steps: got {steps}, expected more than the {self.step} that are done"
            )
        schedule = replace(self.config.schedule, steps=steps)
        self.config = replace(self.config, schedule=schedule)

    def checkpoint(self) -> Checkpoint:
        """All that is needed to go on exactly here."""
        self._check_weights()
        tensors = {f"net/{name}": p for name, p in self.net.named_parameters()}
        tensors |= {f"best/{name}": p for name, p in self.best.items()}
        tensors |= {f"adam/{name}": moment for name, moment in self.optimiser.tensors().items()}
        for (algorithm, size), carry in self._carries.items():
            place = f"carry/{algorithm}/{size}"
            tensors[f"{place}/hidden"] = carry.hidden
            tensors |= {f"{place}/hint/{name}": value for name, value in carry.hints.items()}
        state = {
            "config": self.config.to_json(),
            "updates": self.optimiser.counts(),
            "cursors": {name: feed.cursors(self.step) for name, feed in self.feeds.items()},
            "loss_sums": self._loss_sums,
            "summed_steps": self._summed_steps,
            "best_scores": self.best_scores,
            "best_steps": self.best_steps,
        }
        return Checkpoint(self.step, tensors, state)

    @classmethod
    def resume(cls, checkpoint: Checkpoint, device: torch.device | str = "cpu") -> Trainer:
        """The trainer that a checkpoint was made of."""
        state: Mapping[str, Any] = checkpoint.state
        config = Config.from_json(state["config"])
        trainer = cls(config, device, _below("net/", checkpoint.tensors))
        trainer.step = checkpoint.step
        for name, value in _below("best/", checkpoint.tensors).items():
            trainer.best[name].copy_(value)
        trainer.optimiser.restore(_below("adam/", checkpoint.tensors), state["updates"])
        for name, feed in trainer.feeds.items():
            feed.seek(state["cursors"][name])
            for size in feed.sizes:
                saved = _below(f"carry/{name}/{size}/", checkpoint.tensors)
                if saved:
                    moved = {k: v.to(trainer.device) for k, v in saved.items()}
                    trainer._carries[name, size] = Carry(moved["hidden"], _below("hint/", moved))
        trainer._loss_sums = dict(state["loss_sums"])
        trainer._summed_steps = state["summed_steps"]
        trainer.best_scores, trainer.best_steps = state["best_scores"], state["best_steps"]
        return trainer


def _kind_of_processor(net: Net) -> tuple[str, dict[str, torch.Size]]:
    """Its name and the shapes of one replica's weights."""
    weights = net.processor.state_dict().items()
    return net.config.processor, {name: value.shape[1:] for name, value in weights}


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
