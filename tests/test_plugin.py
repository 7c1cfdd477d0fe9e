"""Algorithms of users' own, through the library and through the command line."""

import importlib
import math
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import algorist
from algorist.cli import main
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.net import ModelConfig
from algorist.model.processors import PROCESSORS
from algorist.plugins import shell
from algorist.registry import additions_alone
from algorist.spec import Spec
from algorist.training.recipes import RECIPES

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "euclid.py"
TRAIN = ["--hidden", "16", "--sizes", "4", "--steps", "1", "--device", "cpu", "--out"]
pytestmark = pytest.mark.usefixtures("own_registry", "piped")


def test_a_plugin_is_an_algorithm_like_any_other(euclid):
    assert "euclid" in algorist.algorithms()
    batch = euclid.sample(n=5, count=50, seed=3)
    assert batch.inputs["value"].shape == (50, 5)
    assert batch.outputs["gcd"].tolist() == [
        math.gcd(*map(int, value)) for value in batch.inputs["value"]
    ]


def test_a_plugin_runs_on_own_inputs_and_shows_its_steps(euclid):
    batch = euclid.trace(value=[12, 18])
    assert batch.hints["rest"][:, 0].tolist() == [[12, 18], [12, 6], [0, 6]]
    assert batch.hints["larger"][:, 0].argmax(-1).tolist() == [0, 1, 0]
    assert batch.outputs["gcd"].tolist() == [6]
    with pytest.raises(ValueError, match=r"value: got \[0\.5, 2\.0\], expected whole numbers"):
        euclid.trace(value=[0.5, 2])


def test_positions_need_not_be_the_first_input():
    spec = Spec.of(
        inputs={"level": algorist.graph.categorical(3), "pos": algorist.node.scalar},
        hints={},
        outputs={"found": algorist.graph.mask},
    )
    inputs = {"level": np.zeros((2, 3)), "pos": np.zeros((2, 5))}
    batch = algorist.Batch(spec, inputs, {}, {"found": np.zeros(2)}, np.ones(2, int))
    assert batch.n == 5


def test_options_of_a_plugin_come_from_its_samplers_defaults(euclid):
    assert euclid.sample(n=4, count=9, seed=0, options={"high": 1}).inputs["value"].max() == 1


def test_loading_twice_is_harmless_but_a_taken_name_is_an_error(euclid, tmp_path):
    algorist.load_plugin(EXAMPLE)
    other = shutil.copy(EXAMPLE, tmp_path / "other.py")
    with pytest.raises(ValueError, match=r"other\.py:\d+: there is an algorithm 'euclid' already"):
        algorist.load_plugin(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"bad\.py:1: SyntaxError"),
        ("x = 1\ny = 1 / 0", r"bad\.py:2: ZeroDivisionError: division by zero"),
        ("import nowhere", r"bad\.py:1: ModuleNotFoundError: No module named 'nowhere'"),
        ("raise RuntimeError('one\\n  two')", r"bad\.py:1: RuntimeError: one two$"),
        ("\nraise KeyError('boom')", r"bad\.py:2: KeyError: boom$"),
        ("import algorist\nalgorist.get('bsf')", r"bad\.py:2: unknown algorithm 'bsf': did you"),
        ("assert 0", r"bad\.py:1: AssertionError$"),
        ("import sys\nsys.exit(3)", r"bad\.py:2: SystemExit: 3$"),
        ("\0", r"bad\.py: \w+: source code string cannot contain null bytes$"),
    ],
)
def test_a_broken_plugin_says_where(tmp_path, text, message):
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(ValueError, match=message):
        algorist.load_plugin(tmp_path / "bad.py")


def test_a_plugin_whose_helper_is_broken_shows_its_own_line(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_helper.py").write_text("\n\nx = (")
    (tmp_path / "bad.py").write_text("\nimport broken_helper")
    with pytest.raises(ValueError, match=r"bad\.py:2: SyntaxError"):
        algorist.load_plugin(tmp_path / "bad.py")


def test_a_plugin_can_be_interrupted(tmp_path):
    (tmp_path / "slow.py").write_text("raise KeyboardInterrupt")
    assert main(["--plugin", str(tmp_path / "slow.py"), "list"]) == 130


def test_a_plugin_that_failed_half_way_can_be_mended(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(f"{EXAMPLE.read_text()}\n1 / 0\n")
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        algorist.load_plugin(file)
    assert "euclid" not in algorist.algorithms()
    file.write_text(EXAMPLE.read_text())
    algorist.load_plugin(file)
    assert "euclid" in algorist.algorithms()


def test_a_plugin_that_cannot_be_compiled_is_one_line_at_the_command_line(tmp_path, capsys):
    broken = (
        EXAMPLE.read_text().replace("euclid(", "broken(").replace("gcd[0] = ", "gcd[0] = nix + ")
    )
    file = tmp_path / "broken.py"
    file.write_text(broken)
    line = 1 + broken[: broken.index("nix")].count("\n")
    assert main(["--plugin", str(file), "sample", "broken"]) == 2
    assert capsys.readouterr().err == (
        "algorist: error: broken: cannot compile: NameError: name 'nix' is not defined "
        f"({file}:{line})\n"
    )


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "algorist", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": "", **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_plugins_work_in_the_commands_and_keep_their_machine_code_beside_them(tmp_path):
    mine = str(shutil.copy(EXAMPLE, tmp_path / "mine.py"))
    shown = run("--plugin", mine, "sample", "euclid", "--n", "3")
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("__pycache__/mine.*.nbc")}
    assert len(kept) == 2, "machine code of the sampler and of the run"
    assert run("sample", "euclid", "--plugin", mine, "--n", "3") == shown
    assert run("sample", "euclid", "--n", "3", ALGORIST_PLUGINS=os.pathsep + mine) == shown
    assert {
        path: path.stat().st_mtime_ns for path in tmp_path.glob("__pycache__/mine.*.nbc")
    } == kept
    assert "number theory" in run("--plugin", mine, "list", "--no-steps")
    there = shutil.copytree(tmp_path, tmp_path / "elsewhere", copy_function=shutil.copy2)
    assert run("sample", "euclid", "--plugin", str(there / "mine.py"), "--n", "3") == shown


def test_commands_that_are_told_name_the_plugins(euclid):
    assert shell("resume", "my run") == f"algorist --plugin {EXAMPLE} resume 'my run'"


def test_features_may_have_the_names_of_methods(tmp_path):
    text = EXAMPLE.read_text()
    for name, other in {"value": "values", "rest": "keys", "larger": "pop", "gcd": "items"}.items():
        text = re.sub(rf"\b{name}\b", other, text)
    (tmp_path / "methods.py").write_text(text)
    algorist.load_plugin(tmp_path / "methods.py")
    assert main(["train", "euclid", *TRAIN, str(tmp_path / "run")]) == 0
    assert main(["eval", str(tmp_path / "run"), "--n", "5", "--count", "2"]) == 0


FIX = "which is not here: load the plug-in that registers it (--plugin FILE)"


def errors(capsys, *arguments):
    capsys.readouterr()
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.removeprefix("algorist: error: ")


class _ForgottenError(Exception):
    """Raised to undo what a block has registered."""


@contextmanager
def forgotten():
    """What the block registers is forgotten after it."""
    with suppress(_ForgottenError), additions_alone():
        yield
        raise _ForgottenError  # a block that fails has added nothing


@pytest.mark.parametrize("each", [[], ["--each"]])
def test_a_run_without_the_plugin_of_its_algorithm_names_the_fix(tmp_path, capsys, each):
    folder = tmp_path / "run"
    with forgotten():
        algorist.load_plugin(EXAMPLE)
        assert main(["train", "euclid", *each, *TRAIN, str(folder)]) == 0
    needed = f": it needs the algorithm 'euclid', {FIX}\n"
    assert errors(capsys, "resume", str(folder)) == f"{folder}{needed}"
    if not each:
        best = folder / "best.safetensors"
        assert errors(capsys, "eval", str(folder)) == f"{best}{needed}"
        best.unlink()
        assert errors(capsys, "eval", str(folder)) == f"{folder}{needed}"


def test_a_run_without_the_plugin_of_its_processor_names_the_fix(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "run"
    monkeypatch.setitem(PROCESSORS, "mine", PROCESSORS["deepsets"])
    assert main(["train", "bfs", "--processor", "mine", *TRAIN, str(folder)]) == 0
    monkeypatch.delitem(PROCESSORS, "mine")
    needed = f": it needs the processor 'mine', {FIX}\n"
    assert errors(capsys, "resume", str(folder)) == f"{folder}{needed}"
    assert errors(capsys, "eval", str(folder)) == f"{folder / 'best.safetensors'}{needed}"


def test_a_run_whose_plugin_has_changed_is_not_gone_on_with(tmp_path, capsys):
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(EXAMPLE.read_text())
    new.write_text(EXAMPLE.read_text().replace('"smaller": node.mask_one', '"smaller": node.mask'))
    folder = tmp_path / "run"
    with forgotten():
        assert main(["--plugin", str(old), "train", "euclid", *TRAIN, str(folder)]) == 0
    best = (folder / "best.safetensors").read_bytes()
    algorist.load_plugin(new)
    told = errors(capsys, "resume", str(folder), "--steps", "2")
    assert told.startswith("euclid: it has other features than when this run was")
    assert "load the plug-in as it was then" in told
    assert (folder / "best.safetensors").read_bytes() == best


def test_a_run_whose_processor_has_changed_is_told_in_a_line(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "run"
    monkeypatch.setitem(PROCESSORS, "mine", PROCESSORS["deepsets"])
    assert main(["train", "bfs", "--processor", "mine", *TRAIN, str(folder)]) == 0
    monkeypatch.setitem(PROCESSORS, "mine", PROCESSORS["gmpnn"])
    for words in (["resume", str(folder), "--steps", "2"], ["eval", str(folder)]):
        told = errors(capsys, *words)
        assert "these are not the weights of this mine (" in told
        assert "load plug-ins as they were when it was trained" in told
        assert told.count("\n") == 1


@pytest.mark.parametrize("table", ["model.processors", "training.recipes"])
def test_plugins_add_to_tables_and_change_nothing_in_them(tmp_path, table):
    name = {"model.processors": "PROCESSORS", "training.recipes": "RECIPES"}[table]
    what = getattr(importlib.import_module(f"algorist.{table}"), name)
    before = dict(what)
    file = tmp_path / "mine.py"
    begin = f"from algorist.{table} import {name} as TABLE\nTABLE['mine'] = 1\n"
    taken = next(iter(before))
    for rest, message in (
        (f"TABLE[{taken!r}] = 2", f"there is one called {taken!r} already"),
        (f"del TABLE[{taken!r}]", f"there is one called {taken!r} already"),
        ("1 / 0", "ZeroDivisionError"),
    ):
        file.write_text(f"{begin}{rest}\n")
        with pytest.raises(ValueError, match=message):
            algorist.load_plugin(file)
        assert what == before


def test_a_recipe_that_fails_harms_only_those_who_choose_it(tmp_path, capsys, request):
    file = tmp_path / "mine.py"
    file.write_text(
        "from algorist.training.recipes import RECIPES, ibarz2022\n"
        "def broken(algorithms):\n"
        "    return ibarz2022(algorithms).model.hiden\n"
        "RECIPES['broken'] = broken\n"
    )
    request.addfinalizer(lambda: RECIPES.pop("broken", None))
    words = ["--plugin", str(file), "train", "bfs", *TRAIN]
    assert errors(capsys, *words, str(tmp_path / "a"), "--recipe", "broken") == (
        "recipe 'broken': AttributeError: 'ModelConfig' object has no attribute 'hiden' "
        f"({file}:3)\n"
    )
    assert main([*words, str(tmp_path / "b")]) == 0


SEVERAL = """
from algorist import algorithm, edge, graph, node, record, register, sampler
from algorist.algorithms.samplers.arrays import keys

@register
@algorithm(
    "mine",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={"seen": node.mask},
    outputs={"less": edge.mask, "sums": edge.scalar, "kind": graph.categorical(3)},
    sampler=keys,
)
def several(key, seen, less, sums, kind, trace):
    \"\"\"Compare all keys.\"\"\"
    for i in range(len(key)):
        seen[i] = 1
        record(trace)
        for j in range(len(key)):
            less[i, j] = key[i] < key[j]
            sums[i, j] = key[i] + key[j]
    kind[0] = 1
"""


def test_outputs_of_all_kinds_are_shown(tmp_path, capsys):
    (tmp_path / "several.py").write_text(SEVERAL)
    words = ["--plugin", str(tmp_path / "several.py")]
    assert main([*words, "train", "several", *TRAIN, str(tmp_path / "run")]) == 0
    capsys.readouterr()
    given = ["several", "3", "1", "--model", str(tmp_path / "run"), "--device", "cpu"]
    assert main([*words, "run", *given]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = {row[0]: row for row in shown if row and row[0] in ("less", "sums", "kind")}
    assert rows["less"][-1] == "1>0"
    assert rows["sums"][-6:] == ["0:", "6", "4;", "1:", "4", "2"]
    assert rows["kind"][-1] == "1"
    page = tmp_path / "page.html"
    assert main([*words, "view", *given, "--export", str(page)]) == 0
    assert page.exists()


def test_an_algorithm_without_hints_has_none_to_show(tmp_path, capsys):
    text = re.sub(r"hints=\{.*\}", "hints={}", EXAMPLE.read_text()).replace("rest, larger, ", "")
    text = text[: text.index("    copy(rest")].replace("smaller, ", "")
    (tmp_path / "plain.py").write_text(f"{text}    record(trace)\n    gcd[0] = value[0]\n")
    algorist.load_plugin(tmp_path / "plain.py")
    file = str(tmp_path / "learner.safetensors")
    Learner.new(["euclid", "minimum"], ModelConfig(hidden=16), TaskEncoding()).save(file)
    words = ["eval", file, "--n", "4", "--count", "2", "--hints", "--over-time"]
    for named in (["euclid"], ["euclid", "minimum"]):
        assert main([*words, *named]) == 0
        assert capsys.readouterr().out.count("euclid") == 1, "its score alone"
