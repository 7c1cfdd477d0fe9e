"""The task stream: what a step of training learns from."""

import json
from itertools import pairwise

import numpy as np
import pytest
import small
import torch

from algorist.training.loader import TaskStream


def assert_same_windows(one, other):
    for own, others in zip(small.tensors(one), small.tensors(other), strict=True):
        assert torch.equal(own, others)


@pytest.mark.parametrize("chunk", [0, 4])
def test_the_window_of_a_step_is_the_same_in_any_order(chunk):
    optimizer = {"teacher_forcing": 0.5}
    config = small.training("insertion_sort", seeds=(0, 1), chunk=chunk, optimizer=optimizer)
    in_order = TaskStream(config, "insertion_sort")
    expected = [in_order.window(step) for step in range(24)]
    assert [in_order.key(step).size for step in range(24)] == [4, 5] * 12
    backwards = TaskStream(config, "insertion_sort")
    for step in (20, 0, 23, 3, *range(3, 24), 0):
        assert_same_windows(backwards.window(step), expected[step])
    resumed = TaskStream(config, "insertion_sort")
    resumed.seek(json.loads(json.dumps(in_order.cursors(14))))
    for step in (14, 15, 16, 17):
        assert_same_windows(resumed.window(step), expected[step])


def test_chunks_of_a_size_that_is_listed_twice_go_on_each_time():
    often = TaskStream(small.training("dfs", chunk=4, sizes=(4, 4, 5)), "dfs")
    hints = [often.window(step).hints["d"] for step in (0, 1, 3, 4)]
    for before, after in pairwise(hints):
        assert torch.equal(before[-1], after[0])
        assert not torch.equal(before, after)
    assert often.cursors(4)["4"][0]["step"] == 2


def test_teacher_forcing_is_drawn_as_often_as_it_says():
    config = small.training("bfs", optimizer={"teacher_forcing": 0.3}, batch_size=500)
    assert TaskStream(config, "bfs").window(0).forced.float().mean() == pytest.approx(0.3, abs=0.05)
    assert TaskStream(small.training("bfs"), "bfs").window(0).forced is None


def test_only_permutations_are_given_noise():
    assert TaskStream(small.training("bfs"), "bfs").window(0).noise is None
    config = small.training("insertion_sort", batch_size=500)
    noise = TaskStream(config, "insertion_sort").window(0).noise
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.05)  # the mean of a Gumbel


def test_the_fixed_training_split_is_read_where_nothing_is_drawn_online():
    config = small.training("bfs", online=False, varied=False, random_positions=False)
    task_stream = TaskStream(config, "bfs")
    assert task_stream.sizes == (16,)
    pos = task_stream.window(0).inputs["pos"]
    torch.testing.assert_close(pos[0, 0], torch.arange(16) / 16)
