"""The encoding of an algorithm's features for a net."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from algorist.algorithms import get
from algorist.algorithms.sparse_tracing import expect_sparse
from algorist.batch import Batch
from algorist.data.transforms import (
    Transform,
    apply_transforms,
    standard_transforms,
    transform_spec,
)
from algorist.model.make_window import make_window
from algorist.model.window import Window
from algorist.spec import Spec


@dataclass(frozen=True)
class TaskEncoding:
    """The encoding of an algorithm's features for a net."""

    static_hint_as_input: bool = True
    """Give the hint that never changes as an input (paper, section 3.2.1)."""
    permutations: bool = True
    """Ask for sorted orders as permutation matrices (paper, section 3.2.2)."""
    gated_scalars: bool = False
    """Keep every scalar hint exactly, unless a gate opens; its new value is then the sum of two
    numbers that the net chooses."""
    output_step: bool = False
    """Decode outputs in a step of their own, which reads the last hints."""

    sparse: bool = False
    """Lay out the edges of graphs alone, instead of all pairs of nodes: pointers choose among
    neighbours."""

    def spec(self, algorithm: str) -> Spec:
        """An algorithm's spec as the net sees it."""
        if self.sparse:
            expect_sparse(get(algorithm))
        return transform_spec(self.transforms(algorithm), get(algorithm).spec)

    def batch(self, algorithm: str, batch: Batch) -> Batch:
        """A batch as the net sees it."""
        if batch.spec != get(algorithm).spec:
            raise ValueError(f"batch: got one with other features than {algorithm} has")
        return apply_transforms(self.transforms(algorithm), batch).single_precision()

    def transforms(self, algorithm: str) -> tuple[Transform, ...]:
        """The transforms from an algorithm's features to those of the net."""
        return standard_transforms(
            get(algorithm),
            static_hint=self.static_hint_as_input,
            permutations=self.permutations,
            gated_scalars=self.gated_scalars,
        )

    def window(self, batches: Sequence[Batch]) -> Window:
        """Whole trajectories as the net reads them; a batch, as the net sees it, per replica."""
        return make_window(batches, output_step=self.output_step)
