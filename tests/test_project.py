"""What contributors rely on: requirements, checks, and pages that name real files."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install -e '.[dev]'")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
NOTES = [
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/architecture.md",
    "docs/contributing.md",
    "docs/releasing.md",
]


def pins(file):
    lines = (ROOT / file).read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith(("#", "-c ")))


def names(requirements):
    return {re.match(r"[\w-]+", one)[0].lower() for one in requirements}


# Requirements


def test_constraints_name_everything_that_development_installs():
    asked = names(PROJECT["dependencies"]).union(
        *(names(PROJECT["optional-dependencies"][extra]) for extra in ("dev", "docs", "gpu", "ray"))
    )
    by_hand, made = pins("constraints.txt"), pins("constraints-dev.txt")
    assert asked - {"algorist"} <= by_hand.keys() | made.keys()
    assert not by_hand.keys() & made.keys()
    assert "-c constraints.txt" in (ROOT / "constraints-dev.txt").read_text().splitlines()


def test_constraints_fit_every_build_of_a_version():
    for file in ("constraints.txt", "constraints-dev.txt"):
        assert all(re.fullmatch(r"[\w.]+", version) for version in pins(file).values())


def commands_of(target, tmp_path):
    """What make would do in a fresh clone."""
    made = ["make", "--dry-run", f"VENV={tmp_path / 'new'}", target]
    return subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("target", "is_for_developers"), [("run", False), ("test", True), ("docs", True)]
)
def test_make_installs_what_a_target_needs(target, is_for_developers, tmp_path):
    commands = commands_of(target, tmp_path)
    assert commands.count("pip install") == 1
    assert ("[dev]" in commands) == is_for_developers
    assert "-c constraints-dev.txt" in commands


# Checks


def test_hooks_run_what_make_runs(tmp_path):
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    entries = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    assert entries == ["make lint", "make types"]
    assert "ruff check" in commands_of("lint", tmp_path)
    assert "mypy" in commands_of("types", tmp_path)


def test_the_workflow_tests_the_pythons_that_the_package_names():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == PYTHONS
    assert PYTHONS[0] == PROJECT["requires-python"].removeprefix(">=")
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in PYTHONS
    used = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert used == [".ci/run", "make coverage", "make wheel"]


def test_the_citation_names_software_and_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["title"], cited["license"]) == (PROJECT["name"], PROJECT["license"])
    titles = [reference["title"] for reference in cited["references"]]
    assert "A Generalist Neural Algorithmic Learner" in titles


# Pages


def expanded(path):
    """`a/{b,c}.py` are two paths; what is to be replaced becomes a star."""
    path = re.sub(r"<\w+>", "*", path)
    if braces := re.search(r"\{([^}]+)\}", path):
        for part in braces[1].split(","):
            yield from expanded(path.replace(braces[0], part))
    else:
        yield path


@pytest.mark.parametrize("page", NOTES)
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text()
    named = re.findall(r"`((?:algorist|docs|tests|examples|benchmarks|\.ci)/[^` ]*)`", text)
    for path in (one for name in named for one in expanded(name)):
        assert list(ROOT.glob(path)), f"{page} names {path}"


@pytest.mark.parametrize("page", NOTES)
def test_links_of_a_page_lead_to_files(page):
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert ((ROOT / page).parent / link).exists(), f"{page} links to {link}"
