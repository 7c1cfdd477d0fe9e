"""The version: one place says it, and what the library writes names it."""

import json
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import algorist
from algorist.cli import main
from algorist.report.machine import describe_machine

ROOT = Path(__file__).parent.parent
MARKED = f"algorist {algorist.__version__}"
MARK = f'<meta name="generator" content="{MARKED}">'

pytestmark = pytest.mark.usefixtures("piped")


def test_an_installed_package_has_the_version_of_its_source():
    try:
        installed = version("algorist")
    except PackageNotFoundError:
        pytest.skip("algorist is not installed")
    assert installed == algorist.__version__, "install it again: rm .venv/*-ready"


def test_the_changelog_and_the_citation_know_the_version():
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    assert released[0] == cited == algorist.__version__


def test_a_run_says_which_version_trained_it(trained):
    for file in (trained / "checkpoints").glob("*/state.json"):
        _, state = file.read_text().splitlines()
        assert json.loads(state)["version"] == algorist.__version__
    sittings = (trained / "times.jsonl").read_text().splitlines()
    assert [json.loads(line)["version"] for line in sittings] == [algorist.__version__]
    with safe_open(str(trained / "best.safetensors"), "pt") as file:
        assert json.loads(file.metadata()["algorist"])["version"] == algorist.__version__


def test_configurations_and_packed_runs_say_which_version_wrote_them(trained, tmp_path):
    assert main(["pack", str(trained), str(tmp_path / "packed")]) == 0
    for folder in (trained, tmp_path / "packed"):
        assert json.loads((folder / "config.json").read_text())["version"] == algorist.__version__


def test_pages_say_which_version_wrote_them(trained, tmp_path):
    report, view = tmp_path / "report.html", tmp_path / "view.html"
    assert main(["report", str(trained), "--samples", "1", "--out", str(report)]) == 0
    assert main(["view", "minimum", "3", "1", "2", "--export", str(view)]) == 0
    for page in (report, view):
        assert page.read_text().count(MARK) == 1, page.name


def test_figures_say_which_version_drew_them(trained, tmp_path):
    for name, mark in (("sizes.svg", MARKED), ("sizes.png", f"Software\0{MARKED}")):
        words = ["--n", "4,5", "--count", "2", "--plot", str(tmp_path / name)]
        assert main(["eval", str(trained), *words]) == 0
        assert mark.encode() in (tmp_path / name).read_bytes()


def test_solutions_say_which_version_found_them(trained, tmp_path):
    file = tmp_path / "solution.json"
    words = ["bfs", "--random", "4", "--model", str(trained), "--out", str(file)]
    assert main(["run", *words]) == 0
    assert json.loads(file.read_text())["version"] == algorist.__version__


def test_arrays_and_measurements_say_which_version_made_them(tmp_path):
    assert main(["sample", "bfs", "--n", "4", "--out", str(tmp_path / "bfs.npz")]) == 0
    with np.load(tmp_path / "bfs.npz") as arrays:
        assert str(arrays["version"]) == algorist.__version__
    assert describe_machine()["algorist"] == algorist.__version__
