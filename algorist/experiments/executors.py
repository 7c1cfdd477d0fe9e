"""Executors: many runs, some at the same time, in threads, in processes or on a Ray cluster.

All have one interface. The seeds of one net are replicas of a single run, in lockstep, whoever
does it. Threads share a GPU and its compiled kernels; processes and machines are apart, so that one
that dies takes no other with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple, Protocol, Self

from algorist.errors import counted
from algorist.experiments.processes import Backend, DiedError
from algorist.experiments.run_requests import DONE, FAILED, STOPPED, Reply, RunRequest
from algorist.model.compute_config import ComputeConfig
from algorist.training.divergence import DivergedError
from algorist.training.job_pool import NOT_RUN, GpuContext, JobPool, Outcome

_GLANCE = 0.2
"""Seconds between two looks at whether to stop."""
_EXPECTED = (DivergedError, ValueError, OSError, MemoryError)
"""Errors that say in one line what is wrong."""
_FOR_GOOD = (DivergedError, ValueError)
"""Errors that would recur if a run were tried again."""

ShouldStop = Callable[[], bool]


@dataclass(frozen=True)
class Task:
    """A run that is to be done: as a function for threads, as a request for processes."""

    in_thread: Callable[[GpuContext, ShouldStop], Reply] | None = None
    request: RunRequest | None = None


class Executor(Protocol):
    """Does runs until none is left, or until it is to stop. To be used with `with`."""

    at_once: int
    """The number of runs at the same time."""

    def outcomes(
        self,
        tasks: Mapping[str, Task],
        should_stop: ShouldStop,
        watch: Callable[[Sequence[str]], None] = lambda running: None,
    ) -> Iterator[tuple[str, Reply]]:
        """Execute runs; yields the name and the reply of each, in the order in which they end.

        What fails does not stop the others. `watch` is told which runs are at work, if nobody here
        could see it otherwise.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class ThreadExecutor:
    """Runs in threads of this process, each with a context of its own (see `JobPool`).

    It must be entered before there are other threads, since it forks processes that prepare data.
    """

    def __init__(self, at_once: int, computing: ComputeConfig):
        self.at_once, self._computing = at_once, computing

    def __enter__(self) -> ThreadExecutor:
        self._pool = JobPool(self.at_once, self._computing)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.__exit__()

    def outcomes(
        self,
        tasks: Mapping[str, Task],
        should_stop: ShouldStop,
        watch: Callable[[Sequence[str]], None] = lambda running: None,
    ) -> Iterator[tuple[str, Reply]]:
        """Execute runs; yields the name and the reply of each, in the order in which they end."""
        left = list(tasks)
        work = [partial(_in_context, tasks[name], should_stop) for name in left]
        ended = set()
        for outcome in self._pool.outcomes(work):
            name = left[outcome.place]
            ended.add(name)
            yield name, _reply_of(outcome)
        for name in left:
            if name not in ended:
                yield name, Reply(FAILED, NOT_RUN)


def _in_context(task: Task, should_stop: ShouldStop, context: GpuContext) -> Reply:
    assert task.in_thread is not None
    return Reply(STOPPED) if should_stop() else task.in_thread(context, should_stop)


def _reply_of(outcome: Outcome) -> Reply:
    error = outcome.error
    if error is None:
        reply: Reply = outcome.value
        return reply
    trace = "" if isinstance(error, _EXPECTED) else outcome.trace
    return Reply(FAILED, str(error), trace, permanent=isinstance(error, _FOR_GOOD))


class RemoteExecutor:
    """Runs in processes of their own, here or on a cluster; what dies is tried again."""

    def __init__(self, backend: Backend, retries: int):
        """A run whose process dies is tried again, so many times."""
        self.at_once = backend.places
        self._backend, self._retries = backend, retries
        self._stopping = Event()
        self._running: dict[str, None] = {}
        self._places: SimpleQueue[int] = SimpleQueue()
        for place in range(backend.places):
            self._places.put(place)

    def __enter__(self) -> RemoteExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._backend.close()

    def outcomes(
        self,
        tasks: Mapping[str, Task],
        should_stop: ShouldStop,
        watch: Callable[[Sequence[str]], None] = lambda running: None,
    ) -> Iterator[tuple[str, Reply]]:
        """Execute runs; yields the name and the reply of each, in the order in which they end."""
        pool = ThreadPoolExecutor(self.at_once)
        waiting = {pool.submit(self._done, name, tasks[name]): name for name in tasks}
        try:
            while waiting:
                ended = wait(waiting, _GLANCE, FIRST_COMPLETED).done
                watch(list(self._running))
                if should_stop() and not self._stopping.is_set():
                    self._stopping.set()
                    self._backend.stop()
                for future in ended:
                    yield waiting.pop(future), _reply(future)
        finally:
            self._stopping.set()
            self._backend.close()
            pool.shutdown()

    def _done(self, name: str, task: Task) -> Reply:
        """The reply for a run."""
        assert task.request is not None
        place = self._places.get()
        self._running[name] = None
        try:
            return self._tried(place, task.request)
        finally:
            del self._running[name]
            self._places.put(place)

    def _tried(self, place: int, request: RunRequest) -> Reply:
        for _ in range(1 + self._retries):
            if self._stopping.is_set():
                return Reply(STOPPED, "not begun")
            try:
                return self._backend.do(place, request)
            except DiedError as error:
                reason = str(error)
        return Reply(FAILED, f"{reason} (tried {counted(1 + self._retries, 'time')})")


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


def run_all(
    executor: Executor,
    tasks: Mapping[str, Task],
    should_stop: ShouldStop,
    on_end: Callable[[str, Reply], None],
    watch: Callable[[Sequence[str]], None] = lambda running: None,
) -> Summary:
    """Do all runs by an executor that was entered, telling what becomes of each as it ends."""
    replies = {}
    for name, reply in executor.outcomes(tasks, should_stop, watch):
        replies[name] = reply
        on_end(name, reply)
    return Summary(list(tasks), replies)
