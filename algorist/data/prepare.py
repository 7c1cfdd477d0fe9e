"""Preparation: what takes long the first time is done by many processes, and kept on disk.

That is machine code, about two seconds for each algorithm, and the benchmark's fixed sets. Nothing
depends on it: what is not there when it is needed is made then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from algorist.algorithms import get
from algorist.data import official
from algorist.machine import cores

_PROGRAM = "import sys; from algorist.data.prepare import work; work(*sys.argv[1:])"


@contextmanager
def prepare_in_background(
    algorithms: Sequence[str], splits: Sequence[str] = ("val",)
) -> Iterator[None]:
    """Prepare algorithms and their sets beside what is done in the block.

    After it their machine code is loaded, so that processes which are forked then have it too.
    """
    missing = [name for name in algorithms if not _is_prepared(name, splits)]
    processes = _started(missing, splits)
    try:
        yield
        for process in processes:
            process.wait()
    finally:
        for process in processes:  # those that are still at work, if something went wrong
            process.kill()
            process.wait()
    for name in algorithms:
        _compile(name)


def work(splits: str, *algorithms: str) -> None:
    """The main function of each process."""
    warnings.simplefilter("ignore")
    for name in algorithms:
        _compile(name)
        for split in splits.split(","):
            official.split(name, split)


def _started(missing: Sequence[str], splits: Sequence[str]) -> list[subprocess.Popen[bytes]]:
    """Processes that share the work, if that is quicker than to do it here.

    They are not forked: this one may have threads, whose locks would stay locked.
    """
    count = min(len(missing), cores())
    if count < 2 or not sys.executable:
        return []
    command = [sys.executable, "-c", _PROGRAM, ",".join(splits)]
    # They find what this process finds, wherever that came from.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes: list[subprocess.Popen[bytes]] = []
    with suppress(OSError):
        for number in range(count):
            process = subprocess.Popen(
                [*command, *missing[number::count]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            processes.append(process)
    return processes


def _is_prepared(name: str, splits: Sequence[str]) -> bool:
    """Whether others have nothing to do: they do not know algorithms from outside this package."""
    algorithm = get(name)
    if not algorithm.is_part_of_the_package:
        return True
    try:
        return algorithm.is_compiled and all(
            official.split_file(algorithm, s).exists() for s in splits
        )
    except OSError:  # no folder in which it could be kept
        return False


def _compile(name: str) -> None:
    """Load machine code, or make it: the smallest problem serves for all."""
    algorithm = get(name)
    with suppress(ValueError):  # some may have no problems that small
        algorithm.sample(max(algorithm.size(4), algorithm.min_nodes), 1, 0, algorithm.train_options)
