"""How fast samples are drawn, traced and batched: algorist, and dm-clrs where there is one.

    python benchmarks/sampling.py                            # n = 16, batches of 32
    python benchmarks/sampling.py --peer PYTHON --n 64       # against the dm-clrs of that Python
    python benchmarks/sampling.py --first                    # seconds to the first sample

Each library runs in a process of its own, bound to one and the same core, and the two take turns,
so that whatever else the machine does hits both. What counts is processor time: waiting for the
core does not. Sizes are the benchmark's: where others have n = 16, the string matchers have 20.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from libraries import pythons, workers, write_json

SLOWEST_TURN = 4.0
"""Seconds above which a turn draws fewer samples than a whole batch."""

Draw = Callable[[int], Any]
"""Draws a batch of this many samples."""


def main() -> None:
    """Measure what the arguments ask for, print a table and write JSON."""
    arguments = _parser().parse_args()
    if arguments.worker:
        _work(arguments.worker)
        return
    import algorist

    names = arguments.algorithms.split(",") if arguments.algorithms else algorist.algorithms()
    sizes = {name: algorist.get(name).size(arguments.n) for name in names}
    if arguments.first:
        result = _first_samples(names)
    else:
        result = _speeds(sizes, arguments)
    write_json(arguments.json, {"n": arguments.n, **result})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=16, help="size of the problems (default: 16)")
    parser.add_argument("--batch", type=int, default=32, help="samples a batch (default: 32)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (default: 5)")
    parser.add_argument(
        "--seconds", type=float, default=0.1, help="least length of a turn (default: 0.1)"
    )
    parser.add_argument("--algorithms", metavar="A,B", help="only these")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that can import clrs")
    parser.add_argument("--first", action="store_true", help="time the first sample instead")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    return parser


def _speeds(sizes: dict[str, int], arguments: argparse.Namespace) -> dict[str, Any]:
    """Microseconds a sample: the median over the rounds of each worker."""
    libraries = pythons(arguments.peer)
    rows: list[dict[str, Any]] = []
    with workers(__file__, libraries) as ask:
        ratio = ["times faster"] if len(libraries) > 1 else []
        print(_line("microseconds a sample", [*libraries, *ratio]))
        for name, n in sizes.items():
            task = {"name": name, "n": n, "batch": arguments.batch, "seconds": arguments.seconds}
            turns = [{who: ask(who, task) for who in libraries} for _ in range(arguments.rounds)]
            row = {who: statistics.median(turn[who] for turn in turns) for who in libraries}
            rows.append({"algorithm": name, **row})
            print(_line(name, _with_ratio(row)), flush=True)
    means = {who: statistics.mean(row[who] for row in rows) for who in libraries}
    print(_line("mean", _with_ratio(means)))
    return {"batch": arguments.batch, "microseconds": rows, "mean": means}


def _with_ratio(row: dict[str, float]) -> list[str]:
    texts = [f"{value:.1f}" for value in row.values()]
    return [*texts, f"{row['dm-clrs'] / row['algorist']:.0f}"] if "dm-clrs" in row else texts


def _line(name: str, cells: list[str]) -> str:
    return f"{name:32}" + "".join(f"{cell:>14}" for cell in cells)


def _work(who: str) -> None:
    """Answer each task on standard input with microseconds a sample."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    library = WORKERS[who]()
    draws: dict[str, tuple[Draw, int]] = {}
    for line in sys.stdin:
        task = json.loads(line)
        if task["name"] not in draws:
            draws[task["name"]] = _warm(library(task["name"], task["n"]), task["batch"])
        draw, batch = draws[task["name"]]
        print(_microseconds(draw, batch, task["seconds"]), file=answers, flush=True)


def _warm(draw: Draw, batch: int) -> tuple[Draw, int]:
    """Compile and fill caches; and how many samples to draw at once so that turns stay short."""
    draw(1)
    start = time.perf_counter()
    draw(1)
    slow = time.perf_counter() - start
    batch = max(1, min(batch, int(SLOWEST_TURN / slow)))
    if slow * batch < SLOWEST_TURN / 4:
        draw(batch)
    return draw, batch


def _microseconds(draw: Draw, batch: int, seconds: float) -> float:
    drawn, start = 0, time.thread_time()
    while (passed := time.thread_time() - start) < seconds or not drawn:
        draw(batch)
        drawn += batch
    return passed / drawn * 1e6


def _algorist() -> Callable[[str, int], Draw]:
    import algorist

    def library(name: str, n: int) -> Draw:
        seeds = iter(range(2**32))
        algorithm = algorist.get(name)
        return lambda batch: algorithm.sample(n, batch, next(seeds))

    return library


def _dm_clrs() -> Callable[[str, int], Draw]:
    import logging

    logging.disable(logging.WARNING)
    import clrs

    def library(name: str, n: int) -> Draw:
        sampler, _ = clrs.build_sampler(
            name, num_samples=-1, length=n, seed=0, track_max_steps=False
        )
        draw: Draw = sampler.next
        return draw

    return library


WORKERS = {"algorist": _algorist, "dm-clrs": _dm_clrs}

FIRST = """
from time import process_time
start = process_time()
import algorist
imported = process_time()
algorist.get({name!r}).sample(16, 1, 0)
print(imported - start, process_time() - imported)
"""


def _first_samples(names: list[str]) -> dict[str, Any]:
    """Seconds from the call to the first sample, in fresh processes."""
    rows: list[dict[str, Any]] = []
    print(_line("seconds to the first sample", ["empty cache", "warm cache", "(import)"]))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            _, empty = _first_sample(name, folder)
            imported, warm = _first_sample(name, folder)
        rows.append({"algorithm": name, "empty": empty, "warm": warm, "import": imported})
        print(_line(name, [f"{empty:.2f}", f"{warm:.3f}", f"{imported:.3f}"]), flush=True)
    worst = {key: max(row[key] for row in rows) for key in ("empty", "warm", "import")}
    print(_line("longest", [f"{seconds:.3f}" for seconds in worst.values()]))
    return {"first": rows, "longest": worst}


def _first_sample(name: str, cache: str) -> tuple[float, float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    program = [sys.executable, "-c", FIRST.format(name=name)]
    output = subprocess.run(program, env=environment, check=True, capture_output=True, text=True)
    imported, drawn = map(float, output.stdout.split())
    return imported, drawn


if __name__ == "__main__":
    main()
