"""Random numbers inside compiled code, equal to the last bit to NumPy's `RandomState`.

The benchmark's data is defined by the draws of a Mersenne Twister through NumPy's legacy
generator. A generator here is one array of 625 words: the twister's 624 and the position in them.
"""

import math

import numpy as np

from algorist.algorithms.compiling import compiled

_SIZE, _SHIFT = 624, 397


def generator(seed: int | list[int]) -> np.ndarray:
    """A fresh generator in the state of `RandomState(seed)`; every draw advances it in place."""
    words = np.atleast_1d(np.asarray(seed))
    if words.dtype.kind not in "iu" or not len(words) or words.min() < 0 or words.max() >= 2**32:
        raise ValueError(f"seed: got {seed!r}, expected whole numbers from 0 to 2**32 - 1")
    state = np.random.RandomState(seed).get_state(legacy=False)["state"]
    return np.append(state["key"], np.uint32(state["pos"]))


@compiled
def _twisted(high, low):
    mixed = (high & np.uint32(0x80000000)) | (low & np.uint32(0x7FFFFFFF))
    return (mixed >> np.uint32(1)) ^ (np.uint32(0x9908B0DF) * (mixed & np.uint32(1)))


@compiled
def _refill(rng):
    for i in range(_SIZE - _SHIFT):
        rng[i] = rng[i + _SHIFT] ^ _twisted(rng[i], rng[i + 1])
    for i in range(_SIZE - _SHIFT, _SIZE - 1):
        rng[i] = rng[i + _SHIFT - _SIZE] ^ _twisted(rng[i], rng[i + 1])
    rng[_SIZE - 1] = rng[_SHIFT - 1] ^ _twisted(rng[_SIZE - 1], rng[0])
    rng[_SIZE] = 0


@compiled
def word(rng):
    """The next 32 random bits."""
    if rng[_SIZE] == _SIZE:
        _refill(rng)
    y = np.int64(rng[rng[_SIZE]])
    rng[_SIZE] += 1
    y ^= y >> 11
    y ^= (y << 7) & 0x9D2C5680
    y ^= (y << 15) & 0xEFC60000
    return y ^ (y >> 18)


@compiled
def uniform(rng, low, high):
    """A real number from [low, high)."""
    a, b = word(rng) >> 5, word(rng) >> 6
    return low + (high - low) * ((a * 67108864.0 + b) / 9007199254740992.0)


@compiled
def below(rng, n):
    """An integer from 0 to n - 1."""
    if n <= 1:
        return 0
    mask = n - 1
    for shift in (1, 2, 4, 8, 16):
        mask |= mask >> shift
    value = word(rng) & mask
    while value >= n:
        value = word(rng) & mask
    return value


@compiled
def fill_coins(rng, values, p):
    """Fill a matrix with 1 (probability p) and 0."""
    rare = min(p, 1.0 - p)
    common = math.exp(math.log(1.0 - rare))  # rounded as the legacy generator rounds it
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            flipped = uniform(rng, 0.0, 1.0) > common
            values[i, j] = flipped if p <= 0.5 else not flipped


@compiled
def fill_uniform(rng, values, low, high):
    """Fill a vector with real numbers from [low, high)."""
    for i in range(len(values)):
        values[i] = uniform(rng, low, high)


@compiled
def permutation(rng, n):
    """The numbers 0 to n - 1 in random order."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = below(rng, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
