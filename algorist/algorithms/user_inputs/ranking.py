"""Users' numbers that are only compared, replaced by evenly spaced ranks.

Nets learn from numbers that are spread over a range and never equal. An algorithm that only
compares its keys does the same on their ranks, so this is what its net gets to see: each key is
the middle of one of n equal parts of [0, 1). Equal keys get different ranks, in the order in which
the algorithm leaves them. The benchmark's own sets never come this way.

Every function takes the inputs of one problem and the last step of the algorithm's run on it, and
returns the inputs that change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from algorist.algorithms.array_answers import chain

Arrays = Mapping[str, np.ndarray]
Ranking = Callable[[Arrays, Arrays], dict[str, np.ndarray]]


def spread(order: Sequence[int] | np.ndarray) -> np.ndarray:
    """The numbers of things whose indices are given in ascending order.

    >>> spread([2, 0, 1]).tolist()
    [0.5, 0.8333333333333334, 0.16666666666666666]
    """
    ranks = np.empty(len(order))
    ranks[np.asarray(order, np.int64)] = (np.arange(len(order)) + 0.5) / max(len(order), 1)
    return ranks


def rank_keys(inputs: Arrays, last: Arrays) -> dict[str, np.ndarray]:
    """Keys by rank; equal ones in the order in which `pred_h` has them in the end."""
    final = np.empty(len(inputs["key"]), np.int64)
    final[chain(last["pred_h"].astype(np.int64))[::-1]] = np.arange(len(final))
    return {"key": spread(np.lexsort((final, inputs["key"])))}


def rank_keys_and_target(inputs: Arrays, last: Arrays) -> dict[str, np.ndarray]:
    """Sorted keys by rank, and the target halfway below the first key that is not less."""
    n, place = len(inputs["key"]), np.searchsorted(inputs["key"], float(inputs["target"]))
    return {"key": spread(range(n)), "target": np.array(place / n)}


def rank_activities(inputs: Arrays, last: Arrays) -> dict[str, np.ndarray]:
    """Starts and finishes by rank; at one moment, activities finish before others start.

    One that takes no time starts after those that finish with it, and before it finishes.
    """
    start, finish = inputs["s"], inputs["f"]
    n, instant = len(start), start == finish
    moments = np.concatenate((start, finish))
    phase = np.concatenate((np.where(instant, 1, 2), np.where(instant, 1, 0)))
    index = np.tile(np.arange(n), 2)
    ranks = spread(np.lexsort((np.repeat([0, 1], n), index, phase, moments)))
    return {"s": ranks[:n], "f": ranks[n:]}


def rank_task_weights(inputs: Arrays, last: Arrays) -> dict[str, np.ndarray]:
    """Weights by rank; of equal ones the first is taken first, as the heavier one would be.

    A deadline after the last slot that could be needed is one at that slot.
    """
    n, w = len(inputs["w"]), inputs["w"]
    return {"w": spread(np.lexsort((-np.arange(n), w))), "d": np.minimum(inputs["d"], n)}


def rank_edge_weights(inputs: Arrays, last: Arrays) -> dict[str, np.ndarray]:
    """Weights of undirected edges by rank; of equal ones the first is taken first."""
    i, j = np.nonzero(np.triu(inputs["A"]))
    ranked = np.zeros_like(inputs["A"])
    ranked[i, j] = ranked[j, i] = spread(np.lexsort((np.arange(len(i)), inputs["A"][i, j])))
    return {"A": ranked}
