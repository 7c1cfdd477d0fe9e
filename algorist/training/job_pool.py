"""JobPool: several trainings at the same time in one process, each in its own thread.

The kernels of one small net do not fill a GPU; those of several nets on different streams do. A
context serves one training after another, since its worker processes must be forked before there
are threads, and PyTorch has only few streams.
"""

from __future__ import annotations

import gc
import queue
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch

from algorist.kernels.cuda_graphs import CAPTURE_LOCK, CudaGraphs
from algorist.kernels.fused.streams import beside
from algorist.model.compute_config import ComputeConfig
from algorist.training.workers import WorkerPool

MOST_ON_GPU = 8
"""The most contexts on a GPU. PyTorch has 32 streams of each priority, which it reuses; a context
needs four of normal priority, and one for captures."""
_USUAL_ON_GPU = 3
_SWITCH_INTERVAL = 5e-4
"""Seconds between switches of Python threads. A training needs the interpreter often and briefly:
ten small operations beside a busy thread take 36 ms at Python's 5 ms, and less than 2 at this."""
_FREE_SHARE = 1 / 2
"""The share of a GPU's memory that should be free for captures of other contexts."""
_JOIN_TIMEOUT = 10.0
"""Seconds to wait for abandoned threads."""


NOT_RUN = "not done, since processes that prepare data have ended"
"""The error of a job that no context has taken."""


class AbandonedError(Exception):
    """The caller no longer waits for this training."""


class GpuContext:
    """The streams, graphs and workers of one thread, used by one training after another."""

    def __init__(self, worker_pool: WorkerPool | None, abandoned: threading.Event):
        self.worker_pool, self._abandoned = worker_pool, abandoned
        self.stream: torch.cuda.Stream | None = None
        self.copies: torch.cuda.Stream | None = None
        self._graphs: CudaGraphs | None = None

    def take_streams(self, device: torch.device) -> None:
        """Create the streams of the context before other threads can be dealt the same ones."""
        self.stream, self.copies = torch.cuda.Stream(device), torch.cuda.Stream(device)
        self._graphs = CudaGraphs(device)
        for stream in (self.stream, self._graphs.stream):
            beside(stream)

    @property
    def streams(self) -> list[torch.cuda.Stream]:
        """The CUDA streams of the context."""
        own = [self.stream, self.copies, self._graphs.stream if self._graphs else None]
        main, copies, captures = (stream for stream in own if stream is not None)
        return [main, beside(main), copies, captures, beside(captures)]

    def entered(self) -> AbstractContextManager[Any]:
        """A block whose work is launched on the stream of the context."""
        return torch.cuda.stream(self.stream) if self.stream else nullcontext()

    def graphs(self) -> CudaGraphs:
        """A `CudaGraphs` for the next training, with a memory pool of its own."""
        assert self._graphs, "`take_streams` comes first"
        return self._graphs.with_own_pool()

    def check(self) -> None:
        """Raise an `AbandonedError` if the caller no longer waits for the training."""
        if self._abandoned.is_set():
            raise AbandonedError


class Outcome(NamedTuple):
    """The outcome of a job: its result or its error."""

    number: int
    value: Any = None
    error: Exception | None = None
    trace: str = ""
    """The traceback of the error."""


def run_job(number: int, job: Callable[[], Any]) -> Outcome:
    """Run a job; errors become its outcome."""
    try:
        return Outcome(number, job())
    except Exception as error:
        trace = traceback.format_exc()
        _clear_frames(error)
        return Outcome(number, error=error, trace=trace)


def _clear_frames(error: BaseException | None) -> None:
    """Forget what functions had when they failed: it may be the memory of a whole net."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class QueuedJob(NamedTuple):
    """A job that a context has taken."""

    number: int
    job: Callable[[GpuContext], Any]
    alone: bool
    """Whether it was taken by the last context that still runs."""


class JobQueue:
    """The jobs that contexts have not taken yet."""

    def __init__(self, jobs: Sequence[Callable[[GpuContext], Any]], contexts: int):
        self._jobs, self._contexts = deque(enumerate(jobs)), contexts
        self._lock = threading.Lock()

    def take(self, *, able: bool) -> QueuedJob | None:
        """The next job, if the context is able to run it; a context that gets None must end."""
        with self._lock:
            if able and self._jobs:
                return QueuedJob(*self._jobs.popleft(), alone=self._contexts == 1)
            self._contexts -= 1
            return None

    def put_back(self, taken: QueuedJob) -> bool:
        """Return a job to the queue, for other contexts; returns whether this context must end.

        The last context goes on, and tries the job again with all of the memory.
        """
        with self._lock:
            self._jobs.append((taken.number, taken.job))
            if self._contexts == 1:
                return False
            self._contexts -= 1
            return True

    def clear(self) -> None:
        """Remove all jobs."""
        with self._lock:
            self._jobs.clear()


class JobPool:
    """Runs `count` jobs at a time. A context manager, which ends the worker processes."""

    def __init__(self, count: int, computing: ComputeConfig):
        self._device, self._abandoned = torch.device(computing.device), threading.Event()
        self._cores = torch.get_num_threads()
        # Worker processes are forked before there are threads.
        pools = [self._worker_pool(computing, count) for _ in range(count)]
        self._contexts = [GpuContext(pool, self._abandoned) for pool in pools]
        if computing.on_gpu:
            for context in self._contexts:
                context.take_streams(self._device)

    @staticmethod
    def _worker_pool(computing: ComputeConfig, count: int) -> WorkerPool | None:
        """A context's workers: its share of the default number, or as many as were asked for."""
        workers = computing.worker_count
        if workers == 1:
            return None
        return WorkerPool(workers if computing.workers else -(-workers // count))

    def outcomes(self, jobs: Sequence[Callable[[GpuContext], Any]]) -> Iterator[Outcome]:
        """Run jobs; yields their outcomes in the order in which they end.

        A context that runs out of GPU memory returns its job to the queue and ends. A context
        whose workers have died takes no further job. If all contexts end in these ways, some jobs
        have no outcome.
        """
        self._abandoned.clear()
        waiting, ended = JobQueue(jobs, len(self._contexts)), queue.SimpleQueue[Outcome | None]()
        threads = [
            threading.Thread(target=self._work, args=(context, waiting, ended), daemon=True)
            for context in self._contexts
        ]
        with _quick_turns():
            for thread in threads:
                thread.start()
            try:
                at_work = len(threads)
                while at_work:
                    outcome = ended.get()
                    if outcome is None:
                        at_work -= 1
                    else:
                        yield outcome
            finally:
                waiting.clear()
                self._abandoned.set()
                end = time.monotonic() + _JOIN_TIMEOUT
                for thread in threads:
                    thread.join(max(0, end - time.monotonic()))

    def _work(
        self,
        context: GpuContext,
        waiting: JobQueue,
        ended: queue.SimpleQueue[Outcome | None],
    ) -> None:
        """The loop of a context's thread: take a job, run it, put its outcome into `ended`."""
        torch.set_num_threads(self._cores)  # as for a single run: sums are rounded alike
        try:
            with context.entered():
                while taken := waiting.take(
                    able=context.worker_pool is None or context.worker_pool.is_whole
                ):
                    outcome = run_job(taken.number, partial(taken.job, context))
                    is_full = isinstance(outcome.error, torch.OutOfMemoryError)
                    is_final = taken.alone or not is_full
                    if is_final:
                        ended.put(outcome)
                    self._tidy()
                    if not is_final and waiting.put_back(taken):
                        break
        finally:
            ended.put(None)

    def _tidy(self) -> None:
        """Free the memory of the previous job, and return it to the GPU if memory is scarce.

        Other streams cannot use cached memory, but emptying the cache makes all of them wait.
        """
        with CAPTURE_LOCK:
            gc.collect()
            if self._device.type == "cuda":
                free, all_of_it = torch.cuda.mem_get_info(self._device)
                if free < _FREE_SHARE * all_of_it:
                    torch.cuda.empty_cache()

    def __enter__(self) -> JobPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        for context in self._contexts:
            if context.worker_pool:
                context.worker_pool.close()


@contextmanager
def _quick_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def job_count(at_once: int | None, computing: ComputeConfig) -> int:
    """The number of trainings at the same time; raises a `ValueError` for an impossible one."""
    if at_once is None:
        return _USUAL_ON_GPU if computing.on_gpu else 1
    if at_once < 1:
        raise ValueError(f"at_once: got {at_once}, expected 1 or more")
    if computing.on_gpu and at_once > MOST_ON_GPU:
        raise ValueError(f"at_once: got {at_once}, expected at most {MOST_ON_GPU} on a GPU")
    return at_once
