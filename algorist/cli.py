"""The command `algorist`: parses, calls, prints."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from numba.core.errors import NumbaError

import algorist
from algorist.commands import Command
from algorist.commands.bench import command as bench_command
from algorist.commands.eval import command as eval_command
from algorist.commands.export import command as export_command
from algorist.commands.import_official import command as import_official_command
from algorist.commands.list import command as list_command
from algorist.commands.pack import command as pack_command
from algorist.commands.report import command as report_command
from algorist.commands.reproduce import command as reproduce_command
from algorist.commands.resume import command as resume_command
from algorist.commands.run import command as run_command
from algorist.commands.sample import command as sample_command
from algorist.commands.sweep import command as sweep_command
from algorist.commands.text import command as text_command
from algorist.commands.train import command as train_command
from algorist.commands.view import command as view_command
from algorist.errors import nearest
from algorist.machine import keep_freed_memory
from algorist.plugin_errors import reason
from algorist.report.terminal import Terminal, discard_output, print_error

COMMANDS: dict[str, Command] = {
    "list": list_command,
    "sample": sample_command,
    "text": text_command,
    "train": train_command,
    "resume": resume_command,
    "eval": eval_command,
    "run": run_command,
    "view": view_command,
    "reproduce": reproduce_command,
    "sweep": sweep_command,
    "report": report_command,
    "export": export_command,
    "pack": pack_command,
    "import-official": import_official_command,
    "bench": bench_command,
}
"""To add a command, write a module in `algorist/commands` and name it here."""

PLUGINS = "ALGORIST_PLUGINS"
WRONG_INPUT, INTERRUPTED = 2, 130
_SYNONYMS = {"n": ("random",), "random": ("n",)}
"""Options that are called otherwise in another command."""
_OUT_OF_MEMORY = re.compile("can't allocate memory|out of memory")
"""How PyTorch says so, whose errors are of no kind of their own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _share_cores()
    keep_freed_memory()
    try:
        with _warnings_on_one_line():
            code = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
    except (ValueError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
            discard_output(sys.stdout)
            return 0
        print_error(_described(error))
        return WRONG_INPUT
    except NumbaError as error:
        print_error(reason(error))
        return WRONG_INPUT
    except RuntimeError as error:
        if not _OUT_OF_MEMORY.search(str(error)):
            raise
        print_error(f"there is not enough memory ({reason(error)})")
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _described(error: Exception) -> str:
    """What an error says; that of a file names the file first, without the system's number."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    file = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    fix = "; free some and try again" if error.errno == errno.ENOSPC else ""
    return f"{file}{error.strerror[0].lower()}{error.strerror[1:]}{fix}"


def _share_cores() -> None:
    """Let threads of PyTorch that wait give up their core soon, unless the user has said how long.

    Usually they try for so long that two commands on the same cores take forty times as long.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    """Warnings are for the user, who does not care which line of ours has them."""
    usual = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"algorist: warning: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _run(argv: list[str]) -> int:
    given, rest = plugin_parser().parse_known_args(argv)
    files = os.environ.get(PLUGINS, "").split(os.pathsep) + given.plugin
    for file in filter(None, files):
        algorist.load_plugin(file)
    parser = command_parser(rest)
    if not rest:
        parser.print_help()
        return 0
    arguments, left = parser.parse_known_args(rest, argparse.Namespace(words=argv))
    if left:
        command = f"{parser.prog} {arguments.command}"
        raise ValueError(f"unrecognized arguments: {' '.join(left)} (see {command} --help)")
    return COMMANDS[arguments.command].run(arguments, Terminal()) or 0


class _Parser(argparse.ArgumentParser):
    """A parser whose errors go the way of all others: one line, no usage."""

    refuses_unknown = False
    """Whether it refuses what it does not know itself, so that its own help is named."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; words behind options join the list of those before them, where there is one."""
        found, rest = super().parse_known_args(args, namespace)
        lists = [action for action in self._get_positional_actions() if action.nargs == "*"]
        if lists and all(map(self._is_word, rest)):
            setattr(found, lists[-1].dest, [*getattr(found, lists[-1].dest), *rest])
            rest = []
        if rest and self.refuses_unknown:
            self._refuse(rest)
        return found, rest

    def _refuse(self, words: Sequence[str]) -> NoReturn:
        """Raise an error that names the words and, for a mistyped option, the one that is meant."""
        option = next((word.split("=")[0][2:] for word in words if word.startswith("--")), None)
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        near = next((name for name in _SYNONYMS.get(option or "", ()) if name in known), None)
        near = near or (nearest(option, known) if option else None)
        hint = f": did you mean --{near}?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is no choice, and name the one that is meant where that can be told."""
        near = nearest(value, action.choices) if action.choices is not None else None
        if near is not None and value not in (action.choices or ()):
            text = f"invalid choice: {value!r}: did you mean {near!r}?"
            raise argparse.ArgumentError(action, text)
        super()._check_value(action, value)

    def _is_word(self, text: str) -> bool:
        return not text.startswith("-") or bool(self._negative_number_matcher.match(text))


def plugin_parser() -> _Parser:
    """Plug-ins are loaded before anything else is parsed, wherever they stand."""
    parser = _Parser(prog="algorist", add_help=False, allow_abbrev=False)
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file that registers algorithms of your own (repeatable; the environment "
        f"variable {PLUGINS} names such files too, separated by {os.pathsep!r})",
    )
    return parser


def command_parser(argv: Sequence[str]) -> _Parser:
    """The parser of a command line: commands that it does not name have no arguments yet.

    Those of some are read from classes in modules that take seconds to import.
    """
    plugin = plugin_parser()
    parser = _Parser(
        prog="algorist",
        description="Thirty classical algorithms as exact data, and nets that learn them.",
        epilog=_epilog([command.examples.split("\n")[0] for command in COMMANDS.values()]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[plugin],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"algorist {algorist.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=_epilog(command.examples.split("\n")),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[plugin],
            allow_abbrev=False,
        )
        if name in argv:
            command.add_arguments(sub)
            sub.refuses_unknown = True
    return parser


def _epilog(examples: Sequence[str]) -> str:
    return "examples:\n" + "\n".join(f"  {example}" for example in examples)
