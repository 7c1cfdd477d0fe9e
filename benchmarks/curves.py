"""Measure how accuracy falls with problem size, for the curves of `algorist view`.

    python benchmarks/curves.py                                   # the generalist, all sizes
    python benchmarks/curves.py --model specialists --device cuda
    python benchmarks/curves.py --samples 4 --seconds 600         # what ten minutes are enough for

It adds to algorist/weights/curves.csv, small sizes first, and skips what has been measured on as
many samples; after new weights, delete the old rows. Points of n = 64 are not measured here but
taken from results/shipped.csv, where `algorist eval --official --results results` puts them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np

import algorist
from algorist.commands.arguments import add_compute_options
from algorist.commands.load_models import load_models
from algorist.evaluation.evaluator import evaluate
from algorist.experiments.results import SHIPPED, file_of
from algorist.experiments.results import read as read_results
from algorist.model.compute_config import device_name
from algorist.report import curves
from algorist.report.curves import FRESH, SIZES, TEST, TEST_SIZE, Point
from algorist.spec import SCALARS
from algorist.training.saved_learners import members

SEED = 4000
"""Of the draws: far from those of the benchmark's fixed sets."""


def main() -> None:
    """Add points to the file until all are there or the time is over."""
    arguments = _parser().parse_args()
    start = time.monotonic()
    points = {point.key: point for point in curves.read()}
    for point in _tested(Path(arguments.results)):
        points[point.key] = point
    curves.write(points.values())
    learners = load_models(arguments.algorithms, arguments.model, arguments)
    several = members(arguments.model)
    for n in arguments.sizes:
        for algorithm, learner in learners.items():
            model = several.get(algorithm, arguments.model)
            known = points.get((model, algorithm, n))
            if n == TEST_SIZE or (known and known.samples >= arguments.samples):
                continue
            if time.monotonic() - start > arguments.seconds:
                print(f"out of time before {algorithm} at n = {n}")
                return
            point = _measured(model, algorithm, learner, n, arguments.samples)
            points[point.key] = point
            curves.write(points.values())
            print(f"{point.model} {algorithm} n = {n}: {point.score:.2f} %", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithms", nargs="*", help="only these (default: all it knows)")
    parser.add_argument("--model", default="generalist", help="a shipped model")
    parser.add_argument("--samples", type=int, default=32, help="at each size (default: 32)")
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(n) for n in text.split(",")],
        default=SIZES,
        help=f"default: {','.join(map(str, SIZES))}",
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no test after this time"
    )
    parser.add_argument("--results", default="results", help="where shipped.csv is")
    add_compute_options(parser)
    return parser


def _tested(folder: Path) -> Iterator[Point]:
    """What is known of the official tests."""
    for row in read_results(file_of(folder, SHIPPED)):
        yield Point(
            row.part,
            row.algorithm,
            TEST_SIZE,
            row.score,
            row.correct,
            float("nan"),
            row.samples,
            TEST,
            row.device,
            row.date,
            row.version,
        )


def _measured(model: str, algorithm: str, learner: algorist.Learner, n: int, samples: int) -> Point:
    known = algorist.get(algorithm)
    batch = known.sample(known.size(n), samples, SEED + n)
    best = evaluate(
        learner.best_replica(), algorithm, batch, hints=learner.net.config.hints != "none"
    )[0]
    spec = learner.net.spec(algorithm)
    hints = [x for name, x in best.hints.items() if spec[name].kind not in SCALARS]
    return Point(
        model,
        algorithm,
        n,
        100 * best.score,
        100 * best.correct,
        100 * float(np.nanmean(hints)) if hints else float("nan"),
        samples,
        FRESH,
        device_name(learner.net.device),
        date.today().isoformat(),
        algorist.__version__,
    )


if __name__ == "__main__":
    main()
