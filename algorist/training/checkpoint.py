"""Checkpoints: tensors as safetensors, all else as JSON, with checksums, whole or not at all.

A checkpoint is a folder. It is written under another name, flushed to the disk and renamed, so a
folder that has its name is complete. No file of it is too large to be sent. No pickle anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load, save
from torch import Tensor

from algorist.atomic import named_errors
from algorist.model.former_names import by_present_names
from algorist.version import __version__

_STATE = "state.json"
_FILE_SIZE = 15_500_000
"""The most bytes of tensors in one file, unless there is a tensor that is larger."""
KEPT = 2
"""The number of checkpoints that are kept: the newest, and an older one in case it is damaged."""


class Checkpoint(NamedTuple):
    """The state of a run at one step."""

    step: int
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]

    def below(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin with a prefix, without it."""
        names = (name for name in self.tensors if name.startswith(prefix))
        return {name.removeprefix(prefix): self.tensors[name] for name in names}


class DamagedError(Exception):
    """A checkpoint is not what was written."""


def write(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into a folder of checkpoints, and drop those that are too old."""
    final = folder / f"{checkpoint.step:08d}"
    temporary = folder / ".unfinished"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        write_files(temporary, checkpoint)
    except OSError:  # a full disk, perhaps
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    replaced = folder / ".replaced"
    shutil.rmtree(replaced, ignore_errors=True)
    if final.exists():
        final.rename(replaced)
    temporary.rename(final)
    _sync(folder)
    shutil.rmtree(replaced, ignore_errors=True)
    for old in written(folder)[KEPT:]:
        shutil.rmtree(old)
    return final


def write_files(folder: Path, checkpoint: Checkpoint) -> list[Path]:
    """Write the files of a checkpoint, last the one without which the others are nothing."""
    digests = {}
    for number, tensors in enumerate(_shards(checkpoint.tensors)):
        name, content = f"tensors-{number}.safetensors", save(tensors)
        _write_through(folder / name, content)
        digests[name] = _digest(content)
    state = {"step": checkpoint.step, **checkpoint.state}
    state |= {"files": digests, "version": __version__}
    text = json.dumps(state, sort_keys=True)
    _write_through(folder / _STATE, f"{_digest(text.encode())}\n{text}\n".encode())
    _sync(folder)
    return [folder / name for name in (*digests, _STATE)]


def newest(folder: Path) -> Checkpoint:
    """The newest checkpoint that is whole; damaged ones are passed over with a warning."""
    reasons, anew = [], f"move {folder.parent} elsewhere to start anew"
    for path in written(folder):
        try:
            return read(path)
        except DamagedError as error:
            reasons.append(str(error))
            warnings.warn(f"{error}: trying the one before", stacklevel=2)
    if reasons:
        raise ValueError(f"{folder}: no checkpoint is complete ({'; '.join(reasons)}); {anew}")
    raise ValueError(f"{folder}: there is no checkpoint to resume from; {anew}")


def drop_after(folder: Path, step: int) -> None:
    """Remove the checkpoints of later steps, which a run that goes on after one will take again."""
    for path in written(folder):
        if int(path.name) > step:
            shutil.rmtree(path)


def is_in(folder: Path) -> bool:
    """Whether a checkpoint lies in this very folder."""
    return (folder / _STATE).exists()


def read(path: Path) -> Checkpoint:
    """A checkpoint, if it is exactly what was written."""
    try:
        digest, text = (path / _STATE).read_text().split("\n")[:2]
    except (OSError, ValueError) as error:
        raise DamagedError(f"the checkpoint {path} cannot be read ({error})") from error
    if digest != _digest(text.encode()):
        raise DamagedError(f"the checkpoint {path} has a damaged {_STATE}")
    state = json.loads(text)
    tensors: dict[str, Tensor] = {}
    if "files" not in state:  # written by an older version
        state["files"] = {"tensors.safetensors": state.pop("tensors")}
    for name, digest in state.pop("files").items():
        try:
            content = (path / name).read_bytes()
        except OSError as error:
            raise DamagedError(f"the checkpoint {path} cannot be read ({error})") from error
        if digest != _digest(content):
            raise DamagedError(f"the checkpoint {path} has a damaged {name}")
        # In memory of their own, aligned as all are: the last bit of products depends on that.
        tensors |= {name: tensor.clone() for name, tensor in load(content).items()}
    state.pop("version", None)  # which wrote it: nothing depends on that
    if "updates" in state:
        state["updates"] = by_present_names(state["updates"])
    return Checkpoint(state.pop("step"), by_present_names(tensors), state)


def _shards(tensors: Mapping[str, Tensor]) -> Iterator[dict[str, Tensor]]:
    """The tensors on the CPU, as many at a time as fit into a file."""
    shard: dict[str, Tensor] = {}
    size = 0
    for name, tensor in tensors.items():
        if shard and size + tensor.nbytes > _FILE_SIZE:
            yield shard
            shard, size = {}, 0
        shard[name] = tensor.detach().cpu().contiguous()
        size += tensor.nbytes
    yield shard


def written(folder: Path) -> list[Path]:
    """All checkpoints in a folder, newest first: none is half written, but some may be damaged."""
    return sorted(
        (p for p in folder.glob("[0-9]*") if p.name.isdecimal() and p.is_dir()), reverse=True
    )


def steps(folder: Path) -> list[int]:
    """The steps of all checkpoints in a folder, newest first."""
    return [int(path.name) for path in written(folder)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_through(path: Path, content: bytes) -> None:
    with named_errors(path), path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Make the names in a folder as durable as the files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
