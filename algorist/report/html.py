"""A learner on one page, with its training if it is a run: one HTML file, needing nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from algorist.model.learner import Learner
from algorist.report.drawing import INK, STYLE, inline
from algorist.report.numbers import percent, scored
from algorist.report.published import NETS, Published, published
from algorist.report.scores import PAPER, Scored, mean_scores, published_mean
from algorist.report.trajectories import trajectories
from algorist.training.config import Config
from algorist.training.trainer import Report

_SHADES = ("#2563eb", "#d97706", "#059669", "#db2777", "#7c3aed", "#0891b2")


def page(
    name: str, learner: Learner, rows: Sequence[Scored], reports: Sequence[Report] | None = None
) -> str:
    """The whole page; the reports are those of a run."""
    template = Template((Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    config = Config.from_json(learner.about["config"]) if "config" in learner.about else None
    return template.substitute(
        title=escape(name),
        summary=escape(_summary(learner, config)),
        curves="" if config is None or reports is None else _training(config, reports),
        scores="".join(map(_score_row, rows)) + (_mean_row(rows) if len(rows) > 1 else ""),
        paper=NETS[PAPER],
        samples=_samples(rows),
        trajectories=trajectories(learner, [row.algorithm for row in rows]),
        configuration=_configuration(config) if config else "<p>It is not known.</p>",
    )


def _summary(learner: Learner, config: Config | None) -> str:
    """What it is for, what it is made of, how good it was in validation."""
    tasks = learner.algorithms
    shown = ", ".join(tasks) if len(tasks) <= 3 else f"{len(tasks)} algorithms"
    replicas = [
        f"seed {one['seed']}: best after {one['step']:,} steps, "
        f"validation {_validation(one, error=config is not None and config.scored_by_error)}"
        for one in learner.about.get("replicas", [])
    ]
    return " · ".join([shown, learner.net.config.processor, *replicas])


def _validation(replica: Mapping[str, Any], *, error: bool) -> str:
    score = replica["validation"]
    return "not known" if score is None else scored([score], error=error, digits=2)


def _training(config: Config, reports: Sequence[Report]) -> str:
    if not reports:
        return "<p>No validation yet.</p>"
    done = f"<p>{reports[-1].step:,} of {config.schedule.steps:,} steps are done.</p>"
    return f"{done}\n{_curves(config, reports)}"


def _curves(config: Config, reports: Sequence[Report]) -> str:
    """Validation score and loss over the steps, as SVG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    with rc_context(STYLE):
        figure = Figure(figsize=(9, 3), layout="constrained")
        scores, losses = figure.subplots(1, 2)
        if config.scored_by_error:
            title = "validation score, minus the squared error of scalars"
            _draw(scores, title, reports, _series(config, reports, "scores", 1))
        else:
            _draw(scores, "validation score, %", reports, _series(config, reports, "scores", 100))
            scores.set_ylim(0, 102)
        _draw(losses, "training loss", reports, _series(config, reports, "loss", 1))
        losses.set_yscale("log")
        losses.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        losses.yaxis.set_major_formatter("{x:g}")
        losses.yaxis.set_minor_formatter(NullFormatter())
        if 1 < len(scores.lines) <= len(_SHADES):
            scores.legend(frameon=False, fontsize=8, loc="lower right")
        return inline(figure)


def _draw(axes: Any, title: str, reports: Sequence[Report], series: dict[str, list[float]]) -> None:
    steps = [report.step for report in reports]
    marker = "." if len(steps) < 40 else ""
    for number, (label, values) in enumerate(series.items()):
        colour = _SHADES[number % len(_SHADES)]
        axes.plot(steps, values, color=colour, label=label, lw=1.5, marker=marker)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("step")
    axes.set_xlim(left=0)
    axes.grid(color=INK, alpha=0.12)


def _series(
    config: Config, reports: Sequence[Report], what: str, scale: float
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


def _score_row(row: Scored) -> str:
    known = published().get(row.algorithm, {}).get(PAPER)
    mean = 0 if row.spec.scored_by_error else 100 * sum(row.scores) / len(row.scores)
    return (
        f"<tr><th>{escape(row.algorithm)}</th><td>{row.n}</td><td>{row.samples}</td>"
        f"<td>{row.score_text()}</td><td>{percent(row.correct)}</td>"
        f"<td>{known.text() if known else '–'}</td><td class=bar>{_bar(mean, known)}</td></tr>\n"
    )


def _mean_row(rows: Sequence[Scored]) -> str:
    """The last row: means over all algorithms, the paper's only if it has them all."""
    means, known = mean_scores(rows), published_mean(rows)
    shown = "–" if known is None else f"{known:.2f}"
    return (
        f"<tr><th>mean</th><td></td><td></td><td>{percent(means.scores)}</td>"
        f"<td>{percent(means.correct)}</td>"
        f"<td>{shown}</td><td></td></tr>\n"
    )


def _bar(score: float, known: Published | None) -> str:
    """The score as a bar, with a mark where the paper stands."""
    mark = f'<i style="left:{known.score:.2f}%"></i>' if known else ""
    return f'<div><b style="width:{min(max(score, 0), 100):.2f}%"></b>{mark}</div>'


def _samples(rows: Iterable[Scored]) -> str:
    whole = all(row.is_whole for row in rows)
    return "the whole official tests" if whole else "the first samples of the official tests"


def _configuration(config: Config) -> str:
    return "".join(_section(title, asdict(config)[title]) for title in _titles(config))


def _titles(config: Config) -> list[str]:
    return [title for title, values in asdict(config).items() if isinstance(values, dict)]


def _section(title: str, settings: dict[str, Any]) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(_value(value))}</dd>"
        for name, value in settings.items()
    )
    return f"<section><h3>{escape(title)}</h3><dl>{rows}</dl></section>\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value) if value != "" else "–"
