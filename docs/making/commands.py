"""The reference of the command line, from the parsers."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterator

from algorist.cli import COMMANDS


def reference() -> str:
    """A section for each command."""
    return "\n\n".join(map(_section, COMMANDS))


def _section(name: str) -> str:
    command = COMMANDS[name]
    parser = ArgumentParser(prog=f"algorist {name}", add_help=False)
    command.add_arguments(parser)
    parser.format_help()  # which finds the texts of settings
    said = f"{command.help[0].upper()}{command.help[1:]}."
    return "\n\n".join((f"## {name}", said, f"```\n{command.examples}\n```", *_groups(parser)))


def _groups(parser: ArgumentParser) -> Iterator[str]:
    """The arguments of each group that has some, as a table."""
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help != SUPPRESS]
        if actions:
            title = {"positional arguments": "Arguments", "options": "Options"}
            heading = title.get(group.title or "", (group.title or "").capitalize())
            said = f"\n\n{group.description}" if group.description else ""
            rows = "\n".join(_row(action) for action in actions)
            yield f"**{heading}**{said}\n\n| | |\n| --- | --- |\n{rows}"


def _row(action: Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or (action.dest or '').upper()}"
    names = ", ".join(f"`{option}{value}`" for option in action.option_strings)
    names = names or f"`{action.metavar or action.dest}`"
    text = (action.help or "").replace("|", "\\|").replace("*", "\\*")
    return f"| {names} | {text} |"
