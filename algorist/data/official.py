"""The benchmark's data: any sample of it, and its fixed splits, which are kept on disk.

The names and defaults of options are the benchmark's.

    >>> from algorist.data import official
    >>> official.generate("dijkstra", n=16, count=4, seed=1, p=(0.3, 0.7)).inputs["A"].shape
    (4, 16, 16)
    >>> len(official.split("dijkstra", "train"))
    1000
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm, declared
from algorist.batch import Batch
from algorist.data import cache
from algorist.errors import expect_positive, unknown

_FORMAT = 1
"""Part of the file names: raise it when splits on disk are no longer what `generate` makes."""


@dataclass(frozen=True)
class Split:
    """One of the benchmark's fixed sets."""

    n: int
    count: int
    seed: int
    multiplied: bool = True
    """Whether there are more samples of algorithms whose samples hold few answers."""

    def generate(self, algorithm: Algorithm) -> Batch:
        """Draw this set for one algorithm."""
        count = self.count * (algorithm.eval_multiplier if self.multiplied else 1)
        return algorithm.sample(algorithm.size(self.n), count, self.seed)


SPLITS = {
    "train": Split(n=16, count=1000, seed=1, multiplied=False),
    "val": Split(n=16, count=32, seed=2),
    "test": Split(n=64, count=32, seed=3),
}


def generate(
    algorithm: str | Algorithm, *, n: int, count: int, seed: int | list[int], **options: Any
) -> Batch:
    """Draw a batch as the benchmark's sampler does, for a size, a number of samples and a seed."""
    return declared(algorithm).sample(n, count, seed, options)


def split(algorithm: str | Algorithm, name: str) -> Batch:
    """One of the benchmark's fixed sets: "train", "val" or "test".

    It is built once and kept on disk. Algorithms from outside this package are drawn afresh each
    time, so that what they return is always what their present code makes.
    """
    if name not in SPLITS:
        raise ValueError(unknown("split", name, SPLITS))
    return load_or_draw(declared(algorithm), name, SPLITS[name])


def load_or_draw(algorithm: Algorithm, name: str, wanted: Split) -> Batch:
    """A fixed set, from the disk if it is there; else it is drawn and kept there by its name."""
    if not algorithm.is_part_of_the_package:
        return wanted.generate(algorithm)
    try:
        file = split_file(algorithm, name)
        return replace(cache.load(file, algorithm.spec), algorithm=algorithm.name)
    except FileNotFoundError:
        pass
    except cache.Damaged as error:
        warnings.warn(f"{error} is damaged: building it again", stacklevel=2)
    except OSError as error:
        warnings.warn(f"the split on disk is not read: {error}", stacklevel=2)
    batch = wanted.generate(algorithm)
    try:
        cache.save(split_file(algorithm, name), batch)
    except OSError as error:
        warnings.warn(
            f"the split is not kept on disk: {error}; set ALGORIST_CACHE to a folder that can be "
            "written",
            stacklevel=2,
        )
    return batch


def split_file(algorithm: Algorithm, name: str) -> Path:
    """The file of a set of an algorithm."""
    return cache.folder() / f"{algorithm.name}-{name}-v{_FORMAT}.npz"


def first_samples(algorithm: str | Algorithm, name: str, samples: int | None) -> Batch:
    """The first samples of one of the benchmark's fixed sets; None: all of them."""
    batch = split(algorithm, name)
    count = len(batch) if samples is None else expect_positive("samples", samples)
    return batch.take(np.arange(min(count, len(batch))))
