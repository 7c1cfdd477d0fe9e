"""Worker processes that prepare packed batches ahead of their turn.

Making batches takes much Python, which threads cannot run at the same time. The processes are
forked, so they have all plug-ins of this one, and write batches into memory that they share with
it. They end when this process ends, however that happens.

A process that has threads should not fork: a lock that another thread holds stays locked in the
child for ever. So where several trainings run in threads, their workers are forked before them.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pickle
import select
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor

from algorist.data.chunks import Cursor
from algorist.training.loader import LoaderSpec
from algorist.training.packing import PackedBatch, StreamKey, WindowLayout, shape_of

Message = tuple[int, tuple[StreamKey, WindowLayout] | None, Sequence[Cursor]]
"""The number of a packed batch's layout, the layout itself where it is new, and the cursors."""

_AHEAD = 4
"""The number of packed batches that a worker prepares ahead."""
_ROOM = 1 << 28
"""The most bytes of a packed batch. They are not taken up before they are written."""


class WorkerPool:
    """Worker processes that prepare the packed batches of one training after another."""

    def __init__(self, count: int):
        self.workers: list[_Worker] = []
        for number in range(count):
            self.workers.append(_Worker(number, count, self.workers))

    @property
    def is_whole(self) -> bool:
        """Whether all of its processes are still there."""
        return all(worker.is_alive for worker in self.workers)

    def close(self) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.close()
        self.workers = []


class Loader(Iterator[PackedBatch]):
    """The packed batches of a loader spec, in order, prepared by a worker pool.

    The bytes of a packed batch lie in its worker's memory and are valid until the next one.
    `close` frees the worker pool for another training, and ends a pool made for this one alone.
    """

    def __init__(self, worker_pool: WorkerPool, loader_spec: LoaderSpec, *, alone: bool = True):
        self._worker_pool, self._workers, self._alone = worker_pool, worker_pool.workers, alone
        self._owners = (item.worker for item in loader_spec.work_items(len(self._workers)))
        self._next: int | None = next(self._owners, None)
        self._latest: _Worker | None = None
        for worker in self._workers:
            worker.begin(loader_spec)

    def is_ready(self, patience: float = 0.0) -> bool:
        """Whether the next packed batch is ready, waiting at most `patience` seconds."""
        return self._next is None or self._workers[self._next].is_ready(patience)

    def __next__(self) -> PackedBatch:
        if self._next is None:
            self.close()
            raise StopIteration
        if self._latest is not None:
            self._latest.ask()
        self._latest = self._workers[self._next]
        try:
            packed_batch = self._latest.received()
        except BaseException:
            self.close()
            raise
        self._next = next(self._owners, None)
        return packed_batch

    def close(self) -> None:
        """End the work for this loader spec."""
        if self._alone:
            self._worker_pool.close()
        else:
            for worker in self._workers:
                worker.end()
        self._workers, self._next, self._latest = [], None, None

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Worker:
    """One process, its pipe, and shared memory for the packed batches that wait.

    It receives a loader spec and then prepares packed batches one by one, some of them ahead.
    """

    def __init__(self, number: int, count: int, others: Sequence[_Worker]):
        context = multiprocessing.get_context("fork")
        self._number, self._of = number, count
        self._room = [mmap.mmap(-1, _ROOM) for _ in range(_AHEAD)]
        self._layouts: list[tuple[StreamKey, WindowLayout]] = []
        self._taken = self._asked = 0
        self.pipe, end = context.Pipe()
        self._poll = select.poll()  # a tenth of what the pipe's own takes
        self._poll.register(self.pipe, select.POLLIN)
        pipes = [self.pipe, *(other.pipe for other in others)]
        self._process = context.Process(target=self._work, args=(end, pipes), daemon=True)
        self._process.start()
        end.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.is_alive()

    def is_ready(self, patience: float = 0.0) -> bool:
        """Whether it has answered or ended."""
        return bool(self._poll.poll(1000 * patience))

    def begin(self, loader_spec: LoaderSpec) -> None:
        """Prepare the first packed batches of a loader spec."""
        self._layouts, self._taken, self._asked = [], 0, 0
        self._send(loader_spec)
        for _ in range(_AHEAD):
            self.ask()

    def ask(self) -> None:
        """Request another packed batch, which overwrites the oldest."""
        self._asked += 1
        self._send(None)

    def _send(self, message: LoaderSpec | None) -> None:
        with suppress(BrokenPipeError):  # `received` reports it
            self.pipe.send(message)

    def received(self) -> PackedBatch:
        """The next packed batch of this process, in the memory that it shares."""
        try:
            message = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError("a process that prepares data has died") from None
        self._asked -= 1
        if isinstance(message, Exception):
            raise message
        number, new, cursors = message
        if new is not None:
            self._layouts.append(new)
        key, layout = self._layouts[number]
        content = self._content(layout.size)
        self._taken += 1
        return PackedBatch(key, layout, content, cursors)

    def _content(self, size: int) -> Tensor:
        """The bytes of the next packed batch."""
        room = self._room[self._taken % _AHEAD]
        return torch.frombuffer(room, dtype=torch.uint8, count=size)

    def end(self) -> None:
        """Discard the packed batches that were requested and are no longer needed."""
        with suppress(OSError, EOFError):  # there may be nobody to answer
            for _ in range(self._asked):
                self.pipe.recv()
        self._asked = 0

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()
        self.pipe.close()

    def _work(self, pipe: Connection, others: list[Connection]) -> None:
        """The loop of a worker process."""
        for other in others:  # so that pipes break when the main process ends
            other.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        torch.set_num_threads(1)
        with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # nobody waits for more
            self._answer(pipe)
        os._exit(0)  # without what the main process has registered for its own end

    def _answer(self, pipe: Connection) -> None:
        messages: Iterator[Message] = iter(())
        while True:
            loader_spec = pipe.recv()
            if loader_spec is not None:
                messages = self._messages(loader_spec)
                continue
            try:
                pipe.send(next(messages, None))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:
                pipe.send(_sendable(error))

    def _messages(self, loader_spec: LoaderSpec) -> Iterator[Message]:
        """A message for each packed batch of this worker, after its bytes are in shared memory."""
        self._taken = 0
        numbers: dict[tuple[Any, ...], int] = {}
        layouts: list[WindowLayout] = []
        for worker, stream, step in loader_spec.work_items(self._of):
            if worker != self._number:
                continue
            key = stream.key(step)
            window = stream.fitted_window(step, loader_spec.fit, loader_spec.share)
            shape, new = (key, shape_of(window)), None
            if shape not in numbers:
                numbers[shape] = len(layouts)
                layouts.append(WindowLayout(window))
                new = (key, layouts[-1])
            layout = layouts[numbers[shape]]
            if layout.size > _ROOM:
                raise ValueError(f"batch_size: a window has {layout.size:,} bytes, expected less")
            layout.write(window, self._content(layout.size))
            self._taken += 1
            yield numbers[shape], new, stream.cursors_after(step)


def _sendable(error: Exception) -> Exception:
    """The error if it can be pickled, or else its message as a `RuntimeError`."""
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
        return copy
    except Exception:  # as for errors with required arguments
        return RuntimeError(f"{type(error).__name__}: {error}")
