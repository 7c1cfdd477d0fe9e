"""Executors: many runs, some at the same time, in threads, in processes or on a Ray cluster.

All have one interface. The seeds of one net are replicas of a single run, in lockstep, whatever
executes it. Threads share a GPU and its compiled kernels. A process that dies ends no other run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import Generic, NamedTuple, Self, TypeVar

from algorist.errors import format_count
from algorist.experiments.processes import Backend, DiedError
from algorist.experiments.run_requests import DONE, FAILED, STOPPED, Reply, RunRequest
from algorist.model.compute_config import ComputeConfig
from algorist.training.divergence import DivergedError
from algorist.training.job_pool import NOT_RUN, GpuContext, JobPool, Outcome

_POLL_SECONDS = 0.2
"""Seconds between two checks whether to stop."""
_EXPECTED = (DivergedError, ValueError, OSError, MemoryError)
"""Errors that say in one line what is wrong."""
_FOR_GOOD = (DivergedError, ValueError)
"""Errors that would recur if a run were tried again."""

ShouldStop = Callable[[], bool]
Work = TypeVar("Work")
ThreadWork = Callable[[GpuContext, ShouldStop], Reply]
"""Executes a run in a context, until it is told to stop."""


class Executor(ABC, Generic[Work]):
    """Executes runs until none is left, or until it is to stop. To be used with `with`."""

    at_once: int
    """The number of runs at the same time."""

    @abstractmethod
    def replies(
        self, runs: Mapping[str, Work], should_stop: ShouldStop
    ) -> Iterator[tuple[str, Reply]]:
        """Execute runs; yields the name and the reply of each, in the order in which they end.

        A run that fails does not stop the others.
        """

    @abstractmethod
    def close(self) -> None:
        """End the processes that are left."""

    def run_all(
        self,
        runs: Mapping[str, Work],
        should_stop: ShouldStop,
        on_end: Callable[[str, Reply], None],
    ) -> Summary:
        """Execute runs, and call `on_end` with the name and the reply of each as it ends."""
        replies = {}
        for name, reply in self.replies(runs, should_stop):
            replies[name] = reply
            on_end(name, reply)
        return Summary(list(runs), replies)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ThreadExecutor(Executor[ThreadWork]):
    """Runs in threads of this process, each with a context of its own (see `JobPool`).

    It must be made before there are other threads, since it forks processes that prepare data.
    """

    def __init__(self, at_once: int, computing: ComputeConfig):
        self.at_once, self._pool = at_once, JobPool(at_once, computing)

    def close(self) -> None:
        """End the processes that prepare data."""
        self._pool.close()

    def replies(
        self, runs: Mapping[str, ThreadWork], should_stop: ShouldStop
    ) -> Iterator[tuple[str, Reply]]:
        """Execute runs; those that no thread has taken failed with `NOT_RUN`."""
        left = list(runs)
        jobs = [partial(_execute, runs[name], should_stop) for name in left]
        ended = set()
        for outcome in self._pool.outcomes(jobs):
            name = left[outcome.number]
            ended.add(name)
            yield name, _reply_of(outcome)
        for name in left:
            if name not in ended:
                yield name, Reply(FAILED, NOT_RUN)


def _execute(work: ThreadWork, should_stop: ShouldStop, context: GpuContext) -> Reply:
    return Reply(STOPPED) if should_stop() else work(context, should_stop)


def _reply_of(outcome: Outcome) -> Reply:
    error = outcome.error
    if error is None:
        reply: Reply = outcome.value
        return reply
    trace = "" if isinstance(error, _EXPECTED) else outcome.trace
    return Reply(FAILED, str(error), trace, permanent=isinstance(error, _FOR_GOOD))


class RemoteExecutor(Executor[RunRequest]):
    """Runs in processes of their own, here or on a cluster; those that die are tried again."""

    def __init__(
        self,
        backend: Backend,
        retries: int,
        watch: Callable[[Sequence[str]], None] = lambda running: None,
    ):
        """A run whose process dies is tried again, this many times.

        `watch` is called now and then with the names of the runs that are being executed.
        """
        self.at_once = backend.capacity
        self._backend, self._retries, self._watch = backend, retries, watch
        self._stopping = Event()
        self._running: dict[str, None] = {}
        self._slots: SimpleQueue[int] = SimpleQueue()
        for slot in range(backend.capacity):
            self._slots.put(slot)

    def close(self) -> None:
        """Kill the processes that are left."""
        self._stopping.set()
        self._backend.close()

    def replies(
        self, runs: Mapping[str, RunRequest], should_stop: ShouldStop
    ) -> Iterator[tuple[str, Reply]]:
        """Execute requests; yields the name and the reply of each as it ends."""
        pool = ThreadPoolExecutor(self.at_once)
        waiting = {pool.submit(self._execute, name, runs[name]): name for name in runs}
        try:
            while waiting:
                ended = wait(waiting, _POLL_SECONDS, FIRST_COMPLETED).done
                self._watch(list(self._running))
                if should_stop() and not self._stopping.is_set():
                    self._stopping.set()
                    self._backend.stop()
                for future in ended:
                    yield waiting.pop(future), _reply(future)
        finally:
            self.close()
            pool.shutdown()

    def _execute(self, name: str, request: RunRequest) -> Reply:
        slot = self._slots.get()
        self._running[name] = None
        try:
            return self._try(slot, request)
        finally:
            del self._running[name]
            self._slots.put(slot)

    def _try(self, slot: int, request: RunRequest) -> Reply:
        for _ in range(1 + self._retries):
            if self._stopping.is_set():
                return Reply(STOPPED, "not begun")
            try:
                return self._backend.execute(slot, request)
            except DiedError as error:
                reason = str(error)
        return Reply(FAILED, f"{reason} (tried {format_count(1 + self._retries, 'time')})")


def _reply(future: Future[Reply]) -> Reply:
    error = future.exception()
    return future.result() if error is None else Reply(FAILED, f"{type(error).__name__}: {error}")


class Summary(NamedTuple):
    """The outcome of several runs."""

    names: Sequence[str]
    replies: Mapping[str, Reply]

    @property
    def done(self) -> list[str]:
        """The runs that are complete."""
        return [name for name, reply in self.replies.items() if reply.state == DONE]

    @property
    def failed(self) -> dict[str, Reply]:
        """The runs that failed, with their replies."""
        return {name: reply for name, reply in self.replies.items() if reply.state == FAILED}

    @property
    def can_go_on(self) -> bool:
        """Whether some are left that would not fail in the same way again."""
        in_vain = [name for name, reply in self.failed.items() if reply.permanent]
        return len(self.done) + len(in_vain) < len(self.names)
