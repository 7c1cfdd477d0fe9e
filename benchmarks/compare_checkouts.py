"""How long a training step on a CPU takes in two checkouts of this repository, in turns.

    git worktree add /tmp/before COMMIT
    python benchmarks/compare_checkouts.py /tmp/before . --algorithms bfs,dfs --rounds 20

Each checkout has a process of its own, which runs its own `benchmarks/training.py`: what a step is,
and on what, is explained there. Processor time of one thread is counted, which other programs
disturb less than the clock on the wall, and Linux says how much it is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Measure what the arguments ask for and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="the folder of one checkout")
    parser.add_argument("after", type=Path, help="the folder of the other")
    parser.add_argument("--algorithms", default="bfs,dfs", metavar="A,B")
    parser.add_argument("--rounds", type=int, default=20, help="steps of each (default: 20)")
    arguments = parser.parse_args()
    print(f"{'ms (median of steps)':24}{'before':>10}{'after':>10}{'ratio':>10}{'of fastest':>12}")
    for name in arguments.algorithms.split(","):
        before, after = _times(name, [arguments.before, arguments.after], arguments.rounds)
        middle = [statistics.median(times) for times in (before, after)]
        cells = "".join(f"{1e3 * seconds:10.1f}" for seconds in middle)
        fastest = min(after) / min(before)
        print(f"{name:24}{cells}{middle[1] / middle[0]:10.3f}{fastest:12.3f}", flush=True)


def _times(name: str, checkouts: list[Path], rounds: int) -> list[list[float]]:
    """The seconds of each step, for each checkout."""
    task = {"name": name, "n": 16, "options": _options(name), "static_hint": False}
    task |= {"batch": 32, "hidden": 128, "threads": 1}
    processes = [_start(folder.resolve()) for folder in checkouts]
    try:
        for process in processes:
            _ask(process, task)
        turns = [[_timed_step(process) for process in processes] for _ in range(rounds)]
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    return [list(times) for times in zip(*turns, strict=True)]


def _options(name: str) -> dict[str, Any]:
    import algorist

    return dict(algorist.get(name).train_options)


def _start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "benchmarks/training.py", "--worker", "algorist"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
    )


def _timed_step(process: subprocess.Popen[str]) -> float:
    before = _processor_seconds(process.pid)
    _ask(process, "step")
    return _processor_seconds(process.pid) - before


def _processor_seconds(pid: int) -> float:
    """How long all threads of a process have run, by Linux's scheduler."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def _ask(process: subprocess.Popen[str], question: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps(question), file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


if __name__ == "__main__":
    main()
