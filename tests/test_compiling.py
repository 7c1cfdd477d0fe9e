"""Machine code on disk: kept between processes, dropped when anything it is made of changes."""

import os
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


@pytest.fixture
def answer(tmp_path):
    """Runs a small program of three files in a fresh process, after replacing a piece of text."""
    texts = {"main.py": MAIN, "mine.py": MINE, "helpers.py": HELPERS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def run(file="main.py", old="", new=""):
        path = tmp_path / file
        path.write_text(path.read_text().replace(old, new, 1) if old else path.read_text())
        root = os.path.dirname(os.path.dirname(__file__))
        environment = {**os.environ, "PYTHONPATH": root, "NUMBA_CACHE_DIR": ""}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # edits within a second are edits too
        return int(
            subprocess.run(
                [sys.executable, "main.py"],
                cwd=tmp_path,
                env=environment,
                check=True,
                capture_output=True,
            ).stdout
        )

    run.entries = lambda: sorted(tmp_path.glob("__pycache__/mine.*.nbc"))
    return run


def test_machine_code_is_kept_beside_the_file_of_the_function(answer):
    assert answer() == 40
    (entry,) = answer.entries()
    written = entry.stat().st_mtime_ns
    assert answer() == 40
    assert [path.stat().st_mtime_ns for path in answer.entries()] == [written]


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
def test_a_change_is_never_answered_by_old_machine_code(answer, file, old, new, expected):
    assert answer() == 40
    assert answer(file, old, new) == expected


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
