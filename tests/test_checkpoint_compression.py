"""Packed runs: few files in one folder, read as they lie there, and those of older versions too."""

import json
import zlib
from dataclasses import replace

import pytest
import small
import torch

from algorist.training import checkpoint, checkpoint_compression
from algorist.training.checkpoint import Checkpoint
from algorist.training.run import Run
from algorist.training.run_files import pack_run
from algorist.training.saved_learners import newest

SCHEDULE = {"validate_every": 2, "checkpoint_every": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that was stopped after four of six steps."""
    config = small.training("bfs", "dfs", seeds=(0, 1), steps=6, chunk=4, schedule=SCHEDULE)
    started = Run.start(tmp_path_factory.mktemp("run"), config)
    started.train(should_stop=lambda: started.trainer.step >= 4)
    return started.folder


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_all_files_lie_in_the_folder_itself_and_are_told(run, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_FILE_SIZE", 20_000)
    monkeypatch.setattr(checkpoint_compression, "_RUN", 1000)
    files = pack_run(run, tmp_path / "packed")
    assert sorted(files) == files_below(tmp_path / "packed")
    assert {file.parent for file in files} == {tmp_path / "packed"}
    assert len(files) > 4
    assert all(file.stat().st_size < 30_000 for file in files)


def test_a_packed_run_goes_on_where_it_lies(run, tmp_path):
    pack_run(run, tmp_path)
    before = newest(run)
    assert newest(tmp_path).state == before.state
    resumed = Run.resume(tmp_path)
    assert resumed.trainer.step == 4
    for name, weights in resumed.trainer.net.named_parameters():
        assert torch.equal(weights, before.tensors[f"net/{name}"]), name
    assert resumed.train()
    assert newest(tmp_path).step == 6  # not what was packed
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [2, 4, 6]


def test_runs_that_older_versions_packed_are_still_read(run, tmp_path):
    light = checkpoint_compression.compress(newest(run))
    content = dict(light.tensors)
    state = json.loads(zlib.decompress(content.pop("state").numpy().tobytes()))
    assert "cursors" in state
    checkpoint.write(tmp_path / "checkpoints", Checkpoint(light.step, content, state))
    (tmp_path / "config.json").write_text((run / "config.json").read_text())
    assert Run.resume(tmp_path).trainer.step == 4
    pack_run(tmp_path, tmp_path / "again")
    got, expected = newest(tmp_path / "again"), newest(tmp_path)
    assert got.state == expected.state == newest(run).state
    for name, tensor in expected.tensors.items():
        assert torch.equal(got.tensors[name], tensor), name


def test_the_state_takes_little_room(run, tmp_path):
    pack_run(run, tmp_path)
    light = checkpoint.read(tmp_path)
    assert light.state == {}
    assert light.tensors["state"].nbytes < 0.7 * len(json.dumps(newest(run).state))


def test_damage_is_noticed(run, tmp_path):
    pack_run(run, tmp_path)
    file = tmp_path / "tensors-0.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match=r"damaged tensors-0\.safetensors; pack the run again"):
        newest(tmp_path)


def test_moments_are_rounded_to_the_nearest_and_weights_are_not():
    numbers = torch.tensor([1.0, -1.0, 1 + 1 / 128 + 1e-4, 1 + 1 / 128 - 1e-4, 1.999, 0.0, -3e-30])

    def transported(moments):
        packed = checkpoint_compression.compress(
            Checkpoint(1, {"net/w": numbers, "adam/w": moments}, {})
        )
        return checkpoint_compression.decompress(packed).tensors

    got = transported(numbers)["adam/w"]
    assert got[:6].tolist() == [1.0, -1.0, 1 + 1 / 64, 1.0, 2.0, 0.0]
    assert torch.allclose(got, numbers, rtol=1 / 128, atol=0)
    assert torch.equal(transported(got)["adam/w"], got)
    assert torch.equal(got.bfloat16().float(), got)
    assert torch.equal(transported(numbers)["net/w"], numbers)


def test_a_packed_run_whose_first_save_was_cut_off_goes_on(run, tmp_path):
    pack_run(run, tmp_path / "packed")
    (tmp_path / "packed" / "checkpoints" / ".unfinished").mkdir(parents=True)
    assert Run.resume(tmp_path / "packed").trainer.step == 4


def test_a_packed_run_can_be_given_more_steps(run, tmp_path):
    pack_run(run, tmp_path)
    resumed = Run.resume(tmp_path, steps=8)
    assert resumed.trainer.config.schedule == replace(resumed.trainer.config.schedule, steps=8)
    assert newest(tmp_path).step == 4
    assert Run.resume(tmp_path).trainer.config.schedule.steps == 8


def test_a_packed_run_holds_the_weights_exactly_and_all_else_nearly(tmp_path, monkeypatch):
    monkeypatch.setattr("algorist.training.checkpoint_compression._RUN", 1000)
    config = small.training("bfs", "dfs", seeds=(0, 1), steps=7, chunk=4, schedule=SCHEDULE)
    run = Run.start(tmp_path / "run", config)
    run.train(should_stop=lambda: run.trainer.step >= 5)
    files = pack_run(tmp_path / "run", tmp_path / "packed")
    names = {file.name for file in files}
    runs_own = {"config.json", "metrics.jsonl", "times.jsonl"}
    assert names == {*runs_own, "state.json", "tensors-0.safetensors"}
    full, light = (
        checkpoint.newest(tmp_path / "run/checkpoints"),
        checkpoint.read(tmp_path / "packed"),
    )
    bytes_of = [sum(t.nbytes for t in kept.tensors.values()) for kept in (full, light)]
    assert bytes_of[1] < 0.6 * bytes_of[0]
    got = checkpoint_compression.decompress(light)
    assert (got.step, got.state) == (full.step, full.state)
    assert got.tensors.keys() == full.tensors.keys()
    for name, tensor in full.tensors.items():
        exact = name.startswith("net/")
        kept = got.tensors[name]
        assert torch.equal(kept, tensor) if exact else torch.allclose(kept, tensor, 1.6e-2, 1e-3)
    assert Run.resume(tmp_path / "packed").train()
    lines = [json.loads(line) for line in (tmp_path / "packed" / "metrics.jsonl").open()]
    assert [line["step"] for line in lines] == [2, 4, 6, 7]


def test_a_run_that_was_packed_once_can_be_packed_again(tmp_path):
    Run.start(tmp_path / "run", small.training("bfs"))
    pack_run(tmp_path / "run", tmp_path / "one")
    pack_run(tmp_path / "one", tmp_path / "two")
    one, two = (checkpoint.read(tmp_path / name) for name in ("one", "two"))
    small.assert_identical(two.tensors, one.tensors)
    with pytest.raises(ValueError, match="there is a run already"):
        pack_run(tmp_path / "run", tmp_path / "two")
    with pytest.raises(ValueError, match="there is no run here"):
        pack_run(tmp_path / "nowhere", tmp_path / "three")
