"""Sorting (CLRS chapters 2, 6 and 7): `pred` chains the keys in ascending order."""

import numpy as np

from algorist.algorithms.array_inputs import keys
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.textbook import chain
from algorist.algorithms.tracing import record
from algorist.spec import node


@algorithm(
    "sorting",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={"pred_h": node.pointer, "i": node.mask_one, "j": node.mask_one},
    outputs={"pred": node.should_be_permutation},
    sampler=keys,
)
def insertion_sort(key, pred_h, i, j, pred, trace):
    """Insert each key into the sorted prefix before it (CLRS 2.1)."""
    n = len(key)
    order = np.arange(n)  # order[k] is the node at place k
    chain(pred_h, order)
    record(trace)
    for new in range(1, n):
        place = new
        while place > 0 and key[order[place - 1]] > key[new]:
            order[place] = order[place - 1]
            place -= 1
        i[0] = order[place]  # the node that gives way
        order[place] = new
        j[0] = new
        chain(pred_h, order)
        record(trace)
    chain(pred, order)
