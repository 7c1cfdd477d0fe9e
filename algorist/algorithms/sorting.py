"""Sorting (CLRS chapters 2, 6 and 7): `pred` chains the nodes in ascending order of their keys.

The keys stay where they are: `order[place]` is the node that a sort has moved to a place.
"""

from typing import Any

import numpy as np

from algorist.algorithms.array_answers import is_ascending_chain
from algorist.algorithms.compiling import compiled
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.format_answers import format_sorted_keys
from algorist.algorithms.samplers.arrays import keys
from algorist.algorithms.textbook import chain, partition, swap
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.ranking import rank_keys
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.spec import graph, node

_SORT: dict[str, Any] = {
    "inputs": {"pos": node.scalar, "key": node.scalar},
    "outputs": {"pred": node.should_be_permutation},
    "sampler": keys,
    "accepts": is_ascending_chain,
    "answer": format_sorted_keys,
    "scale": Scale((("key",),), shifts=True),
    "rank": rank_keys,
}
"""What all sorts have in common."""

_BUILD, _EXTRACT, _REPAIR = range(3)  # the phases of heapsort


@algorithm(
    "sorting",
    hints={"pred_h": node.pointer, "i": node.mask_one, "j": node.mask_one},
    **_SORT,
)
def insertion_sort(key, pred_h, i, j, pred, trace):
    """Insert each key into the sorted prefix before it (CLRS 2.1)."""
    n = len(key)
    order = np.arange(n)
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


@algorithm(
    "sorting",
    hints={"pred_h": node.pointer, "i": node.mask_one, "j": node.mask_one},
    **_SORT,
)
def bubble_sort(key, pred_h, i, j, pred, trace):
    """Swap neighbours so that the smallest key moves to the front; repeat (CLRS problem 2-2)."""
    n = len(key)
    order = np.arange(n)
    chain(pred_h, order)
    record(trace)
    for front in range(n - 1):
        for place in range(n - 1, front, -1):
            if key[order[place]] < key[order[place - 1]]:
                swap(order, place, place - 1)
            chain(pred_h, order)
            i[0], j[0] = order[front], order[place]
            record(trace)
    chain(pred, order)


@algorithm(
    "sorting",
    hints={
        "pred_h": node.pointer,
        "parent": node.pointer,
        "i": node.mask_one,
        "j": node.mask_one,
        "largest": node.mask_one,
        "heap_size": node.mask_one,
        "phase": graph.categorical(3),
    },
    **_SORT,
)
def heapsort(key, pred_h, parent, i, j, largest, heap_size, phase, pred, trace):
    """Build a heap, then move its largest key behind it until it is empty (CLRS 6.4)."""
    n = len(key)
    order = np.arange(n)
    _show_heap(order, n, pred_h, parent, heap_size)
    i[0], j[0], largest[0], phase[0] = n - 1, n - 1, n - 1, _BUILD
    record(trace)
    for root in range(n - 1, -1, -1):
        for place, winner in _max_heapify(key, order, root, n):
            _show_heap(order, n, pred_h, parent, heap_size)
            i[0], j[0], largest[0] = order[root], order[place], order[winner]
            record(trace)
    for size in range(n - 1, 0, -1):
        swap(order, 0, size)
        _show_heap(order, size, pred_h, parent, heap_size)
        i[0], j[0], largest[0], phase[0] = order[0], order[size], 0, _EXTRACT
        record(trace)
        phase[0] = _REPAIR
        for place, winner in _max_heapify(key, order, 0, size):
            _show_heap(order, size, pred_h, parent, heap_size)
            i[0], j[0], largest[0] = order[size], order[place], order[winner]
            record(trace)
    chain(pred, order)


@compiled
def _max_heapify(key, order, place, size):
    """Let the key at a place sink in the heap of the first `size` places (CLRS 6.2).

    Yields after each step the place, and that of the largest key among it and its children.
    """
    sinking = True
    while sinking:
        largest = place
        for child in range(2 * place + 1, min(2 * place + 3, size)):
            if key[order[child]] > key[order[largest]]:
                largest = child
        swap(order, place, largest)
        yield place, largest
        sinking = largest != place
        place = largest


@compiled
def _show_heap(order, size, pred_h, parent, heap_size):
    """Show the order of the nodes, and which of them form the heap."""
    chain(pred_h, order)
    for place in range(len(order)):
        above = (place - 1) // 2 if 0 < place < size else place
        parent[order[place]] = order[above]
    heap_size[0] = order[size - 1]


@algorithm(
    "sorting",
    hints={
        "pred_h": node.pointer,
        "p": node.mask_one,
        "r": node.mask_one,
        "i": node.mask_one,
        "j": node.mask_one,
    },
    **_SORT,
)
def quicksort(key, pred_h, p, r, i, j, pred, trace):
    """Partition the keys around the last one, then sort both parts (CLRS 7.1)."""
    n = len(key)
    order = np.arange(n)
    waiting = np.empty((n, 2), np.int64)  # parts left to sort; they never overlap, so n suffice
    waiting[0, 0], waiting[0, 1] = 0, n - 1
    count = 1
    while count > 0:
        count -= 1
        first, last = waiting[count]
        border = first
        for border, place in partition(key, order, first, last):
            chain(pred_h, order)
            p[0], r[0], i[0], j[0] = order[first], order[last], order[border], order[place]
            record(trace)
        for low, high in ((border + 1, last), (first, border - 1)):
            if low < high:
                waiting[count, 0], waiting[count, 1] = low, high
                count += 1
    chain(pred, order)
