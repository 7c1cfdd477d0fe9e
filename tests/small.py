"""Small nets and problems, for tests of the learner."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from algorist.data import official
from algorist.model.learner import TaskEncoding
from algorist.model.make_window import make_window
from algorist.model.net import ModelConfig, Net
from algorist.spec import Kind
from algorist.training.config import Config, DataConfig, OptimizerConfig, ScheduleConfig

torch.set_num_threads(1)  # more would only slow these down
ON_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_GPU else "cpu")
"""Where fused kernels run: on a GPU, or on a CPU by Triton's interpreter."""
needs_gpu = pytest.mark.skipif(not ON_GPU, reason="there is no GPU")
CONVENTION = TaskEncoding()
_NODE_AXES = {"node": 1, "edge": 2, "graph": 0}


def model(**changes):
    """What small nets are made of."""
    return ModelConfig(**{"hidden": 16, "triplet_features": 4, "heads": 2, **changes})


def net(algorithm, *, seeds=(0,), **changes):
    """A small net for one algorithm."""
    return drawn({algorithm: CONVENTION.spec(algorithm)}, model(**changes), seeds)


def drawn(specs, config, seeds=(0,)):
    """A net with fresh weights."""
    made = Net(specs, config, len(seeds))
    made.draw(seeds)
    return made


def lively(net, amount=0.2):
    """The net with all its weights moved, so that nothing of it starts at zero or nearly shut."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += amount * torch.randn(parameter.shape, generator=generator)
    return net


def problems(algorithm, *, n=6, count=3, seed=0):
    """Problems as nets see them."""
    return CONVENTION.batch(algorithm, official.generate(algorithm, n=n, count=count, seed=seed))


def prediction_shape(feature, n):
    """The shape of one prediction of a feature: one score for each node that it may point to."""
    return (*feature.shape(n), n) if feature.kind == Kind.POINTER else feature.shape(n)


def comparable(feature, prediction):
    """A prediction in numbers of ordinary size: the logarithms of permutations may be huge."""
    prediction = prediction.detach()
    return prediction.exp() if feature.kind == Kind.PERMUTATION_POINTER else prediction


def rolled(net, algorithm, *batches, **options):
    """Predictions for whole trajectories: hints (K, S, B, ...), outputs (S, B, ...)."""
    spec = net.specs[algorithm]
    rollout = net.rollout(algorithm, make_window(batches, **options))
    return {
        name: comparable(spec[name], value)
        for name, value in {**rollout.hints, **rollout.outputs}.items()
    }


def weights(net):
    """The weights of a net as they are now, by their names."""
    return {name: p.detach().clone() for name, p in net.named_parameters()}


def assert_same(got, expected, tolerance=1e-5):
    """Named tensors agree."""
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, rtol=tolerance, atol=tolerance, msg=name)


def assert_identical(got, expected):
    """Named tensors are the same, bit for bit."""
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(got[name], value), name


def truncated(path):
    """Leave half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def reordered(feature, array, order, *, prediction=False):
    """A truth or a prediction after node order[i] became node i."""
    axes = _NODE_AXES[feature.location]
    if feature.kind == Kind.PERMUTATION_POINTER or (prediction and feature.kind == Kind.POINTER):
        axes += 1
    last = array.ndim - (feature.kind == Kind.CATEGORICAL)
    for axis in range(last - axes, last):
        array = np.take(array, order, axis)
    if feature.kind == Kind.POINTER and not prediction:
        array = np.argsort(order)[array].astype(array.dtype)
    return array


def training(*algorithms, seeds=(0,), steps=3, optimizer=(), schedule=(), **data):
    """The configuration of a small run."""
    times = {"validate_every": steps, "checkpoint_every": steps, **dict(schedule)}
    return Config(
        algorithms=algorithms,
        seeds=seeds,
        model=model(),
        data=DataConfig(**{"sizes": (4, 5), "batch_size": 4, **data}),
        optimizer=OptimizerConfig(**dict(optimizer)),
        schedule=ScheduleConfig(steps=steps, **times),
    )


class _Nothing:
    """Stands for streams and events, which order work that is in order already."""

    def __init__(self, *_):
        pass

    def record(self, *_):
        pass

    wait_event = synchronize = record


def without_streams(monkeypatch):
    """Captured engines work on the CPU."""
    for name in ("Stream", "Event", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, _Nothing)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)


def tensors(window):
    """All tensors of a window that hold anything."""
    found = []
    window.map(lambda tensor: found.append(tensor) or tensor)
    return [tensor for tensor in found if tensor.numel()]
