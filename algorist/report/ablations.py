"""The scores of nets without some improvements, for tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from algorist.experiments.plan import ALGORITHMS, part_without
from algorist.report.means import Mean, mean_over_algorithms
from algorist.report.paper_results import NetScores, PaperResults, list_names
from algorist.training.recipes import IMPROVEMENTS, WHOLE

_WORDS = {
    WHOLE: "all improvements",
    **{name: own.description for name, own in IMPROVEMENTS.items()},
}
"""What can be taken away, in words."""


def ablation_label(lost: str) -> str:
    """The label of a net that lacks an improvement, or none."""
    return _WORDS[lost] if lost == WHOLE else f"- {_WORDS[lost]}"


@dataclass(frozen=True)
class Ablation:
    """Nets that lack improvements, and the algorithms in which they can be compared."""

    losses: Sequence[str]
    """What was taken away, in this order."""
    nets: dict[str, NetScores]
    """By what was taken away last; those without any results are not among them."""
    algorithms: Sequence[str]
    """Those that all nets have been tested in."""
    notes: Sequence[str]

    @property
    def can_be_compared(self) -> bool:
        """Whether there are nets that lack something."""
        return any(lost != WHOLE for lost in self.nets)

    def mean(self, lost: str) -> Mean | None:
        """The mean over the algorithms that all nets have."""
        if lost not in self.nets:
            return None
        return mean_over_algorithms(self.nets[lost].scores, self.algorithms)


def generalist_ablation(results: PaperResults) -> Ablation:
    """The generalist with one improvement less each time."""
    return _ablation(results, "generalist-ablation", lambda lost, algorithm: lost)


def cumulative_ablation(results: PaperResults) -> Ablation:
    """Specialists with one improvement less each time."""
    return _ablation(results, "specialist-ablation", partial(part_without, cumulative=True))


def single_ablation(results: PaperResults) -> Ablation:
    """Specialists without each improvement."""
    return _ablation(results, "specialist-ablation", partial(part_without, cumulative=False))


def _ablation(
    results: PaperResults, experiment: str, part_of: Callable[[str, str], str]
) -> Ablation:
    """All nets, whose parts are named by what they lack and the algorithm."""
    nets: dict[str, NetScores] = {}
    absent: dict[str, set[str]] = {}
    for lost, title in _WORDS.items():
        part_of_algorithm = partial(part_of, lost)
        sources = results.sources(experiment, part_of_algorithm)
        net = results.net_of(title, experiment, part_of_algorithm)
        if net.values:
            nets[lost] = net
        elif sources:
            absent[title] = {source.experiment for source in sources}
    common = [a for a in ALGORITHMS if nets and all(a in net.values for net in nets.values())]
    planned = [lost for lost, title in _WORDS.items() if lost in nets or title in absent]
    return Ablation(planned, nets, common, _notes(absent, nets, common))


def _notes(
    absent: Mapping[str, set[str]], nets: Mapping[str, NetScores], common: Sequence[str]
) -> list[str]:
    notes = []
    if absent:
        needed = sorted(set.union(*absent.values()))
        commands = " and ".join(f"algorist reproduce {experiment}" for experiment in needed)
        notes.append(f"missing: {', '.join(absent)}; to add them: {commands}")
    if nets and len(common) < len(ALGORITHMS):
        others = [name for name in ALGORITHMS if name not in common]
        notes.append(
            f"means are over the {len(common)} algorithms that all of these nets were tested in, "
            f"without {list_names(others)}"
        )
    return notes
