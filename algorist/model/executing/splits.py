"""Where a problem between two nodes is best split in two, as dynamic programming over pairs asks,
and where a way between them by a third node is shorter.

`m[i, k] + m[k + 1, j] + p[i - 1] p[k] p[j]` is a number for three nodes, and which k makes the
least cannot be learnt at one size for a larger one, where the sums are denser. Values are
one-hot, as in `task_features.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from algorist.model.executing.pairwise import successors
from algorist.model.executing.task_features import TaskFeatures, Values, once
from algorist.spec import Location, Stage

SPLITS = "splits_"
"""The name among values of the pointers that splits and paths suggest (..., n, n, n, F), and of the
encoder that reads for which edges there is one."""


def suggest_pointers(features: TaskFeatures, values: Values) -> Tensor | None:
    """(..., i, j, k, F): the nodes k to which edges (i, j) would point by the best splits, and by
    shorter ways; all zeros for an edge where there are none. None where a task has nothing to
    suggest.
    """
    found = [*find_best_splits(features, values), *find_shorter_paths(features, values)]
    return torch.cat(found, -1) if found else None


def find_shorter_paths(features: TaskFeatures, values: Values) -> list[Tensor]:
    """(..., i, j, k, F) each: where the way by the node u that a mask selects costs less,
    S[i, u] + S[u, j] < S[i, j], the node k to which the edge (u, j) points, as in the matrix of
    predecessors of shortest paths. Both parts must be known, as for splits."""
    found: list[Tensor] = []
    tables = features.tables(values)
    if not tables or not features.edge_pointers:
        return found
    filled = _filled(features, values)
    for pointer in (values[name] for name in features.edge_pointers):
        for mask in (values[name] for name in features.masks):
            column, line = mask.unsqueeze(-1), mask.unsqueeze(-2)
            there = (filled.float() @ column + line @ filled.float()) > 1.5
            # P[u, j] -> k: (..., 1, j, k)
            onward = (line @ pointer.flatten(-2)).unflatten(-1, pointer.shape[-2:])
            less = [(x @ column + line @ x < x) | ~filled for x in tables]
            found += [((there & x).unsqueeze(-1) * onward).unsqueeze(-1) for x in less]
    return found


def find_best_splits(features: TaskFeatures, values: Values) -> list[Tensor]:
    """(..., i, j, k, F) each: whether the node k splits the problem from i to j at the least cost,
    and that is less than before; one for each chain of nodes.

    A cost is S[i, k] + S[k + 1, j], or that and x[i - 1] x[k] x[j]: S are the scalars of edges that
    are hints, x those of nodes that are inputs, k + 1 and i - 1 neighbours in the chain. Both parts
    must be known, as masks of edges say. What is not known yet cost infinitely much before.
    """
    found: list[Tensor] = []
    tables = features.tables(values)
    if not tables or not features.edge_pointers:
        return found
    filled = _filled(features, values)
    for chain in (values[name] for name in features.chains):
        after = successors(chain)
        there = _split(filled.float(), after @ filled.float()) > 1.5
        splits = torch.stack([_split(x, after @ x) for x in tables], -1)
        splits = splits.masked_fill(~there.unsqueeze(-1), torch.inf).unsqueeze(-1)
        # (..., i, j, k, S, 1 + x)
        cost = splits + _products(features, values, chain).unsqueeze(-2)
        least = cost.amin(-3, keepdim=True)
        before = torch.stack([x.masked_fill(~filled, torch.inf) for x in tables], -1)
        less = least < before[..., None, :, None]
        found.append(((cost == least) & less).float().flatten(-2))
    return found


@once
def _filled(features: TaskFeatures, values: Values) -> Tensor:
    """(..., n, n): for which edges all masks that are hints say that something is known."""
    n = values["pos"].shape[-1]
    filled = values["pos"].new_ones(*values["pos"].shape[:-1], n, n) > 0
    for name in features.hint_edge_masks:
        filled = filled & (values[name] > 0.5)
    return filled


def _products(features: TaskFeatures, values: Values, chain: Tensor) -> Tensor:
    """(..., i, j, k, 1 + F): 0, and x[i - 1] x[k] x[j] for each scalar x of inputs but positions,
    multiplied in the order in which `select_by_edges` does."""
    scalars = [f for f in features.scalars[Location.NODE] if f.stage == Stage.INPUT]
    columns = [values[f.name] for f in scalars if f.name != "pos"]
    n = chain.shape[-1]
    found = [chain.new_zeros(*chain.shape[:-2], n, n, n)]
    for x in columns:
        before = (chain @ x.unsqueeze(-1))[..., None]  # (..., i, 1, 1)
        found.append(x[..., None, None, :] * before * x[..., None, :, None])
    return torch.stack(found, -1)


def _split(table: Tensor, after: Tensor) -> Tensor:
    """(..., i, j, k): S[i, k] + S[k + 1, j], of a table S[i, j] and that of the nodes after i."""
    return table.unsqueeze(-2) + after.mT.unsqueeze(-3)
