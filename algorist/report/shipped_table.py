"""The learners that come with the package: what their files say, and what they score.

Scores are of the weights as they are in the files, in half precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rich.table

from algorist.experiments.plan import ALGORITHMS
from algorist.experiments.results import SHIPPED, ResultRow
from algorist.model.learner import Learner
from algorist.report.means import Mean, overall_mean
from algorist.report.paper_results import NetScores, PaperResults, missing_notes, published_net
from algorist.report.tables import Table
from algorist.report.terminal import bare_table

GENERALIST, _SPECIALISTS = "generalist", "specialists"


def describe_learner(name: str, file: Path, learner: Learner) -> dict[str, Any]:
    """A saved learner as JSON data."""
    return {
        "name": name,
        "algorithms": list(learner.algorithms),
        "weights": learner.net.size,
        "bytes": file.stat().st_size,
        **learner.metadata,
    }


def learner_table(learners: Sequence[Mapping[str, Any]]) -> rich.table.Table:
    """A row for each replica of each described learner."""
    table = bare_table()
    for heading in ("model", "algorithms"):
        table.add_column(heading, no_wrap=True)
    for heading in ("weights", "MB", "seed", "best step", "validation %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in learners:
        tasks = one["algorithms"]
        named = tasks[0] if len(tasks) == 1 else f"{len(tasks)}"
        size = [f"{one['weights']:,}", f"{one['bytes'] / 1e6:.1f}"]
        for replica in one.get("replicas", [{}]):
            score = replica.get("validation")
            shown = "-" if score is None else f"{100 * score:.2f}"
            known = [str(replica.get(key, "-")) for key in ("seed", "step")]
            table.add_row(one["name"], named, *size, *known, shown)
    return table


def shipped_generalist(results: PaperResults) -> NetScores:
    """The shipped net for all algorithms."""
    return results.shipped_net("the shipped generalist", GENERALIST, GENERALIST)


def shipped_scores(results: PaperResults) -> Table:
    """What the shipped nets score beside the paper's nets for one algorithm each."""
    generalist = shipped_generalist(results)
    each = results.shipped_net("the shipped specialists", _SPECIALISTS, f"{_SPECIALISTS}/{{}}")
    rows = [row for row in results.shipped if row.part == GENERALIST]
    columns = {
        "paper, one net each": published_net("triplet_gmpnn").values,
        "generalist, score": generalist.values,
        "generalist, correct": {row.algorithm: Mean(row.correct, None, 1) for row in rows},
        "specialists, score": each.values,
    }
    shown = {heading: values for heading, values in columns.items() if values}
    tested = [a for a in ALGORITHMS if a in generalist.values or a in each.values]
    return Table(
        SHIPPED,
        "The shipped learners",
        _caption(rows, [row for row in results.shipped if row.part != GENERALIST]),
        ["algorithm", *shown],
        [(a, [own.get(a) for own in shown.values()]) for a in tested],
        [("mean", [overall_mean(own) for own in shown.values()])] if tested else [],
        missing_notes([generalist, each] if each.values else [generalist]),
    )


def _caption(generalist: Sequence[ResultRow], specialists: Sequence[ResultRow]) -> str:
    scores = "Scores on the official tests (n = 64), in per cent, after rounding to half precision"
    if not generalist:
        return f"{scores}."
    row, tested = generalist[0], [*generalist, *specialists]
    each = "The specialists are a net for each, the best of several seeds in validation. "
    devices, dates = (sorted({getattr(r, name) for r in tested}) for name in ("device", "date"))
    return (
        f"{scores}: one net for all thirty algorithms, {row.weights:,} weights, seed {row.seed}, "
        f"as they were after {row.best_step:,} of {row.steps:,} cycles ({row.validation:.2f} % in "
        f"validation, n = 16). {each if specialists else ''}"
        "The paper's are means of ten Triplet-GMPNN for one algorithm each; "
        "it prints no numbers for its generalist. Correct is the share of samples whose whole "
        f"answer is right. Tested on {' and '.join(devices)}, {' and '.join(dates)}, recipe of the "
        f"generalist {row.recipe}."
    )
