"""Training data: sources of batches with random access, and threads that compute ahead.

A source's `batch(step)` is a pure function of the seed, the algorithm and the step. So batches are
the same in any order, on any number of threads, and after a restart there is nothing to restore.

    >>> source = Online("dijkstra", seed=0)
    >>> [batch.n for batch in Prefetch(source.batch, range(7))]
    [4, 7, 11, 13, 16, 4, 7]
"""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from enum import IntEnum
from functools import cached_property, partial
from itertools import count, islice
from typing import Any, Generic, Protocol, TypeVar
from zlib import crc32

import numpy as np

from algorist.algorithms import Algorithm, declared
from algorist.algorithms.random import generator
from algorist.batch import Batch
from algorist.data import official
from algorist.errors import expect_positive
from algorist.spec import Spec

SIZES = (4, 7, 11, 13, 16)
"""The sizes of the paper's training problems, taken in turns."""
BATCH_SIZE = 32

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Purpose(IntEnum):
    """What random numbers are drawn for: each purpose has its own."""

    PROBLEMS = 0
    PICKS = 1
    POSITIONS = 2
    FORCING = 3
    NOISE = 4
    TRANSITIONS = 5


def key(seed: int, algorithm: str, step: int, purpose: Purpose) -> list[int]:
    """The seed of all that is drawn for one purpose at one step of one algorithm's training."""
    if step < 0:
        raise ValueError(f"step: got {step}, expected 0 or more")
    return [seed, crc32(algorithm.encode()), step, purpose]


class Source(Protocol):
    """Batches of one algorithm, by step."""

    @property
    def spec(self) -> Spec:
        """The features of every batch."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the batches: step t has `sizes[t % len(sizes)]`."""
        ...

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        ...


class Online:
    """Problems that are drawn afresh for every step, and never twice."""

    def __init__(
        self,
        algorithm: str | Algorithm,
        *,
        seed: int,
        sizes: tuple[int, ...] = SIZES,
        batch_size: int = BATCH_SIZE,
        varied: bool = True,
        ood_share: float = 0.0,
    ):
        """Draw problems of the given sizes in turns.

        An algorithm that the benchmark runs at stretched sizes has only one size, the largest.
        `varied` switches on the algorithm's `train_options`. `ood_share` is the share of problems
        that are out of the benchmark's distribution, if the algorithm's sampler can draw such.
        """
        generator(seed)  # refuses what is no seed
        self.algorithm, self.seed = declared(algorithm), seed
        self.batch_size = expect_positive("batch_size", batch_size)
        self.spec = self.algorithm.spec
        self.sizes = tuple(expect_positive("sizes", size) for size in sizes)
        if not self.sizes:
            raise ValueError("sizes: got none, expected at least one")
        if self.algorithm.stretch != 1:
            self.sizes = (self.algorithm.size(max(self.sizes)),)
        self._options = dict(self.algorithm.train_options if varied else {})
        if ood_share and self.algorithm.has_ood_problems:
            self._options["ood_share"] = ood_share
        for size in self.sizes:
            self._check(size)

    def _check(self, size: int) -> None:
        try:
            self.algorithm.check(size, self.batch_size, self._options)
        except ValueError as error:
            raise ValueError(
                f"sizes: {self.algorithm.name} cannot be drawn at size {size}: {error}"
            ) from error

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        seed = key(self.seed, self.algorithm.name, step, Purpose.PROBLEMS)
        size = self.sizes[step % len(self.sizes)]
        return self.algorithm.sample(size, self.batch_size, seed, self._options).single_precision()


class Fixed:
    """Samples picked at random, with repetition, from the benchmark's training split."""

    def __init__(self, algorithm: str | Algorithm, *, seed: int, batch_size: int = BATCH_SIZE):
        self.algorithm, self.seed = declared(algorithm), seed
        self.batch_size = expect_positive("batch_size", batch_size)
        self.spec = self.algorithm.spec
        self.sizes = (self.algorithm.size(official.SPLITS["train"].n),)

    @cached_property
    def _samples(self) -> Batch:
        return official.split(self.algorithm, "train")

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        seed = key(self.seed, self.algorithm.name, step, Purpose.PICKS)
        picks = np.random.RandomState(seed).randint(len(self._samples), size=self.batch_size)
        return self._samples.take(picks).single_precision()


class Stream(Iterable[Batch]):
    """Batches of one algorithm without end, for a loop of your own or a torch `DataLoader`.

        >>> stream = Stream("bfs", batch_size=2, sizes=(4, 7), seed=0)
        >>> [batch.n for _, batch in zip(range(3), stream)]
        [4, 7, 4]
        >>> stream[17]
        Batch(bfs: 2 samples, 7 nodes, 3 steps)

    The batch of a step is a pure function of the seed and the step: in which order they are asked
    for does not matter. With the workers of a `DataLoader(stream, batch_size=None)` the batches
    come in the same order.
    """

    def __init__(
        self,
        algorithm: str | Algorithm,
        *,
        batch_size: int = BATCH_SIZE,
        sizes: Iterable[int] = SIZES,
        seed: int = 0,
        varied: bool = True,
    ):
        """Draw problems of the given sizes in turns; `varied` is as for `Online`."""
        if not isinstance(sizes, Iterable):
            raise ValueError(f"sizes: got {sizes!r}, expected several or one, such as [16]")
        self._settings: dict[str, Any] = {
            "seed": seed, "sizes": tuple(sizes), "batch_size": batch_size, "varied": varied,
        }  # fmt: skip
        self._source = Online(algorithm, **self._settings)
        if "torch" in sys.modules:  # or else nobody asks whether this is one
            from torch.utils.data import IterableDataset

            IterableDataset.register(Stream)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Stream, self._source.algorithm.name, **self._settings), ()

    def __getitem__(self, step: int) -> Batch:
        return self._source.batch(operator.index(step))

    def __iter__(self) -> Iterator[Batch]:
        first, stride = 0, 1
        if "torch" in sys.modules:
            from torch.utils.data import get_worker_info

            if worker := get_worker_info():
                first, stride = worker.id, worker.num_workers
        return (self[step] for step in count(first, stride))

    def __len__(self) -> int:
        raise TypeError("a stream has no end: use zip(range(steps), stream)")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        source = self._source
        return (
            f"Stream({source.algorithm.name}: batches of {source.batch_size}, "
            f"sizes {', '.join(map(str, source.sizes))}, seed {source.seed})"
        )


class OneSize:
    """The batches of one size alone, counted 0, 1, 2, ..."""

    def __init__(self, source: Source, size: int):
        self.spec, self.sizes = source.spec, (size,)
        self._source = source
        self._turns = [turn for turn, other in enumerate(source.sizes) if other == size]
        if not self._turns:
            raise ValueError(f"size: got {size}, expected one of {source.sizes}")

    def batch(self, step: int) -> Batch:
        """The batch of this size that comes after `step` others."""
        rounds, turn = divmod(step, len(self._turns))
        return self._source.batch(rounds * len(self._source.sizes) + self._turns[turn])


class Prefetch(Generic[Argument, Result], Iterator[Result]):
    """The results of a pure function, in the order of its arguments, computed ahead by threads.

    At most `ahead` results wait at a time. An exception in the function comes out in the place of
    its result and ends the iteration. Leaving a `with` block or `close` ends the threads.
    """

    def __init__(
        self,
        function: Callable[[Argument], Result],
        arguments: Iterable[Argument],
        *,
        workers: int = 2,
        ahead: int = 8,
    ):
        expect_positive("ahead", ahead)
        self._function, self._arguments = function, iter(arguments)
        self._threads = ThreadPoolExecutor(expect_positive("workers", workers), "prefetch")
        self._waiting: deque[Future[Result]] = deque()
        self._start(ahead)

    def _start(self, count: int) -> None:
        for argument in islice(self._arguments, count):
            self._waiting.append(self._threads.submit(self._function, argument))

    def is_ready(self, patience: float = 0.0) -> bool:
        """Whether the next result is ready, or will be within this many seconds."""
        return not self._waiting or bool(wait([self._waiting[0]], patience).done)

    def __next__(self) -> Result:
        if not self._waiting:
            self.close()
            raise StopIteration
        try:
            result = self._waiting.popleft().result()
            self._start(1)
        except BaseException:
            self.close()
            raise
        return result

    def close(self) -> None:
        """Drop what was computed ahead and wait for the threads to end."""
        self._arguments = iter(())
        self._waiting.clear()
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Prefetch[Argument, Result]:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
