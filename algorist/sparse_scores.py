"""Scores on sparse graphs, as SALSA-CLRS defines them (Minder et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from algorist.sparse_batch import Arrays, SparseBatch
from algorist.spec import Kind, Location


@dataclass(frozen=True)
class SparseEvaluation:
    """How good the answers of one replica are."""

    node_accuracy: float | None
    """The share of nodes whose value is that of the algorithm; None: nodes have no outputs."""
    graph_accuracy: float
    """The share of graphs all of whose values are; numbers are rounded to whole ones."""
    squared_error: float | None
    """Of numbers, the mean; None: there are none."""

    @property
    def quality(self) -> float:
        """What weights are chosen by."""
        return self.graph_accuracy if self.node_accuracy is None else self.node_accuracy


def score_sparse(outputs: Arrays, batch: SparseBatch) -> SparseEvaluation:
    """How good some outputs are, which have the form of the batch's."""
    nodes, graphs, errors = [], [], []
    for feature in batch.spec.outputs:
        truth, found = batch.outputs[feature.name], outputs[feature.name]
        if feature.kind == Kind.SCALAR:
            errors.append(float(np.mean((found - truth) ** 2)))
            found = np.round(found)
        right = (found == truth).reshape(len(batch), -1)
        graphs.append(right.all(1))
        if feature.location == Location.NODE:
            nodes.append(float(right.mean()))
    return SparseEvaluation(
        float(np.mean(nodes)) if nodes else None,
        float(np.logical_and.reduce(graphs).mean()),
        float(np.mean(errors)) if errors else None,
    )
