"""What was saved when parameters had other names still loads."""

import json

import small
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from algorist.model.learner import Learner
from algorist.training.checkpoint import Checkpoint, newest, write
from algorist.training.saved_learners import load

FORMER = {"self_projection": "keep", "triplet_projection": "triplet_out"}


def former(name):
    for present, before in FORMER.items():
        name = name.replace(f"processor.{present}.", f"processor.{before}.")
    return name


def test_a_learner_that_was_saved_under_former_names_is_read(tmp_path):
    learner = Learner.new(["bfs"], small.model(), small.CONVENTION)
    learner.save(tmp_path / "now.safetensors")
    with safe_open(str(tmp_path / "now.safetensors"), "pt") as file:
        description = json.loads(file.metadata()["algorist"])
        tensors = {former(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert "processor.keep.weight" in tensors
    assert "processor.triplet_out.bias" in tensors
    path = tmp_path / "then.safetensors"
    save_file(tensors, str(path), {"algorist": json.dumps(description)})
    small.assert_identical(load(path).net.state_dict(), learner.net.state_dict())


def test_a_checkpoint_that_was_written_under_former_names_is_read(tmp_path):
    tensors = {
        f"{part}/processor.keep.weight": torch.full((2,), float(number))
        for number, part in enumerate(("net", "best", "adam/exp_avg"))
    }
    updates = {"processor.keep.weight": 3, "encoders.bfs.s.bias": 4}
    write(tmp_path, Checkpoint(7, tensors, {"updates": updates}))
    got = newest(tmp_path)
    for number, part in enumerate(("net", "best", "adam/exp_avg")):
        assert got.tensors[f"{part}/processor.self_projection.weight"][0] == number
    assert got.state["updates"] == {"processor.self_projection.weight": 3, "encoders.bfs.s.bias": 4}
