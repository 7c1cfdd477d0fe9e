"""The compiled draws against NumPy's legacy generator."""

import numpy as np
import pytest

from algorist.algorithms import random

SEEDS = [
    0,
    1,
    46,
    2**32 - 1,
    [0],
    [5],
    (2**32 - 1,),
    np.array([5]),
    [1, 2],
    [3, 4, 5, 6],
    list(range(700)),
]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: str(seed)[:12])
def test_draws_equal_numpy_to_the_last_bit(seed):
    ours, numpys = random.generator(seed), np.random.RandomState(seed)
    reals = np.zeros(1500)
    random.fill_uniform(ours, reals, -1.0, 2.5)
    assert np.array_equal(reals, numpys.uniform(-1.0, 2.5, size=1500))
    coins = np.zeros((20, 30))
    for p in (0.0, 0.1, 0.3, 0.5, 0.7, 0.1 + 0.1 * 8, 1.0):
        random.fill_coins(ours, coins, p)
        assert np.array_equal(coins, numpys.binomial(1, p, size=(20, 30)))
    assert [random.below(ours, n) for n in range(1, 80)] == [
        numpys.randint(0, n) for n in range(1, 80)
    ]
    for n in (1, 2, 33):
        assert np.array_equal(random.permutation(ours, n), numpys.permutation(n))


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "a", []])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(ValueError, match="seed: got"):
        random.generator(seed)
