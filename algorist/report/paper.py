"""All tables and figures of the paper, ours beside the published numbers."""

from __future__ import annotations

from algorist.report.collection import Collection
from algorist.report.paper_figures import pictures
from algorist.report.paper_tables import tables
from algorist.report.reproduced import OTHER_SETTINGS, Reproduced


def paper_collection(results: Reproduced) -> Collection:
    """What there is of them, with notes about the rest."""
    return Collection(
        "The paper's results",
        "A Generalist Neural Algorithmic Learner (Ibarz et al., 2022): ours beside the published "
        f"numbers. Made by algorist report from {len(results.rows)} results.",
        list(tables(results)),
        list(pictures(results)),
        remark=results.remark(),
        warning=OTHER_SETTINGS if results.is_mixed else "",
    )
