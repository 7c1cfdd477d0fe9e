"""Inference on sparse graphs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from algorist.model.inference import OnProgress, evaluating
from algorist.model.learner import Learner
from algorist.model.scan import Carry
from algorist.model.sparse.decoders import sparse_answer
from algorist.model.sparse.scan import SparseScan
from algorist.model.sparse.window import sparse_window
from algorist.sparse_batch import SparseBatch
from algorist.spec import Kind, Location

_PIECE = 16
"""Steps that are computed at once."""
_MOST_PAIRS = 1 << 18
"""Pairs of nodes that are computed at once, if not those of a single graph, for all replicas."""


@torch.no_grad()
def predict_sparse(
    learner: Learner, algorithm: str, batch: SparseBatch, on_progress: OnProgress | None = None
) -> list[dict[str, np.ndarray]]:
    """The outputs of each replica, as the batch has them; the net reads its own hints."""
    parts: list[list[dict[str, np.ndarray]]] = []
    first_graph = 0
    with evaluating(learner.net):
        for part in batch.split(_MOST_PAIRS // learner.net.replicas):
            by_replica = _predict(learner, algorithm, part, on_progress)
            for outputs in by_replica:
                for f in batch.spec.outputs:
                    if f.kind == Kind.POINTER:  # to nodes of the whole batch
                        outputs[f.name] = outputs[f.name] + first_graph * batch.graphs.n
            first_graph += len(part)
            parts.append(by_replica)
    return [
        {f.name: np.concatenate([p[replica][f.name] for p in parts]) for f in batch.spec.outputs}
        for replica in range(learner.net.replicas)
    ]


def _predict(
    learner: Learner, algorithm: str, batch: SparseBatch, on_progress: OnProgress | None
) -> list[dict[str, np.ndarray]]:
    net = learner.net
    window = sparse_window([batch] * net.replicas).to(net.device)
    carry: Carry | None = None
    answers: dict[str, Tensor] = {}
    for start in range(0, window.steps, _PIECE):
        piece = window.piece(start, min(start + _PIECE, window.steps))
        scan = SparseScan(net, algorithm, piece)
        rollout = scan.run(carry, keep_hints=False)
        carry = rollout.carry
        for f in net.spec(algorithm).outputs:
            answer = sparse_answer(f, rollout.outputs[f.name], scan.links, piece.senders)
            here = scan.entry_weights(f, piece.end_weights) > 0
            here = here.view(*here.shape, *(1,) * (answer.ndim - here.ndim))
            answers[f.name] = torch.where(here, answer, answers.get(f.name, answer))
        if on_progress is not None:
            on_progress(min(start + _PIECE, window.steps), window.steps)
    sizes = {Location.NODE: batch.graphs.nodes, Location.GRAPH: len(batch)}
    outputs = net.spec(algorithm).outputs
    return [
        {f.name: answers[f.name][replica, : sizes[f.location]].cpu().numpy() for f in outputs}
        for replica in range(net.replicas)
    ]
