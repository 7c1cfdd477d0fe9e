"""How far a net is with a large problem: one line in a terminal, a few lines elsewhere."""

from __future__ import annotations

import time

from algorist.errors import format_count
from algorist.report.format_numbers import format_duration
from algorist.report.terminal import Terminal

LONG = 5.0
"""Seconds from which on work is announced."""
_REFRESH, _REPEAT = 0.5, 30.0
"""Seconds between two reports, in a terminal and where lines stay."""


class SolvingProgress:
    """Says beforehand how long a problem takes, then how far it is. It writes to `terminal`."""

    def __init__(self, terminal: Terminal):
        self._terminal = terminal
        self._start = self._said = time.perf_counter()
        self.announced = False

    def begin(self, nodes: int, steps: int, seconds: float) -> None:
        """Announce what takes long."""
        self._start = self._said = time.perf_counter()
        if seconds >= LONG:
            self.announced = True
            work = f"{format_count(steps, 'step')} on {format_count(nodes, 'node')}"
            self._terminal.print(f"{work}: about {format_duration(seconds)}; Ctrl-C stops")

    def __call__(self, done: int, steps: int) -> None:
        """Report how many steps are done, and how long the rest takes as measured so far."""
        now = time.perf_counter()
        live = self._terminal.is_terminal
        if not self.announced or (now - self._said < (_REFRESH if live else _REPEAT)):
            return
        self._said = now
        left = (now - self._start) / max(done, 1) * (steps - done)
        text = f"step {done}/{steps}, {format_duration(left)} left"
        self._terminal.print(f"\r{text:40}" if live else text, end="" if live else "\n")

    def end(self) -> None:
        """End the line that changes."""
        if self.announced and self._terminal.is_terminal:
            self._terminal.print(f"\r{'':40}\r", end="")
