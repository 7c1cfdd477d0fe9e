"""Several runs on one page: their scores side by side, their training, and how they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from algorist.report.comparison import ScoreColumn, comparison_rows
from algorist.report.html_pages import render_page
from algorist.report.learner_page import TrainedLearner, configuration_section, training_section
from algorist.report.scores import ScoreRow


def comparison_page(
    runs: Mapping[str, Sequence[TrainedLearner]], rows: Mapping[str, Sequence[ScoreRow]]
) -> str:
    """A page about runs by name; each has one learner, or one for each of some algorithms."""
    scores = {ScoreColumn(name, None): own for name, own in rows.items()}
    configs = [config for own in runs.values() for each in own if (config := each.config)]
    whole = all(row.is_whole for own in rows.values() for row in own)
    samples = "the whole official tests" if whole else "the first samples of the official tests"
    return render_page(
        "comparison_page",
        ", ".join(runs),
        style="learner_page",
        summary=escape(f"{len(runs)} runs: {', '.join(runs)}"),
        samples=samples,
        headings="".join(f"<th>{escape(name)}</th>" for name in runs),
        scores="".join(map(_row, comparison_rows(scores, "±"))),
        curves="".join(
            training_section(each, _title(name, each, own))
            for name, own in runs.items()
            for each in own
        ),
        configuration=configuration_section(configs) if configs else "<p>It is not known.</p>",
    )


def _title(name: str, trained: TrainedLearner, runs: Sequence[TrainedLearner]) -> str:
    return name if len(runs) == 1 else f"{name}, {', '.join(trained.learner.algorithms)}"


def _row(cells: Sequence[str]) -> str:
    name, *scores = cells
    return f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in scores)}</tr>\n"
