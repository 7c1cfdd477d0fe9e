"""Options made from the dataclasses of a configuration: one for each field, none by hand.

A field's annotation says how its option is read, and the text under it in the source is the help.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    Namespace,
)
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from algorist.commands.arguments import parse_integers, parse_names
from algorist.errors import unknown
from algorist.training.config import Config, change_settings, sections
from algorist.training.recipes import DEFAULT_RECIPE, IMPROVEMENTS, RECIPES, recipe, without


@dataclass(frozen=True)
class Setting:
    """One field of one section of a configuration."""

    section: str
    name: str
    kind: Any

    @property
    def place(self) -> str:
        """The name of its value among parsed arguments, unlike that of any other argument."""
        return f"{self.section}.{self.name}"

    def of(self, config: Config) -> Any:
        """Its value in a configuration."""
        return getattr(getattr(config, self.section), self.name)

    def add_to(self, group: Any) -> Action:
        """Declare the option; without it, nothing is set."""
        read: dict[str, Any]
        if self.kind is bool:
            read = {"action": BooleanOptionalAction}
        else:
            read = {"type": _reader(self.kind), "metavar": _METAVARS[self.kind]}
        flags = [f"--{self.name.replace('_', '-')}"]
        if self.kind == tuple[str, ...]:  # one at a time, or several
            read["action"] = "extend"
            flags = [flags[0].removesuffix("s"), *flags]
        action: Action = group.add_argument(*flags, dest=self.place, default=SUPPRESS, **read)
        return action

    def read(self, text: str) -> Any:
        """Parse a value of `--set`."""
        try:
            if self.kind is bool:
                return {"yes": True, "no": False}[text]
            return _reader(self.kind)(text)
        except (ValueError, KeyError, ArgumentTypeError):
            expected = "yes or no" if self.kind is bool else f"such as {_EXAMPLES[self.kind]}"
            raise ValueError(f"{self.name}: got {text!r}, expected a value {expected}") from None


def settings(section: str) -> Iterator[Setting]:
    """The fields of a section."""
    cls = sections()[section]
    kinds = typing.get_type_hints(cls)
    for f in fields(cls):
        yield Setting(section, f.name, kinds[f.name])


def setting(name: str) -> Setting:
    """The setting of that name, which may be written as the option is."""
    found = {own.name: own for section in sections() for own in settings(section)}
    plain = name.rpartition(".")[2].replace("-", "_")
    if plain not in found or name.rpartition(".")[0] not in ("", found[plain].section):
        raise ValueError(unknown("setting", name, found))
    return found[plain]


def field_texts(cls: type) -> dict[str, str]:
    """The text under each field of a dataclass, in one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for statement, below in zip(definition.body, definition.body[1:], strict=False):
        match statement, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                texts[name] = " ".join(text.split())
    return texts


def add_recipe(parser: ArgumentParser) -> None:
    """Declare `--recipe` and `--without`."""
    parser.add_argument(
        "--recipe",
        default=DEFAULT_RECIPE,
        help=f"where all settings start: {' or '.join(RECIPES)} (default: {DEFAULT_RECIPE})",
    )
    add_without(parser)


def add_without(parser: ArgumentParser) -> None:
    """Declare `--without`."""
    parser.add_argument(
        "--without",
        type=parse_names,
        action="extend",
        default=[],
        metavar="A,B",
        help=f"take away improvements of the recipe: {', '.join(IMPROVEMENTS)}",
    )


def make_config(arguments: Namespace, algorithms: Sequence[str], seeds: Sequence[int]) -> Config:
    """The configuration of the arguments, from a recipe."""
    config = apply_arguments(recipe(arguments.recipe, algorithms), arguments)
    check_sizes(arguments, [config])
    return replace(config, seeds=tuple(seeds))


def apply_arguments(config: Config, arguments: Namespace) -> Config:
    """A configuration without the improvements of `--without`, with changed settings."""
    return apply_settings(without(config, *arguments.without), arguments)


def check_sizes(arguments: Namespace, configs: Iterable[Config]) -> None:
    """Raise a `ValueError` for --sizes if all trainings use the fixed set."""
    if "data.sizes" in arguments and not any(config.data.online for config in configs):
        raise ValueError("--sizes: the fixed training set has its own, only --online has others")


def add_settings(
    parser: ArgumentParser, chosen: Iterable[str] | None = None, *, but: Iterable[str] = ()
) -> None:
    """Declare an option for every field of all sections, or of the chosen ones, but for some."""
    added: list[tuple[Setting, Action]] = []
    for section in chosen or sections():
        documentation = inspect.getdoc(sections()[section]) or ""
        group = parser.add_argument_group(section, documentation.split("\n")[0])
        added += [(own, own.add_to(group)) for own in settings(section) if own.name not in but]
    usual_help = parser.format_help

    def format_help() -> str:
        """Add the help of all options first, for which sources are read."""
        _add_texts(added)
        return usual_help()

    parser.format_help = format_help  # type: ignore[method-assign]


def _add_texts(added: Iterable[tuple[Setting, Action]]) -> None:
    """Give options the texts under their fields, and the defaults of all recipes."""
    configs = _recipes()
    texts = {section: field_texts(cls) for section, cls in sections().items()}
    for own, action in added:
        text = texts[own.section][own.name]
        default = _defaults({name: own.of(config) for name, config in configs.items()})
        text = f"{text[0].lower()}{text[1:].rstrip('.')} ({default})"
        action.help = text.replace("%", "%%")


def apply_settings(config: Config, arguments: Namespace) -> Config:
    """A configuration with those settings changed that were given."""
    given = {
        place.partition(".")[2]: tuple(value) if isinstance(value, list) else value
        for place, value in vars(arguments).items()
        if place.partition(".")[0] in sections() and "." in place
    }
    return change_settings(config, **given)


def _recipes() -> dict[str, Config]:
    """All defaults there are; the first is what one gets without further ado.

    Recipes of plug-ins that fail have none: who chooses one is told why.
    """
    one, many, found = ["bfs"], ["bfs", "dfs"], {}
    for name in RECIPES:
        with suppress(ValueError):
            own = {name: recipe(name, one), f"{name} for many tasks": recipe(name, many)}
            found.update(own)
    return found


def _defaults(values: dict[str, Any]) -> str:
    """The defaults of all recipes in few words: only those that differ from the first are named."""
    (_, first), *others = values.items()
    texts = [f"default: {_text(first)}"]
    for name, value in others:
        alike = values.get(name.removesuffix(" for many tasks"), first)
        if value != (first if name in RECIPES else alike):
            texts.append(f"{name}: {_text(value)}")
    return "; ".join(texts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value) if value != "" else "none"


def _texts(text: str) -> tuple[str, ...]:
    """`a,b` as texts."""
    return tuple(text.split(","))


_EXAMPLES = {
    int: "64",
    float: "0.001",
    str: "mpnn",
    tuple[int, ...]: "4,7",
    tuple[str, ...]: "a=0.1",
}
_METAVARS = {
    int: "N",
    float: "X",
    str: "NAME",
    tuple[int, ...]: "N,N",
    tuple[str, ...]: "NAME=X",
}
_READERS: dict[Any, Callable[[str], Any]] = {
    tuple[int, ...]: parse_integers,
    tuple[str, ...]: _texts,
}


def _reader(kind: Any) -> Callable[[str], Any]:
    reader: Callable[[str], Any] = _READERS.get(kind, kind)
    return reader
