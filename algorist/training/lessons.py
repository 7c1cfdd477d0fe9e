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
from algorist.training.task_stream import Feed, Portion


class Place(NamedTuple):
    """Whose turn it is: an algorithm at one size. Each has chunks of its own."""

    algorithm: str
    size: int


class Lesson(NamedTuple):
    """A window, ready to be learnt from."""

    place: Place
    packed: Packed
    cursors: Sequence[Cursor] = ()

    @property
    def shape(self) -> tuple[Place, Shape]:
        """What a captured step serves: a place, and windows of one shape."""
        return self.place, self.packed.layout.shape


def lesson(portion: Portion, fit: Callable[[Window], Window]) -> Lesson:
    """All that can be done before a portion's turn comes, on any thread."""
    place = Place(portion.algorithm, portion.size)
    return Lesson(place, packed(fit(portion.window)), portion.cursors)


class Turn(NamedTuple):
    """Whose turn it is, and at which step."""

    feed: Feed
    step: int


@dataclass(frozen=True)
class Syllabus:
    """All lessons of a training from one step on. It holds little, and can be sent."""

    config: Config
    step: int
    cursors: Mapping[str, Mapping[str, Sequence[Cursor]]]
    """Where the chunks of each task stand."""
    fit: Callable[[Window], Window]
    """How windows are put into shape."""
    share: Share = ALL
    """The lanes that are learnt from here."""

    def feeds(self) -> list[Feed]:
        """The feeds of all tasks, where they stand at the first step."""
        feeds = [Feed(self.config, name) for name in self.config.algorithms]
        for feed in feeds:
            feed.seek(self.cursors[feed.algorithm])
        return feeds

    def turns(self, feeds: Sequence[Feed], workers: int) -> Iterator[tuple[int, Turn]]:
        """All turns, in order, each with the number of the worker that prepares it.

        Chunks go on where others stopped, so those of one size have one worker.
        """
        place = count()
        for step in range(self.step, self.config.schedule.steps):
            for task, feed in enumerate(feeds):
                if self.config.data.chunk:
                    number = task + feed.sizes.index(feed.sizes[step % len(feed.sizes)])
                else:
                    number = next(place)
                yield number % workers, Turn(feed, step)

    def lesson(self, turn: Turn) -> Lesson:
        """The lesson of a turn."""
        return lesson(self._portion(turn), self.fit)

    def of_worker(self, number: int, workers: int) -> Iterator[Portion]:
        """What one of several workers prepares, with windows that are in shape already."""
        for owner, turn in self.turns(self.feeds(), workers):
            if owner == number:
                portion = self._portion(turn)
                yield portion._replace(window=self.fit(portion.window))

    def _portion(self, turn: Turn) -> Portion:
        portion = turn.feed.portion(turn.step)
        return portion._replace(window=self.share.taken(turn.feed.spec, portion.window))
