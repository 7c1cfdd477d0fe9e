"""Arguments that several commands share: how they are read, and what they mean."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any

import algorist
from algorist.errors import unknown


def names(text: str) -> list[str]:
    """`a,b` as a list."""
    return [name for name in text.split(",") if name]


def of_family(family: str) -> list[str]:
    """The algorithms of a family."""
    families = {name: algorist.get(name).family for name in algorist.algorithms()}
    if family not in families.values():
        raise ValueError(unknown("family", family, set(families.values())))
    return [name for name, other in families.items() if other == family]


def add_options(parser: ArgumentParser) -> None:
    """Declare `--option`, for the samplers of algorithms."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the sampler, for example p=0.2 or p=0.1,0.5 (repeatable)",
    )


def options(texts: Iterable[str]) -> dict[str, Any]:
    """What `--option` was given; whether it makes sense is for the sampler to say."""
    return dict(_option(text) for text in texts)


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


def add_device(parser: ArgumentParser) -> None:
    """Declare `--device`."""
    parser.add_argument(
        "--device",
        default="auto",
        help="cpu, cuda, cuda:1, ..., or auto: a GPU if there is one (default: auto)",
    )


def device(arguments: Namespace) -> str:
    """The device that `--device` means on this machine."""
    import torch

    name: str = arguments.device
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(name)
    except RuntimeError:
        raise ValueError(f"--device: got {name!r}, expected cpu, cuda or auto") from None
    if kind.type == "cuda" and (kind.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"--device: got {name!r}, but there is no such GPU here")
    return name
