"""Train small nets without each improvement of a recipe, and print what each one gives.

OMP_NUM_THREADS=1 python benchmarks/ablation.py dfs heapsort --seeds 0,1,2 --out small.csv
python benchmarks/ablation.py --out small.csv --table

The nets are those of `small_nets.py`, each for one algorithm; all seeds are trained at once. Their
rows, one for each seed and size, are written as soon as they are measured, and nets that have rows
are skipped: the same command goes on after a stop. Where a switch does not change the losses of
the first updates, it changes nothing for that algorithm. Such nets are not trained; the table
counts them as equal to those of the whole recipe.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import small_nets
from small_nets import Accuracy

from algorist.training.config import Config
from algorist.training.recipes import WHOLE, ablations
from algorist.training.trainer import Trainer

_FIRST_UPDATES = 2
_COLUMNS = ("without", "algorithm", "seed", "n", *Accuracy._fields, "seconds", "steps", "hidden")
SAME = "same"
"""Stands for the seconds of nets that are the same as with all switches."""


class Part(NamedTuple):
    """The nets of an algorithm without a switch: all that their rows are found by."""

    without: str
    algorithm: str


def first_losses(config: Config) -> Mapping[str, Any]:
    """The losses of the first updates."""
    trainer = Trainer(config)
    for _, _ in zip(range(_FIRST_UPDATES), trainer.run(), strict=False):
        pass
    return trainer.mean_terms


def _is_equal(config: Config, whole: Config) -> bool:
    """Whether a net is trained like that of the whole recipe, as far as the first losses tell.

    The schedule and the averaging make a difference only later.
    """
    if (config.optimizer, config.schedule) != (whole.optimizer, whole.schedule):
        return False
    return first_losses(config) == first_losses(whole)


def parts(arguments: argparse.Namespace) -> Iterator[tuple[Part, Config, Config]]:
    """All parts, their configurations, and that of the whole recipe for the same algorithm."""
    for without in (WHOLE, *arguments.switches):
        for name in arguments.algorithms:
            whole = replace(small_nets.configure(arguments, [name]), seeds=arguments.seeds)
            configs = dict(ablations(whole, cumulative=False))
            if without in configs:
                yield Part(without, name), configs[without], whole


def rows_of(
    part: Part, config: Config, whole: Config, sizes: Sequence[int], count: int, seed: int
) -> list[dict[str, Any]]:
    """Train the nets of a part, and measure them at each size."""
    common = {**part._asdict(), "steps": config.schedule.steps, "hidden": config.model.hidden}
    if part.without != WHOLE and _is_equal(config, whole):
        return [{**common, "seconds": SAME}]
    start = time.process_time()
    trainer = Trainer(config)
    for _ in trainer.run():
        pass
    common["seconds"] = round(time.process_time() - start)
    learner, rows = trainer.evaluated_model, []
    for n in sizes:
        measured = small_nets.measure(learner, part.algorithm, n=n, count=count, seed=seed)
        for own_seed, (accuracy, _) in zip(config.seeds, measured, strict=True):
            shares = {name: round(value, 3) for name, value in accuracy._asdict().items()}
            rows.append({**common, "seed": own_seed, "n": n, **shares})
    return rows


def read(file: Path) -> list[dict[str, str]]:
    """All rows so far."""
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def append(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to a file, which gets a header first."""
    is_new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.DictWriter(lines, _COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def part_of(row: Mapping[str, str]) -> Part:
    """The part of a row."""
    return Part(row["without"], row["algorithm"])


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A line for each switch: how much its nets differ from those of the whole recipe, in the mean
    over algorithms and seeds, with the standard error of the mean over nets."""
    measured = [row for row in rows if row["n"]]
    found = {(part_of(row), row["seed"], row["n"]): row for row in measured}
    sizes = list(dict.fromkeys(row["n"] for row in measured))
    seeds = list(dict.fromkeys(row["seed"] for row in measured))
    heads = [f"{name.replace('_', ' ')}, {n}" for name in Accuracy._fields for n in sizes]
    lines = [
        f"| | algorithms | changed | {' | '.join(heads)} |",
        f"| --- {'| ---: ' * (2 + len(heads))}|",
    ]
    for without in dict.fromkeys(row["without"] for row in rows):
        own = [part for part in dict.fromkeys(map(part_of, rows)) if part.without == without]
        changed = {part_of(row) for row in measured}.intersection(own)
        cells = []
        for name, n in itertools.product(Accuracy._fields, sizes):
            differences = []
            for part, seed in itertools.product(own, seeds):
                whole = float(found[part._replace(without=WHOLE), seed, n][name])
                value = float(found[part, seed, n][name]) if part in changed else whole
                differences.append(value if without == WHOLE else value - whole)
            mean, sign = statistics.fmean(differences), "" if without == WHOLE else "+"
            error = statistics.stdev(differences) / len(differences) ** 0.5
            cells.append(f"{mean:{sign}.1f} ± {error:.1f}")
        lines.append(f"| {without} | {len(own)} | {len(changed)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line: the options of `small_nets.py` and those of this script."""
    own = argparse.ArgumentParser("ablation", description=__doc__, add_help=False)
    own.add_argument("--seeds", default=(0, 1, 2), type=small_nets.numbers)
    own.add_argument("--switches", default="", help="only without these, as in a,b")
    own.add_argument("--out", type=Path, required=True, help="a CSV file, which is continued")
    own.add_argument("--table", action="store_true", help="train nothing, print the table")
    own.add_argument("--processes", type=int, default=2)
    arguments, rest = own.parse_known_args(argv)
    if arguments.table:
        return arguments
    small = small_nets.parse(rest)
    switches = arguments.switches.split(",") if arguments.switches else None
    whole = small_nets.configure(small, small.algorithms)
    known = [name for name, _ in ablations(whole, cumulative=False) if name != WHOLE]
    for name in switches or ():
        if name not in known:
            own.error(f"--switches: got {name}, expected some of {', '.join(known)}")
    settings = {**vars(small), **vars(arguments), "switches": switches or known}
    return argparse.Namespace(**settings)


def main(argv: Sequence[str] | None = None) -> None:
    """Train the nets that have no rows yet, or print the table."""
    arguments = parse(argv)
    rows = read(arguments.out)
    if arguments.table:
        print(table(rows))
        return
    done = set(map(part_of, rows))
    with ProcessPoolExecutor(arguments.processes) as pool:
        left = [job for job in parts(arguments) if job[0] not in done]
        problems = (arguments.measure, arguments.count, arguments.problem_seed)
        futures = [pool.submit(rows_of, *job, *problems) for job in left]
        try:
            for future in as_completed(futures):
                append(arguments.out, future.result())
                print(future.result(), flush=True)
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main()
