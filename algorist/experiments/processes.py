"""Processes of this machine that train runs, several at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Protocol

from algorist.experiments.run_requests import Reply, RunRequest

_TAIL = 2000
"""The number of characters of a dead process's output that an error shows."""


class DiedError(Exception):
    """A process has ended without a reply."""


class Backend(Protocol):
    """Executes requests: processes of this machine, or a cluster."""

    capacity: int
    """The number of requests at the same time."""

    def execute(self, slot: int, request: RunRequest) -> Reply:
        """Execute a request and wait for the reply; called on one thread for each slot."""
        ...

    def stop(self) -> None:
        """Save and stop all runs."""
        ...

    def close(self) -> None:
        """Kill the processes that are left."""
        ...


class Process:
    """One process, which executes one request."""

    def __init__(self, request: RunRequest, environment: Mapping[str, str] = MappingProxyType({})):
        """Start it, with further variables in its environment."""
        self._printed = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (kept open)
        self._process = subprocess.Popen(
            # The folder is there for people who look at a list of processes.
            [sys.executable, "-m", "algorist.experiments.worker", request.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            text=True,
            env={**_environment(request.cores), **environment},
            start_new_session=True,  # Ctrl-C is for whoever started it
        )
        self._send(request.to_json())

    def reply(self) -> Reply:
        """Wait for the reply."""
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if answer.endswith("\n"):
            self.kill()  # it has nothing more to say
            return Reply.from_json(answer)
        code = self._process.wait()
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        raise DiedError(f"its process {ended}{self._last_words()}")

    def stop(self) -> None:
        """Save and stop the run."""
        self._send("stop")

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # that it has died is noticed later
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()

    def _last_words(self) -> str:
        self._printed.seek(0)
        text = self._printed.read()[-_TAIL:].strip()
        return f"; it had printed: {text}" if text else ""


class Processes:
    """A process for each slot, each on one of several devices."""

    def __init__(
        self,
        capacity: int,
        devices: Sequence[str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ):
        """`environment` has further variables for each process."""
        self.capacity, self._devices, self._environment = capacity, devices, environment
        self._at_work: set[Process] = set()
        self._lock, self._stopping = Lock(), False

    def execute(self, slot: int, request: RunRequest) -> Reply:
        """Execute a request and wait for the reply."""
        device = self._devices[slot % len(self._devices)]
        computing = {**request.computing, "device": device}
        process = Process(replace(request, computing=computing), self._environment)
        with self._lock:
            self._at_work.add(process)
            if self._stopping:
                process.stop()
        try:
            return process.reply()
        finally:
            with self._lock:
                self._at_work.discard(process)

    def stop(self) -> None:
        """Save and stop all runs."""
        with self._lock:
            self._stopping = True
            for process in self._at_work:
                process.stop()

    def close(self) -> None:
        """Kill the processes that are left."""
        with self._lock:
            self._stopping = True
            for process in self._at_work:
                process.kill()


def _environment(cores: int) -> dict[str, str]:
    """Processes find what this one finds, wherever that came from, and use this many cores."""
    path = os.pathsep.join([*filter(None, sys.path), str(Path.cwd())])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(cores)}
