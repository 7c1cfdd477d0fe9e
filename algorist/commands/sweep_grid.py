"""The grid of `algorist sweep`: its options, and the parts that they make."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import product
from typing import TYPE_CHECKING

from algorist.commands.arguments import named_algorithms, parse_integers, parse_names
from algorist.errors import expect_unique

if TYPE_CHECKING:
    from algorist.experiments.plan import Change, Part

_TOGETHER = "together"
"""The name of the task of a net for all algorithms."""


def add_grid(parser: ArgumentParser) -> None:
    """Declare the options of the grid."""
    from algorist.commands.settings import add_without
    from algorist.training.recipes import DEFAULT_RECIPE, RECIPES

    group = parser.add_argument_group("the grid", "Every combination is trained.")
    group.add_argument(
        "--seeds",
        type=parse_integers,
        default=(0,),
        metavar="N,N",
        help="a run for each (default: 0)",
    )
    group.add_argument(
        "--recipes",
        "--recipe",
        type=parse_names,
        default=[DEFAULT_RECIPE],
        metavar="A,B",
        help=f"where settings start: {', '.join(RECIPES)} (default: {DEFAULT_RECIPE})",
    )
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=X,X",
        help="values of a setting, for example hidden=64,128 (repeatable); / stands between lists: "
        "sizes=4,7/11,16",
    )
    group.add_argument(
        "--together", action="store_true", help="train one net for all algorithms, not one for each"
    )
    group.add_argument(
        "--lockstep",
        action="store_true",
        help="train the seeds of a net in one run, which is quicker on a GPU",
    )
    add_without(parser)


def sweep_parts(arguments: Namespace) -> list[Part]:
    """The grid that the arguments span."""
    from algorist.commands.settings import check_sizes
    from algorist.experiments.grid import grid

    named = named_algorithms(arguments)
    tasks = {_TOGETHER: named} if arguments.together else {name: [name] for name in named}
    parts = grid(expect_unique("--recipes", arguments.recipes), _variants(arguments), tasks)
    check_sizes(arguments, (part.config for part in parts))
    return parts


def _variants(arguments: Namespace) -> dict[str, Change]:
    """What is changed in the recipes, by the values of the settings that vary."""
    from algorist.experiments.grid import variant_of

    axes = [_axis(text, arguments) for text in arguments.set]
    expect_unique("--set", [name for name, _ in axes])
    variants: dict[str, Change] = {}
    for values in product(*(texts for _, texts in axes)):
        chosen = dict(zip([name for name, _ in axes], values, strict=True))
        variants[variant_of(chosen)] = _change(arguments, chosen)
    return variants


def _axis(text: str, arguments: Namespace) -> tuple[str, list[str]]:
    """The name of a setting and the texts of its values."""
    from algorist.commands.settings import setting

    name, equals, values = text.partition("=")
    if not (name and equals and values):
        raise ValueError(f"--set: got {text!r}, expected NAME=X,X, for example hidden=64,128")
    own = setting(name)
    if own.place in vars(arguments):
        raise ValueError(f"--set: {name} is also given by --{own.name.replace('_', '-')}")
    between = "/" if own.kind == tuple[int, ...] else ","
    texts = expect_unique(f"--set {name}", values.split(between))
    for value in texts:
        own.read(value)
    return own.name, texts


def _change(arguments: Namespace, chosen: dict[str, str]) -> Change:
    """Changes a recipe as all parts and then as those with some values are."""
    from algorist.commands.settings import apply_arguments, setting

    settings = [setting(name) for name in chosen]
    values = {own.place: own.read(chosen[own.name]) for own in settings}
    given = Namespace(**{**vars(arguments), **values})
    return lambda config: apply_arguments(config, given)
