"""Batches of training data in the form that a device reads.

The problems of a step take three forms: a `Batch` for each seed (`data/stream.py`), a `Window` of
all seeds, with the tensors that nets read (`model/window.py`), and a `PackedBatch`, the bytes of a
window in one piece (`packing.py`). A `TaskStream` makes those of one task, and a
`LoaderSpec` puts those of all tasks in order.

Everything random is drawn from keys of (seed, algorithm, step), so the window of a step is always
the same, in any order and by any number of workers (`workers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from algorist.batch import Batch
from algorist.data.chunks import Chunk, Chunker, Cursor, origin
from algorist.data.sparse import SparseOnline
from algorist.data.stream import Fixed, OneSize, Online, Purpose, Source, key
from algorist.data.transforms import RandomPositions, Transform, Transformed
from algorist.model.executing.transitions import draw_transitions
from algorist.model.make_window import make_chunk_window
from algorist.model.sparse.window import AnyWindow, SparseWindow, folds_steps, sparse_window
from algorist.model.window import Window
from algorist.spec import Kind, Spec
from algorist.training.config import Config, DataConfig
from algorist.training.packing import PackedBatch, StreamKey, WindowLayout
from algorist.training.parallel import ALL, Share

Draw = Callable[[np.random.RandomState], np.ndarray]
Fit = Callable[[AnyWindow], AnyWindow]
"""A function that pads or packs windows into few shapes (`packing.py`)."""


class TaskStream:
    """The windows of one algorithm, by step, with one replica for each seed."""

    def __init__(self, config: Config, algorithm: str):
        self.config, self.algorithm = config, algorithm
        sparse, seeds = config.convention.sparse, config.seeds
        self.sources = [] if sparse else [self._source(seed) for seed in seeds]
        self._sparse_sources = [self._sparse_source(seed) for seed in seeds] if sparse else []
        first: Source | SparseOnline = (self._sparse_sources or self.sources)[0]
        self.spec: Spec = first.spec
        self.sizes = first.sizes
        self._permutes = any(f.kind == Kind.PERMUTATION_POINTER for f in self.spec.outputs)
        self._chunks = {
            size: [_Chunks(source, size, config.data) for source in self.sources]
            for size in (self.sizes if config.data.chunk else ())
        }

    def _sparse_source(self, seed: int) -> SparseOnline:
        data = self.config.data
        return SparseOnline(
            self.algorithm,
            seed=seed,
            sizes=data.sizes,
            batch_size=data.batch_size,
            family=data.graph_family,
            random_positions=data.random_positions,
        )

    def _source(self, seed: int) -> Source:
        data = self.config.data
        source: Source
        if data.online:
            source = Online(
                self.algorithm,
                seed=seed,
                sizes=data.sizes,
                batch_size=data.batch_size,
                varied=data.varied,
                ood_share=data.ood_share,
            )
        else:
            source = Fixed(self.algorithm, seed=seed, batch_size=data.batch_size)
        transforms: list[Transform] = [*self.config.convention.transforms(self.algorithm)]
        if data.random_positions:
            transforms.append(RandomPositions(seed, self.algorithm))
        return Transformed(source, transforms)

    def key(self, step: int) -> StreamKey:
        """The key of the carries and cursors that a step continues."""
        return StreamKey(self.algorithm, self.sizes[step % len(self.sizes)])

    def window(self, step: int) -> AnyWindow:
        """The window of one step: a pure function of the step."""
        if self._sparse_sources:
            return self._sparse_window(step)
        size = self.key(step).size
        if self.config.data.chunk:
            turn = self._turns(size, step)
            window = make_chunk_window([own.pair(turn) for own in self._chunks[size]])
        else:
            window = self._window_of(step, [source.batch(step) for source in self.sources])
        return self._with_randomness(window, step)

    def _window_of(self, step: int, batches: Sequence[Batch]) -> Window:
        """A window of whole trajectories, or of single steps that are drawn from them."""
        count = self.config.data.transitions
        if not count:
            return self.config.convention.window(batches)
        keys = self._keys(step, Purpose.TRANSITIONS)
        return draw_transitions(batches, count, [np.random.RandomState(own) for own in keys])

    def _sparse_window(self, step: int) -> AnyWindow:
        folds = folds_steps(self.config.model, self.config.optimizer.teacher_forcing)
        batches = [source.batch(step) for source in self._sparse_sources]
        window = sparse_window(batches, fold=folds)
        return window if folds else self._with_randomness(window, step)

    def packed_batch(self, step: int, fit: Fit, share: Share = ALL) -> PackedBatch:
        """The window of a step as one buffer; safe to call in any thread."""
        window = self.fitted_window(step, fit, share)
        layout = WindowLayout(window)
        content = layout.pack(window)
        return PackedBatch(self.key(step), layout, content, self.cursors_after(step))

    def fitted_window(self, step: int, fit: Fit, share: Share) -> AnyWindow:
        """This process's share of the window of a step, padded or packed by `fit`."""
        return fit(share.take(self.spec, self.window(step)))

    def cursors_after(self, step: int) -> list[Cursor]:
        """The cursors of each seed's chunks after a step; empty for whole trajectories."""
        size = self.key(step).size
        turn = self._turns(size, step)
        return [own.cursor(turn + 1) for own in self._chunks.get(size, ())]

    def _with_randomness(self, window: AnyWindow, step: int) -> AnyWindow:
        """Draw and add which samples are forced, and the noise of permutations."""
        forcing = self.config.optimizer.teacher_forcing
        if forcing:
            steps, _, lanes = window.follows.shape
            drawn = self._drawn(step, Purpose.FORCING, lambda rng: rng.uniform(size=(steps, lanes)))
            window = window.with_forced(np.stack(drawn, 1) < forcing)
        if self._permutes and not isinstance(window, SparseWindow):
            ends, n = window.end_weights.shape[1], window.nodes
            drawn = self._drawn(step, Purpose.NOISE, lambda rng: rng.gumbel(size=(ends, n, n)))
            window = window.with_noise(np.stack(drawn).astype(np.float32))
        return window

    def _drawn(self, step: int, purpose: Purpose, draw: Draw) -> list[np.ndarray]:
        return [draw(np.random.RandomState(own)) for own in self._keys(step, purpose)]

    def _keys(self, step: int, purpose: Purpose) -> list[list[int]]:
        """The keys of each seed's random numbers for a purpose."""
        return [key(seed, self.algorithm, step, purpose) for seed in self.config.seeds]

    def cursors(
        self, step: int, known: Mapping[int, Sequence[Cursor]] = MappingProxyType({})
    ) -> dict[str, Sequence[Cursor]]:
        """The cursors of all chunks before a step, for a checkpoint.

        Those of some sizes may be known from batches that other processes made.
        """
        return {
            str(size): known.get(size)
            or [chunks.cursor(self._turns(size, step)) for chunks in of_seeds]
            for size, of_seeds in self._chunks.items()
        }

    def seek(self, cursors: Mapping[str, Sequence[Cursor]]) -> None:
        """Continue from saved cursors, without drawing what lies before them."""
        for size, of_seeds in self._chunks.items():
            for chunks, cursor in zip(of_seeds, cursors[str(size)], strict=True):
                chunks.seek(cursor)

    def _turns(self, size: int, step: int) -> int:
        """The number of steps before `step` with the given size."""
        rounds, rest = divmod(step, len(self.sizes))
        return rounds * self.sizes.count(size) + self.sizes[:rest].count(size)


class _Chunks:
    """The chunks of one size for one seed, each with the previous one."""

    def __init__(self, source: Source, size: int, data: DataConfig):
        self._batch, self._length = OneSize(source, size).batch, data.chunk
        self._latest: dict[int, Chunk] = {}
        self.seek(origin(data.batch_size))  # known without drawing a batch

    def pair(self, turn: int) -> tuple[Chunk | None, Chunk]:
        """A chunk and the previous one, if any; in order, each is made once."""
        before = self._chunk(turn - 1) if turn else None
        chunk = self._chunk(turn)
        self._latest = {turn: chunk}
        return before, chunk

    def _chunk(self, turn: int) -> Chunk:
        return self._latest[turn] if turn in self._latest else self._chunker.chunk(turn)

    def cursor(self, turn: int) -> Cursor:
        """The cursor one chunk before a turn, since each chunk is read with the previous one."""
        return self._chunker.cursor(max(turn - 1, 0))

    def seek(self, cursor: Cursor) -> None:
        """Continue from a saved cursor."""
        self._chunker = Chunker(self._batch, length=self._length, cursor=cursor)
        self._latest = {}


class WorkItem(NamedTuple):
    """A batch to prepare: the number of its worker, its stream and its step."""

    worker: int
    stream: TaskStream
    step: int


@dataclass(frozen=True)
class LoaderSpec:
    """All batches of a training from one step on, as a small object to send to workers."""

    config: Config
    step: int
    cursors: Mapping[str, Mapping[str, Sequence[Cursor]]]
    """The cursors of each task's chunks."""
    fit: Fit
    share: Share = ALL
    """The lanes that this process learns from."""

    def streams(self) -> list[TaskStream]:
        """The streams of all tasks, at the cursors of the first step."""
        streams = [TaskStream(self.config, name) for name in self.config.algorithms]
        for stream in streams:
            stream.seek(self.cursors[stream.algorithm])
        return streams

    def work_items(self, workers: int = 1) -> Iterator[WorkItem]:
        """All batches in order, each with the number of its worker, below `workers`.

        Chunks continue previous ones, so all chunks of one size go to the same worker.
        """
        streams, numbers = self.streams(), count()
        for step in range(self.step, self.config.schedule.steps):
            for task, stream in enumerate(streams):
                if self.config.data.chunk:
                    number = task + stream.sizes.index(stream.key(step).size)
                else:
                    number = next(numbers)
                yield WorkItem(number % workers, stream, step)

    def packed_batch(self, item: WorkItem) -> PackedBatch:
        """The batch of a work item."""
        return item.stream.packed_batch(item.step, self.fit, self.share)
