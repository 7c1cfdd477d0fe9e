"""Learners that commands write: exported from runs, imported from the benchmark."""

import pickle

import golden
import numpy as np
import pytest
import torch

import algorist
from algorist.cli import main
from algorist.model.dm_clrs_parameters import entries

pytestmark = pytest.mark.usefixtures("piped")


def test_export_writes_one_seed_in_half_precision(capsys, trained, tmp_path):
    file = tmp_path / "one.safetensors"
    assert main(["export", str(trained), str(file), "--seed", "5", "--half"]) == 0
    whole, one = algorist.load(trained), algorist.load(file)
    assert one.net.replicas == 1
    assert [replica["seed"] for replica in one.metadata["replicas"]] == [5]
    for name, value in one.net.state_dict().items():
        expected = whole.net.state_dict()[name][1:2].half().float()
        assert torch.equal(value, expected)
    assert main(["export", str(trained), str(file), "--seed", "4"]) == 2
    assert "--seed: got 4, expected one of [3, 5]" in capsys.readouterr().err


def test_export_to_nowhere_is_an_error_of_one_line(capsys, trained):
    assert main(["export", str(trained), "/dev/null/net.safetensors"]) == 2
    error = capsys.readouterr().err
    assert error == "algorist: error: FILE: got /dev/null, which is a file, expected a folder\n"


def test_the_best_nets_of_a_run_are_not_replaced(capsys, trained):
    best = trained / "best.safetensors"
    before = best.read_bytes()
    assert main(["export", str(trained), str(best), "--seed", "5"]) == 2
    assert "which belongs to a run, expected another file" in capsys.readouterr().err
    assert best.read_bytes() == before


@pytest.mark.parametrize(
    "words", [["export", "generalist"], ["import-official", "--algorithms", "bfs", "best.pkl"]]
)
def test_only_learners_are_replaced_by_learners(capsys, tmp_path, words):
    file = tmp_path / "roads.csv"
    file.write_text("a,b")
    assert main([*words, str(file)]) == 2
    expected = "which exists, expected a new file or one that ends in .safetensors\n"
    assert capsys.readouterr().err == f"algorist: error: FILE: got {file}, {expected}"
    assert file.read_text() == "a,b"


def test_a_learner_that_does_not_know_its_seeds_has_none_to_choose(capsys, trained, tmp_path):
    whole = algorist.load(trained)
    algorist.Learner(whole.net).save(tmp_path / "x.safetensors")
    words = ["export", str(tmp_path / "x.safetensors"), str(tmp_path / "y.safetensors")]
    assert main([*words, "--seed", "0"]) == 2
    assert "does not say which its seeds are, try --best" in capsys.readouterr().err
    assert main([*words, "--best"]) == 0


def test_parameters_of_dm_clrs_become_a_learner(trained, tmp_path):
    learner = algorist.load(trained).replica(0)
    arrays = {name: value[0].numpy() for name, value in learner.net.state_dict().items()}
    theirs = {}
    for entry in entries(learner.net):
        theirs |= golden.scattered(entry, arrays[entry.ours])
    nested = {}
    for name, array in theirs.items():
        module, _, parameter = name.rpartition("/")
        nested.setdefault(module, {})[parameter] = array
    file, result = tmp_path / "best.pkl", tmp_path / "ours.safetensors"
    file.write_bytes(pickle.dumps({"params": nested, "opt_state": 0}))
    words = ["import-official", str(file), str(result), "--algorithms", "bfs"]
    assert main([*words, "--hidden", "8"]) == 0
    for name, value in algorist.load(result).net.state_dict().items():
        np.testing.assert_array_equal(value[0], arrays[name])
