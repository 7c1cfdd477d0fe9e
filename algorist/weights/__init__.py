"""Weights that come with the package: one safetensors file for each learner, known by its name."""

from __future__ import annotations

import warnings
from pathlib import Path

FOLDER = Path(__file__).parent
DEFAULT = "generalist"
"""The learner that commands use unless they are given another."""

FORMER_NAMES = {"algorist2026": "generalist"}
"""What replaced learners that were shipped by another name."""


def present_name(name: str) -> str:
    """What a shipped learner is called today; a former name is told with a warning."""
    now = FORMER_NAMES.get(name, name)
    if now != name:
        warnings.warn(f"the learner {name!r} is called {now!r} now", stacklevel=3)
    return now


SPARSE = "sparse"
"""The folder of learners for sparse graphs, which the page does not draw."""
SAVED = ".safetensors"
"""How files of learners end."""


def shipped() -> dict[str, Path]:
    """The files of all shipped learners; the name of one in a folder is `folder/name`."""
    files = sorted(FOLDER.rglob(f"*{SAVED}"))
    return {_name(file): file for file in files}


def models() -> list[str]:
    """The names that users give: of single learners, and of folders with one for each algorithm."""
    return list(dict.fromkeys(name.split("/")[0] for name in shipped()))


def _name(file: Path) -> str:
    return file.relative_to(FOLDER).as_posix().removesuffix(SAVED)
