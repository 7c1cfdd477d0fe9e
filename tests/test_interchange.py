"""Interchange: parameters of dm-clrs, and learners in files."""

import json
import os
import pickle
import re

import golden
import golden_records
import numpy as np
import pytest
import small
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from algorist.model import dm_clrs_parameters
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.processors import PROCESSORS
from algorist.training.saved_learners import load

RECORD = golden_records.FOLDER / "model" / "triplet_gmpnn-floyd_warshall.npz"
BENCHMARKS = r"deepsets|gat(v2)?(_full)?|memnet_(full|masked)|(triplet_)?g?(mpnn|pgn|pgn_mask)"
"""The processors of dm-clrs. One that is added here need not have a counterpart there."""


@pytest.fixture
def recorded():
    """A net with other weights than the recorded ones, and these, flat."""
    meta, arrays = golden.read(RECORD)
    net = golden.net_of(meta, arrays, golden.batch_of(meta, arrays).spec)
    flat = golden_records.part(arrays, "params")
    return small.lively(net), flat


def nested(flat):
    """Parameters as dm-clrs holds them, {module: {name: array}}."""
    result = {}
    for key, array in flat.items():
        module, _, name = key.rpartition("/")
        result.setdefault(module, {})[name] = array
    return result


def exported(net, replica=0):
    """Our weights under the names of dm-clrs; biases that are added there are left out."""
    values = {name: p.detach().numpy()[replica] for name, p in net.named_parameters()}
    return {
        name: array
        for entry in dm_clrs_parameters.entries(net)
        if len(entry.theirs) == 1 or entry.theirs[0].endswith("/w")
        for name, array in golden.scattered(entry, values[entry.ours]).items()
    }


def assert_imported(net, flat, replica=0):
    for name, array in exported(net, replica).items():
        np.testing.assert_array_equal(array, flat[name].reshape(array.shape), err_msg=name)


def test_flat_and_nested_parameters_are_imported(recorded):
    net, flat = recorded
    for parameters in (flat, nested(flat)):
        dm_clrs_parameters.import_parameters(small.lively(net), parameters)
        assert_imported(net, flat)


def test_one_replica_is_set_and_the_others_stay():
    meta, arrays = golden.read(RECORD)
    single = golden.net_of(meta, arrays, golden.batch_of(meta, arrays).spec)
    net = small.drawn(single.specs, single.config, (0, 1, 2))
    before = small.weights(net)
    dm_clrs_parameters.import_parameters(net, golden_records.part(arrays, "params"), replica=1)
    for name, parameter in net.named_parameters():
        assert torch.equal(parameter[1], single.get_parameter(name)[0])
        assert torch.equal(parameter[[0, 2]], before[name][[0, 2]])


@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("processor", [p for p in PROCESSORS if re.fullmatch(BENCHMARKS, p)])
def test_every_parameter_has_a_name_of_its_own_there(processor, layer_norm):
    net = small.net("dijkstra", processor=processor, layer_norm=layer_norm)
    entries = list(dm_clrs_parameters.entries(net))
    assert sorted(entry.ours for entry in entries) == sorted(dict(net.named_parameters()))
    theirs = [name for entry in entries for name in entry.theirs]
    assert len(set(theirs)) == len(theirs)


def test_a_processor_that_dm_clrs_does_not_have_is_refused():
    net = small.net("bfs")
    net.processor = torch.nn.Identity()
    with pytest.raises(ValueError, match="dm-clrs has no processor like Identity"):
        list(dm_clrs_parameters.entries(net))


def test_edge_pointers_are_made_of_two_maps():
    encoder = dm_clrs_parameters.ParameterEntry("ours.weight", ("a/w", "b/w"))
    halves = {"a/w": np.array([[1.0, 2.0]]), "b/w": np.array([[3.0, 4.0]])}
    np.testing.assert_array_equal(encoder.gather(halves), [[1, 2], [3, 4]])
    bias = dm_clrs_parameters.ParameterEntry("ours.bias", ("a/b", "b/b"))
    np.testing.assert_array_equal(bias.gather({"a/b": np.ones(2), "b/b": np.ones(2)}), [2, 2])


def test_parameters_that_do_not_fit_are_refused_by_name(recorded):
    net, flat = recorded
    name = "net/mpnn_aggr_clrs_processor/linear/w"
    missing = {key: value for key, value in flat.items() if key != name}
    with pytest.raises(ValueError, match=f"the parameters lack {name}"):
        dm_clrs_parameters.import_parameters(net, missing)
    with pytest.raises(ValueError, match=rf"{name}: got shape \(2, 2\), expected \(32, 16\)"):
        dm_clrs_parameters.import_parameters(net, {**flat, name: np.zeros((2, 2))})
    with pytest.raises(ValueError, match="no place for 1 parameters, such as net/other/w"):
        dm_clrs_parameters.import_parameters(net, {**flat, "net/other/w": np.zeros(2)})


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: {"params": p, "opt_state": {}}])
def test_a_pickle_of_arrays_is_read(recorded, tmp_path, wrap):
    net, flat = recorded
    path = tmp_path / "best.pkl"
    path.write_bytes(pickle.dumps(wrap(nested(flat))))
    dm_clrs_parameters.import_parameters(net, dm_clrs_parameters.read_pickle(path))
    assert_imported(net, flat)


class Harmful:
    """Touches a file when it is unpickled by the usual means."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_malicious_pickle_is_refused_and_does_nothing(tmp_path):
    path, trace = tmp_path / "best.pkl", tmp_path / "trace"
    content = pickle.dumps({"params": {"w": Harmful(trace)}})
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"the file holds a posix\.mkdir, expected only dict"):
        dm_clrs_parameters.read_pickle(path)
    assert not trace.exists()
    pickle.loads(content)
    assert trace.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", pickle.dumps({"w": np.zeros(9)})[:-20], b"\x80\x04K\x01\x8c", b"(lp0\nx"],
)
def test_a_damaged_pickle_is_refused(tmp_path, content):
    path = tmp_path / "best.pkl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"best\.pkl: not a readable pickle"):
        dm_clrs_parameters.read_pickle(path)


def test_a_pickle_of_something_else_is_refused(tmp_path):
    path = tmp_path / "best.pkl"
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(ValueError, match="got a list, expected a dictionary"):
        dm_clrs_parameters.read_pickle(path)


# Our own files


def learner(*algorithms, seeds=(0,), **changes):
    made = Learner.new(algorithms, small.model(**changes), small.CONVENTION, seeds)
    small.lively(made.net)
    return made


@pytest.mark.parametrize("processor", ["triplet_gmpnn", "memnet_masked", "gatv2"])
def test_a_saved_learner_comes_back_as_it_was(tmp_path, processor):
    net = learner("bfs", "insertion_sort", seeds=(4, 7), processor=processor).net
    net.encoding = TaskEncoding(static_hint_as_input=False)
    made = Learner(net, {"note": "trained by hand", "steps": [1, 2]})
    path = tmp_path / "made.safetensors"
    made.save(path)
    got = load(path)
    assert got.algorithms == ("bfs", "insertion_sort")
    assert got.metadata == made.metadata
    assert got.encoding == made.encoding
    assert got.net.config == made.net.config
    assert got.net.specs == made.net.specs
    assert got.net.replicas == 2
    assert not got.net.training
    for name, value in made.net.state_dict().items():
        assert torch.equal(got.net.state_dict()[name], value)
    batch = small.problems("bfs")
    expected = small.rolled(made.net.eval(), "bfs", batch, batch)
    small.assert_same(small.rolled(got.net, "bfs", batch, batch), expected, 0)


def test_one_replica_can_be_taken_out(tmp_path):
    made = learner("bfs", seeds=(0, 1, 2))
    batch = small.problems("bfs")
    together = small.rolled(made.net, "bfs", batch, batch, batch)
    alone = small.rolled(made.replica(1).net, "bfs", batch)
    torch.testing.assert_close(alone["pi"], together["pi"][[1]])
    with pytest.raises(ValueError, match="index: got 3, expected 0 to 2"):
        made.replica(3)


def test_a_replica_is_computed_as_all_are():
    made = learner("bfs", seeds=(0, 1))
    made.net.kernels, made.net.precision = "plain", "bf16"
    made.net.eval()
    one = made.replica(0).net
    assert (one.kernels, one.precision, one.training) == ("plain", "bf16", False)


def test_features_are_read_as_they_were_declared(tmp_path):
    made = learner("bfs")
    made.save(tmp_path / "a.safetensors")
    spec = load(tmp_path / "a.safetensors").net.specs["bfs"]
    assert [feature.shape(3) for feature in spec] == [
        feature.shape(3) for feature in made.net.specs["bfs"]
    ]


def test_a_missing_file_is_refused(tmp_path):
    for path in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(ValueError, match=f"no file, run or shipped learner '{path}'; shipped"):
            load(path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 100, b'{"a": 1}'])
def test_garbage_is_refused(tmp_path, content):
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.safetensors: not a readable safetensors file"):
        load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    learner("bfs").save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a readable safetensors file"):
        load(path)


def test_damaged_weights_are_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    learner("bfs").save(path)
    path.write_bytes(path.read_bytes()[:-100] + 100 * b"\xff")
    with pytest.raises(ValueError, match="has values that are not finite: the file is damaged"):
        load(path)


def test_others_may_read_what_is_saved(tmp_path):
    learner("bfs").save(tmp_path / "a.safetensors")
    (tmp_path / "b").touch()
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "b").stat().st_mode
    with pytest.raises(OSError, match=r"nowhere/a\.safetensors: cannot be written \(No such file"):
        learner("bfs").save(tmp_path / "nowhere" / "a.safetensors")


@pytest.mark.parametrize("metadata", [None, {"other": "1"}, {"algorist": "[]"}])
def test_a_file_of_something_else_is_refused(tmp_path, metadata):
    path = tmp_path / "a.safetensors"
    save_file({"w": torch.zeros(2)}, str(path), metadata)
    with pytest.raises(ValueError, match="expected a saved learner"):
        load(path)


def test_a_description_that_is_not_json_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"w": torch.zeros(2)}, str(path), {"algorist": "{"})
    with pytest.raises(ValueError, match="not a readable safetensors file"):
        load(path)


def resaved(path, change_description, change_tensors):
    """A learner's file with other contents."""
    learner("bfs").save(path)
    with safe_open(str(path), "pt") as file:
        description = json.loads(file.metadata()["algorist"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change_description(description)
    change_tensors(tensors)
    save_file(tensors, str(path), {"algorist": json.dumps(description)})


def nothing(_):
    pass


@pytest.mark.parametrize(
    ("change_description", "change_tensors"),
    [
        (lambda d: d.pop("specs"), nothing),
        (lambda d: d.pop("model"), nothing),
        (lambda d: d["model"].update(depth=3), nothing),
        (lambda d: d.update(specs=[]), nothing),
        (lambda d: d["specs"]["bfs"][0].pop("kind"), nothing),
        (lambda d: d["specs"]["bfs"][0].update(location="nodes"), nothing),
        (lambda d: d.update(replicas=2), nothing),
        (lambda d: d.update(replicas="2"), nothing),
        (nothing, lambda tensors: tensors.popitem()),
        (nothing, lambda tensors: tensors.update(more=torch.zeros(1))),
    ],
)
def test_a_learner_that_is_not_whole_is_refused(tmp_path, change_description, change_tensors):
    path = tmp_path / "a.safetensors"
    resaved(path, change_description, change_tensors)
    with pytest.raises(ValueError, match="the saved learner is incomplete or damaged"):
        load(path)
