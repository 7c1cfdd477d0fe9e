"""Solve users' problems on large, sparse graphs with a learner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from algorist.algorithms import get
from algorist.algorithms.sparse_tracing import trace_graphs
from algorist.algorithms.user_inputs.sparse_inputs import read_sparse_problem
from algorist.model.inference import OnProgress
from algorist.model.sparse.inference import predict_sparse
from algorist.sparse_batch import Arrays
from algorist.sparse_scores import SparseEvaluation, score_sparse
from algorist.spec import Feature, Kind, Location

if TYPE_CHECKING:
    from algorist.model.learner import Learner


@dataclass(frozen=True, eq=False)
class SparseSolution:
    """The answer of a learner to a problem on a sparse graph, beside the algorithm's."""

    algorithm: str
    answer: Any
    """Where each node points, which nodes are chosen, or a number; nodes by their names."""
    true_answer: Any
    evaluation: SparseEvaluation
    """How much of it is as the algorithm has it."""
    outputs: Arrays
    steps: int
    names: tuple[Hashable, ...] | None
    read: str
    """What was read: 5 nodes, 7 undirected edges."""

    @property
    def right(self) -> bool:
        """Whether all of it is as the algorithm has it."""
        return self.evaluation.graph_accuracy == 1


def solve_sparse(
    learner: Learner, name: str, inputs: Mapping[str, Any], on_progress: OnProgress | None = None
) -> SparseSolution:
    """The solution of one problem, by the best of the replicas. Memory grows with the edges."""
    learner = learner.best_replica()
    learner.net.spec(name)  # refuses what the net does not know
    algorithm = get(name)
    problem = read_sparse_problem(algorithm, inputs)
    graph = problem.graph
    if algorithm.scale is not None:
        scaled = algorithm.scale.of({"A": graph.weights})
        graph = replace(graph, weights=scaled.input("A", graph.weights))
    batch = trace_graphs(algorithm, graph, problem.inputs, only_first=True)
    (outputs,) = predict_sparse(learner, name, batch, on_progress)
    features, names = batch.spec.outputs, problem.names
    return SparseSolution(
        name,
        _answer(features, outputs, names),
        _answer(features, batch.outputs, names),
        score_sparse(outputs, batch),
        outputs,
        int(batch.lengths[0]),
        names,
        problem.description,
    )


def _answer(
    features: tuple[Feature, ...], outputs: Arrays, names: tuple[Hashable, ...] | None
) -> Any:
    """The output in the terms of the problem; by name, if there are several."""
    found = {f.name: _of_feature(f, outputs[f.name], names) for f in features}
    return next(iter(found.values())) if len(found) == 1 else found


def _of_feature(feature: Feature, value: np.ndarray, names: tuple[Hashable, ...] | None) -> Any:
    if feature.location == Location.GRAPH:
        return value[0].item()
    called = names or range(len(value))
    if feature.kind == Kind.POINTER:
        return {called[i]: called[int(j)] for i, j in enumerate(value)}
    return [called[i] for i in np.flatnonzero(value > 0)]
