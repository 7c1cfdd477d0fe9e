"""Lessons, and those to come: what must be known to prepare them, here or in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from algorist.data.chunks import Cursor
from algorist.model.window import Window
from algorist.training.config import Config
from algorist.training.packing import Packed, Shape, packed
from algorist.training.parallel import ALL, Share
from algorist.training.task_stream import TaskBatch, TaskStream


class StreamKey(NamedTuple):
    """Whose turn it is: an algorithm at one size. MultiRun has chunks of its own."""

    algorithm: str
    size: int


class PackedBatch(NamedTuple):
    """A window, ready to be learnt from."""

    place: StreamKey
    packed: Packed
    cursors: Sequence[Cursor] = ()

    @property
    def shape(self) -> tuple[StreamKey, Shape]:
        """What a captured step serves: a place, and windows of one shape."""
        return self.place, self.packed.layout.shape


def pack_batch(task_batch: TaskBatch, fit: Callable[[Window], Window]) -> PackedBatch:
    """All that can be done before a task batch's turn comes, on any thread."""
    place = StreamKey(task_batch.algorithm, task_batch.size)
    return PackedBatch(place, packed(fit(task_batch.window)), task_batch.cursors)


class WorkItem(NamedTuple):
    """Whose turn it is, and at which step."""

    task_stream: TaskStream
    step: int


@dataclass(frozen=True)
class LoaderSpec:
    """All packed batches of a training from one step on. It holds little, and can be sent."""

    config: Config
    step: int
    cursors: Mapping[str, Mapping[str, Sequence[Cursor]]]
    """Where the chunks of each task stand."""
    fit: Callable[[Window], Window]
    """How windows are put into shape."""
    share: Share = ALL
    """The lanes that are learnt from here."""

    def task_streams(self) -> list[TaskStream]:
        """The task streams of all tasks, where they stand at the first step."""
        task_streams = [TaskStream(self.config, name) for name in self.config.algorithms]
        for task_stream in task_streams:
            task_stream.seek(self.cursors[task_stream.algorithm])
        return task_streams

    def work_items(
        self, task_streams: Sequence[TaskStream], workers: int
    ) -> Iterator[tuple[int, WorkItem]]:
        """All work_items, in order, each with the number of the worker that prepares it.

        Chunks go on where others stopped, so those of one size have one worker.
        """
        place = count()
        for step in range(self.step, self.config.schedule.steps):
            for task, task_stream in enumerate(task_streams):
                if self.config.data.chunk:
                    number = task + task_stream.sizes.index(
                        task_stream.sizes[step % len(task_stream.sizes)]
                    )
                else:
                    number = next(place)
                yield number % workers, WorkItem(task_stream, step)

    def packed_batch(self, item: WorkItem) -> PackedBatch:
        """The packed batch of a work item."""
        return pack_batch(self._task_batch(item), self.fit)

    def of_worker(self, number: int, workers: int) -> Iterator[TaskBatch]:
        """What one of several workers prepares, with windows that are in shape already."""
        for owner, turn in self.work_items(self.task_streams(), workers):
            if owner == number:
                task_batch = self._task_batch(turn)
                yield task_batch._replace(window=self.fit(task_batch.window))

    def _task_batch(self, turn: WorkItem) -> TaskBatch:
        task_batch = turn.task_stream.task_batch(turn.step)
        return task_batch._replace(
            window=self.share.taken(turn.task_stream.spec, task_batch.window)
        )
