"""Learners that were saved: files, the best nets of runs, and those that come with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

import torch
from torch import Tensor

from algorist.algorithms import names
from algorist.errors import UnregisteredError, nearest
from algorist.model.learner import Learner, load_weights, read
from algorist.plugins import shell
from algorist.training import checkpoint
from algorist.training.checkpoint import Checkpoint
from algorist.training.checkpoint_compression import decompress
from algorist.training.config import Config
from algorist.weights import SAVED, models, present_name, shipped

BEST, CONFIG = "best.safetensors", "config.json"
"""Files in the folder of a run: its best nets, and how it is trained."""
METRICS, TIMES = "metrics.jsonl", "times.jsonl"
"""Files of JSON lines: a report each, and the times of a session each."""
CHECKPOINTS = "checkpoints"
EACH = "each.json"
"""The configuration of a folder with a run for each of its algorithms."""


def load(source: Path | str, device: torch.device | str = "cpu") -> Learner:
    """A saved learner: a file, the best nets of a run's folder, or a shipped one by its name.

    What has that name here comes before what is shipped. Of a packed run, the best nets are taken
    from its checkpoint.

        >>> load("nobody")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        ValueError: there is no file, run or shipped learner 'nobody'; shipped: ...
    """
    path, known = Path(source), shipped()
    if path.is_file():
        return read(path, device)
    if (path / BEST).exists():
        return read(path / BEST, device)
    if is_run(path):
        return _best_in(path, device)
    name = present_name(str(source))
    if name in known:
        return read(known[name], device)
    _expect_one(source)
    near = nearest(source, models())
    hint = f"did you mean {near!r}?" if near else f"shipped: {', '.join(models()) or 'none'}"
    raise ValueError(f"there is no file, run or shipped learner {str(source)!r}; {hint}")


def members(source: Path | str) -> dict[str, str]:
    """The paths of several learners under one name, by the algorithm of each.

    The name is that of a folder of runs or saved learners, which have the names of algorithms, or
    of a shipped folder. One learner has none. Of `train --each` some may not have begun.

        >>> members("specialists")["bfs"]
        'specialists/bfs'
        >>> members("generalist")
        {}
    """
    path = Path(source)
    if is_multi_run(path):
        tasks = read_config(path / EACH).algorithms
        return {name: str(path / name) for name in tasks}
    if path.is_file() or is_run(path):
        return {}
    below = f"{path.as_posix()}/"
    return _saved_in(path) or {
        name.removeprefix(below): name for name in shipped() if name.startswith(below)
    }


def _saved_in(folder: Path) -> dict[str, str]:
    """The runs and files in a folder that have the names of algorithms."""
    there = sorted(folder.iterdir()) if folder.is_dir() else []
    found: dict[str, str] = {}
    for path in there:
        name = path.name.removesuffix(SAVED)
        if name not in names() or not (is_run(path) or path.suffix == SAVED):
            continue
        if name in found:
            raise ValueError(f"{folder}: got {found[name]} and {path}, expected one for {name}")
        found[name] = str(path)
    return found


def members_not_begun(source: Path | str) -> list[str]:
    """The algorithms whose members are still to begin, which only `train --each` leaves."""
    if not is_multi_run(Path(source)):
        return []
    return [name for name, path in members(source).items() if not is_run(Path(path))]


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run that has begun."""
    return (folder / CONFIG).exists()


def is_multi_run(folder: Path) -> bool:
    """Whether a folder holds a run for each of some algorithms."""
    return (folder / EACH).exists()


def expect_no_run(folder: Path) -> None:
    """Raise a `ValueError` if a folder holds a run already, or several."""
    if is_run(folder) or is_multi_run(folder):
        raise ValueError(
            f"{folder}: there is a run already; resume it ({shell('resume', folder)}) "
            "or choose another folder"
        )


def expect_run(folder: Path) -> None:
    """Raise a `ValueError` if a folder holds no run, or several."""
    if is_multi_run(folder):
        _expect_one(folder)
    if not is_run(folder):
        raise ValueError(
            f"{folder}: there is no run here (no {CONFIG}); start one (algorist train)"
        )


def _expect_one(source: Path | str) -> None:
    """Raise a `ValueError` for a name of several learners where one is needed."""
    several = members(source)
    if several:
        first = next(iter(several.values()))
        raise ValueError(f"{source}: got several learners, expected one of them, such as {first}")


def newest(folder: Path) -> Checkpoint:
    """The newest whole checkpoint of the run in a folder, or what was packed into it."""
    expect_run(folder)
    checkpoints = folder / CHECKPOINTS
    if checkpoint.written(checkpoints) or not checkpoint.is_in(folder):
        return decompress(checkpoint.newest(checkpoints))
    try:
        return decompress(checkpoint.read(folder))
    except checkpoint.DamagedError as error:
        raise ValueError(f"{folder}: {error}; pack the run again") from error


def read_config(file: Path) -> Config:
    """The configuration in a file of a run, or of a folder of runs."""
    return config_in(file, file.read_text())


def config_in(source: Path, text: str) -> Config:
    """The configuration that a file or the checkpoint of a run holds."""
    try:
        return Config.from_json(text)
    except UnregisteredError as error:
        raise error.needed_by(source.parent if source.is_file() else source) from error
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def best_learner(
    config: Config,
    weights: Mapping[str, Tensor],
    step: int,
    best_steps: Sequence[int],
    best_scores: Sequence[float],
) -> Learner:
    """The best nets of a run; the metadata has the best step and score of each seed."""
    learner = Learner.blank(config.algorithms, config.model, config.convention, len(config.seeds))
    load_weights(learner.net, weights)
    replicas = zip(config.seeds, best_steps, best_scores, strict=True)
    metadata = {
        "config": config.to_json(),
        "steps": step,
        "replicas": [
            # Before the first validation there is no score, and JSON knows no infinity.
            {"seed": seed, "step": best, "validation": score if isfinite(score) else None}
            for seed, best, score in replicas
        ],
    }
    return Learner(learner.net, metadata)


def _best_in(folder: Path, device: torch.device | str) -> Learner:
    saved = newest(folder)
    state, weights = saved.state, saved.below("best/")
    config = config_in(folder, state["config"])
    learner = best_learner(config, weights, saved.step, state["best_steps"], state["best_scores"])
    learner.net.to(device).eval()
    return learner
