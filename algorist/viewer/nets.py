"""The nets that the page offers: each is loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from algorist.errors import shorten, unknown
from algorist.model.learner import Learner
from algorist.report.curves import Point, curve, score_in_test


@dataclass(frozen=True)
class NetChoice:
    """A net, or a folder with one for each algorithm."""

    name: str
    algorithms: frozenset[str]
    load: Callable[[str], Learner]
    """The learner for one of the algorithms."""

    @classmethod
    def of(cls, name: str, learners: Mapping[str, Learner]) -> NetChoice:
        """Learners that are loaded already, by algorithm."""
        return cls(name, frozenset(learners), learners.__getitem__)


class Nets:
    """The choices by name, of which the first is the default."""

    def __init__(self, choices: Iterable[NetChoice], points: Iterable[Point]):
        self._choices: dict[str, NetChoice] = {}
        for choice in choices:
            self._choices.setdefault(choice.name, choice)
        self._points = list(points)
        self._loaded: dict[tuple[str, str], Learner] = {}

    @property
    def default(self) -> NetChoice:
        """The net that is used unless another is asked for."""
        return next(iter(self._choices.values()))

    def named(self, name: Any, algorithm: str) -> str:
        """The name of a net that knows an algorithm; None stands for the default."""
        if name is None:
            return self.default.name
        able = [choice.name for choice in self._choices.values() if algorithm in choice.algorithms]
        if not isinstance(name, str) or name not in able:
            raise ValueError(unknown(f"net for {algorithm}", shorten(name).strip("'"), able))
        return name

    def learner(self, name: str, algorithm: str) -> Learner:
        """A net by its name, loaded once."""
        key = (name, algorithm)
        if key not in self._loaded:
            self._loaded[key] = self._choices[name].load(algorithm)
        return self._loaded[key]

    def score(self, name: str, algorithm: str) -> float | None:
        """Its score in the official test (n = 64), in per cent, if it is a shipped one."""
        return score_in_test(self._points, name, algorithm)

    def described(self) -> list[dict[str, Any]]:
        """All choices as JSON has them, with the curves that are known of each."""
        return [
            {
                "name": choice.name,
                "algorithms": sorted(choice.algorithms),
                "curves": {
                    algorithm: [_plain(point) for point in points]
                    for algorithm in sorted(choice.algorithms)
                    if (points := curve(self._points, choice.name, algorithm))
                },
            }
            for choice in self._choices.values()
        ]


def _plain(point: Point) -> dict[str, Any]:
    return {
        "n": point.n,
        "score": point.score,
        "correct": point.correct,
        "samples": point.samples,
        "problems": point.problems,
    }
