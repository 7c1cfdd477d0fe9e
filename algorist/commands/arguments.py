"""Arguments that several commands share: how they are read, and what they mean."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import algorist
from algorist.errors import each_once, unknown
from algorist.plugins import shell
from algorist.report.terminal import Terminal
from algorist.weights import DEFAULT, SAVED

if TYPE_CHECKING:
    from algorist.model.compute_config import ComputeConfig
    from algorist.model.learner import Learner


def names(text: str) -> list[str]:
    """`a,b` as a list."""
    found = [name for name in text.split(",") if name]
    if not found:
        raise ArgumentTypeError(f"got {text!r}, expected names, such as a,b")
    return found


def whole_numbers(text: str) -> tuple[int, ...]:
    """`0,1,2` as numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        message = f"got {text!r}, expected whole numbers, for example 4,7"
        raise ArgumentTypeError(message) from None


def of_family(family: str) -> list[str]:
    """The algorithms of a family."""
    families = {name: algorist.get(name).family for name in algorist.algorithms()}
    if family not in families.values():
        raise ValueError(unknown("family", family, set(families.values())))
    return [name for name, other in families.items() if other == family]


def add_tasks(parser: ArgumentParser, text: str = "the tasks") -> None:
    """Declare which algorithms it is about."""
    parser.add_argument("algorithms", nargs="*", default=[], metavar="ALGORITHM", help=text)
    parser.add_argument("--family", help="all algorithms of this family")
    parser.add_argument("--all", action="store_true", help="all algorithms")


def tasks(arguments: Namespace) -> list[str]:
    """What the options of `add_tasks` name, each once."""
    named = list(arguments.algorithms)
    named += of_family(arguments.family) if arguments.family is not None else []
    named += algorist.algorithms() if arguments.all else []
    return list(dict.fromkeys(named))


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
    given = [_option(text) for text in texts]
    each_once("--option", [name for name, _ in given])
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


def add_computing(parser: ArgumentParser, *, training: bool = False) -> None:
    """Declare how things are computed: `--device`, `--kernels` and so on."""
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
        "--at-once", type=int, metavar="N", help=f"train so many at the same time ({default})"
    )


def computing(arguments: Namespace) -> ComputeConfig:
    """What the options of `add_computing` mean on this machine."""
    from algorist.machine import find_device
    from algorist.model.compute_config import ComputeConfig

    given = {name: getattr(arguments, name, None) for name in ("graphs", "workers")}
    return ComputeConfig(
        find_device(arguments.device),
        arguments.kernels,
        arguments.precision,
        **{name: value for name, value in given.items() if value is not None},
    )


MODEL = "a run's folder, a saved learner, or a name that `algorist list --models` shows"
SEVERAL = "; also a folder of such, named by their algorithms, as `specialists` is"


def add_model(parser: ArgumentParser) -> None:
    """Declare `--model`."""
    text = f"{MODEL}{SEVERAL} (default: {DEFAULT})"
    parser.add_argument("--model", default=DEFAULT, metavar="MODEL", help=text)


def loaded(model: str, arguments: Namespace) -> Learner:
    """A saved learner, computed as the options of `add_computing` say."""
    from algorist.training.saved_learners import load

    _expect_named(model)
    how = computing(arguments)
    learner = load(model, how.device)
    how.apply(learner.net)
    return learner


def loaded_for(wanted: Iterable[str], model: str, arguments: Namespace) -> dict[str, Learner]:
    """The learner for each algorithm: for those wanted, or for all that there are."""
    from algorist.training.saved_learners import members

    _expect_named(model)
    several = members(model)
    if several:
        return _loaded_each(known(wanted, several), several, model, arguments)
    learners = loaded(model, arguments).by_algorithm()
    return {name: learners[name] for name in known(wanted, learners)}


def _expect_named(model: str) -> None:
    if not model:
        raise ValueError(f"MODEL: got '', expected {MODEL}")


def _loaded_each(
    names: Sequence[str], several: Mapping[str, str], model: str, arguments: Namespace
) -> dict[str, Learner]:
    """Of several learners those for some algorithms, as far as they have begun."""
    from algorist.training.saved_learners import not_begun

    waiting = [name for name in not_begun(model) if name in names]
    how = f"not begun: {', '.join(waiting)}; to go on: {shell('resume', model)}"
    if len(waiting) == len(names):
        raise ValueError(f"{model}: {how}")
    if waiting:
        Terminal(stderr=True).print(how)
    return {name: loaded(several[name], arguments) for name in names if name not in waiting}


def known(wanted: Iterable[str], algorithms: Iterable[str]) -> list[str]:
    """The algorithms that are wanted, each once, if they are among those known; or all."""
    from algorist.weights import models

    there = list(algorithms)
    for name in wanted:
        if name in there:
            continue
        if name in models():
            raise ValueError(
                f"{name}: got a model, expected an algorithm; "
                "models to compare go first, without --model"
            )
        if name in algorist.algorithms():  # not mistyped
            names = ", ".join(there)
            raise ValueError(f"unknown algorithm for this learner {name!r}: known: {names}")
        raise ValueError(unknown("algorithm for this learner", name, there))
    return list(dict.fromkeys(wanted)) or there


def expect_place_of_file(option: str, file: str | None) -> None:
    """Complain about a file that cannot be written, at once, not after an hour of testing.

    The folder that it is to lie in is made.
    """
    if file is None:
        return
    if not file:
        raise ValueError(f"{option}: got '', expected a file")
    if Path(file).is_dir():
        raise ValueError(f"{option}: got {file}, which is a folder, expected a file")
    expect_place_of_folder(option, str(Path(file).parent))
    Path(file).parent.mkdir(parents=True, exist_ok=True)


def expect_place_of_learner(option: str, file: str) -> None:
    """Complain about a file that cannot be written, or that holds something else."""
    expect_place_of_file(option, file)
    if Path(file).exists() and not file.endswith(SAVED):
        raise ValueError(
            f"{option}: got {file}, which exists, expected a new file or one that ends in {SAVED}"
        )


def say_where_learner_is(file: str, terminal: Terminal) -> None:
    """Tell how to read a learner that was written."""
    terminal.print(f"written to {file}: algorist.load({file!r}) reads it")


def expect_place_of_folder(option: str, folder: str | None) -> None:
    """Complain about a folder that cannot be made, at once, not after an hour of training."""
    if folder is None:
        return
    if not folder:
        raise ValueError(f"{option}: got '', expected a folder")
    there = [path for path in (Path(folder), *Path(folder).parents) if path.exists()]
    for path in there:
        if not path.is_dir():
            raise ValueError(f"{option}: got {path}, which is a file, expected a folder")
    if not os.access(there[0], os.W_OK):
        raise ValueError(f"{option}: got a place in {there[0]}, where nothing can be written")
