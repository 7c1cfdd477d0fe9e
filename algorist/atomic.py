"""Files that are written as a whole or not at all, and locks."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder in the block; other processes wait for it."""
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
def lock_file(file: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file in the block.

    Raises a `BlockingIOError` if another process has it. The lock of a process that was killed is
    free again.
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
def named_errors(path: Path) -> Iterator[None]:
    """Let errors of the block that name no file, as those of full disks, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path, whose file takes the place of `path` when the block ends.

    Readers and other writers see all of the new file or all of the old one.
    """
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        with named_errors(path):
            yield temporary
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(path: Path) -> None:
    """Remove what killed processes left of a file; no other process may be writing it."""
    for temporary in path.parent.glob(f".{path.name}-*-*"):
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a file so that its readers see all of the new text or all of the old."""
    with write_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def whole_lines(path: Path) -> list[str]:
    """The lines of a file, without one that somebody is still writing or could not end."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]
