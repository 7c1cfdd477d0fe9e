"""Development sets: problems of our own for comparing ideas, so that the test is left for the end.

Choosing among ideas by the benchmark's test would be training on it. These sets have its form, at
n = 16, 32 and 64, and seeds that the benchmark does not use.

    >>> from algorist.data import development
    >>> len(development("bfs", 32)), development("bfs", 32).n
    (32, 32)
"""

from __future__ import annotations

from algorist.algorithms import Algorithm, declared
from algorist.batch import Batch
from algorist.data.official import Split, load_or_draw
from algorist.errors import unknown

_SEEDS = {16: 1_016, 32: 1_032, 64: 1_064}
_COUNT = 32
DEVELOPMENT_SIZES = tuple(_SEEDS)


def development(algorithm: str | Algorithm, n: int = 16) -> Batch:
    """The development set of an algorithm at n = 16, 32 or 64.

    It has as many samples as the benchmark's test: 32, or more where a sample holds few answers.
    It is drawn once and kept on disk. Raises a ValueError for other sizes.
    """
    if n not in _SEEDS:
        sizes = [str(size) for size in _SEEDS]
        raise ValueError(unknown("size of a development set", str(n), sizes))
    wanted = Split(n=n, count=_COUNT, seed=_SEEDS[n])
    return load_or_draw(declared(algorithm), f"development-{n}", wanted)
