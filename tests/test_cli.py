"""The command line: what it prints, what it refuses, how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import algorist
from algorist import cli
from algorist.cli import main
from algorist.report.terminal import Terminal
from algorist.report.trace import show_trace

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.usefixtures("piped")

WAITS = "OMP_WAIT_POLICY"


def process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "algorist", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def column(text, first_line):
    """The lines of a table from a heading on, up to the next empty one."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split() == first_line.split())
    return [line.rstrip() for line in lines[start : lines.index("", start)]]


def test_sample_shows_inputs_steps_with_changes_marked_and_outputs(capsys):
    text = printed(capsys, "sample", "insertion_sort", "--n", "4", "--seed", "0")
    lines = [line.rstrip() for line in text.splitlines()]
    assert lines == [
        "insertion_sort: Insert each key into the sorted prefix before it (CLRS 2.1).",
        "4 nodes, seed 0, 4 steps",
        "",
        "input pos  0.00 0.25 0.50 0.75",
        "input key  0.55 0.72 0.60 0.54",
        "",
        "      pred_h",
        "step  0 1 2 3   i   j",
        "   0  0 0 1 2   0   0",
        "   1  0 0 1 2   1*  1*",
        "   2  0 2*0*1*  1   2*",
        "   3  3*2 0 3*  0*  3*",
        "",
        "output pred  3 2 0 3",
        "",
    ]


def test_sample_shows_graphs_as_matrices_masks_as_bits_and_nodes_by_number(capsys):
    arguments = ["--n", "3", "--option", "p=0.9", "--hints", "u,mark"]
    text = printed(capsys, "sample", "dijkstra", *arguments)
    batch = algorist.get("dijkstra").sample(3, 1, 0, {"p": 0.9})
    source = int(batch.inputs["s"][0].argmax())
    assert f"input s    {source}" in text
    weights = batch.inputs["A"][0]
    first = "input A    " + " ".join(f"{w:.2f}" if w else "   ." for w in weights[0])
    assert first in text
    last = column(text, "step u 0 1 2")[-1].replace("*", " ").split()
    assert last[1:] == [
        str(batch.hints["u"][-1, 0].argmax()),
        *(".1"[bit] for bit in batch.hints["mark"][-1, 0]),
    ]


def test_steps_and_hints_choose_rows_and_columns(capsys):
    text = printed(
        capsys, "sample", "insertion_sort", "--n", "6", "--steps", "2:4", "--hints", "j,i"
    )
    assert [line.split()[0] for line in column(text, "step j i")] == ["step", "2", "3"]
    (single,) = column(
        printed(capsys, "sample", "insertion_sort", "--steps", "-1", "--hints", "j"), "step j"
    )[1:]
    assert single.split() == ["7", "7*"]


@pytest.mark.parametrize("none", ["0:0", ":0"])
def test_no_steps_are_shown_if_none_are_asked_for(capsys, none):
    text = printed(capsys, "sample", "bfs", "--steps", none)
    assert "\nstep" not in text
    assert "output pi" in text


def test_one_is_not_called_many(capsys):
    assert "\n1 node, seed 0, 1 step\n" in printed(capsys, "sample", "bfs", "--n", "1")


def test_wide_traces_fit_the_width_and_lose_no_hint(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    text = printed(capsys, "sample", "dijkstra", "--n", "20", "--steps", "0:3")
    assert max(map(len, text.splitlines())) <= 60
    headings = [word for line in text.splitlines() for word in line.split()]
    for feature in algorist.get("dijkstra").spec.hints:
        assert feature.name in headings
    assert "(changes)" in text


def test_matrices_of_hints_are_told_by_their_changes(capsys):
    spec = algorist.Spec.of(
        inputs={"pos": algorist.node.scalar},
        hints={"D": algorist.edge.scalar, "c": algorist.node.categorical(3)},
        outputs={"m": algorist.graph.mask},
    )
    distances = np.zeros((2, 1, 3, 3))
    distances[:, 0, 0, 1] = 5
    distances[1, 0, 2, 0] = 7
    classes = np.zeros((2, 1, 3, 3), np.int8)
    classes[0, 0] = np.eye(3)
    classes[1, 0] = [[0, 1, 0], [0, 1, 0], [0, 0, -1]]
    batch = algorist.Batch(
        spec, {"pos": np.zeros((1, 3))}, {"D": distances, "c": classes}, {"m": np.ones(1)}, [2]
    )
    show_trace(Terminal(), batch)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["0", "1", "not", "0", "0", "1", "2"] in lines
    assert ["1", "[2,0]=7", "1*1", "-*"] in lines


def test_colour_marks_changes_where_it_can_be_seen(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = printed(capsys, "sample", "insertion_sort", "--n", "4")
    assert "\x1b[1;33m3" in coloured
    assert "*" not in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = printed(capsys, "sample", "insertion_sort", "--n", "4")
    assert "33m" not in plain
    assert "*" in plain


def test_out_writes_every_array(capsys, tmp_path):
    file = tmp_path / "trace.npz"
    arguments = ["--n", "5", "--seed", "7", "--count", "3", "--option", "p=0.2,0.9"]
    text = printed(capsys, "sample", "dijkstra", *arguments, "--out", str(file))
    assert f"written to {file}" in text.replace("\n", "")
    batch = algorist.get("dijkstra").sample(5, 3, 7, {"p": (0.2, 0.9)})
    with np.load(file, allow_pickle=False) as arrays:
        expected = {f"{f.stage}/{f.name}" for f in batch.spec} | {"lengths", "version"}
        assert set(arrays) == expected
        assert np.array_equal(arrays["hint/d"], batch.hints["d"])
        assert np.array_equal(arrays["input/A"], batch.inputs["A"])
        assert np.array_equal(arrays["output/pi"], batch.outputs["pi"])


def test_sample_runs_the_algorithm_on_an_own_problem(capsys, tmp_path):
    text = printed(capsys, "sample", "heapsort", "5", "2", "9", "1")
    assert text.splitlines()[1] == "4 keys; 14 steps"
    assert text.splitlines()[-1].split() == ["answer", "1", "2", "5", "9"]
    roads = tmp_path / "roads.csv"
    roads.write_text("city1,city2,length,lanes\nhome,shop,1,2\nshop,sea,4.5,2\nx,y,1,1\n")
    words = ("--graph", str(roads), "--source", "home", "--weight", "length")
    out = tmp_path / "some" / "new" / "trace.npz"
    text = printed(capsys, "sample", "dijkstra", *words, "--out", str(out))
    assert "5 nodes, 3 undirected edges, weights from 'length'; 4 steps" in text
    assert "nodes: 0 home  1 shop  2 sea  3 x  4 y" in text
    assert "sea   5.5: home > shop > sea" in text
    assert "x     not reached" in text
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["hint/d"][-1, 0].tolist() == [0, 1, 5.5, 0, 0]


def test_list_has_a_row_for_every_algorithm_with_its_steps(capsys):
    text = printed(capsys, "list", "--family", "sorting")
    rows = {line.split()[0]: line.split() for line in text.splitlines()}
    assert rows["insertion_sort"] == [
        "insertion_sort",
        "sorting",
        "pos",
        "key",
        "3",
        "pred",
        "16",
        "64",
    ]
    names = [line.split()[0] for line in printed(capsys, "list", "--no-steps").splitlines()[1:]]
    assert sorted(names) == algorist.algorithms()


def test_list_as_json_tells_everything(capsys):
    rows = json.loads(printed(capsys, "list", "--json", "--no-steps"))
    assert [row["name"] for row in rows] == algorist.algorithms()
    row = next(row for row in rows if row["name"] == "dijkstra")
    assert row["hints"]["u"] == {
        "location": "node",
        "kind": "mask_one",
        "meaning": "the node that was settled last",
    }
    assert row["options"] == {"p": [0.5], "low": 0.0, "high": 1.0, "ood_share": 0.0}
    assert "steps" not in row


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("lisst", "invalid choice: 'lisst': did you mean 'list'?"),
        ("sample", "the following arguments are required: algorithm (see"),
        ("run", "the following arguments are required: ALGORITHM (see"),
        ("run bfs --n 5", "unrecognized arguments: --n 5: did you mean --random?"),
        ("sample bfs --random 5", "unrecognized arguments: --random 5: did you mean --n?"),
        ("view heapsort --export x.html", "for example: algorist view heapsort 5 2 9 1"),
        ("eval qwerty", "generalist"),
        ("export", "the following arguments are required: MODEL, FILE (see"),
        ("sample dijkstra --n 32000 --count 1000", "got 1000 x 32000 nodes, whose inputs do not"),
        ("sample dijkstr", "unknown algorithm 'dijkstr': did you mean 'dijkstra'?"),
        ("sample dijkstra --n x", "argument --n: invalid int value: 'x'"),
        ("sample dijkstra --n 0", "n: got 0, expected a whole number of at least 1"),
        ("sample dijkstra --count 0", "count: got 0, expected a whole number of at least 1"),
        ("sample dijkstra --seed -1", "seed: got -1"),
        ("sample dijkstra --option q=1", "unknown option 'q'"),
        ("sample dijkstra --option n=2", "unknown option 'n'"),
        ("sample dijkstra --option p", "--option: got 'p', expected NAME=VALUE"),
        ("sample dijkstra --option p=many", "option p: got 'many', expected numbers"),
        ("sample dijkstra --option p=0.5,2", "option p: got (0.5, 2.0), expected probabilities"),
        ("sample strongly_connected_components --n 3", "n: got 3 nodes, expected at least 4: one"),
        (
            "sample strongly_connected_components --n 3 --option k=5",
            "option k: got 5 communities, expected 1 to 3 for 3 nodes",
        ),
        (
            "sample strongly_connected_components --option k=0",
            "option k: got 0 communities, expected 1 to 8 for 8 nodes",
        ),
        ("sample dijkstra --hints u,dd", "unknown hint 'dd'"),
        ("sample dijkstra --steps one", "--steps: got 'one', expected FIRST:END"),
        ("sample bfs --steps 5", "--steps: got '5', but the run has 3 steps, counted from 0"),
        ("sample bfs --steps 5:2", "--steps: got '5:2', but the run has 3 steps"),
        ("sample bfs --n 1 --steps 50:60", "--steps: got '50:60', but the run has 1 step, counted"),
        ("sample dijkstra --option p=0.5 --option p=0.7", "--option: got p,p, expected each once"),
        ("sample dijkstra --steps 1:2:3", "--steps: got '1:2:3', expected FIRST:END"),
        ("sample dijkstra --out /dev/null/x.npz", "--out: got /dev/null, which is a file"),
        ("list --family sort", "unknown family 'sort': did you mean 'sorting'?"),
        (
            "--plugin nowhere.py list",
            "plug-in: got 'nowhere.py', expected a Python file that exists",
        ),
        ("list --plugin", "argument --plugin: expected one argument"),
        ("--plug mine.py list", "invalid choice: 'mine.py'"),
        ("--plug=mine.py list", "unrecognized arguments: --plug=mine.py"),
        ("--vers", "the following arguments are required: COMMAND"),
        ("list --frobnicate", "unrecognized arguments: --frobnicate (see algorist list --help)"),
        ("sample bfs --foo 3", "unrecognized arguments: --foo 3 (see algorist sample --help)"),
        ("sample bfs --sed 3", "--sed 3: did you mean --seed? (see algorist sample --help)"),
        ("sample heapsort 5 2 --n 4", "--n: got it with a problem of your own"),
        ("sample heapsort 5 2 --option low=1", "--option: got it with a problem of your own"),
        ("sample heapsort 5 x", "VALUE: got 'x', expected a finite number"),
        ("sample binary_search 1 2", "expected for example: algorist sample binary_search"),
        (
            "import-official none.pkl x --algorithms bfs --processor mpnn",
            "error: none.pkl: no such file or directory",
        ),
        ("sample qwerty", "unknown algorithm 'qwerty': known: activity_selector, "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, arguments, message):
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("algorist: error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_the_command_alone_shows_help(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: algorist")


@pytest.mark.parametrize("arguments", [[], *([name] for name in cli.COMMANDS)])
def test_help_everywhere_ends_with_examples_that_parse(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    examples = text.split("examples:\n")[1].splitlines()
    assert examples
    for example in examples:
        words = example.split("|")[0].removeprefix("  torchrun --nproc-per-node 2 -m").split()
        assert words.pop(0) == "algorist"
        _, rest = cli.plugin_parser().parse_known_args(words)
        assert cli.command_parser(rest).parse_args(rest).command in cli.COMMANDS


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"algorist {algorist.__version__}\n"


def test_text_stays_on_its_line_however_long(capsys):
    Terminal().print("to go on: algorist resume", "deep/" * 40)
    assert capsys.readouterr().out.count("\n") == 1


def test_an_interrupt_exits_with_130(monkeypatch, capsys):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(algorist, "get", interrupt)
    assert main(["sample", "dijkstra"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_threads_that_wait_leave_their_cores_unless_the_user_says_otherwise(monkeypatch):
    for given, expected in (
        ({}, "1000"),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({WAITS: "active"}, None),
    ):
        for name in ("GOMP_SPINCOUNT", WAITS):
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        assert main(["sample", "minimum"]) == 0
        assert os.environ.get("GOMP_SPINCOUNT") == expected


def test_a_closed_pipe_is_no_error():
    reading = (
        f"{sys.executable} -m algorist sample dijkstra --n 16 | head -n 1; echo ${{PIPESTATUS[0]}}"
    )
    ended = subprocess.run(
        ["bash", "-c", reading],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "9000"},
        capture_output=True,
        text=True,
    )
    assert ended.stdout.splitlines()[1:] == ["0"]
    assert ended.stderr == ""


def test_a_closed_pipe_does_not_end_a_training(tmp_path):
    settings = "--hidden 8 --steps 6 --validate-every 1 --device cpu"
    training = f"train bfs {settings} --out {tmp_path}/run"
    reading = f"{sys.executable} -m algorist {training} | head -n 1; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", reading],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.stdout.splitlines()[1:] == ["0"]
    assert ended.stderr == ""
    assert (tmp_path / "run/checkpoints/00000006").exists()


def test_without_a_terminal_text_is_plain_even_in_the_plainest_locale():
    ended = process("sample", "dijkstra", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert ended.returncode == 0
    assert "\x1b" not in ended.stdout
    assert ended.stdout.isascii()
    assert process("sample", "nothing").returncode == 2


@pytest.mark.parametrize(
    ("what", "name"), [("processors", "triplet_gmpnn"), ("recipes", "ibarz2022")]
)
def test_processors_and_recipes_are_listed(capsys, what, name):
    assert main(["list", f"--{what}"]) == 0
    assert name in [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert main(["list", f"--{what}", "--json"]) == 0
    assert [row for row in json.loads(capsys.readouterr().out) if row["name"] == name]
    assert main(["list", f"--{what}", "--family", "sorting"]) == 2
    assert f"it is for algorithms, not --{what}" in capsys.readouterr().err


@pytest.mark.skipif(not os.access("/dev", os.W_OK), reason="needs to write to /dev/full")
def test_a_full_disk_is_named_with_the_fix(capsys):
    assert main(["text", "bfs", "--out", "/dev/full"]) == 2
    message = "algorist: error: /dev/full: no space left on device; free some and try again\n"
    assert capsys.readouterr().err == message
