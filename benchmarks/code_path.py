"""The code path of a training: files and functions from the command to the first update.

    python benchmarks/code_path.py                    # algorist train bfs
    python benchmarks/code_path.py --list             # with their names, file by file
    PYTHONPATH=CHECKOUT python benchmarks/code_path.py

Counted are functions of the package that are called before the first step of the optimizer ends,
in any thread; code that runs on import, and what Numba has compiled, is not.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from torch.optim.optimizer import register_optimizer_step_post_hook

import algorist
from algorist.cli import main as run_command

PACKAGE = str(Path(algorist.__file__).parent)


def main() -> None:
    """Train for one step and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="name every function")
    arguments = parser.parse_args()
    functions = _called_functions(["train", "bfs", "--steps", "1", "--device", "cpu"])
    for file, names in sorted(functions.items()) if arguments.list else []:
        print(f"{Path(file).relative_to(PACKAGE)}: {', '.join(sorted(names))}")
    print(f"{len(functions)} files, {sum(map(len, functions.values()))} functions")


def _called_functions(command: list[str]) -> dict[str, set[str]]:
    """The names of the functions that a command calls up to the first update, by file."""
    codes: set[CodeType] = set()
    until_update: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            codes.add(frame.f_code)

    def keep(*_: Any) -> None:
        if not until_update:
            until_update.update(codes)

    register_optimizer_step_post_hook(keep)
    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(note)
        sys.setprofile(note)
        run_command([*command, "--out", f"{folder}/run"])
        sys.setprofile(None)
        threading.setprofile(None)
    functions = defaultdict(set)
    for code in until_update:
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes are not
        if is_function and not code.co_name.startswith("<"):  # no lambdas and comprehensions
            functions[code.co_filename].add(f"{code.co_qualname}:{code.co_firstlineno}")
    return functions


if __name__ == "__main__":
    main()
