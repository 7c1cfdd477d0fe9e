"""Fitting: windows are put into shape, so that little of them is empty and few graphs serve all."""

from __future__ import annotations

from algorist.model.window import Window, pack_trajectories


def pack_window(window: Window) -> Window:
    """Whole trajectories in as few lanes as they fit into, of 1, ..., 8, 10, 12, 14, 16, 20, ..."""
    if window.is_first is not None:  # chunks have no room to spare
        return window
    return pack_trajectories(window, lambda needed: rounded_up(needed, 3))


def bucket_window(window: Window) -> Window:
    """A window in one of few shapes, so that few graphs serve all windows.

    Whole trajectories are given up to an eighth more steps, and as few lanes as they fit into: 1,
    2, 3, 4, 6, ... Chunks all have the same number of steps and lanes; their ends become once,
    twice, three, four, six, ... times as many as there are lanes.
    """
    lanes, ends = window.follows.shape[-1], window.end_weights.shape[1]
    if window.is_first is None:
        longer = window.padded(rounded_up(window.steps, 4), ends)
        return pack_trajectories(longer, lambda needed: rounded_up(needed, 2))
    return window.padded(window.steps, lanes * rounded_up(-(-ends // lanes), 2))


def rounded_up(number: int, digits: int) -> int:
    """The next number that has only so many binary digits before zeros.

    >>> [rounded_up(number, 2) for number in (1, 3, 5, 7, 13, 100)]
    [1, 3, 6, 8, 16, 128]
    """
    unit = 1 << max(number.bit_length() - digits, 0)
    return -(-number // unit) * unit
