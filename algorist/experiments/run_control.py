"""Interrupts of a training: Ctrl-C, SIGTERM or a time limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType
from typing import Any

STOPPING = "finishing this step, then saving; once more stops at once"
"""The message after a signal."""


class Interrupt:
    """Stops after the present step on Ctrl-C, SIGTERM or a time limit; a second signal, at once."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, *, after: float | None = None, quiet: bool = False):
        """`after` is a time limit in seconds; `quiet` prints no message after a signal."""
        self._end = time.monotonic() + (after or float("inf"))
        self._quiet, self._signal = quiet, 0
        self._before: dict[int, Any] = {}

    def came(self) -> bool:
        """Whether there was a signal."""
        return self._signal > 0

    def is_due(self) -> bool:
        """Whether it is time to stop: there was a signal, or the time is up."""
        return self.came() or time.monotonic() >= self._end

    @property
    def exit_code(self) -> int:
        """The exit code that shells report for a process ended by the signal."""
        return 128 + self._signal

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.came():
            raise KeyboardInterrupt
        self._signal = number
        if not self._quiet:
            os.write(2, f"{STOPPING}\n".encode())  # a print could interrupt another

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            for each in self._SIGNALS:
                self._before[each] = signal.signal(each, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
