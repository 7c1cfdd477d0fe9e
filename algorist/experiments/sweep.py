"""All runs of a sweep, some at once: what fails does not stop the others, what dies is retried."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue
from threading import Event

from algorist.atomic import replace_text
from algorist.errors import counted
from algorist.experiments.assignments import DONE, FAILED, STOPPED, Assignment, Reply
from algorist.experiments.processes import DiedError, Workplace
from algorist.experiments.work import Job

_GLANCE = 0.2
"""Seconds between two looks at whether to stop."""


class Sweep:
    """Gives runs to a workplace until none is left."""

    def __init__(self, workplace: Workplace, assignments: Mapping[Job, Assignment], retries: int):
        """A run whose process dies is tried again, so many times."""
        self._workplace, self._assignments, self._retries = workplace, assignments, retries
        self._stopping = Event()
        self._running: dict[Job, None] = {}
        self._places: SimpleQueue[int] = SimpleQueue()
        for place in range(workplace.places):
            self._places.put(place)

    def outcomes(
        self,
        should_stop: Callable[[], bool],
        watch: Callable[[Sequence[Job]], None] = lambda running: None,
    ) -> Iterator[tuple[Job, Reply]]:
        """What becomes of the runs, in the order in which they end.

        Every now and then it is asked whether to stop, and told which runs are at work.
        """
        pool = ThreadPoolExecutor(self._workplace.places)
        waiting = {pool.submit(self._done, job): job for job in self._assignments}
        try:
            while waiting:
                ended = wait(waiting, _GLANCE, FIRST_COMPLETED).done
                watch(list(self._running))
                if should_stop() and not self._stopping.is_set():
                    self._stopping.set()
                    self._workplace.stop()
                for future in ended:
                    yield waiting.pop(future), _reply(future)
        finally:
            self._stopping.set()
            self._workplace.close()
            pool.shutdown()

    def _done(self, job: Job) -> Reply:
        """What becomes of a run."""
        place = self._places.get()
        self._running[job] = None
        try:
            return self._tried(place, self._assignments[job])
        finally:
            del self._running[job]
            self._places.put(place)

    def _tried(self, place: int, assignment: Assignment) -> Reply:
        for _ in range(1 + self._retries):
            if self._stopping.is_set():
                return Reply(STOPPED, "not begun")
            try:
                return self._workplace.do(place, assignment)
            except DiedError as error:
                reason = str(error)
        return Reply(FAILED, f"{reason} (tried {counted(1 + self._retries, 'time')})")


def _reply(future: Future[Reply]) -> Reply:
    error = future.exception()
    return future.result() if error is None else Reply(FAILED, f"{type(error).__name__}: {error}")


class Failures:
    """The failures of a sweep, in a file that the next attempt reads and corrects."""

    def __init__(self, folder: Path):
        self.file = file = folder / "failures.json"
        try:
            notes = json.loads(file.read_text()) if file.exists() else {}
        except ValueError:
            notes = None
        if not isinstance(notes, dict) or not all(isinstance(n, dict) for n in notes.values()):
            raise ValueError(f"{file}: got no JSON object; remove it, its notes are lost")
        self._notes: dict[str, dict[str, str]] = notes

    def messages(self) -> dict[str, str]:
        """Why runs have failed, by their titles."""
        return {title: note.get("message", "failed") for title, note in self._notes.items()}

    def note(self, job: Job, reply: Reply) -> None:
        """Keep a failure, or forget one that has been overcome."""
        if reply.state == FAILED:
            self._notes[job.title] = {
                "message": reply.message,
                "trace": reply.trace,
                "folder": str(job.folder),
                "date": time.strftime("%Y-%m-%d %H:%M:%S"),
            }
        elif reply.state == DONE:
            self._notes.pop(job.title, None)
        else:
            return
        if self._notes or self.file.exists():
            replace_text(self.file, json.dumps(self._notes, indent=2) + "\n")
