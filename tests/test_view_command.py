"""`algorist view`: it serves, or writes one file, and refuses the rest in a line."""

import http.client
import io
import json
import re
import socket
import threading
from pathlib import Path

import pytest
import small
from processes import PATIENCE

import algorist
from algorist.cli import command_parser, main
from algorist.commands import view
from algorist.model.learner import Learner, TaskEncoding
from algorist.viewer.app import FIRST
from algorist.viewer.server import Server

pytestmark = pytest.mark.usefixtures("piped")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    learner = Learner.new(["heapsort", "dijkstra"], small.model(), TaskEncoding())
    file = tmp_path_factory.mktemp("model") / "small.safetensors"
    learner.save(file)
    return str(file)


@pytest.fixture
def run(model, monkeypatch, tmp_path, capsys):
    """Run the command in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(view.webbrowser, "open", lambda url: pytest.fail(f"opened {url}"))

    def ran(*words):
        code = main(["view", *words, "--model", model, "--device", "cpu"])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ran


def embedded(html):
    (text,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', html)
    return json.loads(text)


def test_a_trace_is_written_to_a_file(run, tmp_path):
    code, out, err = run("heapsort", "5", "2", "9", "1", "--export", "sort.html")
    trace = embedded((tmp_path / "sort.html").read_text())
    steps = algorist.get("heapsort").trace(key=[5, 2, 9, 1]).steps
    assert (code, err) == (0, "")
    assert out == f"{steps} steps of heapsort, written to sort.html\n"
    assert (trace["algorithm"], trace["steps"]) == ("heapsort", steps)
    assert trace["inputs"]["key"] == [5, 2, 9, 1]


def test_words_may_stand_behind_options(run, tmp_path):
    (tmp_path / "roads.csv").write_text("home,sea,3\n")
    graph = ["--graph", "roads.csv", "--source", "sea"]
    assert run("--export", "roads.html", *graph, "dijkstra")[0] == 0
    assert embedded((tmp_path / "roads.html").read_text())["names"] == ["home", "sea"]


def test_the_file_needs_nothing_else(run, tmp_path):
    run("heapsort", "--random", "5", "--export", "sort.html")
    html = (tmp_path / "sort.html").read_text()
    assert "connect-src 'none'" in html
    assert not re.search(r'(?:src|href)="(?!data:|#)', html)
    assert "import " not in html.split('<script type="module">')[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--undirected", "--directed, --undirected: got no algorithm, expected its name"),
        ("--random 5", "--random: got no algorithm, expected its name and a problem"),
        (
            "heapsort --seed 5",
            "--seed: expected --random too, since only random problems have a seed",
        ),
        ("heapsort --graph no.csv", "--graph: got 'no.csv', expected a file that exists"),
        ("heapsort --target 5", "--target: heapsort takes none, expected for example"),
        ("heapsort 1 x", "VALUE: got 'x', expected a finite number"),
        ("heapsorts 1", "unknown algorithm 'heapsorts': did you mean 'heapsort'?"),
        ("bfs", "unknown algorithm 'bfs'"),
        ("heapsort --random 65", "n: got 65, expected a whole number from 1 to 64"),
        ("--export a.html", "--export: got no algorithm, expected its name and a problem"),
        ("heapsort --export a.html", "heapsort: got no problem, expected for example"),
        ("heapsort 1 x --export a.html", "VALUE: got 'x', expected a finite number"),
        ("heapsorts 1 --export a.html", "unknown algorithm 'heapsorts': did you mean 'heapsort'?"),
        ("bfs --random 5 --export a.html", "bfs"),
        ("heapsort --random 65 --export a.html", "got 65 nodes, expected at most 64"),
        ("heapsort 1 2 --export /dev/null/a.html", "--export: got /dev/null, which is a file"),
        ("heapsort 1 2 --export .", "--export: got ., which is a folder, expected a file"),
        ("heapsort 1 2 --export a.html --no-browser", "--no-browser: got it with --export"),
        ("heapsort 1 2 --export a.html --port 1", "--port: got it with --export"),
        ("heapsort 1 2 --export a.html --also b", "--also: got it with --export"),
        ("--also nobody", "there is no file, run or shipped learner 'nobody'"),
        ("--port 99999999", "--port: got 99999999, expected 0 to 65535"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(run, tmp_path, words, message):
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith("algorist: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "a.html").exists()


def test_a_port_that_is_taken_is_refused_if_it_was_asked_for(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = run("--port", str(port), "--no-browser")
    assert code == 2
    assert f"--port: got {port}, which is not free" in err


def test_the_usual_port_gives_way(run, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(view, "PORT", taken.getsockname()[1])
        monkeypatch.setattr(Server, "serve_forever", lambda self: None)
        code, out, _ = run("--no-browser")
    assert code == 0
    assert f":{view.PORT}/" not in out


@pytest.fixture
def visited(monkeypatch):
    """What the list of algorithms was, when the server was asked for it; then came Ctrl-C."""
    answers = []

    def visited(self):
        thread = threading.Thread(target=super(Server, self).serve_forever, args=(0.02,))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", self.server_port, timeout=PATIENCE)
        connection.request("GET", "/api/algorithms")
        answers.append(json.loads(connection.getresponse().read()))
        self.shutdown()
        thread.join()
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", visited)
    return answers


def test_it_serves_until_it_is_interrupted(run, monkeypatch, visited):
    opened = []
    monkeypatch.setattr(view.webbrowser, "open", opened.append)
    code, out, err = run("--port", "0")
    (address,) = re.findall(r"watch at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)", out)
    assert (code, err, opened) == (0, "", [address])
    assert visited[0]["model"] == "small"
    assert visited[0]["first"] == FIRST
    assert [a["name"] for a in visited[0]["algorithms"]] == ["dijkstra", "heapsort"]


def test_other_models_can_be_chosen_on_the_page(run, visited, tmp_path):
    learner = Learner.new(["heapsort"], small.model(), TaskEncoding())
    learner.save(tmp_path / "mine.safetensors")
    code, _, err = run("--also", "mine.safetensors", "--port", "0", "--no-browser")
    assert (code, err) == (0, "")
    nets = {net["name"]: net for net in visited[0]["nets"]}
    assert list(nets) == ["small", "mine", "generalist", "specialists"]
    assert nets["mine"]["algorithms"] == ["heapsort"]
    assert len(nets["specialists"]["algorithms"]) == 30
    assert nets["generalist"]["curves"]["heapsort"][-1]["n"] == 64


def test_what_the_page_could_not_ask_for_is_refused(run, tmp_path):
    (tmp_path / "roads.csv").write_text("home,sea,1\n" + "\n" * 70_000)
    code, _, err = run("dijkstra", "--graph", "roads.csv", "--source", "sea")
    assert code == 2
    assert re.search(r"the problem: got 140,\d+ bytes, expected at most 131,072", err)


ROADS = "home,sea,3\n"
NUMBERS = "5;2,5;9\n"
ALL = '{"key": [3, 1, 2]}'


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("heapsort", {"algorithm": "heapsort"}),
        ("heapsort 5 2 9 1", {"algorithm": "heapsort", "fields": {"numbers": "5 2 9 1"}}),
        (
            "heapsort --random 5 --seed 2",
            {"algorithm": "heapsort", "random": {"n": 5, "seed": 2}},
        ),
        (
            "dijkstra --graph roads.csv --source sea",
            {
                "algorithm": "dijkstra",
                "fields": {"graph": ROADS, "directed": "as usual", "source": "sea", "weight": ""},
            },
        ),
        (
            "dijkstra --undirected --graph - --source home",
            {
                "algorithm": "dijkstra",
                "fields": {
                    "graph": ROADS,
                    "directed": "undirected",
                    "source": "home",
                    "weight": "",
                },
            },
        ),
        (
            "heapsort --numbers numbers.csv",
            {"algorithm": "heapsort", "fields": {"numbers": NUMBERS}},
        ),
        (
            "heapsort --inputs all.json",
            {"algorithm": "heapsort", "fields": {"numbers": "", "inputs": ALL}},
        ),
    ],
)
def test_the_page_may_begin_with_a_problem(run, monkeypatch, visited, tmp_path, words, first):
    (tmp_path / "roads.csv").write_text(ROADS)
    (tmp_path / "numbers.csv").write_text(NUMBERS)
    (tmp_path / "all.json").write_text(ALL)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ROADS.encode())))
    assert run(*words.split(), "--no-browser", "--port", "0")[::2] == (0, "")
    assert visited[0]["first"] == {**FIRST, **first}
    given = [name for name in ("fields", "random") if name in first]
    assert visited[0]["given"] == (given[0] if given else "algorithm")


@pytest.mark.parametrize("file", ["README.md", "docs/viewer.md"])
def test_commands_in_the_documentation_are_understood(file):
    text = (Path(__file__).parent.parent / file).read_text()
    commands = re.findall(r"^algorist (view .+?)(?:  +#.*)?$", text, re.M)
    assert commands
    for command in commands:
        arguments = command_parser(command.split()).parse_args(command.split())
        assert arguments.values or not arguments.export


def test_the_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        main(["view", "--help"])
    assert "algorist view heapsort 5 2 9 1 --export" in capsys.readouterr().out
