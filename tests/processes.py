"""Processes of tests: started, watched and, whatever happens, ended."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATIENCE = 600
"""Seconds, also on a busy machine."""


@contextmanager
def running(*words):
    """A Python process with these arguments; nothing of it outlives the block."""
    process = subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def is_running(pid):
    """Whether a process is at work: one that ended and that nobody has asked about is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition):
    """Look again and again whether something is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
