"""Problems on sparse graphs: named sets of SALSA-CLRS's kind, and endless training data.

The sets are drawn here, by the parameters of the paper and fixed seeds. They are not its files.
"""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

import numpy as np

from algorist.algorithms import Algorithm, declared
from algorist.algorithms.graph_families import FAMILIES, sample_sparse
from algorist.data.stream import BATCH_SIZE, SIZES, Purpose, key
from algorist.errors import expect_positive, unknown
from algorist.sparse_batch import SparseBatch
from algorist.spec import Spec

VALIDATION = "er_16_val"
"""The set that weights are chosen by."""
VALIDATION_COUNT = 128


def families(text: str) -> tuple[str, ...]:
    """`er+ws` as names of families, each known.

    >>> families("er+delaunay")
    ('er', 'delaunay')
    """
    found = tuple(text.split("+"))
    for name in found:
        if name not in FAMILIES:
            raise ValueError(unknown("family of graphs", name, FAMILIES))
    return found


def sparse_set(
    algorithm: str | Algorithm,
    name: str,
    count: int = 32,
    *,
    seed: int = 0,
    only_first: bool = True,
) -> SparseBatch:
    """`count` problems of the set FAMILY_N, such as er_1600, or of the validation set.

    The hints are those of the first step, unless `only_first` is false.

        >>> sparse_set("bfs", "er_16", 2)
        SparseBatch(bfs: 2 graphs of 16 nodes, 206 pairs, 4 steps)
    """
    algorithm = declared(algorithm)
    family, _, size = name.removesuffix("_val").partition("_")
    if family not in FAMILIES or not size.isdigit():
        raise ValueError(f"set: got {name!r}, expected a family and a size, such as er_1600")
    seeds = [crc32(algorithm.name.encode()), crc32(name.encode()), seed]
    return sample_sparse(algorithm, family, int(size), count, seeds, only_first=only_first)


class SparseOnline:
    """Problems on sparse graphs that are drawn afresh for every step, and never twice."""

    def __init__(
        self,
        algorithm: str | Algorithm,
        *,
        seed: int,
        sizes: tuple[int, ...] = SIZES,
        batch_size: int = BATCH_SIZE,
        family: str = "er",
        random_positions: bool = True,
    ):
        """Draw problems of the given sizes in turns, of one family or of several: `er+ws`."""
        self.algorithm, self.seed = declared(algorithm), seed
        self.spec: Spec = self.algorithm.spec
        self.sizes = tuple(expect_positive("sizes", size) for size in sizes)
        self.batch_size = expect_positive("batch_size", batch_size)
        self._families, self._random_positions = families(family), random_positions

    def batch(self, step: int) -> SparseBatch:
        """The batch of one step: a pure function of the seed, the algorithm and the step."""
        rounds, place = divmod(step, len(self.sizes))
        family = self._families[rounds % len(self._families)]
        seed = key(self.seed, self.algorithm.name, step, Purpose.PROBLEMS)
        size = self.sizes[place]
        batch = sample_sparse(self.algorithm, family, size, self.batch_size, seed, train=True)
        if self._random_positions:
            drawn = key(self.seed, self.algorithm.name, step, Purpose.POSITIONS)
            positions = np.random.RandomState(drawn).uniform(size=(len(batch), size))
            batch = replace(batch, inputs={**batch.inputs, "pos": np.sort(positions).ravel()})
        return batch
