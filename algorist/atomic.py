"""Files that are there as a whole or not at all, and what is whole of those that grow."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Of all processes that read files of a folder to replace them, let one at a time do so."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.name != "posix":  # elsewhere folders cannot be locked
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which ends the lock


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Hold a file, which only one process can do at a time; for others it is a `BlockingIOError`.

    Nobody holds what a process that was killed has left.
    """
    if os.name != "posix":
        yield
        return
    import fcntl

    while True:
        with file.open("a") as opened:
            try:
                fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # children do not inherit it
            except (BlockingIOError, PermissionError) as error:
                raise BlockingIOError(f"{file} is held by another process") from error
            if not _is_at(file, opened):  # who held it has just removed it
                continue
            try:
                yield
            finally:
                file.unlink(missing_ok=True)
            return


def _is_at(file: Path, opened: IO[str]) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(opened.fileno()))
    except FileNotFoundError:
        return False


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where a file is to be written: when the block ends, it is on the disk and has its name.

    Readers and other writers of it see all of the new file or all of the old.
    """
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file so that its readers see all of the new text or all of the old."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def whole_lines(path: Path) -> list[str]:
    """The lines of a file, without one that somebody is still writing or could not end."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]
