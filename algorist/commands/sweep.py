"""`algorist sweep`: a grid of trainings, on this machine or on a cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import product
from typing import TYPE_CHECKING

from algorist.commands import Command
from algorist.commands.arguments import (
    add_at_once,
    add_computing,
    add_tasks,
    expect_place_of_folder,
    names,
    whole_numbers,
)
from algorist.errors import each_once, positive
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.experiments.plan import Change, Part

_RETRIES = 2
_TOGETHER = "together"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    from algorist.commands.conduct import add_stop
    from algorist.commands.settings import add_settings

    parser.usage = "algorist sweep ALGORITHM ... --out FOLDER [OPTION ...]"
    add_tasks(parser, "a net is trained for each")
    _add_grid(parser)
    parser.add_argument(
        "--out", required=True, metavar="FOLDER", help="for results (sweep.csv) and failures"
    )
    parser.add_argument("--runs", metavar="FOLDER", help="for runs (default: runs below --out)")
    parser.add_argument(
        "--samples", type=int, metavar="K", help="test on the first K samples of each algorithm"
    )
    parser.add_argument(
        "--pack",
        metavar="FOLDER",
        help="train nothing: write what has begun in few bytes, to go on elsewhere (--runs FOLDER)",
    )
    _add_places(parser)
    add_stop(parser)
    add_computing(parser, training=True)
    add_settings(parser)


def _add_grid(parser: ArgumentParser) -> None:
    from algorist.commands.settings import add_without
    from algorist.training.recipes import DEFAULT_RECIPE, RECIPES

    group = parser.add_argument_group("the grid", "Every combination is trained.")
    group.add_argument(
        "--seeds",
        type=whole_numbers,
        default=(0,),
        metavar="N,N",
        help="a run for each (default: 0)",
    )
    group.add_argument(
        "--recipes",
        "--recipe",
        type=names,
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


def _add_places(parser: ArgumentParser) -> None:
    add_at_once(parser, "default: as many as there are cores or GPUs for")
    group = parser.add_argument_group("where", "Every run is a process of its own.")
    group.add_argument(
        "--cores",
        type=int,
        metavar="N",
        help="of each run: threads, or processes that prepare data for a GPU "
        "(default: 1, or 4 with a GPU)",
    )
    group.add_argument(
        "--per-gpu", type=int, default=1, metavar="N", help="runs that share a GPU (default: 1)"
    )
    group.add_argument(
        "--retries",
        type=int,
        default=_RETRIES,
        metavar="N",
        help=f"how often a run whose process dies is tried again (default: {_RETRIES})",
    )
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="use a Ray cluster, whose machines share the folders: auto, local, HOST:PORT or "
        "ray://HOST:PORT",
    )


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Do what is left of the sweep."""
    from algorist.commands.conduct_sweep import conduct_sweep, pack_sweep
    from algorist.training.parallel import expect_alone

    expect_alone()
    for option in ("out", "runs", "pack"):
        expect_place_of_folder(f"--{option}", getattr(arguments, option))
    for option in ("samples", "at_once", "cores", "per_gpu"):
        if getattr(arguments, option) is not None:
            positive(f"--{option.replace('_', '-')}", getattr(arguments, option))
    if arguments.retries < 0:
        raise ValueError(f"--retries: got {arguments.retries}, expected 0 or more")
    each_once("--seeds", [str(seed) for seed in arguments.seeds])
    parts = sweep_parts(arguments)
    if arguments.pack is not None:
        return pack_sweep(parts, arguments, terminal)
    return conduct_sweep(parts, arguments, terminal)


def sweep_parts(arguments: Namespace) -> list[Part]:
    """The grid that the arguments span."""
    from algorist.commands.settings import check_sizes
    from algorist.commands.train import named_tasks
    from algorist.experiments.grid import grid

    named = named_tasks(arguments)
    tasks = {_TOGETHER: named} if arguments.together else {name: [name] for name in named}
    parts = grid(each_once("--recipes", arguments.recipes), _variants(arguments), tasks)
    check_sizes(arguments, (part.config for part in parts))
    return parts


def _variants(arguments: Namespace) -> dict[str, Change]:
    """What is changed in the recipes, by the values of the settings that vary."""
    from algorist.experiments.grid import variant_of

    axes = [_axis(text, arguments) for text in arguments.set]
    each_once("--set", [name for name, _ in axes])
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
    texts = each_once(f"--set {name}", values.split(between))
    for value in texts:
        own.read(value)
    return own.name, texts


def _change(arguments: Namespace, chosen: dict[str, str]) -> Change:
    """Changes a recipe as all parts and then as those with some values are."""
    from algorist.commands.settings import changed, setting

    settings = [setting(name) for name in chosen]
    values = {own.place: own.read(chosen[own.name]) for own in settings}
    given = Namespace(**{**vars(arguments), **values})
    return lambda config: changed(config, given)


command = Command(
    help="train a grid of algorithms, seeds, recipes and settings, here or on a cluster",
    examples="""\
algorist sweep bfs dfs --seeds 0,1,2 --out sweeps/search
algorist sweep --family sorting --recipes ibarz2022,clrs2022 --seeds 0,1,2 --out sweeps/sorting
algorist sweep dijkstra --set hidden=64,128 --set learning-rate=1e-3,3e-4 --out sweeps/width
algorist sweep --all --seeds 0,1,2 --out sweeps/all --at-once 4 --stop-after 9m
algorist sweep --all --seeds 0,1,2 --out /shared/all --ray auto""",
    add_arguments=add_arguments,
    run=run,
)
