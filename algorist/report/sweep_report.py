"""The results of a sweep as tables and figures: which settings are the best, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from algorist.algorithms import get
from algorist.errors import UnregisteredError, format_count
from algorist.experiments.failures import Failures
from algorist.experiments.grid import SWEEP, settings_of
from algorist.experiments.results import ResultRow, by_net, file_of, read
from algorist.report.collection import Collection
from algorist.report.figures import ERROR_BARS, FigureSpec, draw_means
from algorist.report.means import Mean, Scores, mean_over_algorithms, mean_over_seeds
from algorist.report.tables import Cell, Table

_MOST = 40
"""Bars in a figure."""


class _Net(NamedTuple):
    """A net with some settings, in one of its algorithms: a row for each seed."""

    settings: Mapping[str, str]
    algorithm: str
    rows: Sequence[ResultRow]

    @property
    def scores(self) -> Scores:
        return {row.seed: row.score for row in self.rows}

    @property
    def is_error(self) -> bool:
        """Whether its score is one, which is no share."""
        return get(self.algorithm).spec.scored_by_error

    @property
    def score(self) -> Mean:
        return mean_over_seeds([row.score / (100 if self.is_error else 1) for row in self.rows])


def sweep_collection(folder: Path) -> Collection:
    """Tables and figures of the sweep in a folder."""
    try:
        return _collection(folder, read(file_of(folder, SWEEP)))
    except UnregisteredError as error:
        raise error.needed_by(folder) from error


def _collection(folder: Path, rows: Sequence[ResultRow]) -> Collection:
    nets = list(_nets(rows))
    varied = _varied(nets)
    means = _means(nets, varied)
    failed = Failures(folder).messages().items()
    notes = [f"{title}: {' '.join(message.split())}" for title, message in failed]
    tables = [_by_settings(means), _by_net(nets, varied, notes)]
    about = f"Made by algorist report from {format_count(len(rows), 'result')}, of {_seeds(rows)}."
    pictures = [_picture(means if varied else _by_algorithm(nets))]
    return Collection(f"The sweep {folder.name}", about, tables, pictures, remark=_samples(rows))


def _nets(rows: Sequence[ResultRow]) -> Iterator[_Net]:
    for (part, algorithm), own in by_net(rows).items():
        settings = settings_of(part)
        if settings["task"] == algorithm:  # a net for it alone
            del settings["task"]
        yield _Net(settings, algorithm, own)


def _varied(nets: Sequence[_Net]) -> list[str]:
    """The names of settings that are not the same in all nets."""
    names = dict.fromkeys(name for net in nets for name in net.settings)
    return [name for name in names if len({net.settings.get(name) for net in nets}) > 1]


def _by_net(nets: Sequence[_Net], varied: Sequence[str], notes: Sequence[str]) -> Table:
    """Every net, those for one algorithm together, the best first."""
    ordered = sorted(nets, key=lambda net: (net.algorithm, _rank(net)))
    return Table(
        "nets",
        "Every net",
        "Means over seeds, in per cent, with standard errors: scores and right answers in the "
        "official test (n = 64), the best validation; the best first. Scores of scalar outputs are "
        "squared errors.",
        ["algorithm", *varied, "seeds", "score", "correct", "validation", "weights", "steps"],
        [(net.algorithm, _cells(net, varied)) for net in ordered],
        notes=notes,
    )


def _rank(net: _Net) -> float:
    return net.score.mean if net.is_error else -net.score.mean


def _cells(net: _Net, varied: Sequence[str]) -> list[Cell]:
    return [
        *(net.settings.get(name) for name in varied),
        len(net.rows),
        net.score,
        mean_over_seeds([row.correct for row in net.rows]),
        None if net.is_error else mean_over_seeds([row.validation for row in net.rows]),
        net.rows[0].weights,
        round(fmean(row.steps for row in net.rows)),
    ]


def _means(nets: Sequence[_Net], varied: Sequence[str]) -> dict[str, Mean]:
    """The mean over algorithms of each combination of settings, the best first."""
    tasks = sorted({net.algorithm for net in nets if not net.is_error})
    scores: dict[str, dict[str, Scores]] = {}
    for net in nets:
        own = {name: net.settings[name] for name in varied if name in net.settings}
        combination = ", ".join(f"{name} {value}" for name, value in own.items())
        scores.setdefault(combination or "as in the recipe", {})[net.algorithm] = net.scores
    means = {name: mean_over_algorithms(of_all, tasks) for name, of_all in scores.items()}
    return _best_first({name: mean for name, mean in means.items() if mean})


def _by_algorithm(nets: Sequence[_Net]) -> dict[str, Mean]:
    return _best_first({net.algorithm: net.score for net in nets if not net.is_error})


def _best_first(values: Mapping[str, Mean]) -> dict[str, Mean]:
    return dict(sorted(values.items(), key=lambda item: -item[1].mean))


def _by_settings(means: Mapping[str, Mean]) -> Table:
    return Table(
        "settings",
        "By settings",
        "Mean scores over all algorithms of the sweep, in per cent, of the seeds that have them "
        "all; the best first. Squared errors are left out.",
        ["settings", "seeds", "score"],
        [(name, [value.seeds, value]) for name, value in means.items()],
    )


def _picture(values: Mapping[str, Mean]) -> FigureSpec:
    shown = dict(list(values.items())[:_MOST])
    caption = f"Mean scores in the official test, in per cent. {ERROR_BARS}"
    if len(values) > _MOST:
        caption += f" Only the best {_MOST} of {len(values)} are drawn."
    return FigureSpec(
        "scores", "Scores", caption, notes=(), draw=partial(draw_means, shown) if shown else None
    )


def _seeds(rows: Sequence[ResultRow]) -> str:
    return format_count(len({row.seed for row in rows}), "seed")


def _samples(rows: Sequence[ResultRow]) -> str:
    """What must be said of tests that are not whole."""
    parts = sum(not row.is_of_whole_test for row in rows)
    return f"{parts} of {len(rows)} results are of the first samples of a test" if parts else ""
