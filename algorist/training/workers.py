"""Workers: processes that prepare lessons ahead of their turn.

Lessons are made by much Python, of which one thread runs at a time, so threads would not do. The
processes are forked, so they know all that this one knows, and put their results into memory that
they share with it. They end with it, however it ends.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

import torch

from algorist.model.window import Window
from algorist.training.engine import Lesson
from algorist.training.packing import laid_out

Turn = TypeVar("Turn")
_AHEAD = 4
"""How many lessons of one worker may wait."""
_ROOM = 1 << 28
"""The most bytes of a lesson. They are not taken up before they are written."""


class Workers(Generic[Turn], Iterator[Lesson]):
    """The lessons of some turns, in order. Each turn comes with the number of its worker.

    Leaving a `with` block or `close` ends the processes.
    """

    def __init__(
        self,
        prepare: Callable[[Turn], Lesson],
        turns: Callable[[], Iterable[tuple[int, Turn]]],
        count: int,
        *,
        pinned: bool = False,
    ):
        self._owners = (owner for owner, _ in turns())
        self._next: int | None = next(self._owners, None)
        self._pinned = pinned
        self._workers: list[_Worker] = []
        for number in range(count):
            own = (turn for owner, turn in turns() if owner == number)
            self._workers.append(_Worker(prepare, own, self._workers))

    @property
    def ready(self) -> bool:
        """Whether the next lesson can be had at once."""
        return self._next is None or self._workers[self._next].pipe.poll()

    def __next__(self) -> Lesson:
        if self._next is None:
            self.close()
            raise StopIteration
        try:
            lesson = self._workers[self._next].received(pinned=self._pinned)
        except BaseException:
            self.close()
            raise
        self._next = next(self._owners, None)
        return lesson

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()
        self._workers, self._next = [], None

    def __enter__(self) -> Workers[Turn]:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Worker:
    """One process, its pipe, and room for the lessons that wait."""

    def __init__(self, prepare: Callable[[Any], Lesson], turns: Iterator[Any], others: list):
        context = multiprocessing.get_context("fork")
        self._room = [mmap.mmap(-1, _ROOM) for _ in range(_AHEAD)]
        self._layouts: dict[tuple, Window] = {}
        self._count = 0
        self.pipe, end = context.Pipe()
        pipes = [self.pipe, *(other.pipe for other in others)]
        self._process = context.Process(
            target=self._work, args=(prepare, turns, end, pipes), daemon=True
        )
        self._process.start()
        end.close()

    def received(self, *, pinned: bool) -> Lesson:
        """The next lesson of this process, copied, so that another can take its place."""
        try:
            message = self.pipe.recv()
        except EOFError:
            raise RuntimeError("a process that prepares data has ended before its time") from None
        if isinstance(message, Exception):
            raise message
        place, shape, layout, cursors = message
        if layout is not None:
            self._layouts[place, shape] = layout
        copy = laid_out(self._layouts[place, shape], torch.device("cpu"), pinned=pinned)
        room = self._room[self._count % _AHEAD]
        copy.content.copy_(torch.frombuffer(room, dtype=torch.uint8, count=len(copy.content)))
        self._count += 1
        with suppress(BrokenPipeError):  # it may have done all it had to do
            self.pipe.send_bytes(b"taken")
        return Lesson(place, copy, cursors)

    def close(self) -> None:
        self._process.terminate()
        self._process.join()
        self.pipe.close()

    def _work(
        self,
        prepare: Callable[[Any], Lesson],
        turns: Iterator[Any],
        pipe: Connection,
        others: list[Connection],
    ) -> None:
        """What the process does."""
        for other in others:  # so that pipes break when the main process ends
            other.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        torch.set_num_threads(1)
        try:
            for count, turn in enumerate(turns):
                lesson = prepare(turn)
                if count >= _AHEAD:
                    pipe.recv_bytes()
                self._send(pipe, lesson, self._room[count % _AHEAD])
        except (EOFError, BrokenPipeError, ConnectionResetError):
            pass  # nobody waits for more
        except Exception as error:
            pipe.send(error)
        os._exit(0)  # without what the main process has registered for its own end

    def _send(self, pipe: Connection, lesson: Lesson, room: mmap.mmap) -> None:
        (window, content), place = lesson.packed, lesson.place
        if len(content) > _ROOM:
            raise ValueError(f"batch_size: a window has {len(content):,} bytes, expected less")
        torch.frombuffer(room, dtype=torch.uint8, count=len(content)).copy_(content)
        shape = (window.steps, window.end_weights.shape[1])
        layout = None
        if (place, shape) not in self._layouts:
            layout = self._layouts[place, shape] = window.map(lambda x: x.to("meta"))
        pipe.send((place, shape, layout, lesson.cursors))
