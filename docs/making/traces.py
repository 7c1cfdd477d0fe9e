"""What pictures are drawn from: a run of an algorithm on a small problem, as the page has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import algorist
from algorist.algorithms.explanations import Explanation, explanation_of
from algorist.algorithms.explanations.runs import Role, TracedRun
from algorist.algorithms.natural import compact


@dataclass(frozen=True)
class Trace(TracedRun):
    """A run of an algorithm, whose nodes have the roles that the page of `view` gives them."""

    algorithm: algorist.Algorithm

    @classmethod
    def of(cls, name: str, problem: Mapping[str, Any]) -> Trace:
        """The run on a problem of one's own."""
        algorithm = algorist.get(name)
        batch = algorithm.trace(**problem)
        inputs = {f.name: compact(f, batch.inputs[f.name])[0] for f in algorithm.spec.inputs}
        hints = {f.name: compact(f, batch.hints[f.name])[:, 0] for f in algorithm.spec.hints}
        names = [str(node) for node in range(len(inputs["pos"]))]
        return cls(inputs, hints, names, algorithm)

    @property
    def roles(self) -> Sequence[Role]:
        """What nodes are to the algorithm."""
        return self._explanation.roles

    def shift(self, step: int) -> int:
        """Below which letter of a text the pattern stands."""
        shift = self._explanation.shift
        return shift(self, step) if shift else 0

    @property
    def _explanation(self) -> Explanation:
        return explanation_of(self.algorithm) or Explanation()
