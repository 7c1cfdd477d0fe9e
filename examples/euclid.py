"""The Euclidean algorithm as a plug-in: the greatest common divisor of the numbers in the nodes.

algorist --plugin examples/euclid.py sample euclid --n 4
"""

from algorist import algorithm, below, copy, graph, node, record, register, sampler


@sampler()
def whole_numbers(rng, value, high=60):
    """Numbers from 1 to `high`: `rng` first, then the inputs to fill, then options."""
    for i in range(len(value)):
        value[i] = 1 + below(rng, high)


def positive(arrays):
    """What users' own inputs must satisfy."""
    value = arrays["value"]
    if (value < 1).any() or (value % 1 != 0).any():
        raise ValueError(f"value: got {value.tolist()}, expected whole numbers from 1")


@register
@algorithm(
    "number theory",
    inputs={"pos": node.scalar, "value": node.scalar},
    hints={"rest": node.scalar, "larger": node.mask_one, "smaller": node.mask_one},
    outputs={"gcd": graph.scalar},
    sampler=whole_numbers,
    requires=(positive,),
)
def euclid(value, rest, larger, smaller, gcd, trace):
    """Divide the larger of two numbers by the smaller, keep the remainder, repeat (CLRS 31.2)."""
    copy(rest, value)
    record(trace)
    last = 0  # the node whose number divides all numbers before it
    for i in range(1, len(value)):
        while rest[last] and rest[i]:
            larger[0], smaller[0] = (i, last) if rest[i] > rest[last] else (last, i)
            rest[larger[0]] %= rest[smaller[0]]
            record(trace)
        if rest[i]:
            last = i
    gcd[0] = rest[last]
