"""Searching (CLRS chapters 2 and 9)."""

from collections.abc import Mapping

import numpy as np

from algorist.algorithms.array_answers import is_found, is_median, is_minimum
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.samplers.arrays import keys, sorted_keys_with_target
from algorist.algorithms.textbook import chain, partition, point_to_previous
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.ranking import rank_keys, rank_keys_and_target
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.spec import graph, node


def _sorted(arrays: Mapping[str, np.ndarray]) -> None:
    """Keys in ascending order."""
    descents = np.flatnonzero(np.diff(arrays["key"]) < 0)
    if len(descents):
        i = descents[0]
        raise ValueError(
            f"key: got {arrays['key'][i + 1]:g} after {arrays['key'][i]:g}, "
            "expected keys in ascending order"
        )


@algorithm(
    "searching",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={"pred_h": node.pointer, "min_h": node.mask_one, "i": node.mask_one},
    outputs={"min": node.mask_one},
    sampler=keys,
    accepts=is_minimum,
    scale=Scale((("key",),), shifts=True),
    rank=rank_keys,
    eval_multiplier=64,
    static_hint="pred_h",
)
def minimum(key, pred_h, min_h, i, min_, trace):
    """Compare each key with the smallest one so far (CLRS 9.1)."""
    point_to_previous(pred_h)
    record(trace)
    for new in range(1, len(key)):
        i[0] = new
        if key[new] < key[min_h[0]]:
            min_h[0] = new
        record(trace)
    min_[0] = min_h[0]


@algorithm(
    "searching",
    inputs={"pos": node.scalar, "key": node.scalar, "target": graph.scalar},
    hints={
        "pred_h": node.pointer,
        "low": node.mask_one,
        "high": node.mask_one,
        "mid": node.mask_one,
    },
    outputs={"return": node.mask_one},
    sampler=sorted_keys_with_target,
    accepts=is_found,
    scale=Scale((("key", "target"),), shifts=True),
    rank=rank_keys_and_target,
    requires=(_sorted,),
    eval_multiplier=64,
    static_hint="pred_h",
)
def binary_search(key, target, pred_h, low, high, mid, return_, trace):
    """Halve the range that holds the first key not below the target (CLRS exercise 2.3-5).

    If all keys are below the target, the last node is returned.
    """
    point_to_previous(pred_h)
    high[0] = len(key) - 1
    mid[0] = high[0] // 2
    record(trace)
    while low[0] < high[0]:
        if target[0] <= key[mid[0]]:
            high[0] = mid[0]
        else:
            low[0] = mid[0] + 1
        mid[0] = (low[0] + high[0]) // 2
        record(trace)
    return_[0] = high[0]


@algorithm(
    "searching",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={
        "pred_h": node.pointer,
        "p": node.mask_one,
        "r": node.mask_one,
        "i": node.mask_one,
        "j": node.mask_one,
        "i_rank": graph.scalar,
        "target": graph.scalar,
        "pivot": node.mask_one,
    },
    outputs={"median": node.mask_one},
    sampler=keys,
    accepts=is_median,
    scale=Scale((("key",),), shifts=True),
    rank=rank_keys,
    eval_multiplier=64,
)
def quickselect(key, pred_h, p, r, i, j, i_rank, target, pivot, median, trace):
    """Partition as quicksort does, but continue only in the part with the median (CLRS 9.2).

    The median of an even number of keys is the upper one of the two in the middle.
    """
    n = len(key)
    order = np.arange(n)
    first, last, middle = np.int64(0), n - 1, n // 2  # a plain 0 is a type of its own to Numba
    border = -1
    while border != middle:
        pivot[0] = order[last]
        target[0] = (middle - first) / n
        for border, place in partition(key, order, first, last):
            chain(pred_h, order)
            p[0], r[0], i[0], j[0] = order[first], order[last], order[border], order[place]
            # The rank counts from the first of all places, and once the pivot is placed from the
            # first place of the part, as the target does.
            i_rank[0] = (border - first if place == last else border) / n
            record(trace)
        if border < middle:
            first = border + 1
        else:
            last = border - 1
    median[0] = order[middle]
