"""Faults in algorithms of users' own: each is refused in one line that says whose it is."""

from pathlib import Path

import numpy as np
import pytest

import algorist
from algorist import algorithm, compiled, edge, graph, node, record, sampler
from algorist.algorithms import declaring
from algorist.algorithms.user_inputs.scaling import Scale

HERE = Path(__file__)
CHAIN = (
    "should_be_permutation 'order' got {}, "
    "expected a chain of all nodes, the first of which points to itself"
)


@sampler()
def cases(rng, key, case=0):
    for i in range(len(key)):
        key[i] = case
    if case == 20:
        raise KeyError("drawn")  # in the sampler
    if case == 21:
        key[1] = np.nan


@compiled
def fail():
    raise KeyError("boom")  # in the helper


@algorithm(
    "faulty",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={"h": node.mask_one, "c": node.categorical(3), "m": node.mask, "x": node.scalar},
    outputs={"o": node.pointer, "y": graph.scalar, "order": node.should_be_permutation},
    sampler=cases,
)
def mine(key, h, c, m, x, o, y, order, trace):
    case = key[0]
    for i in range(1, len(order)):
        order[i] = i - 1
    if case == 1:
        return
    record(trace)
    if case == 2:
        h[0] = -5
    if case == 3:
        c[1] = 3
    if case == 4:
        m[1] = 2
    if case == 5:
        x[1] = 1 / x[0]
    if case == 6:
        y[0] = np.nan
    if case == 7:
        o[0] = 99
    if case == 8:
        fail()
    if case == 9:
        raise ValueError("boom")  # in the run
    if case == 10:
        order[0] = 3  # a cycle
    if case == 11:
        order[3] = 1  # a tree
    if case == 12:
        order[1], order[2], order[3] = 2, 3, 1  # a cycle beside the first
    if case == 13:
        order[2] = 2  # two chains
    c[0] = m[0] = -1
    record(trace)


def line(text):
    return next(i for i, line in enumerate(HERE.read_text().splitlines(), 1) if text in line)


def test_what_a_feature_may_hold_is_accepted():
    batch = mine.sample(4, 2, 0)
    assert batch.hints["m"][-1, 0].tolist() == [-1, 0, 0, 0]
    assert batch.hints["c"][-1, 0, 0].tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (1, "got no step, expected record(trace) to be called at least once"),
        (2, "mask_one 'h' got -5, expected nodes 0 to 3"),
        (3, "categorical 'c' got 3, expected classes 0 to 2, or -1"),
        (4, "mask 'm' got 2, expected 0, 1 or -1"),
        (5, "scalar 'x' got inf, expected finite numbers"),
        (6, "scalar 'y' got nan, expected finite numbers"),
        (7, "pointer 'o' got 99, expected nodes 0 to 3"),
        (8, f"KeyError: boom ({HERE}:{line('# in the helper')})"),
        (9, f"boom ({HERE}:{line('# in the run')})"),
        (10, CHAIN.format("[3, 0, 1, 2]")),
        (11, CHAIN.format("[0, 0, 1, 1]")),
        (12, CHAIN.format("[0, 2, 3, 1]")),
        (13, CHAIN.format("[0, 0, 2, 2]")),
        (20, f"KeyError: drawn ({HERE}:{line('# in the sampler')})"),
        (21, "scalar 'key' got nan, expected finite numbers"),
    ],
)
def test_a_fault_is_refused_in_one_line(case, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
        mine.sample(4, 2, 0, {"case": case})
    assert str(caught.value) == f"mine: {message}"


def test_ours_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(declaring, "check_values", None)
    monkeypatch.setattr(declaring, "user_error", None)
    assert len(algorist.get("minimum").sample(4, 2, 0)) == 2


def declared(function, inputs=("pos", "key"), **outputs):
    inputs = {name: edge.mask if name == "adj" else node.scalar for name in inputs}
    return algorithm("faulty", inputs=inputs, hints={}, outputs=outputs, sampler=cases)(function)


def test_declarations_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="algorithm f: got no outputs, expected at least one"):

        @declared
        def f(trace):
            record(trace)

    def g(pos, out):
        pass

    message = r"algorithm g: got the parameters \(pos, out\), expected 'trace' as the last"
    with pytest.raises(ValueError, match=message):
        declared(g, out=node.mask)

    def h(trace):
        pass

    with pytest.raises(ValueError, match="feature 'out': got 'scalar', expected a type"):
        declared(h, out="scalar")
    with pytest.raises(ValueError, match=r"register: got h\(trace\), expected what @algorithm"):
        algorist.register(h)

    for type_ in (edge.mask_one, graph.mask_one, edge.should_be_permutation):
        with pytest.raises(ValueError, match=f"got {type_.kind} at {type_.location}, expected it"):
            declared(h, out=type_)

    for inputs, lacked in ((["key"], "'pos': node.scalar"), (["pos", "key", "adj"], "'A': edge")):
        with pytest.raises(ValueError, match=f"algorithm h: its inputs lack {lacked}"):
            declared(h, inputs, out=node.mask)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"static_hint": "out"}, "unknown hint 'out': known: none"),
        ({"scale": Scale((("kez",),))}, "unknown input 'kez': did you mean 'key'"),
        ({"scale": Scale((("key",),), degrees={"key": 1})}, "unknown hint or output 'key'"),
        ({"train_options": {"p": 0.5}}, "unknown option 'p': known: case"),
        ({"inputs": {"pos": edge.scalar, "key": node.scalar}}, "lack 'pos': node.scalar"),
    ],
)
def test_names_that_a_declaration_does_not_have_are_refused(given, message):
    def f(out, trace):
        pass

    inputs = {"pos": node.scalar, "key": node.scalar}
    kept = {"inputs": inputs, "hints": {}, "outputs": {"out": node.mask}, "sampler": cases}
    with pytest.raises(ValueError, match=f"algorithm f: .*{message}"):
        algorithm("faulty", **{**kept, **given})(f)


@compiled
def helper():
    return nowhere  # noqa: F821


TABLE = {"a": [1]}


def undefined(out, trace):
    out[0] = nothing  # noqa: F821


def undefined_in_a_helper(out, trace):
    out[0] = helper()


def untyped(out, trace):
    out[0] = TABLE[0]


def attribute(out, trace):
    out[0] = out.nothing


@pytest.mark.parametrize(
    ("function", "message", "at"),
    [
        (undefined, "NameError: name 'nothing' is not defined", "= nothing"),
        (undefined_in_a_helper, "NameError: name 'nowhere' is not defined", "return nowhere"),
        (untyped, "Untyped global name 'TABLE': Cannot determine Numba type", "= TABLE[0]"),
        (attribute, "Unknown attribute 'nothing' of type array", "= out.nothing"),
    ],
)
def test_what_cannot_be_compiled_says_where(function, message, at):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (both ends are compared)
        declared(function, out=node.mask).sample(4, 1, 0)
    text = str(caught.value)
    assert text.startswith(f"{function.__name__}: cannot compile: {message}")
    assert text.endswith(f"({HERE}:{line(at)})")
    assert "\n" not in text
