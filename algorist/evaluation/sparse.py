"""Scores of learners on sparse graphs."""

from __future__ import annotations

from algorist.model.learner import Learner
from algorist.model.sparse.inference import predict_sparse
from algorist.sparse_batch import SparseBatch
from algorist.sparse_scores import SparseEvaluation, score_sparse


def evaluate_sparse(learner: Learner, algorithm: str, batch: SparseBatch) -> list[SparseEvaluation]:
    """Score the answers of each replica."""
    return [score_sparse(own, batch) for own in predict_sparse(learner, algorithm, batch)]


def sparse_quality(learner: Learner, algorithm: str, batch: SparseBatch) -> list[float]:
    """The quality of each replica, for validation."""
    return [own.quality for own in evaluate_sparse(learner, algorithm, batch)]
