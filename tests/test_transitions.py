"""Single steps drawn from trajectories, and the history that they need."""

from dataclasses import replace

import numpy as np
import pytest
import small
import torch
from executing import ENCODING, hot, learner, seen

import algorist
from algorist.model.executing.derived_features import VISITED, changed_hints
from algorist.model.executing.transitions import draw_transitions
from algorist.model.losses import feature_losses
from algorist.spec import Kind


@pytest.mark.parametrize("name", algorist.algorithms())
def test_hints_and_which_of_them_changed_determine_the_next_hints(name):
    batch = seen(name, n=8, count=8)
    hints = [batch.hints[f.name] for f in batch.spec.hints]
    for i, length in enumerate(batch.lengths):
        states = [b"".join(h[t, i].tobytes() for h in hints) for t in range(length)]
        changes = [tuple((h[t, i] != h[t - 1, i]).any() for h in hints) for t in range(length)]
        changes[0] = None
        following = {}
        for t in range(length - 1):
            assert following.setdefault((states[t], changes[t]), states[t + 1]) == states[t + 1]


def test_without_the_changes_a_state_of_heapsort_comes_twice():
    batch = seen("heapsort")
    assert all(np.array_equal(x[0], x[1]) for x in batch.hints.values())
    assert not all(np.array_equal(x[1], x[2]) for x in batch.hints.values())


def test_changes_name_the_hints_that_differ():
    before = {"i": torch.tensor([[1, 0], [1, 0]]), "d": torch.tensor([0.5, 0.5])}
    now = {"i": torch.tensor([[1, 0], [0, 1]]), "d": torch.tensor([0.5, 0.7])}
    assert changed_hints(now, before, 1).tolist() == [[0, 0, 0], [1, 1, 0]]
    assert changed_hints(now, None, 1).tolist() == [[0, 0, 1], [0, 0, 1]]


def test_what_was_selected_before_is_remembered():
    """On its own and in steps that are drawn from a trajectory."""
    batch = seen("quicksort", n=4, count=1)
    window = draw_transitions([batch], 200, [np.random.RandomState(0)])
    visited, masks = window.visited[0], [f for f in batch.spec.hints if f.kind == Kind.MASK_ONE]
    assert visited.shape[1:] == (4, len(masks))
    last = np.stack([batch.hints[f.name][:, 0].max(0) for f in masks], -1)
    np.testing.assert_array_equal(visited[-1], last)  # the last lane is the end of the trajectory
    derived = learner("quicksort").net.derived["quicksort"]
    blank = derived.blank(4)
    first = derived.derive_values(blank | {"p": hot([1], 4)}, None)[VISITED]
    second = derived.derive_values(blank | {"p": hot([2], 4)}, first)[VISITED]
    assert second.amax(-1).tolist() == [[0, 1, 1, 0]]


@pytest.mark.parametrize("name", ["dijkstra", "floyd_warshall", "heapsort", "kmp_matcher"])
def test_drawn_steps_have_the_losses_that_they_have_in_a_trajectory(name):
    """Drawn from a trajectory of one step, transitions are that step and its end."""
    batch = seen(name, count=1)
    first = replace(batch, hints={k: x[:2] for k, x in batch.hints.items()}, lengths=np.array([2]))
    net = small.lively(learner(name).net)
    net.train()
    drawn = draw_transitions([first], 3, [np.random.RandomState(0)])
    losses = []
    for window in (drawn, ENCODING.window([first])):
        window = window.with_noise(np.zeros((1, 1, batch.n, batch.n), np.float32))
        forced = window.with_forced(np.ones(tuple(window.follows.shape), bool))
        losses.append(feature_losses(net.specs[name], net.rollout(name, forced), forced))
    for key, part in losses[0].items():
        torch.testing.assert_close(part, losses[1][key], msg=key, rtol=1e-4, atol=1e-4)


def test_rare_steps_are_drawn_more_often():
    """One step in twenty changes a hint, drawn by its kind it is one in five."""
    batch = seen("bfs", n=4, count=1)
    hints = {name: np.repeat(x[:1], 21, 0) for name, x in batch.hints.items()}
    hints["reach_h"][1:] = 1 - hints["reach_h"][0]
    rare = replace(batch, hints=hints, lengths=np.array([21]))
    window = draw_transitions([rare], 4000, [np.random.RandomState(1)])
    now, following = window.hints["reach_h"][:, 0, :4000]
    share = float((now != following).any(-1).float().mean())
    kinds = np.sqrt([1, 19])
    assert share == pytest.approx((1 / 20 + kinds[0] / kinds.sum()) / 2, abs=0.02)
