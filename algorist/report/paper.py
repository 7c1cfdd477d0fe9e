"""All tables and figures of the paper, ours beside the published numbers."""

from __future__ import annotations

from algorist.report.collection import Collection
from algorist.report.paper_figures import paper_figures
from algorist.report.paper_results import OTHER_SETTINGS, PaperResults
from algorist.report.paper_tables import paper_tables


def paper_collection(results: PaperResults) -> Collection:
    """What there is of them, with notes about the rest."""
    return Collection(
        "The paper's results",
        "A Generalist Neural Algorithmic Learner (Ibarz et al., 2022): ours beside the published "
        f"numbers. Made by algorist report from {len(results.rows)} results.",
        list(paper_tables(results)),
        list(paper_figures(results)),
        remark=results.remark(),
        warning=OTHER_SETTINGS if results.is_mixed else "",
    )
