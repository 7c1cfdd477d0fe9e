"""Chunks: trajectories of any length, cut to batches of a fixed number of steps without padding.

Each lane of a chunk follows one sample after the other: lane b takes sample b of batch 0, then of
batch 1, and so on. What does not fit into one chunk goes on in the next.

    >>> from algorist.data.stream import OneSize, Online
    >>> chunker = Chunker(OneSize(Online("dfs", seed=0), 16).batch)
    >>> chunker.chunk(0).hints["d"].shape
    (16, 32, 16)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypedDict

import numpy as np

from algorist.batch import Batch
from algorist.errors import expect_positive
from algorist.spec import Spec, Stage

CHUNK_LENGTH = 16
"""The number of steps of the paper's chunks."""

_PASSED, _REMEMBERED = 16, 256


@dataclass(frozen=True)
class Chunk:
    """Named arrays that fit a spec, all of shape (time, lane, ...).

    The inputs and outputs of a sample stand at each of its steps.
    """

    spec: Spec
    inputs: Mapping[str, np.ndarray]
    hints: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    is_first: np.ndarray
    """Where a sample begins, (time, lane)."""
    is_last: np.ndarray
    """Where a sample ends, (time, lane)."""


class Cursor(TypedDict):
    """The position of each lane before a step, as numbers that JSON can hold."""

    step: int
    batches: list[int]
    offsets: list[int]


class Chunker:
    """The chunks made of `batch(0)`, `batch(1)`, ..., which are of one size.

    Any step may be asked for, from any thread. In order, or nearly so, it is fast; a jump costs a
    replay of what lies before, unless a saved cursor says where the lanes stand.
    """

    def __init__(
        self,
        batch: Callable[[int], Batch],
        *,
        length: int = CHUNK_LENGTH,
        cursor: Cursor | None = None,
    ):
        self._batch, self._length = batch, expect_positive("length", length)
        self._lock = Lock()
        self._walk: _Walk | None = None
        self._cursors = {cursor["step"]: cursor} if cursor else {}
        self._passed: dict[int, Chunk] = {}

    def chunk(self, step: int) -> Chunk:
        """The chunk of one step: a pure function of it."""
        with self._lock:
            if step in self._passed:
                return self._passed.pop(step)
            return self._go_on(self._reach(step))

    def cursor(self, step: int) -> Cursor:
        """The cursor before a step, from which another chunker can continue."""
        with self._lock:
            if step not in self._cursors:
                self._reach(step)
            return self._cursors[step]

    def _reach(self, step: int) -> _Walk:
        """A walk that stands before the given step."""
        if step < 0:
            raise ValueError(f"step: got {step}, expected 0 or more")
        start = max((known for known in self._cursors if known <= step), default=0)
        if self._walk is None or self._walk.step != start:
            if start not in self._cursors:
                self._cursors[start] = self._origin()
            self._walk = _Walk(self._batch, self._length, self._cursors[start])
        while self._walk.step < step:
            passed, near = self._walk.step, step - self._walk.step <= _PASSED
            chunk = self._go_on(self._walk)
            if near:  # threads may come in another order than their steps: keep it for them
                _put(self._passed, passed, chunk, _PASSED)
        return self._walk

    def _go_on(self, walk: _Walk) -> Chunk:
        chunk = walk.next()
        _put(self._cursors, walk.step, walk.cursor(), _REMEMBERED)
        return chunk

    def _origin(self) -> Cursor:
        return origin(len(self._batch(0)))


def origin(lanes: int) -> Cursor:
    """The cursor before the first step."""
    return Cursor(step=0, batches=[0] * lanes, offsets=[0] * lanes)


class _Walk:
    """Chunks in order from a cursor on.

    It holds consecutive batches, from the one that the last lane is in to that of the first lane.
    """

    def __init__(self, batch: Callable[[int], Batch], length: int, cursor: Cursor):
        self._batch, self._length, self.step = batch, length, cursor["step"]
        self._batches, self._offsets = np.array(cursor["batches"]), np.array(cursor["offsets"])
        self._lanes = np.arange(len(self._batches))
        self._held = _Held(int(self._batches.min()), len(self._lanes))
        while self._held.stop <= self._batches.max():
            self._hold_next()

    def _hold_next(self) -> None:
        self._held.append(self._batch(self._held.stop))

    def cursor(self) -> Cursor:
        """The cursor of the present position."""
        return Cursor(
            step=self.step, batches=self._batches.tolist(), offsets=self._offsets.tolist()
        )

    def next(self) -> Chunk:
        """The chunk of this step."""
        place, offset = self._places()
        chunk = self._held.gathered(place[:-1], offset[:-1])
        self.step += 1
        self._batches, self._offsets = self._held.first + place[-1], offset[-1]
        self._held.drop(int(place[-1].min()))
        return chunk

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the chunk's steps and the one after are: in which held batch, at which step of it.

        Both arrays have shape (time + 1, lane).
        """
        times = self._offsets + np.arange(self._length + 1)[:, None]
        while True:
            lengths = self._held.lengths  # (held, lane)
            ends = lengths.cumsum(0)  # counted in the lane's own steps
            starts = ends - lengths
            times_held = starts[self._batches - self._held.first, self._lanes] + times
            if (times_held[-1] < ends[-1]).all():
                break
            self._hold_next()
        place = (ends[:, None] <= times_held).sum(0)
        return place, times_held - starts[place, self._lanes]


class _Held:
    """Consecutive batches, joined feature by feature: one row a sample, or a step for hints."""

    def __init__(self, first: int, lanes: int):
        self.first = self.stop = first
        self.lengths = np.zeros((0, lanes), np.int64)  # (held, lane)
        self._lanes = np.arange(lanes)
        self._spec, self._n = Spec(()), 0
        self._tapes: dict[str, _Tape] = {}

    def append(self, batch: Batch) -> None:
        """Add the next batch."""
        if not self._tapes:
            self._spec, self._n = batch.spec, batch.n
            self._tapes = {feature.name: _Tape() for feature in batch.spec}
        if (len(batch), batch.n) != (len(self._lanes), self._n):
            raise ValueError(
                f"batch {self.stop}: got {len(batch)} samples of {batch.n} nodes, "
                f"expected {len(self._lanes)} of {self._n} as in the batches before"
            )
        self.stop += 1
        self.lengths = np.concatenate([self.lengths, batch.lengths[None]])
        valid = np.arange(batch.steps) < batch.lengths[:, None]  # (lane, time)
        for feature in self._spec:
            array = batch.at(feature.stage)[feature.name]
            rows = array.swapaxes(0, 1)[valid] if feature.stage == Stage.HINT else array
            self._tapes[feature.name].append(rows)

    def drop(self, count: int) -> None:
        """Forget the first `count` batches."""
        samples, steps = count * len(self._lanes), int(self.lengths[:count].sum())
        for feature in self._spec:
            self._tapes[feature.name].drop(steps if feature.stage == Stage.HINT else samples)
        self.first += count
        self.lengths = self.lengths[count:]

    def gathered(self, place: np.ndarray, offset: np.ndarray) -> Chunk:
        """The chunk of the given steps of the given batches, both of shape (time, lane)."""
        lengths = self.lengths.ravel()
        sample = place * len(self._lanes) + self._lanes
        step = (lengths.cumsum() - lengths)[sample] + offset

        def at(stage: Stage, rows: np.ndarray) -> dict[str, np.ndarray]:
            features = self._spec.at(stage)
            return {feature.name: self._tapes[feature.name].rows[rows] for feature in features}

        return Chunk(
            self._spec,
            inputs=at(Stage.INPUT, sample),
            hints=at(Stage.HINT, step),
            outputs=at(Stage.OUTPUT, sample),
            is_first=offset == 0,
            is_last=offset == lengths[sample] - 1,
        )


class _Tape:
    """Rows in one array, to which some are added at the end and of which some go at the front."""

    def __init__(self) -> None:
        self._array, self._start, self._stop = np.empty(0), 0, 0

    @property
    def rows(self) -> np.ndarray:
        """The rows that are there."""
        return self._array[self._start : self._stop]

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        kept, stop = self.rows, self._stop + len(rows)
        if stop > len(self._array):  # move to a new array with room for half as much again
            stop = len(kept) + len(rows)
            self._array = np.empty((stop * 3 // 2, *rows.shape[1:]), rows.dtype)
            self._array[: len(kept)] = kept.reshape(-1, *rows.shape[1:])
            self._start = 0
        self._array[stop - len(rows) : stop] = rows
        self._stop = stop

    def drop(self, count: int) -> None:
        """Remove rows at the front."""
        self._start += count


def _put(recent: dict[int, Any], step: int, value: Any, limit: int) -> None:
    """Add an entry, and drop the oldest ones past the limit."""
    recent[step] = value
    while len(recent) > limit:
        del recent[next(iter(recent))]
