"""Results that nobody measured, for tests of reports."""

import random

from algorist.experiments.plan import ALGORITHMS, EXPERIMENTS, Plan
from algorist.experiments.results import SHIPPED, ResultRow, Results, sample_count
from algorist.report.published import published


def row(**changes):
    values = {
        "experiment": "specialists",
        "part": "bfs",
        "algorithm": "bfs",
        "seed": 0,
        "score": 100 / 3,
        "correct": 0.1,
        "validation": 99.0,
        "best_step": 50,
        "steps": 10_000,
        "weights": 7,
        "samples": 32,
        "recipe": "0123456789",
        "version": "1",
        "device": "cpu",
        "date": "2026-01-01",
        "seconds": 1.5,
    }
    return ResultRow(**{**values, **changes})


def write_results(folder, *, seeds=3, experiments=tuple(EXPERIMENTS), algorithms=None):
    """Full results of experiments, in some algorithms or in all; returns the rows."""
    plan, draw, rows = Plan(), random.Random(0), []
    for experiment in experiments:
        own = [
            row(
                experiment=experiment,
                part=part.name.part,
                algorithm=algorithm,
                seed=seed,
                score=max(
                    0, min(100, published()[algorithm]["triplet_gmpnn"].mean + draw.gauss(-3, 4))
                ),
                samples=sample_count(algorithm, None),
                recipe=part.config_hash,
            )
            for part in plan.trained_for(experiment)
            for algorithm in part.config.algorithms
            if algorithms is None or algorithm in algorithms
            for seed in range(seeds)
        ]
        Results(folder, experiment).add(own)
        rows += own
    return rows


def write_shipped(folder):
    """Scores of a generalist that comes with the package: 50, 51, ...; returns the rows."""
    rows = [
        row(
            experiment=SHIPPED,
            part="generalist",
            algorithm=name,
            score=50 + place,
            samples=sample_count(name, None),
        )
        for place, name in enumerate(ALGORITHMS)
    ]
    Results(folder, SHIPPED).add(rows)
    return rows
