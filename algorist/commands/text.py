"""`algorist text`: questions and answers for language models."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import algorist
from algorist.atomic import named_errors
from algorist.commands import Command
from algorist.commands.arguments import add_sampler_options, parse_sampler_options
from algorist.commands.output_files import check_output_file
from algorist.errors import format_count
from algorist.report.terminal import Terminal


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what can be given."""
    parser.add_argument("algorithm", help="a name that `algorist list` shows")
    parser.add_argument("--n", type=int, default=8, help="size of the problems (default: 8)")
    parser.add_argument("--count", type=int, default=1, help="how many texts (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draws (default: 0)")
    parser.add_argument(
        "--hints", action="store_true", help="show the steps before the result, not it alone"
    )
    parser.add_argument(
        "--decimals",
        type=_decimals,
        default=3,
        metavar="D",
        help="cut inputs to this many decimal places; none: keep all digits (default: 3)",
    )
    add_sampler_options(parser)
    parser.add_argument(
        "--out", metavar="FILE.jsonl", help="write the texts to this file instead of printing them"
    )


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Print texts as JSON, one object a line, or write them to a file."""
    check_output_file("--out", arguments.out)
    texts = algorist.data.text(
        arguments.algorithm,
        n=arguments.n,
        count=arguments.count,
        seed=arguments.seed,
        hints=arguments.hints,
        decimals=arguments.decimals,
        **parse_sampler_options(arguments.option),
    )
    if arguments.out is None:
        _write(texts, terminal.file)
        return
    out = Path(arguments.out)
    with named_errors(out), out.open("w", encoding="utf-8") as file:
        _write(texts, file)
    terminal.print(f"{format_count(arguments.count, 'text')}, written to {arguments.out}")


def _write(texts: Iterable[dict[str, Any]], file: IO[str]) -> None:
    for each in texts:
        file.write(f"{json.dumps(each)}\n")


def _decimals(text: str) -> int | None:
    if text == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"got {text!r}, expected a whole number or none") from None


command = Command(
    help="make questions and answers for language models (CLRS-Text)",
    examples="""\
algorist text insertion_sort
algorist text insertion_sort --n 8 --count 100 --seed 0 --hints --out texts.jsonl
algorist text dijkstra --n 16 --count 1000 --decimals 2 --option p=0.2 --out texts.jsonl""",
    add_arguments=add_arguments,
    run=run,
)
