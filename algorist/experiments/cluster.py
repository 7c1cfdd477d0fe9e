"""A Ray cluster whose machines do runs.

Ray finds a machine with room for a run and keeps an actor there, which starts the very process that
does it on a single machine. Runs are written to storage that all machines share.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from threading import Event, Lock
from typing import Any

from algorist.experiments.processes import DiedError, Process
from algorist.experiments.run_requests import Reply, RunRequest
from algorist.extras import extra

DIED = "died"
"""The state of a run whose process has ended without an answer, as a host tells it."""

_PATIENCE = 5.0
"""Seconds in which the head of a cluster should be heard of."""


class Host:
    """Does one run on some machine of the cluster; Ray makes an actor of it."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._stopping = Event()

    def execute(self, request: str) -> str:
        """Execute a request and wait for the reply."""
        self._process = Process(RunRequest.from_json(request))
        if self._stopping.is_set():
            self._process.stop()
        try:
            return self._process.reply().to_json()
        except DiedError as error:
            return Reply(DIED, str(error)).to_json()

    def stop(self) -> None:
        """Save and stop the run, while `execute` waits."""
        self._stopping.set()
        if self._process is not None:
            self._process.stop()


class Cluster:
    """The machines of a Ray cluster."""

    def __init__(self, address: str):
        """Reach a cluster, by an address as Ray has them."""
        self._ray, self._address = extra("ray", "Ray"), address
        try:
            _expect_listener(address)
            self._ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError) as error:
            raise ValueError(f"--ray: cannot reach {address} ({error})") from error
        nodes = self._ray.nodes()
        self._machines: list[Mapping[str, float]] = [n["Resources"] for n in nodes if n["Alive"]]
        self.capacity = 0
        self._at_work: set[Any] = set()
        self._lock, self._stopping = Lock(), False

    @property
    def has_gpus(self) -> bool:
        """Whether some machine has GPUs."""
        return any(machine.get("GPU") for machine in self._machines)

    def reserve(self, cores: int, gpus: float, at_once: int | None) -> None:
        """Give each run some cores and GPUs, and run as many at once as fit."""
        needed = {"CPU": cores, "GPU": gpus}
        room = sum(_room(machine, needed) for machine in self._machines)
        if not room:
            self.close()
            got = " and ".join(map(_size, self._machines))
            raise ValueError(
                f"--ray: {self._address} has no room for a run: got machines of {got}, "
                f"expected {_size(needed)} on one of them"
            )
        self.capacity = at_once or room
        self._actor = self._ray.remote(num_cpus=cores, num_gpus=gpus, max_concurrency=2)(Host)

    def execute(self, slot: int, request: RunRequest) -> Reply:
        """Execute a request and wait for the reply."""
        host = self._actor.remote()
        with self._lock:
            self._at_work.add(host)
            if self._stopping:
                host.stop.remote()
        try:
            reply = Reply.from_json(self._ray.get(host.execute.remote(request.to_json())))
        except self._ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise DiedError(f"its machine or its actor has stopped: {lines[0]}") from error
        finally:
            with self._lock:
                self._at_work.discard(host)
            self._ray.kill(host)
        if reply.state == DIED:
            raise DiedError(reply.message)
        return reply

    def stop(self) -> None:
        """Save and stop all runs."""
        with self._lock:
            self._stopping = True
            for host in self._at_work:
                host.stop.remote()

    def close(self) -> None:
        """Kill the processes that are left."""
        self._ray.shutdown()


def _expect_listener(address: str) -> None:
    """Raise a `ValueError` if the address does not answer; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), _PATIENCE).close()


def _room(resources: Mapping[str, float], needed: Mapping[str, float]) -> int:
    """For how many runs there is room on a machine."""
    return min(int(resources.get(name, 0) / each) for name, each in needed.items() if each)


def _size(resources: Mapping[str, float]) -> str:
    return f"{resources.get('CPU', 0):g} cores, {resources.get('GPU', 0):g} GPUs"
