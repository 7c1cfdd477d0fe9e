"""The tables of the paper, ours beside the published numbers, and that of the shipped learner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from algorist.experiments.plan import ALGORITHMS, FAMILIES
from algorist.report import ablations
from algorist.report.ablations import Ablation, ablation_label
from algorist.report.means import (
    Mean,
    count_above,
    family_mean,
    mean_of_families,
)
from algorist.report.missing_results import missing_results
from algorist.report.paper_results import NetScores, PaperResults, missing_notes, published_net
from algorist.report.published import NETS, PGN_WITH_IMPROVEMENTS
from algorist.report.shipped_table import shipped_scores
from algorist.report.tables import Cell, Table

_THRESHOLDS = (90, 80, 60)
_TEST = "Scores on the official tests (n = 64), in per cent"


def paper_tables(results: PaperResults) -> Iterator[Table]:
    """The tables for the results of the paper's experiments."""
    nets = _single_task_nets(results)
    yield by_family(nets)
    yield by_algorithm(nets)
    yield many_tasks(results)
    yield ablation(
        "generalist-ablation",
        "The generalist without improvements",
        "each row has one improvement less than the row above (paper, figure 4b)",
        ablations.generalist_ablation(results),
    )
    yield ablation(
        "specialist-ablation-cumulative",
        "Specialists without improvements",
        "each row has one improvement less than the row above (paper, appendix)",
        ablations.cumulative_ablation(results),
    )
    yield one_at_a_time(ablations.single_ablation(results))
    yield shipped_scores(results)
    absent = missing_results(results)
    if absent.rows:
        yield absent


def _single_task_nets(results: PaperResults) -> list[NetScores]:
    ours = [
        *results.baselines(),
        results.net("PGN, all improvements, ours", "pgn"),
        results.net("Triplet-GMPNN, ours", "specialists"),
    ]
    return [*map(published_net, NETS), *ours]


def by_family(nets: Sequence[NetScores]) -> Table:
    """Table 1 of the paper."""
    thresholds: list[tuple[str, list[Cell]]] = [
        (f"> {threshold} %", [_of_thirty(count_above(net.values, threshold)) for net in nets])
        for threshold in _THRESHOLDS
    ]
    means: list[Cell] = [mean_of_families(net.values) for net in nets]
    return Table(
        "families",
        "By family of algorithms",
        f"{_TEST}: nets trained on one algorithm each (paper, table 1). Errors are the paper's: "
        "the standard deviation over algorithms and seeds, divided by the root of the number of "
        "algorithms. The overall mean is over the families. PGN with all improvements is "
        f"{PGN_WITH_IMPROVEMENTS} in the paper; G-ForgetNet is of Bohde et al. (2024).",
        ["family", *(net.heading for net in nets)],
        [
            (title, [family_mean(net.values, family) for net in nets])
            for family, title in FAMILIES.items()
        ],
        [("mean over families", means), *thresholds],
        missing_notes(nets),
    )


def _of_thirty(count: int | None) -> Cell:
    return None if count is None else f"{count} / {len(ALGORITHMS)}"


def by_algorithm(nets: Sequence[NetScores]) -> Table:
    """Table 2 of the paper."""
    return Table(
        "algorithms",
        "By algorithm",
        f"{_TEST}: nets trained on one algorithm each (paper, table 2; G-ForgetNet is of Bohde "
        "et al., 2024). Errors are standard errors of the mean over seeds.",
        ["algorithm", *(net.heading for net in nets)],
        [(name, [net.values.get(name) for net in nets]) for name in ALGORITHMS],
        [("mean", [net.mean for net in nets])],
        missing_notes(nets),
    )


def many_tasks(results: PaperResults) -> Table:
    """What the figures about nets for many algorithms show."""
    single, many = results.specialists(), results.generalist()
    ours = [
        single,
        many,
        results.averaged_specialists(),
        results.averaged_generalist(),
        results.generalist_in_full(),
        results.families(),
    ]
    paper = published_net("triplet_gmpnn")
    gains = {name: _gain(single.values.get(name), many.values.get(name)) for name in ALGORITHMS}
    return Table(
        "generalist",
        "One net for all algorithms",
        f"{_TEST}. Errors are standard errors of the mean over seeds. The gain is that of the "
        "generalist over specialists; averaged nets are means of weights, which the paper has not.",
        ["algorithm", "Triplet-GMPNN, paper", *(net.heading for net in ours), "gain"],
        [
            (name, [paper.values[name], *(net.values.get(name) for net in ours), gains[name]])
            for name in ALGORITHMS
        ],
        [("mean", [paper.mean, *(net.mean for net in ours), _gain(single.mean, many.mean)])],
        missing_notes(ours),
    )


def _gain(before: Mean | None, after: Mean | None) -> float | None:
    return None if before is None or after is None else after.mean - before.mean


def ablation(name: str, title: str, what: str, nets: Ablation) -> Table:
    """Means of nets with fewer and fewer improvements."""
    rows: list[tuple[str, list[Cell]]] = []
    before: Mean | None = None
    for lost in nets.losses:
        mean = nets.mean(lost)
        seeds = mean.seeds if mean else None
        rows.append((ablation_label(lost), [mean, _gain(before, mean), seeds]))
        before = mean
    return Table(
        name,
        title,
        f"{_TEST}, mean over {len(nets.algorithms)} algorithms: {what}. "
        "Errors are standard errors of the mean over seeds.",
        ["improvements", "score", "change", "seeds"],
        rows,
        (),
        nets.notes,
    )


def one_at_a_time(nets: Ablation) -> Table:
    """Specialists without one improvement each, by algorithm."""
    means: list[Cell] = [nets.mean(lost) for lost in nets.losses]
    own = [nets.nets[lost].values if lost in nets.nets else {} for lost in nets.losses]
    return Table(
        "specialist-ablation-single",
        "Specialists without one improvement",
        f"{_TEST}: each column lacks one improvement (paper, appendix). Errors are standard "
        "errors of the mean over seeds.",
        ["algorithm", *map(ablation_label, nets.losses)],
        [(name, [values.get(name) for values in own]) for name in ALGORITHMS],
        [(f"mean over {len(nets.algorithms)}", means)],
        nets.notes,
    )
