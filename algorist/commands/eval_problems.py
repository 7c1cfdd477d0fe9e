"""The problems of `algorist eval`: a fixed set of the benchmark, development sets or fresh ones."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import algorist
from algorist.batch import Batch
from algorist.commands.arguments import (
    add_sampler_options,
    parse_integers,
    parse_names,
    parse_sampler_options,
)
from algorist.data import DEVELOPMENT_SIZES, development, official
from algorist.errors import expect_unique

_COUNT = 32
_TEST = "test"


class Problems(NamedTuple):
    """A set of problems for each algorithm."""

    draw: Callable[[str], Batch]
    size: int | None = None
    """The size that was asked for; None for a fixed set."""


def add_problems(parser: ArgumentParser) -> None:
    """Declare the options that choose problems."""
    fixed = parser.add_argument_group("the benchmark's fixed sets", "Used unless --n is given.")
    fixed.add_argument(
        "--official",
        action="store_true",
        help="the official tests, at n = 64 (the default)",
    )
    fixed.add_argument("--split", choices=list(official.SPLITS), help=f"another (default: {_TEST})")
    fixed.add_argument("--samples", type=int, metavar="K", help="only the first K samples")
    fresh = parser.add_argument_group("other problems")
    fresh.add_argument("--n", type=parse_integers, metavar="N,N", help="fresh ones of these sizes")
    fresh.add_argument("--count", type=int, help=f"how many of each size (default: {_COUNT})")
    fresh.add_argument("--seed", type=int, help="seed of the draws (default: 0)")
    add_sampler_options(parser)
    fresh.add_argument(
        "--graphs",
        type=parse_names,
        metavar="A,B",
        help="with --n: sparse graphs of these families, er, ws or delaunay, scored as SALSA-CLRS "
        "does: the share of right nodes, and of graphs with no wrong one",
    )
    fresh.add_argument(
        "--development",
        action="store_true",
        help="the development sets, which are for comparing ideas: n = "
        f"{', '.join(map(str, DEVELOPMENT_SIZES))}, or those that --n names",
    )


def problem_sets(arguments: Namespace) -> tuple[list[Problems], bool]:
    """The problems that learners are scored on, and whether they are the official test."""
    if arguments.official and arguments.split not in (None, _TEST):
        raise ValueError(f"--split: got {arguments.split}, but --official is {_TEST}")
    if arguments.development or arguments.n is not None:
        option = "--development" if arguments.development else "--n"
        for name in ("official", "split", "samples"):
            if getattr(arguments, name) not in (None, False):
                raise ValueError(f"--{name}: only fixed sets have it, expected no {option}")
    if arguments.n is not None:
        expect_unique("--n", [str(n) for n in arguments.n])
    if arguments.n is None or arguments.development:
        for name in ("count", "seed", "option"):
            if getattr(arguments, name) not in (None, []):
                raise ValueError(f"--{name}: only fresh problems have it, expected --n too")
    if arguments.development:
        return [Problems(_development(n), n) for n in arguments.n or DEVELOPMENT_SIZES], False
    if arguments.n is not None:
        return [Problems(_fresh(n, arguments), n) for n in arguments.n], False
    split = arguments.split or _TEST
    draw = partial(official.first_samples, name=split, samples=arguments.samples)
    return [Problems(draw)], split == _TEST


def _development(n: int) -> Callable[[str], Batch]:
    if n not in DEVELOPMENT_SIZES:
        raise ValueError(f"--n: got {n}, but --development has n = {DEVELOPMENT_SIZES}")
    return lambda algorithm: development(algorithm, n)


def _fresh(n: int, arguments: Namespace) -> Callable[[str], Batch]:
    """A function that draws fresh problems of a size."""
    count = _COUNT if arguments.count is None else arguments.count
    seed = 0 if arguments.seed is None else arguments.seed
    given = parse_sampler_options(arguments.option)

    def draw(algorithm: str) -> Batch:
        try:
            return algorist.get(algorithm).sample(n, count, seed, given)
        except ValueError as error:
            raise ValueError(f"{algorithm}: {error}") from error

    return draw
