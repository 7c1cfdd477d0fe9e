"""What this machine has: cores, memory and devices."""

from __future__ import annotations

import ctypes
import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Options of glibc's `mallopt`, as its malloc.h numbers them."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def memory() -> float:
    """The bytes of memory that this machine or container has; infinity where nobody can tell."""
    sizes = [math.inf]
    if hasattr(os, "sysconf"):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # no container, or one without a limit
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(sizes)


def keep_freed_memory() -> None:
    """Let the C library keep large blocks that are freed, for the next tensors (glibc alone).

    It would return them to the kernel, which clears all pages that it hands out again: about half
    of the time of an evaluation on a CPU.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        allocator = ctypes.CDLL(None)
        allocator.mallopt(_M_MMAP_MAX, 0)
        allocator.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def find_device(name: str) -> str:
    """The device of that name; auto means a GPU if there is one.

    Raises a ValueError if there is none of that name.
    """
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(name)
    except RuntimeError:
        kind = None
    if kind is None or kind.type not in ("cpu", "cuda"):
        raise ValueError(f"device: got {name!r}, expected cpu, cuda or auto")
    if kind.type == "cuda" and (kind.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device: got {name!r}, but there is no such GPU here")
    return name
