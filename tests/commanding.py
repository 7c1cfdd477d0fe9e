"""Trainings from the command line, for tests of commands."""

from algorist import cli
from algorist.cli import main

SMALL = ["--hidden", "8", "--batch-size", "4", "--device", "cpu"]


def parsed(*words):
    return cli.command_parser(words).parse_args(words)


def train(folder, *words):
    return main(["train", *words, "--out", str(folder), *SMALL])
