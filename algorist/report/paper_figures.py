"""The figures of the paper, drawn from our results beside the published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from algorist.experiments.plan import ALGORITHMS, BASELINES, FAMILIES
from algorist.report import ablations
from algorist.report.ablations import Ablation, ablation_label
from algorist.report.drawing import COLOURS, INK, PUBLISHED
from algorist.report.figures import ERROR_BARS, FigureSpec, draw_bars, draw_means, finish_axes
from algorist.report.means import Mean, family_of
from algorist.report.paper_results import (
    NetScores,
    PaperResults,
    best_net,
    missing_notes,
    published_net,
)
from algorist.report.published import OF_THE_PAPER
from algorist.report.shipped_table import shipped_generalist
from algorist.training.recipes import WHOLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARES = tuple(range(10, 131, 10))
_ZERO = Mean(0, None, 0)


def paper_figures(results: PaperResults) -> Iterator[FigureSpec]:
    """The figures for the results of the paper's experiments."""
    specialists, generalist = results.specialists(), results.generalist()
    shipped = shipped_generalist(results)
    paper = published_net("triplet_gmpnn")
    before = best_net("previous best, published", map(published_net, BASELINES))
    best = best_net("best single-task net, published", map(published_net, OF_THE_PAPER))
    yield _bars(
        "old-vs-new",
        "Specialists against the previous best",
        "Nets for one algorithm each, sorted by ours (paper, figure 2). The previous best is that "
        f"of Memnet, MPNN and PGN. {ERROR_BARS}",
        [before, _titled("Triplet-GMPNN, published", paper), _titled("ours", specialists)],
        key=specialists,
    )
    yield _bars(
        "generalist-vs-specialists",
        "One net for all against one for each",
        f"Sorted by the gain of the generalist (paper, figure 3). {ERROR_BARS}",
        [specialists, generalist],
        key=generalist,
        less=specialists,
    )
    yield _chunking(results)
    yield _ablation_picture(
        "generalist-ablation",
        "The generalist without improvements",
        "Each bar has one improvement less than the one above (paper, figure 4b)",
        ablations.generalist_ablation(results),
    )
    yield _bars(
        "generalist-vs-best",
        "One net for all against the best published for each",
        f"Sorted by the gain of the generalist (paper, figure 5a). {ERROR_BARS}",
        [best, generalist],
        key=generalist,
        less=best,
    )
    yield _bars(
        "shipped-generalist",
        "The shipped net for all",
        "Sorted by its lead over the paper's nets for one algorithm each. One seed; averaged "
        "weights in half precision. Unlike the paper's nets, it reads values that are computed "
        "exactly.",
        [_titled("Triplet-GMPNN, one net each, published", paper), shipped],
        key=shipped,
        less=paper,
    )
    yield _shares(generalist, best, specialists)
    yield _ablation_picture(
        "specialist-ablation-cumulative",
        "Specialists without improvements",
        "Each bar has one improvement less than the one above (paper, figure 6)",
        ablations.cumulative_ablation(results),
    )
    yield _facets(ablations.single_ablation(results))
    yield _bars(
        "chunking-by-algorithm",
        "Chunks and whole trajectories, by algorithm",
        f"One net for all (paper, figure 10). {ERROR_BARS}",
        [generalist, results.generalist_in_full()],
        key=generalist,
    )
    yield _bars(
        "families",
        "Nets for one algorithm, for a family, for all",
        f"Training in groups of related algorithms (paper, figure 11). {ERROR_BARS}",
        [specialists, results.families(), generalist],
        key=generalist,
    )


def _titled(title: str, net: NetScores) -> NetScores:
    return NetScores(title, net.values, net.scores, net.command)


def _bars(
    name: str,
    title: str,
    caption: str,
    nets: Sequence[NetScores],
    *,
    key: NetScores,
    less: NetScores | None = None,
) -> FigureSpec:
    """Bars side by side for each algorithm of ours, sorted by the score of the key net.

    With another net they are sorted by what the key net scores more than that. While one of ours
    has no results there is nothing to compare.
    """
    ours = [net.values for net in nets if net.is_ours]
    shown = [a for a in ALGORITHMS if all(ours) and any(a in values for values in ours)]

    def rank(algorithm: str) -> float:
        own, other = key.values.get(algorithm), less.values.get(algorithm) if less else _ZERO
        return own.mean - other.mean if own and other else -math.inf

    ordered = sorted(shown, key=rank, reverse=True)
    draw = partial(_draw_bars, nets, ordered) if ordered else None
    return FigureSpec(name, title, caption, missing_notes(nets), draw)


def _draw_bars(nets: Sequence[NetScores], algorithms: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots()
    colours, greys = iter(COLOURS), iter(_GREYS)
    width = 0.8 / len(nets)
    for number, net in enumerate(nets):
        there = [(x, net.values[a]) for x, a in enumerate(algorithms) if a in net.values]
        colour = next(colours if net.is_ours else greys)
        draw_bars(
            axes,
            "y",
            [x + (number - (len(nets) - 1) / 2) * width for x, _ in there],
            [value for _, value in there],
            [value.error for _, value in there],
            width=width,
            label=net.heading,
            color=colour,
        )
    axes.set_xticks(range(len(algorithms)), algorithms, rotation=45, ha="right", fontsize=8)
    axes.set_xlim(-0.6, len(algorithms) - 0.4)
    finish_axes(axes, "y", legend=True)
    return figure


_GREYS = ("#CCCCCC", PUBLISHED)
"""Of the first and the second published net: lighter and darker, without a hue."""


def _chunking(results: PaperResults) -> FigureSpec:
    """The means of generalists with and without chunks, and of specialists."""
    nets = [results.specialists(), results.generalist(), results.generalist_in_full()]
    means = {net.heading: net.mean for net in nets}
    there = {title: mean for title, mean in means.items() if mean}
    return FigureSpec(
        "chunking",
        "Chunks and whole trajectories",
        f"Mean over all algorithms (paper, figure 4a). {ERROR_BARS}",
        missing_notes(nets),
        partial(draw_means, there) if len(there) > 1 else None,
    )


def _ablation_picture(name: str, title: str, what: str, nets: Ablation) -> FigureSpec:
    means = {ablation_label(lost): nets.mean(lost) for lost in nets.nets if nets.can_be_compared}
    there = {called: mean for called, mean in means.items() if mean}
    return FigureSpec(
        name,
        title,
        f"{what}. Mean over {len(nets.algorithms)} algorithms. {ERROR_BARS}",
        nets.notes,
        partial(draw_means, there) if there else None,
    )


def _shares(generalist: NetScores, best: NetScores, specialists: NetScores) -> FigureSpec:
    """In how many tasks the generalist reaches a share of what single-task nets score."""
    panels = {"of the best published": best, "of our specialists": specialists}
    there = {
        title: net
        for title, net in panels.items()
        if any(name in generalist.values for name in net.values)
    }
    return FigureSpec(
        "generalist-shares",
        "How much of single-task scores one net for all reaches",
        "Number of algorithms in which the generalist reaches a share of the single-task score or "
        "more, by family (paper, figures 5b and 5c).",
        missing_notes([generalist, specialists]),
        partial(_draw_shares, generalist, there) if there else None,
    )


def _draw_shares(generalist: NetScores, panels: Mapping[str, NetScores]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    for axes, (title, net) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        both = [name for name in ALGORITHMS if name in generalist.values and name in net.values]
        floor = [0] * len(_SHARES)
        for colour, (family, words) in zip((*COLOURS, PUBLISHED), FAMILIES.items(), strict=True):
            own = [name for name in both if family_of(name) == family]
            counts = [sum(_reaches(generalist, net, name, s) for name in own) for s in _SHARES]
            axes.bar(range(len(_SHARES)), counts, 0.8, bottom=floor, color=colour, label=words)
            floor = [low + count for low, count in zip(floor, counts, strict=True)]
        axes.set_xticks(range(len(_SHARES)), [f"{share}" for share in _SHARES], fontsize=8)
        axes.set_xlabel(f"share {title}, %")
        axes.set_ylabel(f"algorithms of {len(both)}")
        axes.grid(axis="y", color=INK, alpha=0.12)
        axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _reaches(generalist: NetScores, net: NetScores, algorithm: str, share: float) -> bool:
    return generalist.values[algorithm].mean >= share / 100 * net.values[algorithm].mean


def _facets(nets: Ablation) -> FigureSpec:
    """Specialists without one improvement, an axis for each algorithm."""
    own = [net for lost, net in nets.nets.items() if lost != WHOLE]
    shown = [name for name in ALGORITHMS if any(name in net.values for net in own)]
    return FigureSpec(
        "specialist-ablation-single",
        "Specialists without one improvement",
        f"Each bar lacks one improvement (paper, figures 7 to 9). {ERROR_BARS}",
        nets.notes,
        partial(_draw_facets, nets, shown) if shown else None,
    )


def _draw_facets(nets: Ablation, algorithms: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    columns = min(5, len(algorithms))
    rows = -(-len(algorithms) // columns)
    figure = Figure(figsize=(2.4 + 1.8 * columns, 0.8 + 1.7 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    places = {lost: place for place, lost in enumerate(nets.nets)}
    for axes in grid.flat[len(algorithms) :]:
        axes.remove()
    for axes, name in zip(grid.flat, algorithms, strict=False):
        there = {lost: net.values[name] for lost, net in nets.nets.items() if name in net.values}
        values = list(there.values())
        colours = [COLOURS[0] if lost == WHOLE else COLOURS[1] for lost in there]
        where = [places[lost] for lost in there]
        draw_bars(axes, "x", where, values, [v.error for v in values], height=0.8, color=colours)
        axes.set_title(name, fontsize=7)
        axes.set_yticks(list(places.values()), [*map(ablation_label, places)], fontsize=6)
        axes.tick_params(axis="x", labelsize=6)
        finish_axes(axes, "x")
        axes.set_xlabel("")
    grid[0, 0].invert_yaxis()
    figure.supxlabel("test score, %", fontsize=8)
    return figure
