"""Imports: light at the base, and one way between packages."""

import subprocess
import sys
from pathlib import Path

import pytest

import algorist

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "algorist"
sys.path.append(str(ROOT / "docs" / "making"))

import package_diagram  # noqa: E402

ORDER = [
    "version",
    "errors",
    "machine",
    "extras",
    "atomic",
    "machine_code",
    "registry",
    "spec",
    "notebooks",
    "batch",
    "sparse_batch",
    "sparse_scores",
    "weights",
    "plugin_errors",
    "algorithms",
    "registration",
    "plugins",
    "data",
    "kernels",
    "model",
    "evaluation",
    "training",
    "bench",
    "experiments",
    "report",
    "problems",
    "viewer",
    "__init__",  # the table of contents: what users import, and the commands with them
    "commands",
    "cli",
    "__main__",
]
"""A package may import those before it."""

FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_package_has_its_place():
    assert {package_diagram.package_of(file) for file in FILES} <= set(ORDER)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_packages_import_only_what_comes_before(file):
    place = ORDER.index(package_diagram.package_of(file))
    for other in package_diagram.imported_packages(file):
        assert ORDER.index(other) <= place, f"{package_diagram.package_of(file)} imports {other}"


def test_the_diagram_is_that_of_the_imports():
    drawn = package_diagram.DIAGRAM.read_text()
    assert drawn == package_diagram.diagram(), (
        "draw it again: python docs/making/package_diagram.py"
    )


def test_the_diagram_shows_every_import_by_a_chain_of_arrows():
    above = {}
    for name in (name for row in package_diagram.levels() for name in row):
        direct = {used for user, used in package_diagram.transitive_reduction() if user == name}
        above[name] = direct.union(*(above[used] for used in direct))
    assert all(used in above[user] for user, used in package_diagram.edges())


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
    from algorist.training.saved_learners import load

    assert (algorist.load, algorist.Learner) == (load, Learner)
    assert all(hasattr(algorist, name) for name in algorist.__all__)
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        algorist.laod  # noqa: B018
