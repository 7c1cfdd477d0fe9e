"""The HTML page of a learner: its scores, trajectories and settings, and its training if known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from algorist.model.learner import Learner
from algorist.report.drawing import COLOURS, INK, inline_svg, render
from algorist.report.figures import TOP
from algorist.report.format_numbers import format_percent, format_scores
from algorist.report.html_pages import render_page
from algorist.report.means import Mean
from algorist.report.published import NETS, published
from algorist.report.scores import (
    PAPER,
    ScoreRow,
    few_samples,
    mean_scores,
    published_mean,
)
from algorist.report.trajectories import trajectory_sections
from algorist.training.config import Config
from algorist.training.validation_report import ValidationReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TrainedLearner(NamedTuple):
    """A learner, and the reports of its training if it is a run."""

    learner: Learner
    reports: Sequence[ValidationReport] | None = None

    @property
    def config(self) -> Config | None:
        """How it was trained, if that is known."""
        about = self.learner.metadata
        return Config.from_json(about["config"]) if "config" in about else None


def learner_page(
    name: str, trained: Sequence[TrainedLearner], rows: Sequence[ScoreRow], drawings: str = ""
) -> str:
    """The whole page about one learner, or about several for different algorithms.

    `drawings` is HTML that shows some of its trajectories, above their numbers.
    """
    learners = {task: each.learner for each in trained for task in each.learner.algorithms}
    configs = [config for each in trained if (config := each.config)]
    return render_page(
        "learner_page",
        name,
        summary=escape(" · ".join(_summary(trained))),
        curves="".join(_titled_section(each, titled=len(trained) > 1) for each in trained),
        scores="".join(map(_score_row, rows)) + (_mean_row(rows) if len(rows) > 1 else ""),
        paper=NETS[PAPER],
        samples=_samples(rows),
        warning=_warning(rows),
        drawings=drawings,
        trajectories=trajectory_sections(learners, [row.algorithm for row in rows]),
        configuration=configuration_section(configs) if configs else "<p>It is not known.</p>",
    )


def _titled_section(trained: TrainedLearner, *, titled: bool) -> str:
    config = trained.config
    return training_section(trained, ", ".join(config.algorithms) if config and titled else None)


def _summary(trained: Sequence[TrainedLearner]) -> list[str]:
    """What they are for and made of; of a single one also how good it was in validation."""
    tasks = [task for each in trained for task in each.learner.algorithms]
    shown = ", ".join(tasks) if len(tasks) <= 3 else f"{len(tasks)} algorithms"
    processors = sorted({each.learner.net.config.processor for each in trained})
    if len(trained) > 1:
        return [f"{shown}, a net each", *processors]
    return [shown, *processors, *_best(trained[0])]


def _best(trained: TrainedLearner) -> list[str]:
    """When each seed was best in validation, and how good."""
    error = trained.config is not None and trained.config.scored_by_error
    return [
        f"seed {one['seed']}: best after {one['step']:,} steps, "
        f"validation {_validation(one, error=error)}"
        for one in trained.learner.metadata.get("replicas", [])
    ]


def _validation(replica: Mapping[str, Any], *, error: bool) -> str:
    score = replica["validation"]
    return "not known" if score is None else format_scores([score], error=error, digits=2)


def training_section(trained: TrainedLearner, title: str | None = None) -> str:
    """The course of a run as HTML, under a title if it is one of several."""
    config, reports = trained.config, trained.reports
    if config is None or reports is None:
        return ""
    lines = []
    if title is not None:
        lines += [f"<h2>{escape(title)}</h2>"]
        lines += [f"<p>{escape(' · '.join(_best(trained)))}</p>"]
    if not reports:
        lines += ["<p>No validation yet.</p>"]
    else:
        lines += [f"<p>{reports[-1].step:,} of {config.schedule.steps:,} steps are done.</p>"]
        lines += [inline_svg(render(partial(_figure, config, reports)))]
    return "\n".join(lines) + "\n"


def _figure(config: Config, reports: Sequence[ValidationReport]) -> Figure:
    """Validation score and loss over the steps."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    figure = Figure(figsize=(9, 3), layout="constrained")
    scores, losses = figure.subplots(1, 2)
    if config.scored_by_error:
        title = "validation score, minus the squared error of scalars"
        _draw(scores, title, reports, _series(config, reports, "scores", 1))
    else:
        _draw(scores, "validation score, %", reports, _series(config, reports, "scores", 100))
        scores.set_ylim(0, TOP)
    _draw(losses, "training loss", reports, _series(config, reports, "loss", 1))
    losses.set_yscale("log")
    losses.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    losses.yaxis.set_major_formatter("{x:g}")
    losses.yaxis.set_minor_formatter(NullFormatter())
    if 1 < len(scores.lines) <= len(COLOURS):
        scores.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _draw(
    axes: Any, title: str, reports: Sequence[ValidationReport], series: dict[str, list[float]]
) -> None:
    steps = [report.step for report in reports]
    marker = "." if len(steps) < 40 else ""
    for number, (label, values) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(steps, values, color=colour, label=label, lw=1.5, marker=marker)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("step")
    axes.set_xlim(left=0)
    axes.grid(color=INK, alpha=0.12)


def _series(
    config: Config, reports: Sequence[ValidationReport], what: str, scale: float
) -> dict[str, list[float]]:
    """A single task has a curve for each seed; several have one each, the mean over the seeds."""
    values = [getattr(report, what) for report in reports]
    if len(config.algorithms) == 1:
        (task,) = config.algorithms
        return {
            f"seed {seed}": [scale * value[task][place] for value in values]
            for place, seed in enumerate(config.seeds)
        }
    return {
        task: [scale * sum(value[task]) / len(value[task]) for value in values]
        for task in config.algorithms
    }


def _score_row(row: ScoreRow) -> str:
    known = published().get(row.algorithm, {}).get(PAPER)
    mean = 0 if row.spec.scored_by_error else 100 * sum(row.scores) / len(row.scores)
    return (
        f"<tr><th>{escape(row.algorithm)}</th><td>{row.n}</td><td>{row.samples}</td>"
        f"<td>{row.score_text()}</td><td>{format_percent(row.correct)}</td>"
        f"<td>{known.text() if known else '–'}</td><td class=bar>{_bar(mean, known)}</td></tr>\n"
    )


def _mean_row(rows: Sequence[ScoreRow]) -> str:
    """The last row: means over all algorithms, the paper's only if it has them all."""
    means, known = mean_scores(rows), published_mean(rows)
    shown = "–" if known is None else f"{known:.2f}"
    return (
        f"<tr><th>mean</th><td></td><td></td><td>{format_percent(means.scores)}</td>"
        f"<td>{format_percent(means.correct)}</td>"
        f"<td>{shown}</td><td></td></tr>\n"
    )


def _bar(score: float, known: Mean | None) -> str:
    """The score as a bar, with a mark where the paper stands."""
    mark = f'<i style="left:{known.mean:.2f}%"></i>' if known else ""
    return f'<div><b style="width:{min(max(score, 0), 100):.2f}%"></b>{mark}</div>'


def _samples(rows: Iterable[ScoreRow]) -> str:
    whole = all(row.is_whole for row in rows)
    return "the whole official tests" if whole else "the first samples of the official tests"


def _warning(rows: Sequence[ScoreRow]) -> str:
    """What to say of scores on so few samples that they mean little."""
    text = few_samples(rows)
    return f'<p class="warning">{escape(text)}</p>' if text else ""


def configuration_section(configs: Sequence[Config]) -> str:
    """All settings as HTML; where they are not the same, the values of each kind."""
    plain = [asdict(config) for config in configs]
    titles = [title for title, values in plain[0].items() if isinstance(values, dict)]
    return "".join(_section(title, [each[title] for each in plain]) for title in titles)


def _section(title: str, settings: Sequence[dict[str, Any]]) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(_values(each[name] for each in settings))}</dd>"
        for name in settings[0]
    )
    return f"<section><h3>{escape(title)}</h3><dl>{rows}</dl></section>\n"


def _values(values: Iterable[Any]) -> str:
    return " or ".join(dict.fromkeys(map(_value, values)))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value) if value != "" else "–"
