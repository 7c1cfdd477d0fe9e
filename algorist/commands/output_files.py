"""Files and folders that commands write: checked before the work, which may take hours."""

from __future__ import annotations

import os
from pathlib import Path

from algorist.atomic import named_errors
from algorist.report.terminal import Terminal
from algorist.weights import SAVED


def check_output_file(option: str, file: str | None) -> None:
    """Raise a `ValueError` for a file that cannot be written; its folder is made."""
    if file is None:
        return
    if not file:
        raise ValueError(f"{option}: got '', expected a file")
    if Path(file).is_dir():
        raise ValueError(f"{option}: got {file}, which is a folder, expected a file")
    check_output_folder(option, str(Path(file).parent))
    Path(file).parent.mkdir(parents=True, exist_ok=True)


def check_learner_file(option: str, file: str) -> None:
    """Raise a `ValueError` for a file that cannot be written, or that holds something else."""
    check_output_file(option, file)
    if Path(file).exists() and not file.endswith(SAVED):
        raise ValueError(
            f"{option}: got {file}, which exists, expected a new file or one that ends in {SAVED}"
        )


def write_named(file: Path | str, text: str) -> None:
    """Write a text, with errors that name its file."""
    with named_errors(Path(file)):
        Path(file).write_text(text, encoding="utf-8")


def print_learner_file(file: str, terminal: Terminal) -> None:
    """Say where a learner was written and how to read it."""
    terminal.print(f"written to {file}: algorist.load({file!r}) reads it")


def check_output_folder(option: str, folder: str | None) -> None:
    """Raise a `ValueError` for a folder that cannot be made."""
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
