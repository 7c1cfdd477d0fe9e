"""Experiments as data: each is a list of parts, and a part is a configuration.

They are the paper's, two with means of weights, and those of nets that execute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from algorist.algorithms import get
from algorist.errors import unknown
from algorist.experiments.config_hash import config_hash
from algorist.training.config import Config
from algorist.training.recipes import ablations, recipe, without

FAMILIES = {
    "divide_and_conquer": "Divide and conquer",
    "dynamic_programming": "Dynamic programming",
    "geometry": "Geometry",
    "graphs": "Graphs",
    "greedy": "Greedy",
    "searching": "Search",
    "sorting": "Sorting",
    "strings": "Strings",
}
"""Groups of related algorithms, in the order of the paper's tables."""
ALGORITHMS = (
    "activity_selector",
    "articulation_points",
    "bellman_ford",
    "bfs",
    "binary_search",
    "bridges",
    "bubble_sort",
    "dag_shortest_paths",
    "dfs",
    "dijkstra",
    "find_maximum_subarray_kadane",
    "floyd_warshall",
    "graham_scan",
    "heapsort",
    "insertion_sort",
    "jarvis_march",
    "kmp_matcher",
    "lcs_length",
    "matrix_chain_order",
    "minimum",
    "mst_kruskal",
    "mst_prim",
    "naive_string_matcher",
    "optimal_bst",
    "quickselect",
    "quicksort",
    "segments_intersect",
    "strongly_connected_components",
    "task_scheduling",
    "topological_sort",
)
"""The thirty of the paper: algorithms that users have added take no part."""
BASELINES = {"memnet": "memnet_masked", "mpnn": "mpnn", "pgn": "pgn"}
"""The nets of the earlier paper, and their processors."""
ALL = "all"
"""The part with all algorithms."""
_AVERAGED_STEPS = 400
"""The number of steps over which weights are averaged, where they are."""

Parts = Iterator[tuple[str, Config]]
Change = Callable[[Config], Config]


def _specialist(algorithm: str) -> Config:
    return recipe("ibarz2022", [algorithm])


def _generalist(algorithms: Sequence[str]) -> Config:
    return recipe("ibarz2022", algorithms)


def _specialists(algorithms: Sequence[str]) -> Parts:
    for name in algorithms:
        yield name, _specialist(name)


def _baselines(algorithms: Sequence[str]) -> Parts:
    for net, processor in BASELINES.items():
        for name in algorithms:
            yield baseline_part(net, name), _with_processor(recipe("clrs2022", [name]), processor)


def _pgn(algorithms: Sequence[str]) -> Parts:
    for name in algorithms:
        yield name, _with_processor(_specialist(name), "triplet_gpgn")


def _with_processor(config: Config, processor: str) -> Config:
    return replace(config, model=replace(config.model, processor=processor))


def _all_at_once(algorithms: Sequence[str]) -> Parts:
    yield ALL, _generalist(algorithms)


def _averaged(parts: Callable[[Sequence[str]], Parts]) -> Callable[[Sequence[str]], Parts]:
    """The same parts, but with averaged weights that are validated and kept."""

    def averaged(algorithms: Sequence[str]) -> Parts:
        for name, config in parts(algorithms):
            yield name, replace(config, schedule=replace(config.schedule, average=_AVERAGED_STEPS))

    return averaged


def _all_at_once_in_full(algorithms: Sequence[str]) -> Parts:
    yield ALL, without(_generalist(algorithms), "chunking")


def _generalist_ablation(algorithms: Sequence[str]) -> Parts:
    yield from ablations(_generalist(algorithms), cumulative=True)


def _specialist_ablation(algorithms: Sequence[str]) -> Parts:
    for cumulative in (False, True):
        for name in algorithms:
            for lost, config in ablations(_specialist(name), cumulative=cumulative):
                yield part_without(lost, name, cumulative=cumulative), config


def baseline_part(net: str, algorithm: str) -> str:
    """The name of the part with one of the baselines for an algorithm."""
    return f"{net}/{algorithm}"


def part_without(improvement: str, algorithm: str, *, cumulative: bool) -> str:
    """The name of the part with a specialist that lacks an improvement, or also those before it."""
    return f"{'cumulative' if cumulative else 'single'}/{improvement}/{algorithm}"


def _families(algorithms: Sequence[str]) -> Parts:
    for family in FAMILIES:
        related = [name for name in algorithms if get(name).family == family]
        if related:
            yield family, _generalist(related)


def _executing(algorithms: Sequence[str]) -> Parts:
    yield ALL, recipe("algorist2026", algorithms)


def _executing_specialists(algorithms: Sequence[str]) -> Parts:
    for name in algorithms:
        yield name, recipe("algorist2026", [name])


def _executing_ablation(algorithms: Sequence[str]) -> Parts:
    yield from ablations(recipe("algorist2026", algorithms), cumulative=False)


@dataclass(frozen=True)
class Experiment:
    """A set of trainings for some tables and figures."""

    about: str
    parts: Callable[[Sequence[str]], Parts]
    """Its parts by name, for some algorithms."""


EXPERIMENTS: dict[str, Experiment] = {
    "specialists": Experiment("a net for each algorithm, with all improvements", _specialists),
    "baselines": Experiment("the earlier paper's nets: Memnet, MPNN, PGN", _baselines),
    "pgn": Experiment("PGN with all improvements, for each algorithm", _pgn),
    "generalist": Experiment("one net for all algorithms, in chunks", _all_at_once),
    "generalist-full": Experiment("the same on whole trajectories", _all_at_once_in_full),
    "specialists-averaged": Experiment(
        "specialists, each a mean of its weights (not in the paper)", _averaged(_specialists)
    ),
    "generalist-averaged": Experiment(
        "the generalist, a mean of its weights (not in the paper)", _averaged(_all_at_once)
    ),
    "generalist-ablation": Experiment(
        "the generalist without one, two, ... improvements", _generalist_ablation
    ),
    "specialist-ablation": Experiment(
        "specialists without one improvement, or without several", _specialist_ablation
    ),
    "families": Experiment("a net for each group of related algorithms", _families),
    "algorist2026-each": Experiment(
        "a net that executes, for each algorithm (not in the paper)", _executing_specialists
    ),
    "algorist2026": Experiment("one net that executes all (not in the paper)", _executing),
    "algorist2026-without": Experiment(
        "algorist2026 without each of its improvements", _executing_ablation
    ),
}
"""Ordered so that no experiment needs a part of a later one."""


class Name(NamedTuple):
    """The experiment and the name of a part."""

    experiment: str
    part: str

    def __str__(self) -> str:
        return f"{self.experiment}/{self.part}"


@dataclass(frozen=True)
class Part:
    """One training: all its seeds are replicas in lockstep."""

    name: Name
    config: Config
    config_hash: str
    source: Name
    """The first part that is trained in the same way: only that one is trained."""

    @property
    def is_repeated(self) -> bool:
        """Whether it is trained for another part already."""
        return self.source != self.name


def parts_of(named: Iterable[tuple[Name, Config]]) -> dict[Name, Part]:
    """Parts by name; of those that are trained in the same way, the first is their source."""
    found: dict[Name, Part] = {}
    first: dict[str, Name] = {}
    for name, config in named:
        own = config_hash(config)
        found[name] = Part(name, config, own, first.setdefault(own, name))
    return found


class Plan:
    """The parts of all experiments, for some algorithms and with changed settings."""

    def __init__(
        self, algorithms: Iterable[str] = ALGORITHMS, change: Change = lambda config: config
    ):
        self.algorithms = tuple(algorithms)
        for name in self.algorithms:
            if name not in ALGORITHMS:
                raise ValueError(unknown("algorithm of the paper", name, ALGORITHMS))
        self.parts: Mapping[Name, Part] = parts_of(
            (Name(experiment, part), change(config))
            for experiment, described in EXPERIMENTS.items()
            for part, config in described.parts(self.algorithms)
        )

    def of(self, experiment: str) -> list[Part]:
        """The parts of an experiment."""
        if experiment not in EXPERIMENTS:
            raise ValueError(unknown("experiment", experiment, EXPERIMENTS))
        return [part for name, part in self.parts.items() if name.experiment == experiment]

    def trained_for(self, experiment: str) -> list[Part]:
        """The parts of an experiment that are not trained for another part already."""
        return [part for part in self.of(experiment) if not part.is_repeated]
