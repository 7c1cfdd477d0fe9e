"""The time that a training spends on learning, waiting, captures, validation and saving."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_PURPOSES = {
    "waiting": "waited for data",
    "captures": "captures",
    "validation": "validation",
    "saving": "saving",
}


class TimeAccount:
    """The seconds since the first packed batch, and those of them not spent on learning."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Restart all counts."""
        self._made, self._begun = time.perf_counter(), 0.0
        self._seconds = dict.fromkeys(_PURPOSES, 0.0)

    def begin(self) -> None:
        """Start counting: preparation ends with the first packed batch."""
        if not self._begun:
            self._begun = time.perf_counter()

    @contextmanager
    def on(self, purpose: str) -> Iterator[None]:
        """Count the block under a purpose, unless it is part of the preparation."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.count(purpose, start)

    def count(self, purpose: str, start: float) -> None:
        """Count the time since `start` under a purpose, unless it was part of the preparation."""
        if self._begun:
            self._seconds[purpose] += time.perf_counter() - max(start, self._begun)

    def __getitem__(self, purpose: str) -> float:
        """The seconds spent on a purpose so far.

        waiting: for data, while the device had nothing to do; captures: of CUDA graphs, with the
        kernels that are compiled for them; validation: with reports; saving: checkpoints.
        """
        return self._seconds[purpose]

    @property
    def ready(self) -> float:
        """The seconds before the first packed batch, or so far, if it is not there yet."""
        return (self._begun or time.perf_counter()) - self._made

    @property
    def since(self) -> float:
        """The seconds since the first packed batch."""
        return time.perf_counter() - self._begun if self._begun else 0.0

    def to_json(self) -> dict[str, float]:
        """All times in seconds, by name."""
        seconds = {"ready": self.ready, "since": self.since, **self._seconds}
        return {f"{name}_s": round(value, 3) for name, value in seconds.items()}

    def __str__(self) -> str:
        since = self.since or 1.0
        shares = ", ".join(
            f"{words} {100 * self[purpose] / since:.1f} %" for purpose, words in _PURPOSES.items()
        )
        return f"ready after {self.ready:.0f} s; of the {since:.0f} s since then: {shares}"
