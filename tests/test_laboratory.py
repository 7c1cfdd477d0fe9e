"""The laboratory: exact columns, transitions that determine what follows, and nets that learn."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import algorist
from algorist.spec import Location

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from laboratory.__main__ import Laboratory, parse, switches_of
from laboratory.columns import Selection, Switches, rank
from laboratory.executor import ExecutorNet, Scalar, decide
from laboratory.measuring import measure
from laboratory.transitions import TransitionPool, changes, development_batch


def pool(name, n=6, count=3):
    size = algorist.get(name).size(n)
    return TransitionPool(development_batch(name, n=size, count=count, seed=5), "cpu")


@pytest.mark.parametrize("name", algorist.algorithms())
def test_hints_and_which_of_them_changed_determine_the_next_hints(name):
    batch = development_batch(name, n=algorist.get(name).size(8), count=8, seed=5)
    hints = [np.asarray(batch.hints[f.name]) for f in batch.spec.hints]
    for i, length in enumerate(batch.lengths):
        states = [b"".join(h[t, i].tobytes() for h in hints) for t in range(length)]
        changed = [None, *(tuple((h[t, i] != h[t - 1, i]).any() for h in hints)
                           for t in range(1, length))]  # fmt: skip
        following = {}
        for t in range(length - 1):
            assert following.setdefault((states[t], changed[t]), states[t + 1]) == states[t + 1]


def test_without_the_changes_a_state_of_heapsort_comes_twice():
    own = pool("heapsort")
    same = all(torch.equal(values[0], values[1]) for values in own.hints.values())
    differs = any(not torch.equal(values[1], values[2]) for values in own.hints.values())
    assert same
    assert differs
    assert not torch.equal(own.changes[0], own.changes[1])


def test_changes_name_the_hints_that_differ():
    before = {"i": torch.tensor([[1, 0], [1, 0]]), "d": torch.tensor([0.5, 0.5])}
    now = {"i": torch.tensor([[1, 0], [0, 1]]), "d": torch.tensor([0.5, 0.7])}
    assert changes(before, now, 2).tolist() == [[0, 0, 0], [1, 1, 0]]
    assert changes(None, now, 2).tolist() == [[0, 0, 1], [0, 0, 1]]


def test_selection_reads_scalars_where_pointers_and_masks_point():
    spec = algorist.get("dijkstra").spec
    own = pool("dijkstra")
    chosen = Selection(spec, Switches(comparisons=False))
    n = own.n
    d, weights = torch.rand(1, n), torch.rand(1, n, n)
    pointers = torch.tensor([[1, 1, 0, 2, 3, 0]])
    values = {"pos": torch.rand(1, n), "d": d, "A": weights}
    choices = {"pi_h": torch.nn.functional.one_hot(pointers, n).float()}
    found = chosen.select(choices, values).joined(Location.NODE, d)[0]
    at_pointee = d[0, pointers[0]]
    from_pointee = weights[0, pointers[0], torch.arange(n)]
    columns = [found[:, k] for k in range(found.shape[1])]
    assert any(torch.allclose(column, at_pointee) for column in columns)
    assert any(torch.allclose(column, from_pointee) for column in columns)


def test_ranks_count_smaller_values():
    assert rank(torch.tensor([[0.3, 0.1, 0.2, 0.9]])).tolist() == [[0.5, 0.0, 0.25, 0.75]]


def test_closed_gates_keep_scalars_exactly():
    feature = next(f for f in algorist.get("dijkstra").spec.hints if f.name == "d")
    before = torch.tensor([0.25, 0.5])
    predicted = Scalar(torch.tensor([-1.0, 1.0]), torch.tensor([9.0, 9.0]))
    assert decide(feature, predicted, before).tolist() == [0.25, 9.0]


@pytest.mark.parametrize("name", ["floyd_warshall", "heapsort", "lcs_length", "kmp_matcher"])
def test_every_switch_can_be_left_out(name):
    own = pool(name, n=16 if name == "kmp_matcher" else 5, count=2)
    switches = [{}, *({field: False} for field, value in vars(Switches()).items() if value is True)]
    for off in switches:
        net = ExecutorNet({name: own.spec}, Switches(hidden=8, **off))
        accuracy = measure(net, name, own)
        assert 0 <= accuracy.one_step <= 100
        assert 0 <= accuracy.score <= 100


def test_a_small_net_learns_the_steps_of_bfs():
    arguments = parse(["bfs", "--steps", "80", "--sizes", "4,6", "--problems", "32",
                       "--batch-size", "32", "--set", "hidden=16", "--average", "20"])  # fmt: skip
    laboratory = Laboratory(switches_of(arguments), arguments)
    before = measure(laboratory.net, "bfs", pool("bfs")).one_step
    laboratory.train()
    after = measure(laboratory.average, "bfs", pool("bfs")).one_step
    assert before < 80 < 95 < after


def test_unknown_switches_are_refused():
    with pytest.raises(SystemExit, match="unknown switch 'depth'"):
        switches_of(parse(["bfs", "--set", "depth=3"]))
