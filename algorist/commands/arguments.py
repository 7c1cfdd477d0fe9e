"""Options that several commands share: their declarations and parsers."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import algorist
from algorist.errors import expect_unique, unknown

if TYPE_CHECKING:
    from algorist.model.compute_config import ComputeConfig


def parse_names(text: str) -> list[str]:
    """Read `a,b` as a list."""
    found = [name for name in text.split(",") if name]
    if not found:
        raise ArgumentTypeError(f"got {text!r}, expected names, such as a,b")
    return found


def parse_integers(text: str) -> tuple[int, ...]:
    """Read `0,1,2` as integers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        message = f"got {text!r}, expected whole numbers, for example 4,7"
        raise ArgumentTypeError(message) from None


def algorithms_of_family(family: str) -> list[str]:
    """The algorithms of a family."""
    families = {name: algorist.get(name).family for name in algorist.algorithms()}
    if family not in families.values():
        raise ValueError(unknown("family", family, set(families.values())))
    return [name for name, other in families.items() if other == family]


def add_algorithms(parser: ArgumentParser, text: str = "the tasks") -> None:
    """Declare the algorithms that a command is about."""
    parser.add_argument("algorithms", nargs="*", default=[], metavar="ALGORITHM", help=text)
    parser.add_argument("--family", help="all algorithms of this family")
    parser.add_argument("--all", action="store_true", help="all algorithms")


def chosen_algorithms(arguments: Namespace) -> list[str]:
    """The algorithms that the options of `add_algorithms` name, each once."""
    named = list(arguments.algorithms)
    named += algorithms_of_family(arguments.family) if arguments.family is not None else []
    named += algorist.algorithms() if arguments.all else []
    return list(dict.fromkeys(named))


def named_algorithms(arguments: Namespace) -> list[str]:
    """The algorithms that the options name; raises a `ValueError` if there are none."""
    named = chosen_algorithms(arguments)
    if not named:
        raise ValueError("algorithms: got none, expected names, --family or --all")
    return named


def add_sampler_options(parser: ArgumentParser) -> None:
    """Declare `--option`, for the samplers of algorithms."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the sampler, for example p=0.2 or p=0.1,0.5 (repeatable)",
    )


def parse_sampler_options(texts: Iterable[str]) -> dict[str, Any]:
    """The values of `--option` by name; samplers check them."""
    given = [_option(text) for text in texts]
    expect_unique("--option", [name for name, _ in given])
    return dict(given)


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ValueError(f"--option: got {text!r}, expected NAME=VALUE, for example p=0.2")
    numbers = tuple(_number(part) for part in value.split(","))
    return name, numbers if len(numbers) > 1 else numbers[0]


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def add_compute_options(parser: ArgumentParser, *, training: bool = False) -> None:
    """Declare `--device`, `--kernels` and the other options that results do not depend on."""
    group = parser.add_argument_group("computing", "None of it changes results, but for rounding.")
    group.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda, cuda:1, ..., or auto: a GPU if there is one (default: auto)",
    )
    group.add_argument(
        "--kernels",
        default="auto",
        metavar="NAME",
        help="plain, fused (for GPUs), or auto: the fastest that the device has (default: auto)",
    )
    precision = "tf32" if training else "fp32"
    group.add_argument(
        "--precision",
        default=precision,
        metavar="NAME",
        help=f"how a GPU rounds in matrix products: tf32, fp32 or bf16 (default: {precision})",
    )
    if training:
        group.add_argument(
            "--graphs",
            action=BooleanOptionalAction,
            default=True,
            help="capture steps as CUDA graphs, on a GPU (default: yes)",
        )
        group.add_argument(
            "--workers",
            type=int,
            default=0,
            metavar="N",
            help="processes that prepare data (default: 1, or all cores but two for a GPU)",
        )


def add_at_once(parser: ArgumentParser, default: str) -> None:
    """Declare `--at-once`: how many nets are trained at the same time."""
    parser.add_argument(
        "--at-once", type=int, metavar="N", help=f"train this many at the same time ({default})"
    )


def compute_config(arguments: Namespace) -> ComputeConfig:
    """The configuration that the options of `add_compute_options` give on this machine."""
    from algorist.machine import find_device
    from algorist.model.compute_config import ComputeConfig

    given = {name: getattr(arguments, name, None) for name in ("graphs", "workers")}
    return ComputeConfig(
        find_device(arguments.device),
        arguments.kernels,
        arguments.precision,
        **{name: value for name, value in given.items() if value is not None},
    )
