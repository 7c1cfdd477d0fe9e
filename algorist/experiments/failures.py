"""The failures of a sweep, in a file that the next attempt reads and corrects."""

from __future__ import annotations

import json
import time
from pathlib import Path

from algorist.atomic import replace_text
from algorist.experiments.jobs import Job
from algorist.experiments.run_requests import DONE, FAILED, Reply
from algorist.version import __version__


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
                "version": __version__,
                "date": time.strftime("%Y-%m-%d %H:%M:%S"),
            }
        elif reply.state == DONE:
            self._notes.pop(job.title, None)
        else:
            return
        if self._notes or self.file.exists():
            replace_text(self.file, json.dumps(self._notes, indent=2) + "\n")
