"""Small steps that several algorithms share."""

import numpy as np

from algorist.algorithms.compiling import compiled


@compiled
def point_to_self(pointers):
    """Let every node point to itself."""
    for i in range(len(pointers)):
        pointers[i] = i


@compiled
def point_to_previous(pointers):
    """Let each node point to the one numbered before it, the first to itself."""
    pointers[0] = 0
    for i in range(1, len(pointers)):
        pointers[i] = i - 1


@compiled
def chain(pointers, order):
    """Let each node point to the one before it in `order`, the first to itself."""
    pointers[order[0]] = order[0]
    for i in range(1, len(order)):
        pointers[order[i]] = order[i - 1]


@compiled
def swap(values, a, b):
    """Exchange the values at two places."""
    values[a], values[b] = values[b], values[a]


@compiled
def ascending(values):
    """The nodes in ascending order of their values, equal ones in order of their numbers.

    Insertion sort: for arrays this short nothing runs faster, and NumPy's takes long to compile.
    """
    order = np.arange(len(values))
    for new in range(1, len(values)):
        place = new
        while place > 0 and values[order[place - 1]] > values[new]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = new
    return order


@compiled
def partition(key, order, first, last):
    """Part the places from `first` to `last` around the key at the last of them (CLRS 7.1).

    Yields after each step the border, the place behind the keys found to be no larger than the
    pivot, and the place just looked at. In the end the pivot stands at the border.
    """
    border = first
    for place in range(first, last):
        if key[order[place]] <= key[order[last]]:
            swap(order, border, place)
            border += 1
        yield border, place
    swap(order, border, last)
    yield border, last
