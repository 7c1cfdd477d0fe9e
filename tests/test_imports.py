"""Imports: light at the base, and one way between the rooms."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import algorist

PACKAGE = Path(__file__).parent.parent / "algorist"

ORDER = [
    "version",
    "errors",
    "extras",
    "atomic",
    "machine_code",
    "registries",
    "spec",
    "batch",
    "weights",
    "algorithms",
    "plugin_errors",
    "plugins",
    "data",
    "kernels",
    "model",
    "evaluation",
    "training",
    "experiments",
    "report",
    "viewer",
    "__init__",  # the table of contents: what users import, and the commands with them
    "commands",
    "cli",
    "__main__",
]
"""A room may import those before it."""

FILES = sorted(PACKAGE.rglob("*.py"))


def room(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(file: Path) -> Iterator[str]:
    """The rooms that a file imports, inside functions too, but not for type checkers alone."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, *rest = name.split(".")
            if package == "algorist":
                yield rest[0] if rest and rest[0] in ORDER else "__init__"


def test_every_room_has_its_place():
    assert {room(file) for file in FILES} <= set(ORDER)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_rooms_import_only_what_comes_before(file):
    place = ORDER.index(room(file))
    for other in imported(file):
        assert ORDER.index(other) <= place, f"{room(file)} imports {other}"


def fresh(program: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


@pytest.mark.parametrize(
    "program",
    ["import algorist", "import algorist.cli", "import algorist; algorist.data.chunks"],
)
def test_nothing_heavy_is_imported_at_the_base(program):
    loaded = fresh(f"{program}; import sys; print(*sys.modules)").split()
    assert "algorist" in loaded
    assert not {"torch", "matplotlib", "networkx", "tensorboard", "triton"} & set(loaded)


def test_the_import_takes_little_longer_than_that_of_numba():
    clock = "import time; start = time.process_time()"

    def seconds(program):
        timed = f"{clock}; {program}; print(time.process_time() - start)"
        return min(float(fresh(timed)) for _ in range(4))

    assert seconds("import algorist") < 2.5 * seconds("import numba")


def test_what_needs_torch_is_there_under_its_short_name():
    from algorist.model.learner import Learner
    from algorist.training.loading import load

    assert (algorist.load, algorist.Learner) == (load, Learner)
    assert set(algorist._WITH_TORCH) < set(algorist.__all__)
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        algorist.laod  # noqa: B018
