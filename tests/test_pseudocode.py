"""Explanations: pseudocode, sentences and roles of all thirty algorithms, step by step."""

from dataclasses import replace

import numpy as np
import pytest

import algorist
from algorist.algorithms.explanations import EXPLANATIONS, Explanation, explanation_of
from algorist.algorithms.explanations.runs import Role, TracedRun, at, group, listed, span, style_of
from algorist.algorithms.format_answers import compact
from algorist.problems import forms
from algorist.problems.inputs import drawn
from algorist.spec import Kind, Location
from algorist.viewer.first_problems import FIRST_PROBLEMS

NAMES = algorist.algorithms()
STYLES = ("known", "busy", "done", "other", *(f"group{i}" for i in range(6)))
TABLES = ("floyd_warshall", "lcs_length", "matrix_chain_order", "optimal_bst")


def traced(name, problem):
    algorithm = algorist.get(name)
    batch = algorithm.trace(**problem)
    inputs = {f.name: compact(f, batch.inputs[f.name])[0] for f in algorithm.spec.inputs}
    hints = {f.name: compact(f, batch.hints[f.name])[:, 0] for f in algorithm.spec.hints}
    outputs = {f.name: compact(f, batch.outputs[f.name]) for f in algorithm.spec.outputs}
    names = [str(i) for i in range(len(inputs["pos"]))]
    return TracedRun(inputs, hints, names), TracedRun(inputs, outputs, names)


def first_run(name):
    return traced(name, forms.read(algorist.get(name), FIRST_PROBLEMS[name]))[0]


def runs(name):
    algorithm = algorist.get(name)
    yield first_run(name)
    for n, seed in ((5, 1), (9, 2), (12, 3)):
        yield traced(name, drawn(algorithm, n, seed))[0]


def nonsense(name):
    """A run as an untrained net may have it: any node, any class, any number."""
    algorithm, run = algorist.get(name), first_run(name)
    rng = np.random.default_rng(0)
    hints = {}
    for feature in algorithm.spec.hints:
        truth = run.hints[feature.name]
        classes = {Kind.MASK: 2, Kind.CATEGORICAL: feature.classes}.get(feature.kind, run.n)
        whole = rng.integers(0, classes, truth.shape)
        hints[feature.name] = rng.normal(size=truth.shape) if feature.kind == Kind.SCALAR else whole
    return replace(run, hints=hints)


def test_the_thirty_are_explained():
    assert sorted(EXPLANATIONS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_lines_and_every_line_has_a_step(name):
    explanation = EXPLANATIONS[name]
    lit = set()
    for run in runs(name):
        for step in range(run.steps):
            lines = explanation.lines_at(run, step)
            assert lines, step
            assert set(lines) <= set(range(1, len(explanation.lines) + 1))
            lit |= set(lines)
    never = {4, 5} if name == "segments_intersect" else set()  # which lead to the answer alone
    assert lit == set(range(1, len(explanation.lines) + 1)) - never


@pytest.mark.parametrize("name", NAMES)
def test_pseudocode_fits_beside_the_pictures(name):
    lines = EXPLANATIONS[name].lines
    assert 3 <= len(lines) <= 8
    assert all(len(line) <= 54 and line == line.rstrip() for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_a_sentence_with_as_many_values_as_it_has_places(name):
    tell = EXPLANATIONS[name].tell
    for run in (*runs(name), nonsense(name)):
        for step in range(run.steps):
            text, *values = tell(run, step)
            assert text.count("{}") == len(values), text
            assert all(isinstance(value, str) and value for value in values)
            assert len(text.format(*values)) <= 160


@pytest.mark.parametrize("name", NAMES)
def test_sentences_of_neighbouring_steps_mostly_differ(name):
    run = first_run(name)
    said = [EXPLANATIONS[name].tell(run, step) for step in range(run.steps)]
    assert len(set(said)) >= 0.6 * len(said)


@pytest.mark.parametrize("name", NAMES)
def test_roles_are_of_nodes_that_there_are(name):
    explanation, algorithm = EXPLANATIONS[name], algorist.get(name)
    hints = {feature.name for feature in algorithm.spec.hints}
    assert bool(explanation.roles) != (name in TABLES)
    for run in (*runs(name), nonsense(name)):
        for step in range(run.steps):
            assert set(style_of(explanation.roles, run, step)) == set(range(run.n))
    for role in explanation.roles:
        assert role.style in STYLES
        assert set(role.nodes.hints) <= hints
        assert 3 < len(role.means) <= 50


@pytest.mark.parametrize("name", NAMES)
def test_roles_of_answers_are_of_outputs(name):
    algorithm, explanation = algorist.get(name), EXPLANATIONS[name]
    outputs = {feature.name for feature in algorithm.spec.outputs}
    _, answer = traced(name, forms.read(algorithm, FIRST_PROBLEMS[name]))
    for role in explanation.answer:
        assert set(role.nodes.hints) <= outputs
    single = any(
        f.location == Location.NODE and f.kind in (Kind.MASK, Kind.MASK_ONE)
        for f in algorithm.spec.outputs
    )
    if single or explanation.answer:
        styles = style_of(explanation.answer, answer, 0)
        assert set(styles.values()) - {"plain"}


@pytest.mark.parametrize(
    ("name", "step", "said"),
    [
        ("dijkstra", 1, "settles 0 at distance 0, updates 1 at 4 and 2 at 2"),
        ("dijkstra", 2, "settles 2 at distance 2, updates 1 at 3 and 4 at 10"),
        ("insertion_sort", 1, "inserts 2 before 5"),
        ("insertion_sort", 2, "leaves 9 where it is"),
        ("minimum", 1, "8 is not smaller than 6"),
        ("minimum", 2, "4 is the smallest so far"),
        ("quicksort", 0, "5 > pivot 4: it stays behind the border"),
        ("quicksort", 1, "2 ≤ pivot 4: it goes before the border"),
        ("binary_search", 1, "17 > 13: keeps the right half"),
        ("find_maximum_subarray_kadane", 2, "starts over at 3, the best so far"),
        ("find_maximum_subarray_kadane", 3, "adds 1: the sum is 4, the best so far"),
        ("activity_selector", 2, "skips 1: it starts at 3, but 0 ends at 4"),
        ("bfs", 1, "reaches 1 from 0 and 2 from 0"),
        ("dfs", 1, "discovers 0 at time 1"),
        ("dfs", 2, "finds 1 from 0"),
        ("mst_kruskal", 1, "looks at 1–2 of weight 1"),
        ("mst_kruskal", 2, "takes 1–2: it joins two trees"),
        ("graham_scan", 3, "adds 2"),
        ("floyd_warshall", 2, "paths through 1: 4 new, 2 shorter; next: 2"),
        ("segments_intersect", 1, "0 lies to the right of 2–3, outside its box"),
    ],
)
def test_sentences_say_what_happens(name, step, said):
    text, *values = EXPLANATIONS[name].tell(first_run(name), step)
    assert text.format(*values) == said


def test_the_letters_of_a_match_are_marked():
    explanation = EXPLANATIONS["kmp_matcher"]
    fields = FIRST_PROBLEMS["kmp_matcher"]
    _, answer = traced("kmp_matcher", forms.read(algorist.get("kmp_matcher"), fields))
    place = fields["text"].index(fields["pattern"])
    styles = style_of(explanation.answer, answer, 0)
    assert [node for node, style in styles.items() if style == "done"] == [
        *range(place, place + len(fields["pattern"]))
    ]


def test_every_component_has_its_colour():
    run = TracedRun({}, {"scc": np.array([[1, 1, 2, 2, 4]])}, list("abcde"))
    roles = [Role(f"group{i}", group("scc", i, 2), "a component") for i in range(2)]
    styles = list(style_of(roles, run, 0).values())
    assert styles == ["group0", "group0", "group1", "group1", "group0"]


def test_an_order_that_is_none_is_followed_as_far_as_it_goes():
    run = TracedRun({}, {"p": np.array([[1, 0, 2, 2]]), "i": np.array([3])}, list("abcd"))
    assert run.order("p", 0) == [2, 3, 0, 1]
    assert list(span("i", "i", "p")(run, 0)) == [3]
    assert at("i")(run, 0) == {3}


def test_lists_read_as_in_a_sentence():
    assert [listed(words) for words in ([], "A", "ABC", "ABCD", "ABCDE")] == [
        "nothing",
        "A",
        "A, B and C",
        "A, B, C and D",
        "A, B, C and 2 more",
    ]


def test_a_plugin_may_explain_itself_or_not(euclid):
    assert explanation_of(euclid) is None
    own = Explanation("subtract the smaller from the larger", lambda run, step: 1)
    assert explanation_of(replace(euclid, explanation=own)) is own
    assert Explanation().lines_at(first_run("bfs"), 0) == ()
