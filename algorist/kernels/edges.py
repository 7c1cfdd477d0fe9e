"""Edge features as the few numbers that they are made of."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from algorist.kernels.affine import add_product, product


class FactoredEdges(NamedTuple):
    """Edge features `raw @ weight + dense` whose n x n x h tensor need not be in memory.

    Kernels build it row by row from the raw numbers. A pair of nodes is (from, to).
    """

    raw: Tensor
    """(S, B, n, n, F): a few numbers for each edge; F may be 0."""
    weight: Tensor
    """(S, F, h): how they are encoded."""
    dense: Tensor | None = None
    """(S, B, n, n, h): what is added to that, or nothing."""

    @classmethod
    def of_dense(cls, dense: Tensor) -> FactoredEdges:
        """Edge features (S, B, n, n, h) without raw numbers."""
        S, h = len(dense), dense.shape[-1]
        return cls(dense.new_empty(*dense.shape[:-1], 0), dense.new_empty(S, 0, h), dense)

    def encode(self) -> Tensor:
        """The features as one tensor, (S, B, n, n, h)."""
        if self.dense is None:
            return product(self.raw, self.weight)
        return self.dense if self._only_dense else add_product(self.dense, self.raw, self.weight)

    def plus(self, x: Tensor) -> Tensor:
        """The features plus `x`, as a tensor of their own that may be changed in place."""
        return self.encode() + x if self._only_dense else self.encode().add_(x)

    @property
    def _only_dense(self) -> bool:
        return self.dense is not None and not self.raw.shape[-1]
