"""Small steps that several algorithms share."""

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
def sort_nodes(order, values):
    """Sort nodes by their values; equal ones keep their order.

    Insertion sort: few nodes are sorted no slower by it, and NumPy's sort takes long to compile.
    """
    for new in range(1, len(order)):
        node = order[new]
        place = new
        while place > 0 and values[order[place - 1]] > values[node]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = node


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


@compiled
def relax(u, v, length, d, pi, reached):
    """Go to v by way of u if that is the first way or a shorter one; say whether (CLRS 24)."""
    if reached[v] and length >= d[v]:
        return False
    d[v] = length
    pi[v] = u
    reached[v] = 1
    return True


@compiled
def nearest_queued(key, in_queue):
    """The node in the queue with the smallest key, -1 if the queue is empty."""
    nearest = -1
    for v in range(len(key)):
        if in_queue[v] and (nearest < 0 or key[v] < key[nearest]):
            nearest = v
    return nearest
