"""The fused scan against the plain one: predictions, losses, what is carried on, all gradients."""

import re
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import small
import torch
from fused import interpret_quickly  # noqa: F401 (which it does)
from small import DEVICE, ON_GPU

pytest.importorskip("triton")
import algorist
from algorist.data.chunks import Chunker
from algorist.model.kinds import TABLE
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_chunk_window, make_window
from algorist.model.processors import PROCESSORS
from algorist.model.window import split_window
from algorist.spec import Kind, Spec, Stage, edge, graph, node
from algorist.training.packing import pack_trajectories

SEEDS = (0, 1)
EVERYTHING = "everything"
MANY = EVERYTHING if ON_GPU else "dijkstra"
"""As many kinds of features as there is time for."""

KINDS = {
    "height": node.scalar,
    "marks": node.mask,
    "one": node.mask_one,
    "colour": node.categorical(3),
    "next": node.pointer,
    "previous": node.pointer,
    "weights": edge.scalar,
    "links": edge.mask,
    "direction": edge.categorical(4),
    "via": edge.pointer,
    "total": graph.scalar,
    "done": graph.mask,
    "phase": graph.categorical(3),
}
PERMUTATION = replace(node.pointer, kind=Kind.PERMUTATION_POINTER)
SPEC = Spec.of(
    inputs={"pos": node.scalar, **{f"given_{name}": kind for name, kind in KINDS.items()}},
    hints=KINDS,
    outputs={"order": PERMUTATION, **{f"final_{name}": kind for name, kind in KINDS.items()}},
)


def draw(feature, shape, n, rng):
    """A random truth as batches hold it."""
    shape = (*shape, *feature.shape(n))
    if feature.kind == Kind.SCALAR:
        return rng.normal(size=shape).astype(np.float32)
    if feature.kind == Kind.MASK:
        return rng.integers(0, 2, shape).astype(np.int8)
    if feature.kind == Kind.POINTER:
        return rng.integers(0, n, shape).astype(np.int16)
    choices = rng.integers(0, shape[-1], shape[:-1])
    return np.eye(shape[-1], dtype=np.int8)[choices]


def random_batch(*, n, count, seed):
    """Trajectories without sense, of every kind of feature, of different lengths."""
    rng = np.random.default_rng(seed)
    moments = 3
    stages = {
        stage: {
            f.name: draw(f, (moments, count) if stage == Stage.HINT else (count,), n, rng)
            for f in SPEC.at(stage)
        }
        for stage in Stage
    }
    lengths = moments - (seed + np.arange(count)) % 2
    return algorist.Batch(SPEC, *stages.values(), lengths)


def problems(algorithm, *, n=4, count=2, seed=0, moments=3):
    """Problems whose trajectories are cut short."""
    if algorithm == EVERYTHING:
        return random_batch(n=n, count=count, seed=seed)
    batch = small.problems(algorithm, n=n, count=count, seed=seed)
    hints = {name: array[:moments] for name, array in batch.hints.items()}
    return replace(batch, hints=hints, lengths=batch.lengths.clip(max=moments))


def whole_window(algorithm, *, seeds=SEEDS, **options):
    return make_window([problems(algorithm, seed=seed, **options) for seed in seeds]).to(DEVICE)


def made(algorithm, *, seeds=SEEDS, lively=0.2, **model):
    """A lively net; its kernels are yet to be chosen."""
    spec = SPEC if algorithm == EVERYTHING else small.CONVENTION.spec(algorithm)
    net = small.drawn({algorithm: spec}, small.model(**model), seeds)
    return small.lively(net, lively).to(DEVICE)


@dataclass
class Outcome:
    """All that some windows, one after the other, come to."""

    predictions: dict
    losses: dict
    gradients: dict


def outcome(net, windows, kernels, *, learn=True, keep_hints=True):
    net.kernels = kernels
    net.zero_grad(set_to_none=True)
    ((algorithm, spec),) = net.specs.items()
    result, carry = Outcome({}, {}, {}), None
    with nullcontext() if learn else torch.no_grad():
        for number, window in enumerate(windows):
            rollout = net.rollout(algorithm, window, carry, keep_hints=keep_hints)
            carry = rollout.carry.detach()
            if keep_hints:
                parts = feature_losses(spec, rollout, window)
                result.losses |= {(number, name): part.detach() for name, part in parts.items()}
            if learn:
                sum(parts.values()).sum().backward()
            stages = {"hint": rollout.hints, "output": rollout.outputs, "carried": carry.hints}
            result.predictions[number, "states"] = carry.hidden
            for stage, values in stages.items():
                for name, value in values.items():
                    value = small.comparable(spec[name], value)
                    result.predictions[number, stage, name] = value
    if learn:
        result.gradients = {name: p.grad for name, p in net.named_parameters()}
    return result


def assert_close(got, expected, scale):
    """The same names, and values that differ by rounding only."""
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert got[name] is None, name
            continue
        assert got[name].shape == value.shape, name
        error = (got[name] - value).abs().max()
        bound = 1e-4 * value.abs().max() + 1e-5 * scale
        assert error <= bound, f"{name}: off by {error}, expected less than {bound}"


def assert_fused_is_plain(net, windows, **options):
    plain, fused = (outcome(net, windows, kernels, **options) for kernels in ("plain", "fused"))
    assert_close(fused.predictions, plain.predictions, 1.0)
    assert_close(fused.losses, plain.losses, 1.0)
    largest = max((g.abs().max() for g in plain.gradients.values() if g is not None), default=0.0)
    assert_close(fused.gradients, plain.gradients, largest)


def test_the_features_drawn_here_are_of_every_kind():
    known = {key for key in TABLE if key[1] != Kind.GATED_SCALAR}
    assert {(f.location, f.kind) for f in SPEC.outputs} == known
    hints = {(f.location, f.kind) for f in SPEC.hints}
    assert known - hints == {("node", Kind.PERMUTATION_POINTER)}


def assert_one_is_plain(algorithm, **model):
    """One net on one problem: what more of them would change, the tests of everything show."""
    window = whole_window(algorithm, seeds=(0,), count=1)
    assert_fused_is_plain(made(algorithm, seeds=(0,), **model), [window])


def test_every_kind_of_feature_is_read_predicted_and_learnt():
    assert_fused_is_plain(made(EVERYTHING), [whole_window(EVERYTHING, count=1)])


def test_a_single_node_is_fused():
    assert_fused_is_plain(made(MANY), [whole_window(MANY, n=1)])


def test_predictions_may_be_read_as_hard_choices():
    assert_one_is_plain(MANY, feedback="hard")


@pytest.mark.parametrize("algorithm", ["lcs_length", "minimum", "segments_intersect"])
def test_what_an_algorithm_does_not_have_is_left_out(algorithm):
    assert_one_is_plain(algorithm)


FUSED = [name for name in PROCESSORS if re.fullmatch("deepsets|(triplet_)?g?(mpnn|pgn)", name)]


@pytest.mark.parametrize("processor", FUSED)
def test_every_processor_of_messages_is_fused(processor):
    assert_one_is_plain("bfs", processor=processor)


def test_states_may_go_without_norm():
    assert_one_is_plain("bfs", layer_norm=False)


@pytest.mark.parametrize("hints", ["decoded_only", "none"])
def test_hints_need_not_be_read(hints):
    assert_one_is_plain("bfs", hints=hints)


def test_hints_that_are_forced_are_read():
    window = whole_window("bfs")
    forced = np.random.default_rng(0).uniform(size=window.follows.shape) < 0.5
    assert_fused_is_plain(made("bfs"), [window.with_forced(forced).to(DEVICE)])


def chunk_windows(algorithm, *, length, count):
    """The windows of the first chunks of both replicas' streams of problems."""
    streams = [
        Chunker(lambda step, s=s: problems(algorithm, count=1, seed=10 * step + s), length=length)
        for s in SEEDS
    ]
    rows = [[None, *(stream.chunk(step) for step in range(count))] for stream in streams]
    pairs = zip(*(pairwise(row) for row in rows), strict=True)
    return [make_chunk_window(pair).to(DEVICE) for pair in pairs]


def test_chunks_go_on_where_the_ones_before_stopped():
    windows = chunk_windows(MANY, length=2, count=2)
    assert not windows[1].is_first[0].any(), "both replicas should go on"
    assert windows[1].follows[0].any(), "one of them should have more to predict"
    assert windows[1].is_first[1].any(), "a trajectory should begin inside"
    assert_fused_is_plain(made(MANY), windows)


def test_trajectories_follow_each_other_in_fewer_lanes():
    window = make_window([problems(MANY, seed=seed, count=4) for seed in SEEDS])
    fewer = pack_trajectories(window.padded(2 * window.steps + 1, 4), lambda needed: needed)
    assert fewer.follows.shape[-1] == 2
    assert_fused_is_plain(made(MANY), [fewer.to(DEVICE)])


@pytest.mark.parametrize(("algorithm", "keep_hints"), [(EVERYTHING, True), ("bfs", False)])
def test_evaluation_in_pieces_keeps_nothing_for_gradients(algorithm, keep_hints):
    net = made(algorithm, feedback="hard_on_eval").eval()
    parts = list(split_window(whole_window(algorithm, count=1), 1))
    assert len(parts) == 2
    assert_fused_is_plain(net, parts, learn=False, keep_hints=keep_hints)


def test_no_gradient_goes_back_into_the_window_before():
    net = made("minimum")
    net.kernels = "fused"
    carry = net.rollout("minimum", whole_window("minimum", count=1, moments=2)).carry
    assert not any(x.requires_grad for x in (carry.hidden, *carry.hints.values()))


needs_gpu = pytest.mark.skipif(not ON_GPU, reason="too slow without a GPU")
every_algorithm = pytest.mark.parametrize("algorithm", algorist.algorithms())


@needs_gpu
@pytest.mark.parametrize("algorithm", ["dfs", EVERYTHING])
def test_two_runs_are_the_same_bit_for_bit(algorithm):
    net, window = made(algorithm), whole_window(algorithm, n=16, count=8)
    one, other = (outcome(net, [window], "fused") for _ in range(2))
    for mine, same in ((one.predictions, other.predictions), (one.gradients, other.gradients)):
        assert all(torch.equal(mine[name], same[name]) for name in mine)


@needs_gpu
@every_algorithm
def test_every_algorithm_is_fused(algorithm):
    """In many wide steps two candidates for a maximum may be equal but for their rounding.

    So single gradients may differ, as they do between float32 and float64, but few of them.
    """
    window = whole_window(algorithm, n=16, moments=9)
    net = made(algorithm, lively=0.05, hidden=128, triplet_features=8)
    plain, fused = (outcome(net, [window], kernels) for kernels in ("plain", "fused"))
    assert_close(fused.predictions, plain.predictions, 1.0)
    assert_close(fused.losses, plain.losses, 1.0)
    names = [name for name, gradient in plain.gradients.items() if gradient is not None]
    assert names == [name for name, gradient in fused.gradients.items() if gradient is not None]
    got, expected = (
        torch.cat([x.gradients[name].flatten() for name in names]) for x in (fused, plain)
    )
    assert (got - expected).norm() <= 1e-3 * expected.norm()


@needs_gpu
@every_algorithm
def test_large_problems_are_fused(algorithm):
    window = whole_window(algorithm, n=64, moments=3)
    assert_fused_is_plain(made(algorithm), [window], learn=False)
