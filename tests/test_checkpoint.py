"""Checkpoints: what is written is read again, or it is said why not."""

import warnings

import pytest
import small
import torch
from processes import running

from algorist.training import checkpoint
from algorist.training.checkpoint import Checkpoint


def written(folder, step):
    return checkpoint.write(
        folder, Checkpoint(step, {"w": torch.full((3,), float(step))}, {"note": [step]})
    )


def test_a_checkpoint_holds_what_was_written_and_two_are_kept(tmp_path):
    for step in (1, 2, 30):
        written(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000002", "00000030"]
    got = checkpoint.newest(tmp_path)
    assert got.step == 30
    assert got.state == {"note": [30]}
    assert torch.equal(got.tensors["w"], torch.full((3,), 30.0))


def test_no_file_of_a_checkpoint_is_too_large_to_be_sent(tmp_path):
    generator = torch.Generator().manual_seed(0)
    tensors = {f"w{i}": torch.randn(1_500_000, generator=generator) for i in range(6)}
    path = checkpoint.write(tmp_path, Checkpoint(1, tensors, {}))
    sizes = [file.stat().st_size for file in path.glob("*.safetensors")]
    assert len(sizes) == 3
    assert max(sizes) < 16_000_000
    small.assert_identical(checkpoint.newest(tmp_path).tensors, tensors)
    small.truncated(path / "tensors-2.safetensors")
    with pytest.raises(checkpoint.DamagedError, match="a damaged tensors-2"):
        checkpoint.read(path)


def test_a_checkpoint_is_written_over_one_of_the_same_step(tmp_path):
    written(tmp_path, 1)
    again = Checkpoint(1, {"w": torch.zeros(2)}, {})
    checkpoint.write(tmp_path, again)
    assert torch.equal(checkpoint.newest(tmp_path).tensors["w"], torch.zeros(2))


def emptied(path):
    path.write_bytes(b"")


def garbled(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def unreadable(path):
    path.write_bytes(b"\xff\xfe\x00" * 10)


def removed(path):
    path.unlink()


@pytest.mark.parametrize("file", ["tensors-0.safetensors", "state.json"])
@pytest.mark.parametrize("damage", [small.truncated, emptied, garbled, unreadable, removed])
def test_a_damaged_checkpoint_is_passed_over_with_a_warning(tmp_path, file, damage):
    written(tmp_path, 1)
    damage(written(tmp_path, 2) / file)
    with pytest.warns(UserWarning, match="the checkpoint .*00000002 .*: trying the one before"):
        assert checkpoint.newest(tmp_path).step == 1


def test_checkpoints_that_are_all_damaged_are_refused(tmp_path):
    for step in (1, 2):
        small.truncated(written(tmp_path, step) / "tensors-0.safetensors")
    with (
        pytest.warns(UserWarning, match="trying the one before"),
        pytest.raises(ValueError, match=r"no checkpoint is complete \(.*00000002.*00000001"),
    ):
        checkpoint.newest(tmp_path)


def test_a_folder_without_checkpoints_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is no checkpoint.*; move .* elsewhere to start"):
        checkpoint.newest(tmp_path)


def test_what_a_crash_left_is_not_taken_for_a_checkpoint(tmp_path, monkeypatch):
    written(tmp_path, 1)

    def crash(*_):
        raise OSError("no power")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.rename", crash)
        with pytest.raises(OSError, match="no power"):
            written(tmp_path, 2)
    assert len(list(tmp_path.iterdir())) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.newest(tmp_path).step == 1
    written(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000001", "00000003"]


_FULL = """
import resource, sys, torch
from pathlib import Path
from algorist.training.checkpoint import Checkpoint, write
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
write(Path(sys.argv[1]), Checkpoint(2, {"net/a": torch.zeros(1000)}, {}))
"""


def test_a_checkpoint_that_does_not_fit_leaves_nothing_and_names_its_file(tmp_path):
    written(tmp_path, 1)
    with running("-c", _FULL, tmp_path) as process:
        _, errors = process.communicate()
    assert "too large" in errors
    assert "tensors-0.safetensors" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["00000001"]
