"""How the inputs of algorithms on arrays are drawn.

The order of the draws is part of the benchmark: changing it changes every published data set.
"""

from __future__ import annotations

from algorist.algorithms.random import below, fill_uniform, uniform
from algorist.algorithms.sampling import Options, sampler
from algorist.algorithms.textbook import swap


def checked_range(n: int, options: Options) -> Options:
    """Refuse a range from `low` to `high` that is empty."""
    if options["low"] > options["high"]:
        raise ValueError(
            f"options low, high: got {options['low']} and {options['high']}, expected low <= high"
        )
    return options


def _checked_deadline(n: int, options: Options) -> Options:
    """Let deadlines go up to n unless the option says otherwise."""
    latest = options["max_deadline"]
    if latest is None:
        latest = n
    elif not 1 <= latest < 2**32:
        raise ValueError(f"option max_deadline: got {latest}, expected 1 to 2**32 - 1")
    return checked_range(n, {**options, "max_deadline": latest})


@sampler(settle=checked_range)
def keys(rng, key, low=0.0, high=1.0):
    """Keys from U[low, high)."""
    fill_uniform(rng, key, low, high)


@sampler(settle=checked_range)
def signed_keys(rng, key, low=-1.0, high=1.0):
    """Keys from U[low, high), by default as often below 0 as above."""
    fill_uniform(rng, key, low, high)


@sampler(settle=checked_range)
def sorted_keys_with_target(rng, key, target, low=0.0, high=1.0):
    """Keys from U[low, high) in ascending order, and a number to look for among them."""
    for i in range(len(key)):
        key[i] = uniform(rng, low, high)
        for place in range(i, 0, -1):
            if key[place - 1] <= key[place]:
                break
            swap(key, place - 1, place)
    target[0] = uniform(rng, low, high)


@sampler(settle=checked_range)
def activities(rng, s, f, low=0.0, high=1.0):
    """Activities between two moments from U[low, high)."""
    fill_uniform(rng, s, low, high)
    fill_uniform(rng, f, low, high)
    for i in range(len(s)):
        s[i], f[i] = min(s[i], f[i]), max(s[i], f[i])


@sampler(settle=_checked_deadline)
def tasks(rng, d, w, max_deadline=None, low=0.0, high=1.0):
    """Tasks with whole deadlines from 1 to `max_deadline` and weights from U[low, high)."""
    for i in range(len(d)):
        d[i] = below(rng, max_deadline) + 1
    fill_uniform(rng, w, low, high)
