"""Workers: processes that prepare lessons ahead of their turn.

Lessons are made by much Python, of which one thread runs at a time, so threads would not do. The
processes are forked, so they know all that this one knows, and put their results into memory that
they share with it. They end with it, however it ends.

A process that has threads should not fork: a lock that another thread holds stays locked in the
child for ever. So where several trainings run in threads, their crews are there before them.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import torch

from algorist.model.window import Window
from algorist.training.engine import Lesson
from algorist.training.lessons import Syllabus
from algorist.training.packing import laid_out

_AHEAD = 4
"""How many lessons of one worker may wait."""
_ROOM = 1 << 28
"""The most bytes of a lesson. They are not taken up before they are written."""


class Crew:
    """Some workers, who prepare the lessons of one training after the other."""

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


class Workers(Iterator[Lesson]):
    """The lessons of a syllabus, in order, prepared by a crew.

    Leaving a `with` block or `close` makes the crew free for another. A crew that was called for
    this alone is sent home.
    """

    def __init__(self, crew: Crew, syllabus: Syllabus, *, pinned: bool = False, alone: bool = True):
        self._crew, self._workers = crew, crew.workers
        self._pinned, self._alone = pinned, alone
        turns = syllabus.turns(syllabus.feeds(), len(self._workers))
        self._owners = (owner for owner, _ in turns)
        self._next: int | None = next(self._owners, None)
        for worker in self._workers:
            worker.begin(syllabus)

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
        """End the work for this syllabus."""
        if self._alone:
            self._crew.close()
        else:
            for worker in self._workers:
                worker.end()
        self._workers, self._next = [], None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Worker:
    """One process, its pipe, and room for the lessons that wait.

    It is sent a syllabus, and then asked for one lesson after the other, some of them ahead.
    """

    def __init__(self, number: int, count: int, others: Sequence[_Worker]):
        context = multiprocessing.get_context("fork")
        self._number, self._of = number, count
        self._room = [mmap.mmap(-1, _ROOM) for _ in range(_AHEAD)]
        self._layouts: dict[tuple, Window] = {}
        self._taken = self._asked = 0
        self.pipe, end = context.Pipe()
        pipes = [self.pipe, *(other.pipe for other in others)]
        self._process = context.Process(target=self._work, args=(end, pipes), daemon=True)
        self._process.start()
        end.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.is_alive()

    def begin(self, syllabus: Syllabus) -> None:
        """Prepare the first lessons of a syllabus."""
        self._layouts, self._taken, self._asked = {}, 0, 0
        self._ask(syllabus)
        for _ in range(_AHEAD):
            self._ask(None)
        self._asked = _AHEAD

    def _ask(self, message: Syllabus | None) -> None:
        with suppress(BrokenPipeError):  # the answer that does not come is noticed
            self.pipe.send(message)

    def received(self, *, pinned: bool) -> Lesson:
        """The next lesson of this process, copied, so that another can take its place."""
        try:
            message = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError("a process that prepares data has ended before its time") from None
        if isinstance(message, Exception):
            self._asked -= 1
            raise message
        place, shape, layout, cursors = message
        if layout is not None:
            self._layouts[place, shape] = layout
        copy = laid_out(self._layouts[place, shape], torch.device("cpu"), pinned=pinned)
        room = self._room[self._taken % _AHEAD]
        copy.content.copy_(torch.frombuffer(room, dtype=torch.uint8, count=len(copy.content)))
        self._taken += 1
        self._ask(None)
        return Lesson(place, copy, cursors)

    def end(self) -> None:
        """Let go of the lessons that were asked for and are no longer needed."""
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
        """What the process does."""
        for other in others:  # so that pipes break when the main process ends
            other.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        torch.set_num_threads(1)
        with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # nobody waits for more
            self._answer(pipe)
        os._exit(0)  # without what the main process has registered for its own end

    def _answer(self, pipe: Connection) -> None:
        lessons: Iterator[Lesson] = iter(())
        while True:
            syllabus = pipe.recv()
            if syllabus is not None:
                lessons = syllabus.of_worker(self._number, self._of)
                self._layouts, self._taken = {}, 0
                continue
            try:
                pipe.send(self._message(lessons))
            except (BrokenPipeError, ConnectionResetError):
                raise
            except Exception as error:
                pipe.send(error)

    def _message(self, lessons: Iterator[Lesson]) -> tuple | None:
        """What tells of the next lesson, if there is one. Its bytes are put into the room."""
        lesson = next(lessons, None)
        if lesson is None:
            return None
        (window, content), place = lesson.packed, lesson.place
        if len(content) > _ROOM:
            raise ValueError(f"batch_size: a window has {len(content):,} bytes, expected less")
        room = self._room[self._taken % _AHEAD]
        torch.frombuffer(room, dtype=torch.uint8, count=len(content)).copy_(content)
        self._taken += 1
        shape = (window.steps, window.end_weights.shape[1])
        layout = None
        if (place, shape) not in self._layouts:
            layout = self._layouts[place, shape] = window.map(lambda x: x.to("meta"))
        return place, shape, layout, lesson.cursors
