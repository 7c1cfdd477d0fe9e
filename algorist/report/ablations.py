"""What became of nets without some improvements, as tables and figures show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from algorist.experiments.plan import ALGORITHMS, ALL, CUMULATIVE, SINGLE, Name
from algorist.report.means import Value, over_algorithms
from algorist.report.reproduced import Net, Reproduced, listed

STEPS = {
    ALL: "all improvements",
    "gating": "gating",
    "triplets": "triplet reasoning",
    "permutations": "Sinkhorn permutations",
    "random_positions": "random positions",
    "static_hints": "static hints as inputs",
    "soft_hints": "soft hints",
    "augmentation": "augmented data",
    "initialisation": "initialisation of scalar hints",
    "clipping": "gradient clipping",
    "no_teacher_forcing": "no teacher forcing",
}
"""Improvements in words."""


def label(step: str) -> str:
    """What a net is called that lacks an improvement, or none."""
    return STEPS[step] if step == ALL else f"- {STEPS[step]}"


@dataclass(frozen=True)
class Ablation:
    """Nets that lack improvements, and the algorithms in which they can be compared."""

    steps: Sequence[str]
    """What was taken away, in this order."""
    nets: dict[str, Net]
    """By what was taken away last; those without any results are not among them."""
    algorithms: Sequence[str]
    """Those that all nets have been tested in."""
    notes: Sequence[str]

    def mean(self, step: str) -> Value | None:
        """The mean over the algorithms that all nets have."""
        if step not in self.nets:
            return None
        return over_algorithms(self.nets[step].scores, self.algorithms)


def generalist_ablation(results: Reproduced) -> Ablation:
    """The generalist with one improvement less each time."""
    return _ablation(results, "generalist-ablation", lambda step, algorithm: step)


def cumulative_ablation(results: Reproduced) -> Ablation:
    """Specialists with one improvement less each time."""
    return _ablation(
        results, "specialist-ablation", lambda step, algorithm: f"{CUMULATIVE}/{step}/{algorithm}"
    )


def single_ablation(results: Reproduced) -> Ablation:
    """Specialists without each improvement."""
    return _ablation(
        results, "specialist-ablation", lambda step, algorithm: f"{SINGLE}/{step}/{algorithm}"
    )


def _ablation(results: Reproduced, experiment: str, part_of: Callable[[str, str], str]) -> Ablation:
    """The nets of all steps, whose parts are named by step and algorithm."""
    nets: dict[str, Net] = {}
    absent: dict[str, set[str]] = {}
    for step, title in STEPS.items():
        names = (Name(experiment, part_of(step, algorithm)) for algorithm in ALGORITHMS)
        sources = {results.plan.parts[n].source for n in names if n in results.plan.parts}
        # Nets that lack nothing, since it makes no difference to them, are not enough to show.
        own = {s for s in sources if s.experiment == experiment} or sources
        if not own:
            continue
        if any(results.has(source) for source in own):
            nets[step] = results.net_of(title, experiment, partial(part_of, step))
        else:
            absent[title] = {source.experiment for source in own}
    common = [a for a in ALGORITHMS if nets and all(a in net.values for net in nets.values())]
    planned = [step for step, title in STEPS.items() if step in nets or title in absent]
    return Ablation(planned, nets, common, _notes(absent, nets, common))


def _notes(
    absent: Mapping[str, set[str]], nets: Mapping[str, Net], common: Sequence[str]
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
            f"without {listed(others)}"
        )
    return notes
