"""Machine code on disk: kept between processes, dropped when anything it is made of changes."""

import os
import shutil
import subprocess
import sys

import pytest

from algorist import compiled

MAIN = """
from algorist.algorithms.compiling import specialise
from mine import double

def template(x):
    return function(x)

print(specialise(template, double)(20))
"""
MINE = """
from helpers import ALSO, SHIFT, TABLE, twice

def double(x):
    return twice(x) + SHIFT + 2 * ALSO + TABLE[0]
"""
HELPERS = """
from algorist import compiled

import numpy as np

SHIFT, ALSO = 2, -1
TABLE = np.array([0, 3])

@compiled
def twice(x):
    return 2 * x
"""


def answer(folder):
    """What the program in a folder prints, in a fresh process."""
    root = os.path.dirname(os.path.dirname(__file__))
    environment = {**os.environ, "PYTHONPATH": root, "NUMBA_CACHE_DIR": ""}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # edits within a second are edits too
    command = [sys.executable, "main.py"]
    ended = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return int(ended.stdout)


def entries(folder):
    return sorted(folder.glob("__pycache__/mine.*.nbc"))


@pytest.fixture(scope="module")
def once_run(tmp_path_factory):
    """A small program of three files that has run once, and a copy of it as it was then."""
    folder = tmp_path_factory.mktemp("program")
    for name, text in {"main.py": MAIN, "mine.py": MINE, "helpers.py": HELPERS}.items():
        (folder / name).write_text(text)
    assert answer(folder) == 40
    return folder, shutil.copytree(folder, tmp_path_factory.mktemp("kept") / "program")


@pytest.fixture
def program(once_run):
    """The folder of the program, with all files and times as they were after it had run once."""
    folder, kept = once_run
    shutil.rmtree(folder)
    return shutil.copytree(kept, folder)


def test_machine_code_is_kept_beside_the_file_of_the_function(program):
    (entry,) = entries(program)
    written = entry.stat().st_mtime_ns
    assert answer(program) == 40
    assert [path.stat().st_mtime_ns for path in entries(program)] == [written]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("mine.py", "twice(x)", "twice(x) + 1", 41),
        ("helpers.py", "2 * x", "3 * x", 60),
        ("helpers.py", "= 2, -1", "= 7, -1", 45),
        ("helpers.py", "= 2, -1", "= -1, 2", 43),
        ("helpers.py", "[0, 3]", "[3, 0]", 43),
        ("main.py", "function(x)", "-function(x)", -40),
    ],
    ids=["the function", "a helper", "a constant", "two constants", "a table", "the template"],
)
def test_a_change_is_never_answered_by_old_machine_code(program, file, old, new, expected):
    text = (program / file).read_text()
    assert old in text
    (program / file).write_text(text.replace(old, new, 1))
    assert answer(program) == expected


def test_what_is_typed_at_a_prompt_is_compiled_too():
    typed = MAIN.replace("from mine import double", "def double(x):\n    return 2 * x\n")
    root = os.path.dirname(os.path.dirname(__file__))
    ended = subprocess.run(
        [sys.executable],
        input=typed.encode(),
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
    )
    assert ended.stdout == b"40\n"


def test_python_may_call_a_helper_before_and_after_compiled_code_does():
    @compiled
    def half(x):
        return x / 2

    @compiled
    def quarter(x):
        return half(half(x))

    assert half(3) == 1.5
    assert quarter(3) == 0.75
    assert half(5.0) == 2.5
