"""Windows: whole trajectories, chunks of them and pieces of them are one and the same to a net."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import small
import torch

from algorist.data.chunks import Chunker
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_chunk_window, make_window
from algorist.model.window import split_window
from algorist.spec import Stage
from algorist.training.packing import pack_trajectories


def chunk_windows(batch, length, count):
    """The windows of the first chunks of batch(0), batch(1), ..."""
    chunker = Chunker(batch, length=length)
    chunks = [None, *(chunker.chunk(step) for step in range(count))]
    return [make_chunk_window([pair]) for pair in pairwise(chunks)]


def rollouts(net, algorithm, windows):
    """One rollout after the other, each going on where the one before stopped."""
    carry, results = None, []
    for window in windows:
        results.append(net.rollout(algorithm, window, carry))
        carry = results[-1].carry.detach()
    return results


def losses(net, algorithm, rollout, window):
    return feature_losses(net.specs[algorithm], rollout, window)


def gradients(net, loss):
    net.zero_grad()
    loss.sum().backward()
    return {name: parameter.grad.clone() for name, parameter in net.named_parameters()}


def test_chunks_that_hold_whole_trajectories_give_the_losses_of_full_training():
    def batch(step):
        return small.problems("insertion_sort", n=16, count=4, seed=step)

    assert set(batch(0).lengths) == {16}
    net = small.lively(small.net("insertion_sort"))
    windows = chunk_windows(batch, 16, 3)
    for step, rollout in enumerate(rollouts(net, "insertion_sort", windows)):
        window = make_window([batch(step)])
        expected = losses(net, "insertion_sort", net.rollout("insertion_sort", window), window)
        got = losses(net, "insertion_sort", rollout, windows[step])
        small.assert_same(got, expected)
        small.assert_same(
            gradients(net, sum(got.values())), gradients(net, sum(expected.values())), 1e-4
        )


def test_two_trajectories_in_a_chunk_give_the_mean_of_their_losses():
    def batch(step):
        return small.problems("insertion_sort", n=8, count=4, seed=step)

    assert set(batch(0).lengths) == {8}
    net = small.lively(small.net("insertion_sort"))
    (window,) = chunk_windows(batch, 16, 1)
    got = losses(net, "insertion_sort", net.rollout("insertion_sort", window), window)
    each = []
    for step in range(2):
        alone = make_window([batch(step)])
        each.append(losses(net, "insertion_sort", net.rollout("insertion_sort", alone), alone))
    small.assert_same(got, {name: (each[0][name] + each[1][name]) / 2 for name in got})


def joined_over_chunks(net, algorithm, windows, length):
    """Predicted hints by moment of the lanes, and outputs by the moment and lane of their end."""
    results = rollouts(net, algorithm, windows)
    hints = {
        name: torch.cat([result.hints[name][:, 0] for result in results])  # (moments, B, ...)
        for name in results[0].hints
    }
    outputs = {}
    for number, (window, result) in enumerate(zip(windows, results, strict=True)):
        steps, lanes = (x[0].tolist() for x in window.ends)
        for end, (step, lane) in enumerate(zip(steps, lanes, strict=True)):
            if window.end_weights[0, end]:
                outputs[number * length + step, lane] = {
                    name: value[0, end] for name, value in result.outputs.items()
                }
    return hints, outputs


@pytest.mark.parametrize("processor", ["triplet_gmpnn", "pgn"])
@pytest.mark.parametrize("algorithm", ["dfs", "quicksort", "bfs"])
def test_chunks_predict_what_whole_trajectories_do(algorithm, processor):
    """The state is carried over from chunk to chunk, and reset where a trajectory begins."""

    def batch(step):
        return small.problems(algorithm, n=5, count=3, seed=step)

    length, count = 7, 12
    net = small.lively(small.net(algorithm, processor=processor))
    with torch.no_grad():
        hints, outputs = joined_over_chunks(
            net, algorithm, chunk_windows(batch, length, count), length
        )
        starts, compared = np.zeros(3, int), 0
        for step in range(5):
            problems = batch(step)
            rollout = net.rollout(algorithm, make_window([problems]))
            for lane, (start, steps) in enumerate(zip(starts, problems.lengths, strict=True)):
                if steps == 1 or start + steps > length * count:
                    continue
                compared += 1
                for name, expected in rollout.hints.items():
                    got = hints[name][start + 1 : start + steps, lane]
                    torch.testing.assert_close(got, expected[: steps - 1, 0, lane])
                small.assert_same(
                    outputs[start + steps - 1, lane],
                    {name: value[0, lane] for name, value in rollout.outputs.items()},
                )
            starts += problems.lengths
        assert compared >= 3
        assert starts.max() > length


def test_carried_state_is_laid_out_as_a_file_gives_it_back():
    """Else the last bits of a resumed run would differ."""
    window = make_window([small.problems("dfs", n=4)])
    carry = small.net("dfs").rollout("dfs", window).carry.detach()
    assert all(tensor.is_contiguous() for tensor in (carry.hidden, *carry.hints.values()))
    assert not any(tensor.requires_grad for tensor in (carry.hidden, *carry.hints.values()))


def test_a_trajectory_of_a_single_moment_has_no_end_in_a_chunk():
    def batch(step):
        batch = small.problems("bfs", n=4, count=2, seed=step)
        return replace(batch, lengths=np.ones_like(batch.lengths))

    (window,) = chunk_windows(batch, 5, 1)
    assert window.end_weights.sum() == 0
    assert window.follows.sum() == 0
    net = small.net("bfs")
    parts = losses(net, "bfs", net.rollout("bfs", window), window)
    assert all(part == 0 for part in parts.values())


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("steps", [1, 4, 100])
def test_pieces_predict_what_the_whole_does(steps, forced):
    batch = small.problems("dfs", n=4)
    window = make_window([batch])
    draws = np.random.RandomState(0).uniform(size=(window.steps, 1, 3)) < 0.5
    window = window.with_forced(draws) if forced else window
    net = small.lively(small.net("dfs"))
    expected = net.rollout("dfs", window)
    parts = list(split_window(window, steps))
    assert {part.steps for part in parts} == {steps}
    assert sum(part.end_weights.sum() for part in parts) == 3
    results = rollouts(net, "dfs", parts)
    for name, value in expected.hints.items():
        got = torch.cat([result.hints[name] for result in results])[: window.steps]
        torch.testing.assert_close(got, value)
    for name, value in expected.outputs.items():
        got = sum(
            result.outputs[name] * part.end_weights[..., None, None]
            for result, part in zip(results, parts, strict=True)
        )
        torch.testing.assert_close(got, value)


def whole_problems(algorithm, n, count, *, forced, permuted):
    """The problems of two replicas, with all that training draws."""
    window = make_window([small.problems(algorithm, n=n, count=count, seed=s) for s in (1, 2)])
    rng = np.random.RandomState(0)
    if forced:
        window = window.with_forced(rng.uniform(size=(window.steps, 2, count)) < 0.5)
    if permuted:
        window = window.with_noise(rng.gumbel(size=(2, count, n, n)).astype(np.float32))
    return window


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(
    ("algorithm", "n"), [("mst_kruskal", 5), ("quicksort", 6), ("quickselect", 6), ("bfs", 7)]
)
def test_trajectories_that_follow_each_other_have_the_losses_of_those_side_by_side(
    algorithm, n, forced
):
    permuted = algorithm == "quicksort"
    window = whole_problems(algorithm, n, 12, forced=forced, permuted=permuted)
    window = window.padded(2 * window.steps + 1, 12)
    fewer = pack_trajectories(window, lambda needed: needed)
    assert fewer.steps == window.steps
    assert fewer.follows.shape[-1] < 12
    for s in range(2):  # all steps and ends are there, and no two at one place
        assert fewer.follows[:, s].sum() == window.follows[:, s].sum()
        assert len(set(zip(*(x[s].tolist() for x in fewer.ends), strict=True))) == 12
    net = small.lively(small.net(algorithm, seeds=(0, 1)))
    got, expected = (losses(net, algorithm, net.rollout(algorithm, x), x) for x in (fewer, window))
    small.assert_same(got, expected)
    small.assert_same(
        gradients(net, sum(got.values())), gradients(net, sum(expected.values())), 1e-4
    )


def test_lanes_are_saved_only_where_trajectories_are_short_and_inputs_small(monkeypatch):
    window = make_window([small.problems("insertion_sort", count=5)])  # all of one length
    assert pack_trajectories(window, lambda needed: needed) is window
    window = whole_problems("mst_kruskal", 5, 12, forced=False, permuted=False)
    needed = pack_trajectories(window, lambda needed: needed).follows.shape[-1]
    assert pack_trajectories(window, lambda needed: needed + 1).follows.shape[-1] == needed + 1
    assert pack_trajectories(window, lambda needed: 12) is window
    with pytest.raises(ValueError, match="ends: got 13, expected one in each of 12 lanes"):
        pack_trajectories(window.padded(window.steps, 13), lambda needed: needed)
    monkeypatch.setattr("algorist.training.packing._MOST_INPUTS", 1000)
    assert pack_trajectories(window, lambda needed: needed) is window


def test_replicas_with_different_numbers_of_ends_share_a_window():
    chunkers = [
        Chunker(
            lambda step, n=n: small.problems("bfs", n=5, count=2, seed=100 * n + step), length=9
        )
        for n in range(3)
    ]
    chunks = [chunker.chunk(0) for chunker in chunkers]
    together = make_chunk_window([(None, chunk) for chunk in chunks])
    assert len(set(together.end_weights.sum(1).tolist())) > 1
    net = small.lively(small.net("bfs", seeds=(0, 1, 2)))
    parts = losses(net, "bfs", net.rollout("bfs", together), together)
    for replica, chunk in enumerate(chunks):
        window = make_chunk_window([(None, chunk)])
        alone = small.net("bfs")
        state = {name: value[[replica]] for name, value in net.state_dict().items()}
        alone.load_state_dict(state)
        expected = losses(alone, "bfs", alone.rollout("bfs", window), window)
        small.assert_same({name: part[[replica]] for name, part in parts.items()}, expected)


def test_the_stages_of_a_window_have_the_axes_they_promise():
    batch = small.problems("dijkstra", count=3)
    window = make_window([batch, batch])
    for feature in batch.spec:
        shape = feature.shape(6)
        expected = {
            Stage.INPUT: (2, 3, *shape),
            Stage.HINT: (batch.steps, 2, 3, *shape),
            Stage.OUTPUT: (2, 3, *shape),
        }[feature.stage]
        values = {"input": window.inputs, "hint": window.hints, "output": window.outputs}
        assert values[feature.stage][feature.name].shape == expected
    assert window.follows.sum(0).tolist() == [[length - 1 for length in batch.lengths]] * 2
