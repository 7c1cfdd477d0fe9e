"""The state of a `Trainer` in checkpoints, written and restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from algorist.model.learner import plain_specs
from algorist.training.checkpoint import Checkpoint
from algorist.training.config import Config
from algorist.training.packing import StreamKey

if TYPE_CHECKING:
    from algorist.training.trainer import Trainer

_OPTIMIZER = "adam"
"""The prefix of the optimizer's tensors in checkpoints, whichever optimizer it is."""


def save_state(trainer: Trainer) -> Checkpoint:
    """A checkpoint of a trainer; with peers, all processes must call this."""
    optimizer, engine = trainer.engine.optimizer, trainer.engine
    tensors: dict[str, Tensor] = {f"net/{name}": p for name, p in trainer.net.named_parameters()}
    tensors |= {f"best/{name}": p for name, p in trainer.best.items()}
    if trainer.average:
        mean = trainer.average.learner.net
        tensors |= {f"mean/{name}": p for name, p in mean.named_parameters()}
    tensors |= {f"{_OPTIMIZER}/{name}": x for name, x in optimizer.tensors().items()}
    for (algorithm, size), carry in engine.carries.items():
        prefix = f"carry/{algorithm}/{size}"
        for name, value in sorted(carry.tensors().items()):  # all processes in one order
            tensors[f"{prefix}/{name}"] = trainer.peers.all_gather_lanes(value)
    state = {
        "config": trainer.config.to_json(),
        "specs": plain_specs(trainer.net.specs),
        "updates": optimizer.counts(),
        "cursors": {name: trainer.chunk_cursors(name) for name in trainer.task_streams},
        "loss_sums": engine.losses(),
        "summed_steps": trainer.summed_steps,
        "best_scores": trainer.best_scores,
        "best_steps": trainer.best_steps,
    }
    if not optimizer.is_capturable and (numbers := optimizer.numbers()):
        state["optimizer_numbers"] = numbers
    return Checkpoint(trainer.step, tensors, state)


def saved_config(checkpoint: Checkpoint) -> Config:
    """The configuration in a checkpoint.

    Raises a `ValueError` if an algorithm has other features by now.
    """
    config = Config.from_json(checkpoint.state["config"])
    now = plain_specs({name: config.convention.spec(name) for name in config.algorithms})
    for name, features in checkpoint.state.get("specs", {}).items():
        if features != now[name]:
            raise ValueError(
                f"{name}: it has other features than when this run was trained: "
                "load the plug-in as it was then, or train anew"
            )
    return config


def restore_state(trainer: Trainer, checkpoint: Checkpoint) -> None:
    """Set all of a new trainer to a checkpoint, except the net's weights."""
    engine, state = trainer.engine, checkpoint.state
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
                lanes = {k: trainer.peers.share.cut(v).to(trainer.device) for k, v in saved.items()}
                engine.carries[StreamKey(name, size)] = trainer.net.load_carry(lanes)
    engine.set_losses(_by_feature(state["loss_sums"], engine.losses()))
    trainer.summed_steps = state["summed_steps"]
    trainer.best_scores, trainer.best_steps = state["best_scores"], state["best_steps"]


def _by_feature(sums: Mapping[str, Any], like: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of losses by task and feature; older checkpoints have only the sum over features."""
    result = dict(sums)
    for task, features in like.items():
        if isinstance(sums[task], list):
            first, *others = features
            zeros = [0.0] * len(sums[task])
            result[task] = {first: sums[task], **dict.fromkeys(others, zeros)}
    return result
