"""`algorist run`: every algorithm can be given its problem, and bad ones are refused in a line."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import small

import algorist
from algorist.cli import main
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.solving import memory, solver
from algorist.problems import files, inputs
from algorist.problems.form_texts import form_texts, problem_lines
from algorist.report.solutions import show_solution, solution_json
from algorist.report.solving_progress import SolvingProgress
from algorist.report.terminal import Terminal

pytestmark = pytest.mark.usefixtures("piped")

ROADS = "from,to,weight\nhome,shop,1\nhome,park,3\nshop,park,1\npark,sea,4\n"


@pytest.fixture(scope="module")
def learner():
    made = Learner.new(algorist.algorithms(), small.model(), TaskEncoding())
    small.lively(made.net)
    return made


@pytest.fixture(scope="module")
def home(learner, tmp_path_factory):
    """A folder with a learner and some problems."""
    folder = tmp_path_factory.mktemp("home")
    learner.save(folder / "all.safetensors")
    (folder / "roads.csv").write_text(ROADS)
    (folder / "steps.csv").write_text("wash,cook\ncook,eat\nshop,cook\n")
    (folder / "points.csv").write_text("x,y\n0,0\n2,0\n1,1\n2,2\n0,2\n")
    (folder / "empty.csv").write_text("")
    (folder / "blank.csv").write_text("\n \n")
    (folder / "noise").write_bytes(np.random.RandomState(0).bytes(10_000_000))
    letters = np.random.RandomState(0).choice(list("abcdefgh,;\n \"'"), 10_000)
    (folder / "noise.csv").write_text("".join(letters) * 1000)
    (folder / "noise.json").write_text("[" * 10_000_000)
    (folder / "compare.json").write_text('{"key": [3, 1, 2], "compare": 1}')
    (folder / "deep.json").write_text(f'{{"key": {"[" * 980}1{"]" * 980}}}')
    (folder / "lists.json").write_text('{"A": {"a": [["b"]]}, "s": "a"}')
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def run(home, monkeypatch, capsys):
    """Run the command in that folder: exit code, output, errors."""
    monkeypatch.chdir(home)

    def ran(*words, model="all.safetensors"):
        code = main(["run", *words, "--model", model, "--device", "cpu"])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ran


@pytest.fixture
def at_hand(learner, monkeypatch):
    """The learner need not be loaded: that takes longer than all the rest."""
    monkeypatch.setattr("algorist.commands.load_models.load_model", lambda *_: learner)


@pytest.fixture
def solved(run):
    def found(*words):
        code, out, err = run(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return found


@pytest.mark.parametrize("name", algorist.algorithms())
def test_the_command_agrees_with_python(solved, learner, name):
    inputs = {key: x[0] for key, x in algorist.get(name).sample(7, 1, 5).inputs.items()}
    expected = solution_json(learner.run(name, compare=True, **inputs), steps=True)
    found = solved(name, "--random", "7", "--seed", "5", "--steps")
    drawn = found.pop("inputs")
    assert found == json.loads(json.dumps(expected))
    Path("drawn.json").write_text(json.dumps(drawn))
    assert solved(name, "--inputs", "drawn.json", "--steps") == found


def test_of_a_large_random_problem_the_first_edges_are_shown():
    problem = inputs.drawn(algorist.get("bfs"), 40, 0)
    count = len(form_texts(algorist.get("bfs"), problem)["graph"].splitlines())
    edges = problem_lines(algorist.get("bfs"), problem)[0]
    assert edges.count(";") == 100
    assert edges.endswith(f"; and {count - 100} more")


def test_a_random_problem_is_shown(run):
    shown = run("binary_search", "--random", "4")[1].splitlines()[2:4]
    assert shown == ["Numbers: 0.5449 0.5488 0.6028 0.7152", "Look for: 0.4237"]
    assert (
        run("lcs_length", "--random", "6", "--seed", "3")[1].splitlines()[2] == "First string: cab"
    )
    assert "Numbers" not in run("heapsort", "5", "2")[1]


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize("name", algorist.algorithms())
def test_the_terminal_shows_answers_and_steps(run, name):
    code, out, err = run(name, "--random", "5", "--steps")
    assert (code, err) == (0, "")
    assert out.startswith(f"{name}: {algorist.get(name).description}\n")
    assert "\nThe answer is " in out
    for heading in ("step", "net", "algorithm", "First mistake: step"):
        assert heading in out


ROUTE = {"home": "home", "shop": "home", "park": "shop", "sea": "park"}
HULL = [True, True, False, True, True]
WAYS = [
    (f"{sort} 5 2 9 1", [1, 2, 5, 9])
    for sort in ("insertion_sort", "bubble_sort", "heapsort", "quicksort")
] + [
    ("minimum 5 2 9 1", 3),
    ("quickselect 5 2 9", 0),
    ("binary_search 1 2 5 9 --target 5", 2),
    ("find_maximum_subarray_kadane 3 -5 2 4 -1e1", [2, 3]),
    ("activity_selector 1,4 3,5 0,6 5,7", [True, False, False, True]),
    ("task_scheduling 1,10 1,20 2,5", [False, True, True]),
    ("matrix_chain_order 30 35 15 5 10 20 25", [[0, [1, 2]], [[3, 4], 5]]),
    ("lcs_length --x abcb --y bdb", "bb"),
    ("optimal_bst --p 0.2,0.6 --q 0.1,0.05,0.05", [1, 1]),
    ("bfs --graph roads.csv --source home", {**ROUTE, "park": "home"}),
    ("dfs --graph steps.csv", {"wash": "wash", "cook": "wash", "eat": "cook", "shop": "shop"}),
    ("topological_sort --graph steps.csv", ["shop", "wash", "cook", "eat"]),
    (
        "strongly_connected_components --graph steps.csv",
        {name: name for name in ("wash", "cook", "eat", "shop")},
    ),
    ("articulation_points --graph roads.csv", ["park"]),
    ("bridges --graph roads.csv", [["park", "sea"]]),
    ("mst_kruskal --graph roads.csv", [["home", "shop"], ["shop", "park"], ["park", "sea"]]),
    ("mst_prim --graph roads.csv --source home", ROUTE),
    ("bellman_ford --graph roads.csv --source home", ROUTE),
    ("dijkstra --graph roads.csv --source home", ROUTE),
    ("dag_shortest_paths --graph roads.csv --source home", ROUTE),
    (
        "floyd_warshall --graph roads.csv --directed",
        {
            "home": {"home": "home", "shop": "home", "park": "shop", "sea": "park"},
            "shop": {"home": "shop", "shop": "shop", "park": "shop", "sea": "park"},
            "park": {"home": "park", "shop": "park", "park": "park", "sea": "park"},
            "sea": {"home": "sea", "shop": "sea", "park": "sea", "sea": "sea"},
        },
    ),
    ("naive_string_matcher --text abcab --pattern ca", 2),
    ("kmp_matcher --text abcab --pattern cc", -1),
    ("segments_intersect 0,0 4,3 0,3 -4,0", False),
    ("graham_scan --points points.csv", HULL),
    ("jarvis_march 0,0 2,0 1,1 2,2 0,2", HULL),
]


def test_every_algorithm_has_its_natural_way():
    assert sorted(words.split()[0] for words, _ in WAYS) == algorist.algorithms()


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(("words", "answer"), WAYS, ids=[words.split()[0] for words, _ in WAYS])
def test_problems_are_given_in_their_natural_way(solved, words, answer):
    assert solved(*words.split())["true_answer"] == answer


def test_words_may_stand_before_and_behind_options(solved):
    assert solved("heapsort", "5", "--steps", "2", "-9")["true_answer"] == [-9, 2, 5]
    assert solved("graham_scan", "--steps", "-1,-1", "1,0", "0,1")["true_answer"] == [True] * 3


def test_a_matrix_is_a_graph_of_numbered_nodes(solved, home):
    (home / "matrix.json").write_text("[[0, 3, 1], [3, 0, 1], [1, 1, 0]]")
    found = solved("dijkstra", "--graph", "matrix.json", "--source", "0")
    assert found["true_answer"] == [0, 2, 0]


def test_a_problem_may_come_from_the_standard_input(solved, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROADS.encode())))
    assert solved("dijkstra", "--graph", "-", "--source", "home")["true_answer"] == ROUTE


def test_all_inputs_may_come_as_json(solved, home):
    (home / "inputs.json").write_text('{"p": [0.2, 0.6], "q": [0.1, 0.05, 0.05]}')
    assert solved("optimal_bst", "--inputs", "inputs.json")["true_answer"] == [1, 1]


@pytest.mark.usefixtures("euclid")
def test_algorithms_of_plugins_run_too(tmp_path, capsys):
    made = Learner.new(["euclid"], small.model(), TaskEncoding())
    made.save(tmp_path / "euclid.safetensors")
    words = ["run", "euclid", "12", "18", "--json", "--device", "cpu"]
    assert main([*words, "--model", str(tmp_path / "euclid.safetensors")]) == 0
    assert json.loads(capsys.readouterr().out)["true_answer"] == 6


BAD = [
    ("heapsort 1 x 3", "VALUE: got 'x', expected a finite number"),
    ("heapsort 1 nan", "VALUE: got 'nan', expected a finite number"),
    ("heapsort", "got no problem, expected for example: algorist run heapsort 5 2 9 1"),
    ("heapsort 1 2 --random 5", "--random: got VALUE besides"),
    ("heapsort 1 2 --seed 5", "--seed: expected --random too"),
    ("heapsort --random 5 --seed -1", "--seed: got -1, expected 0 or more"),
    ("heapsort --random 0", "--random: got 0, expected a whole number"),
    ("heapsort --random 100000", "got a problem of 100000 nodes"),
    ("heapsort --random x", "--random: invalid int value: 'x'"),
    ("heapsort 1 2 --target 3", "--target: heapsort takes none"),
    ("heapsort 1152921504606846977 1", "VALUE: got 1152921504606846977, expected whole numbers"),
    ("heapsort 1 --numbers points.csv", "--numbers: got VALUEs besides"),
    ("heapsort --numbers roads.csv", "got the columns from, to, weight, expected one"),
    ("heapsort --numbers empty.csv", "empty.csv: got an empty file"),
    ("heapsort --numbers blank.csv", "blank.csv: got an empty file"),
    ("heapsort --numbers noise", "noise: got bytes that are no UTF-8"),
    ("heapsort --numbers noise.csv", "noise.csv"),
    ("graham_scan --points noise.csv", "noise.csv"),
    ("graham_scan --points roads.csv", "roads.csv, line 2: got 3 values, expected 2"),
    ("graham_scan --points folder", "--points: got 'folder', expected a file that exists"),
    ("graham_scan 1,2 3", "VALUE: got '3', expected two numbers"),
    ("segments_intersect 1,2 3,4", "got 2 nodes, expected at least 4"),
    ("activity_selector 5,1", "s, f: got an activity from 5 to 1"),
    ("task_scheduling 0.5,1", "d: got the deadline 0.5"),
    ("optimal_bst --p 0.1", "--q: got nothing"),
    ("optimal_bst --p 0.2,0.3 --q 0.1,0.2", "q: got 2 probabilities for 2 keys, expected 3"),
    ("optimal_bst --p 0.1,x --q 1,2", "--p: got 'x', expected a finite number"),
    ("binary_search 1 2", "--target: got nothing"),
    ("binary_search 2 1 --target 1", "key: got 1 after 2"),
    ("matrix_chain_order 0 3", "p: got 0, expected positive"),
    ("kmp_matcher --text abcdef --pattern abcd", "got the letters 'abcdef', expected at most 4"),
    ("kmp_matcher --text abc", "pattern: got nothing"),
    ("kmp_matcher --text ab --pattern aba", "got a pattern of 3 letters"),
    ("kmp_matcher --x ab --y a", "--x: kmp_matcher takes none"),
    ("dijkstra 1 2", "VALUE: dijkstra takes none"),
    ("dijkstra --graph roads.csv", "--source: got nothing, expected a node to start at: home, "),
    ("dijkstra --source home", "--graph: got nothing"),
    (
        "dijkstra --graph roads.csv --source home --directed --undirected",
        "argument --undirected: not allowed with argument --directed",
    ),
    ("dijkstra --graph roads.csv --source 0", "expected a node of the graph: home, "),
    ("dijkstra --graph missing.csv --source a", "--graph: got 'missing.csv', expected a file"),
    ("dijkstra --graph folder --source a", "--graph: got 'folder', expected a file"),
    ("dijkstra --graph empty.csv --source a", "empty.csv: got an empty file"),
    ("dijkstra --graph noise --source a", "noise: got bytes that are no UTF-8"),
    ("dijkstra --graph noise.csv --source a", "noise.csv, line "),
    ("dijkstra --graph noise.json --source a", "noise.json: got "),
    ("bfs --graph roads.csv", "--source: got nothing"),
    ("topological_sort --graph roads.csv --undirected", "A: got a graph with a cycle"),
    ("minimum --inputs roads.csv", "roads.csv: got expecting value at line 1, column 1"),
    ("minimum --inputs noise.json", "noise.json: got "),
    ("minimum --inputs deep.json", ", expected "),
    (
        "dijkstra --inputs lists.json",
        "A: got [['b']] for the node 'a', expected the names of its neighbours",
    ),
    ("minimum --inputs compare.json", "unknown input 'compare'"),
    ("minimum 1e101 1", "key: got 1e+101, expected numbers up to 1e+100"),
    ("sort 1 2", "unknown algorithm 'sort'"),
]


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(("words", "message"), BAD, ids=[words for words, _ in BAD])
def test_bad_problems_are_refused_in_one_line(run, words, message):
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith("algorist: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert len(err) < 300


BAD_GRAPHS = [
    ("b,a,1\nb,c,-1", "bad, line 2: got the negative weight -1 from 'b' to 'c', expected"),
    ("a,b,0", "bad, line 1: got an edge of weight 0 from 'a' to 'b', expected other weights"),
    ("a,b,far", "line 1: got 'far', expected a finite number"),
    ("a,b,nan", "line 1: got 'nan', expected a finite number"),
    ("a,b,1\nb,c", "line 2: got 2 values, expected 3"),
    ("a,b,1\na,b,2", "line 2: got a second edge, of weight 2, from 'a' to 'b'"),
    ("a,b,1,2", "line 1: got ['a', 'b', '1', '2'], expected from, to"),
    ("a,,1", "line 1: got the node '', expected a name or a number"),
    ("a\nb", "got no edges"),
    ('"a,b', "line 1: got"),
    ('{"a": 3}', "got 3 for the node 'a', expected its neighbours"),
    ("{}", "got no nodes"),
    ('{"edges": [["a"]]}', "bad, edge 1: got ['a'], expected [from, to]"),
    ('{"directed": "false", "edges": []}', "got 'false' for directed, expected true or false"),
    ('{"directed": 0, "edges": []}', "got 0 for directed, expected true or false"),
    ('{"a": ["b"], "a": ["c"]}', "bad: got the key 'a' twice, expected each once"),
    ('{"edges": [{"source": "a", "source": "b"}]}', "got the key 'source' twice"),
    ('{"nodes": 3, "edges": []}', "got 3 for nodes, expected a list"),
    ('{"nodes": [[1]], "edges": []}', "got the node [1], expected a name"),
    ('{"edges": [["a", "b", "far"]]}', "got 'far', expected a finite number"),
    (f'{{"edges": [["a", "b", 1{"0" * 400}]]}}', "expected a finite number"),
    ('{"a": ', "expected JSON"),
    ("[[0, 1], [1, 0]]", "--source: got 'a', expected a node from 0 to 1"),
]


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(("text", "message"), BAD_GRAPHS, ids=[text for text, _ in BAD_GRAPHS])
def test_bad_graphs_are_refused_in_one_line(run, home, text, message):
    (home / "bad").write_text(text)
    code, out, err = run("dijkstra", "--graph", "bad", "--source", "a")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_net_and_algorithm_stand_side_by_side(run):
    code, out, _ = run("dijkstra", "--graph", "roads.csv", "--source", "home", "--steps")
    assert code == 0
    assert "4 nodes, 4 undirected edges, weights from 'weight'; 5 steps" in out
    for heading in ("pi_h net", "pi_h algorithm", "u net", "u algorithm"):
        assert heading in out
    assert "2: home > shop > park" in out


def test_the_solution_is_written_where_no_folder_is_yet(run, home):
    file = Path("some/new/dir/file.json")
    code, out, _ = run("heapsort", "5", "2", "9", "1", "--out", str(file))
    assert code == 0
    assert out.endswith(f"written to {file}\n")
    assert json.loads(file.read_text())["true_explanation"]["keys"] == [1, 2, 5, 9]


@pytest.mark.parametrize("size", [40, 90])
def test_long_work_is_announced_and_in_progress(learner, monkeypatch, size):
    told = []

    def announce(nodes, steps, seconds):
        told.append((nodes, steps, seconds > 0))

    def watch(done, steps):
        told.append((done, steps))

    problem = inputs.drawn(algorist.get("dijkstra"), size, 0)
    solver.solve(learner, "dijkstra", problem, compare=False, announce=announce, on_progress=watch)
    nodes, steps, is_timed = told[0]
    assert nodes == size
    assert is_timed == (nodes**2 * steps >= 320_000)
    assert told[-1] == (steps - 1, steps - 1)
    assert len(told) > 2 or size == 40


def test_large_problems_are_cut_into_small_pieces(learner):
    steps = {n: memory.window_steps(n) for n in (4, 64, 128, 500, 2000)}
    assert steps == {4: 64, 64: 64, 128: 16, 500: 1, 2000: 1}
    problem = inputs.drawn(algorist.get("bfs"), 12, 3)
    whole = solver.solve(learner, "bfs", problem, compare=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "window_steps", lambda n: 1)
        cut = solver.solve(learner, "bfs", problem, compare=True)
    assert np.array_equal(whole.outputs["pi"], cut.outputs["pi"])
    assert np.array_equal(whole.hints["reach_h"], cut.hints["reach_h"])


def test_progress_is_shown_only_where_it_takes_long(capsys, monkeypatch):
    progress = SolvingProgress(Terminal(stderr=True))
    progress.begin(5, 4, 0.5)
    progress(2, 4)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("algorist.report.solving_progress._REPEAT", 0.0)
    progress.begin(500, 501, 130.0)
    progress(250, 501)
    progress.end()
    first, second = capsys.readouterr().err.splitlines()
    assert first == "501 steps on 500 nodes: about 2 min 10 s; Ctrl-C stops"
    assert second.startswith("step 250/501, ")


@pytest.mark.parametrize("model", ["folder", "missing", "noise", "roads.csv"])
def test_what_is_no_learner_is_refused_in_one_line(run, model):
    code, out, err = run("heapsort", "1", "2", model=model)
    assert (code, out) == (2, "")
    assert model in err
    assert err.count("\n") == 1


def test_files_beyond_the_limit_are_refused(run, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 2**20)
    code, _, err = run("dijkstra", "--graph", "noise", "--source", "a")
    assert code == 2
    assert "noise: got more than 1 MB, expected a smaller file" in err


def test_only_compared_solutions_are_shown(learner):
    solution = learner.run("minimum", key=[2, 1])
    with pytest.raises(ValueError, match="expected run"):
        show_solution(Terminal(), algorist.get("minimum"), solution, steps=False)
