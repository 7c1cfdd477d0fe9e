"""How the inputs of algorithms on arrays are drawn.

The order of the draws is part of the benchmark: changing it changes every published data set.
"""

from __future__ import annotations

from algorist.algorithms.random import fill_uniform
from algorist.algorithms.sampling import Options, sampler


def checked_range(n: int, options: Options) -> Options:
    """Refuse a range from `low` to `high` that is empty."""
    if options["low"] > options["high"]:
        raise ValueError(
            f"options low, high: got {options['low']} and {options['high']}, expected low <= high"
        )
    return options


@sampler(settle=checked_range)
def keys(rng, key, low=0.0, high=1.0):
    """Keys from U[low, high)."""
    fill_uniform(rng, key, low, high)
