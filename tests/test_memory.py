"""Problems that do not fit into memory are refused in words, and those that just fit are not.

Sorting 16 keys takes two inputs of 16 floats; a step is 16 pointers and two nodes of 2 bytes each.
"""

import numpy as np
import pytest

import algorist
from algorist.algorithms import frames

INPUTS = 3 * 2 * (2 * 16 * 8)  # three times a problem and the place in which it is drawn
STEPS = 16 * (3 * 18 * 2 + 2 * 16)  # the two nodes are one-hot in the batch


def sort(monkeypatch, memory):
    monkeypatch.setattr(frames, "memory", lambda: memory)
    return algorist.get("insertion_sort").sample(16, 1, seed=0)


def test_inputs_that_do_not_fit_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="insertion_sort: got 1 x 16 nodes, whose inputs do not"):
        sort(monkeypatch, INPUTS - 1)


def test_steps_that_do_not_fit_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"whose 16 steps do not fit .* smaller or fewer problems"):
        sort(monkeypatch, STEPS - 1)


def test_what_just_fits_is_the_same_as_ever(monkeypatch):
    pack_trajectories, ample = sort(monkeypatch, STEPS), sort(monkeypatch, 1e12)
    assert pack_trajectories.steps == ample.steps == 16
    for name, array in ample.hints.items():
        assert np.array_equal(pack_trajectories.hints[name], array), name


def test_the_machine_has_memory():
    assert frames.memory() > 1e8
