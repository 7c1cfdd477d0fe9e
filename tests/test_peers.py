"""Converters: objects of dm-clrs and PyTorch Geometric, real ones where these are installed.

Where they are not, classes with the same attributes stand in for theirs.
"""

import sys
from collections import namedtuple
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace

import golden_records
import numpy as np
import pytest
import torch

import algorist
from algorist import Spec, Stage, node
from algorist.data import dm_clrs, official, pyg, transforms

SOME = ["bfs", "insertion_sort", "lcs_length", "segments_intersect", "floyd_warshall"]

Features = namedtuple("Features", "inputs hints lengths")
Feedback = namedtuple("Feedback", "features outputs")


@dataclass
class DataPoint:
    name: str
    location: str
    type_: str
    data: np.ndarray


class Data:
    """What of PyTorch Geometric's is needed."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@pytest.fixture(params=["stand-in", "installed"])
def clrs(request, monkeypatch):
    if request.param == "installed":
        return pytest.importorskip("clrs", reason="dm-clrs is not installed")
    module = ModuleType("clrs")
    vars(module).update(Feedback=Feedback, Features=Features, DataPoint=DataPoint)
    monkeypatch.setitem(sys.modules, "clrs", module)
    return module


@pytest.fixture(params=["stand-in", "installed"])
def geometric(request, monkeypatch):
    if request.param == "installed":
        return pytest.importorskip("torch_geometric.data", reason="it is not installed")
    module = ModuleType("torch_geometric.data")
    module.Data = Data
    monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", module)
    return module


def drawn(name, count=3):
    return official.generate(name, n=6, count=count, seed=4)


# dm-clrs


@pytest.mark.parametrize("name", SOME)
def test_a_batch_becomes_feedback_and_a_batch_again(name, clrs):
    batch = drawn(name)
    feedback = dm_clrs.to_feedback(batch)
    assert isinstance(feedback, clrs.Feedback)
    assert isinstance(feedback.features, clrs.Features)
    points = (*feedback.features.inputs, *feedback.features.hints, *feedback.outputs)
    assert all(isinstance(point, clrs.DataPoint) for point in points)
    assert [(p.name, p.location, p.type_) for p in points] == [
        (f.name, f.location.value, f.kind.value) for f in batch.spec
    ]
    golden_records.assert_same(dm_clrs.from_feedback(feedback), batch)


@pytest.mark.usefixtures("clrs")
@pytest.mark.parametrize("name", ["minimum", "insertion_sort"])
def test_transformed_batches_are_converted_too(name):
    chosen = transforms.standard_transforms(algorist.get(name))
    batch = transforms.apply_transforms(chosen, drawn(name))
    golden_records.assert_same(dm_clrs.from_feedback(dm_clrs.to_feedback(batch)), batch)


@pytest.mark.usefixtures("clrs")
def test_features_are_a_batch_without_outputs():
    batch = drawn("bfs")
    got = dm_clrs.from_features(dm_clrs.to_features(batch))
    assert got.outputs == {}
    assert [f.name for f in got.spec] == [f.name for f in batch.spec if f.stage != Stage.OUTPUT]
    np.testing.assert_array_equal(got.hints["pi_h"], batch.hints["pi_h"])


@pytest.mark.parametrize("name", golden_records.SPECS)
def test_samples_of_the_installed_package_are_our_own(name):
    clrs = pytest.importorskip("clrs", reason="dm-clrs is not installed")
    sampler, _ = clrs.build_sampler(name, num_samples=5, length=8, seed=3)
    feedback = sampler.next()
    ours = official.generate(name, n=8, count=5, seed=3)
    got = dm_clrs.from_feedback(feedback)
    golden_records.assert_recorded(got, golden_records.flat(ours))
    assert [got.at(s)[f.name].dtype for s in Stage for f in got.spec.at(s)] == [
        ours.at(s)[f.name].dtype for s in Stage for f in got.spec.at(s)
    ]
    assert got.spec == ours.spec
    back = dm_clrs.to_feedback(ours)
    np.testing.assert_array_equal(back.features.lengths, feedback.features.lengths)
    for one, other in zip(back.outputs, feedback.outputs, strict=True):
        assert (one.name, one.location, one.type_) == (other.name, other.location, other.type_)
        np.testing.assert_array_equal(one.data, other.data)


def test_what_the_installed_package_transforms_is_what_ours_does():
    clrs = pytest.importorskip("clrs", reason="dm-clrs is not installed")
    sampler, spec = clrs.build_sampler("bubble_sort", num_samples=5, length=6, seed=3)
    _, processed = clrs.process_permutations(spec, iter([sampler.next()]), True)
    got = dm_clrs.from_feedback(next(processed))
    chosen = transforms.standard_transforms(algorist.get("bubble_sort"))
    ours = transforms.apply_transforms(
        chosen, official.generate("bubble_sort", n=6, count=5, seed=3)
    )
    golden_records.assert_recorded(got, golden_records.flat(ours))


def test_data_points_are_converted_alone(clrs):
    feature = algorist.get("lcs_length").spec["b"]
    values = drawn("lcs_length").outputs["b"]
    point = dm_clrs.to_data_point(feature, values)
    assert isinstance(point, clrs.DataPoint)
    got, array = dm_clrs.from_data_point(point, "output")
    assert got == feature
    np.testing.assert_array_equal(array, values)


@pytest.mark.parametrize("name", SOME)
def test_samples_of_the_dataset_have_the_batch_first(name):
    batch = drawn(name)
    samples = dm_clrs.to_samples(batch)
    (hint, *_) = batch.spec.hints
    assert samples[f"hint_{hint.name}"].shape[:2] == (len(batch), batch.steps)
    golden_records.assert_same(dm_clrs.from_samples(samples, name), batch)
    one = {key: value[1] for key, value in samples.items()}
    single = dm_clrs.from_samples(one, algorist.get(name))
    np.testing.assert_array_equal(single.lengths, batch.lengths[[1]])
    golden_records.assert_same(single.take(np.array([0])), batch.take(np.array([1])))


def made(**changes):
    """A feedback of stand-ins for `bfs` on two nodes, with some points changed."""
    points = {
        "pos": DataPoint("pos", "node", "scalar", np.zeros((1, 2))),
        "reach_h": DataPoint("reach_h", "node", "mask", np.zeros((3, 1, 2))),
        "pi": DataPoint("pi", "node", "pointer", np.zeros((1, 2))),
        **changes,
    }
    features = Features([points["pos"]], [points["reach_h"]], np.array([3.0]))
    return Feedback(features, [points["pi"]])


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        ([1, 2], r"feedback: got \[1, 2\], expected a Feedback: \(features, outputs\)"),
        (made(pi=3), "data point: got 3, expected a DataPoint: name, location, type_, data"),
        (
            made(pi=DataPoint("pi", "node", "pointer", np.full((1, 2), 0.5))),
            r"pi: got \[0.5, 0.5\], ..., expected whole numbers: it is a pointer",
        ),
        (
            made(pi=DataPoint("pi", "node", "mask", np.zeros((2, 2)))),
            r"pi: got shape \(2, 2\), expected \(1, 2\)",
        ),
        (
            made(reach_h=DataPoint("reach_h", "node", "mask", np.zeros((2, 1, 2)))),
            r"reach_h: got shape \(2, 1, 2\), expected \(3, 1, 2\)",
        ),
        (made(pos=DataPoint("q", "node", "scalar", np.zeros((1, 2)))), "inputs: got no 'pos'"),
        (Feedback(SimpleNamespace(is_first=1), []), "features: got chunks, expected whole traj"),
    ],
)
def test_what_is_no_feedback_is_refused(feedback, message):
    assert len(dm_clrs.from_feedback(made())) == 1
    with pytest.raises(ValueError, match=message):
        dm_clrs.from_feedback(feedback)


def test_samples_that_lack_something_are_refused():
    samples = dm_clrs.to_samples(drawn("bfs"))
    del samples["hint_pi_h"]
    with pytest.raises(ValueError, match="samples: got no 'hint_pi_h', expected input_pos, "):
        dm_clrs.from_samples(samples, "bfs")


@pytest.mark.parametrize(
    ("convert", "module", "message"),
    [
        (dm_clrs.to_feedback, "clrs", "dm-clrs is not installed: pip install dm-clrs"),
        (
            pyg.to_data,
            "torch_geometric.data",
            "PyTorch Geometric is not installed: pip install torch_geometric",
        ),
    ],
)
def test_a_package_that_is_not_installed_is_named(convert, module, message, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=message):
        convert(drawn("bfs"))


# PyTorch Geometric


@pytest.mark.parametrize("name", golden_records.SPECS)
def test_a_batch_becomes_graphs_and_a_batch_again(name, geometric):
    batch = drawn(name)
    graphs = pyg.to_data(batch)
    assert [type(graph) for graph in graphs] == [geometric.Data] * 3
    golden_records.assert_same(pyg.from_data(graphs, name), batch)
    golden_records.assert_same(pyg.from_data(graphs[1], batch.spec), one_of(batch, 1))


def one_of(batch, sample):
    """One sample, not cut to its length."""
    taken = {stage: {k: a[[sample]] for k, a in batch.at(stage).items()} for stage in Stage}
    hints = {name: array[:, [sample]] for name, array in batch.hints.items()}
    lengths = batch.lengths[[sample]]
    return replace(
        batch,
        inputs=taken[Stage.INPUT],
        hints=hints,
        outputs=taken[Stage.OUTPUT],
        lengths=lengths,
    )


@pytest.mark.usefixtures("geometric")
def test_the_edges_are_those_of_the_graph_unless_all_pairs_are_needed():
    batch = drawn("bfs")
    graph = pyg.to_data(batch)[0]
    adjacency = torch.zeros(6, 6)
    adjacency[tuple(graph.edge_index)] = 1
    np.testing.assert_array_equal(adjacency, batch.inputs["adj"][0])
    edges = graph.edge_index.shape[1]
    assert graph.input_A.shape == (edges,)
    assert graph.hint_pi_h.shape == (6, batch.steps)
    assert graph.output_pi.dtype == torch.int16
    for name in ("floyd_warshall", "insertion_sort"):
        assert pyg.to_data(drawn(name))[0].edge_index.shape == (2, 36)
    assert pyg.to_data(drawn("segments_intersect"))[0].output_intersect.shape == (1,)


def test_graphs_are_joined_by_the_installed_package():
    loading = pytest.importorskip("torch_geometric.loader", reason="it is not installed")
    batch = drawn("dijkstra", 4)
    graphs = pyg.to_data(batch)
    (joined,) = loading.DataLoader(graphs, batch_size=4)
    assert joined.num_nodes == 24
    np.testing.assert_array_equal(joined.output_pi.reshape(4, 6), batch.outputs["pi"])
    np.testing.assert_array_equal(joined.length, batch.lengths)
    assert joined.edge_index.max() == 23
    assert joined.input_A.shape[0] == joined.edge_index.shape[1]
    golden_records.assert_same(pyg.from_data(joined.to_data_list(), "dijkstra"), batch)


@pytest.mark.usefixtures("geometric")
def test_graphs_that_do_not_fit_are_refused():
    graph = pyg.to_data(drawn("bfs"))[0]
    with pytest.raises(ValueError, match="data: got no input_key, expected input_pos, input_key"):
        pyg.from_data(graph, "insertion_sort")
    graph.output_pi = torch.zeros(7)
    with pytest.raises(ValueError, match=r"output_pi: got the shape \(7,\) for 6 nodes, expected"):
        pyg.from_data(graph, "bfs")
    with pytest.raises(ValueError, match="data: got none, expected one or more"):
        pyg.from_data([], "bfs")


@pytest.mark.usefixtures("geometric")
def test_names_that_pytorch_geometric_treats_in_a_special_way_are_refused():
    batch = drawn("minimum")
    spec = Spec.of(inputs={"pos": node.scalar}, hints={}, outputs={"index": node.mask_one})
    other = replace(batch, spec=spec, outputs={"index": batch.outputs["min"]})
    with pytest.raises(ValueError, match="index: PyTorch Geometric changes what is called so"):
        pyg.to_data(other)
