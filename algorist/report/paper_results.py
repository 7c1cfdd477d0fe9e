"""The results of experiments with the paper's settings, or with all, for tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from algorist.experiments.plan import ALGORITHMS, BASELINES, EXPERIMENTS, Name, Plan, baseline_part
from algorist.experiments.results import SHIPPED, ResultRow, file_of, is_results, read
from algorist.report.means import (
    Mean,
    Scores,
    family_of,
    mean_over_algorithms,
    mean_over_seeds,
    overall_mean,
)
from algorist.report.published import NETS, published

_SHOWN = 4
"""How many names of missing algorithms are spelt out."""

OTHER_SETTINGS = "NOT the paper's settings, not to be compared with its numbers"


@dataclass(frozen=True)
class NetScores:
    """The scores of one kind of net, ours or published."""

    title: str
    values: dict[str, Mean]
    """By algorithm; those that are not there yet are missing."""
    scores: Mapping[str, Scores]
    """By algorithm and seed; empty where only means are known."""
    command: str = ""
    """What makes them; nothing for published ones."""

    @classmethod
    def of(cls, title: str, scores: Mapping[str, Scores], command: str) -> NetScores:
        """Ours, with the means over seeds."""
        values = {name: mean_over_seeds(list(own.values())) for name, own in scores.items()}
        return cls(title, values, scores, command)

    @property
    def is_ours(self) -> bool:
        """Whether it was trained here."""
        return bool(self.command)

    @property
    def heading(self) -> str:
        """Its title, and how many seeds it has."""
        counts = sorted({value.seeds for value in self.values.values()})
        if not counts or not self.is_ours:
            return self.title
        shown = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return f"{self.title} ({shown} seed{'' if counts == [1] else 's'})"

    @property
    def mean(self) -> Mean | None:
        """The mean over all algorithms: of each seed that has them all, then over these seeds."""
        if self.is_ours:
            return mean_over_algorithms(self.scores, ALGORITHMS)
        mean = overall_mean(self.values)
        return None if mean is None else Mean(mean, None, 1)

    def missing_note(self) -> str:
        """Which algorithms lack results, and the command that adds them; empty if none does."""
        names = [name for name in ALGORITHMS if name not in self.values]
        if not names:
            return ""
        shown = "" if len(names) == len(ALGORITHMS) else f" ({list_names(names)})"
        return (
            f"{self.title}: {len(names)} of {len(ALGORITHMS)} algorithms are missing{shown}; "
            f"to add them: {self.command}"
        )


def list_names(names: Iterable[str]) -> str:
    """The first names, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


class PaperResults:
    """All results in a folder. Parts are known by their names in the full plan."""

    def __init__(self, folder: Path | str, *, any_settings: bool = False):
        """Read them; with `any_settings` those too that were not trained or tested in full."""
        if not is_results(folder):
            raise ValueError(f"{folder}: there are no results here (such as specialists.csv)")
        self.plan, self.any_settings = Plan(), any_settings
        rows = [row for name in EXPERIMENTS for row in read(file_of(folder, name))]
        self.rows = [row for row in rows if any_settings or self._is_full(row)]
        shipped = [row for row in read(file_of(folder, SHIPPED)) if row.algorithm in ALGORITHMS]
        self.shipped = [row for row in shipped if any_settings or row.is_of_whole_test]
        self.left_out = [row for row in rows if not self._is_full(row)]
        self.left_out += [row for row in shipped if not row.is_of_whole_test]
        self._parts = {Name(row.experiment, row.part) for row in self.rows}
        self._scores: dict[tuple[Name, str], dict[int, float]] = {}
        for row in self.rows:
            place = Name(row.experiment, row.part), row.algorithm
            self._scores.setdefault(place, {})[row.seed] = row.score

    def _is_full(self, row: ResultRow) -> bool:
        """Whether a result is of the paper's settings, and of the whole test."""
        return self._is_of_recipe(row) and row.is_of_whole_test

    def _is_of_recipe(self, row: ResultRow) -> bool:
        part = self.plan.parts.get(Name(row.experiment, row.part))
        if part is None or row.algorithm not in part.config.algorithms:
            return False
        return row.recipe == part.config_hash

    def has(self, part: Name) -> bool:
        """Whether there are results of a part."""
        return part in self._parts

    def scores(self, experiment: str, part: str, algorithm: str) -> Scores:
        """The scores of a part's nets in an algorithm, by seed."""
        planned = self.plan.parts.get(Name(experiment, part))
        return self._scores.get((planned.source, algorithm), {}) if planned else {}

    def net(self, title: str, experiment: str, part: str = "{}") -> NetScores:
        """The nets of an experiment; `{}` in the name of a part stands for the algorithm."""
        return self.net_of(title, experiment, part.format)

    def sources(self, experiment: str, part_of: Callable[[str], str]) -> set[Name]:
        """The parts that are trained for nets, which are named by algorithm.

        Those of other experiments are among them only if there are no others.
        """
        names = (Name(experiment, part_of(algorithm)) for algorithm in ALGORITHMS)
        found = {self.plan.parts[name].source for name in names if name in self.plan.parts}
        return {source for source in found if source.experiment == experiment} or found

    def net_of(self, title: str, experiment: str, part_of: Callable[[str], str]) -> NetScores:
        """The nets of an experiment, whose parts are named by algorithm."""
        has_begun = any(map(self.has, self.sources(experiment, part_of)))
        own = {name: self.scores(experiment, part_of(name), name) for name in ALGORITHMS}
        scores = {name: of_seeds for name, of_seeds in own.items() if of_seeds and has_begun}
        return NetScores.of(title, scores, f"algorist reproduce {experiment}")

    def specialists(self) -> NetScores:
        """A net for each algorithm."""
        return self.net("specialists", "specialists")

    def generalist(self) -> NetScores:
        """One net for all."""
        return self.net("generalist", "generalist", "all")

    def averaged_specialists(self) -> NetScores:
        """A net for each algorithm, a mean of its weights."""
        return self.net("specialists, averaged", "specialists-averaged")

    def averaged_generalist(self) -> NetScores:
        """One net for all, a mean of its weights."""
        return self.net("generalist, averaged", "generalist-averaged", "all")

    def generalist_in_full(self) -> NetScores:
        """One net for all that was trained on whole trajectories."""
        return self.net("generalist, not chunked", "generalist-full", "all")

    def shipped_net(self, title: str, model: str, part: str) -> NetScores:
        """A shipped model, as its weights are in the files; `{}` stands for the algorithm."""
        own = [row for row in self.shipped if row.part == part.format(row.algorithm)]
        scores: dict[str, dict[int, float]] = {}
        for row in own:
            scores.setdefault(row.algorithm, {})[row.seed] = row.score
        command = f"algorist eval --model {model} --official --results results"
        return NetScores.of(title, scores, command)

    def families(self) -> NetScores:
        """Nets for groups of related algorithms."""
        return self.net_of("by family", "families", family_of)

    def baselines(self) -> list[NetScores]:
        """The earlier paper's nets, trained here."""
        return [
            self.net(f"{NETS[name]}, ours", "baselines", baseline_part(name, "{}"))
            for name in BASELINES
        ]

    @property
    def is_mixed(self) -> bool:
        """Whether results are shown that are not of the paper's settings."""
        return self.any_settings and bool(self.left_out)

    def remark(self) -> str:
        """A remark about results that are not of the paper's settings."""
        if not self.left_out:
            return ""
        kinds = Counter(map(self._described, self.left_out))
        shown = "; ".join(f"{count} of {kind}" for kind, count in kinds.most_common(_SHOWN))
        if self.any_settings:
            return f"{OTHER_SETTINGS}: {shown}"
        return f"left out, since they are not of the paper's settings: {shown}"

    def _described(self, row: ResultRow) -> str:
        """What is different about a result."""
        facts = [row.experiment, f"{row.steps} steps", f"{row.samples} samples tested"]
        if row.experiment != SHIPPED and not self._is_of_recipe(row):
            facts.append("another recipe")
        return ", ".join(facts)


def missing_notes(nets: Iterable[NetScores]) -> list[str]:
    """A note about each of our nets that lacks results."""
    return [note for net in nets if net.is_ours and (note := net.missing_note())]


def published_net(net: str) -> NetScores:
    """A published net."""
    return NetScores(NETS[net], {name: known[net] for name, known in published().items()}, {})


def best_net(title: str, nets: Iterable[NetScores]) -> NetScores:
    """The best of some nets in each algorithm."""
    nets = list(nets)
    values = {
        name: max((net.values[name] for net in nets), key=lambda value: value.mean)
        for name in ALGORITHMS
    }
    return NetScores(title, values, {})
