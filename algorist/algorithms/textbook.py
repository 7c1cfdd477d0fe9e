"""Small steps that several algorithms share."""

from algorist.algorithms.compiling import compiled


@compiled
def point_to_self(pointers):
    """Let every node point to itself."""
    for i in range(len(pointers)):
        pointers[i] = i


@compiled
def chain(pointers, order):
    """Let each node point to the one before it in `order`, the first to itself."""
    pointers[order[0]] = order[0]
    for i in range(1, len(order)):
        pointers[order[i]] = order[i - 1]
