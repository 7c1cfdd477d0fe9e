"""Batches on disk: each file is complete and unharmed, or it is not used.

A file is an `.npz` (no pickle) followed by the SHA-256 of all bytes before. Tools that read zip
archives ignore what follows one, so that `numpy.load` opens it too.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

import numpy as np

from algorist.atomic import write_atomically
from algorist.batch import Batch
from algorist.spec import Spec

_SEAL_BYTES = 32


class Damaged(Exception):
    """The file is not as it was written."""


def folder() -> Path:
    """`$ALGORIST_CACHE`, or `algorist` in the user's cache folder.

    Raises an `OSError` if nobody knows the user's home, as in some containers.
    """
    if chosen := os.environ.get("ALGORIST_CACHE"):
        return Path(chosen).expanduser()
    user = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(user) if user else Path.home() / ".cache") / "algorist"
    except RuntimeError as error:
        raise OSError("the user has no home") from error


def save(path: Path, batch: Batch) -> None:
    """Write a batch. Readers and other writers of the same file see all of it or nothing."""
    content = _archive(batch.arrays())
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as temporary, temporary.open("wb") as file:
        file.write(content)
        file.write(hashlib.sha256(content).digest())


def load(path: Path, spec: Spec) -> Batch:
    """Read a batch of the given spec."""
    content = path.read_bytes()
    seal = hashlib.sha256(memoryview(content)[:-_SEAL_BYTES]).digest()
    if seal != content[-_SEAL_BYTES:]:
        raise Damaged(path)
    with np.load(io.BytesIO(content)) as archive:
        return Batch.from_arrays(spec, archive)


def _archive(arrays: dict[str, np.ndarray]) -> memoryview:
    """The bytes of an `.npz`, squeezed lightly: most of a trace repeats the step before."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return buffer.getbuffer()
