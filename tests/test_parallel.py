"""Several processes that train one net: shares of batches, and torchrun."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import small
import torch
from small import DEVICE

import algorist
from algorist.cli import main
from algorist.model.losses import feature_losses
from algorist.training import checkpoint
from algorist.training.loader import TaskStream
from algorist.training.parallel import Peers, Share
from algorist.training.trainer import Trainer

ROOT = Path(__file__).parent.parent
SMALL = ["--hidden", "16", "--triplet-features", "4", "--sizes", "4,5", "--device", "cpu"]
SHORT = ["--batch-size", "5", "--validate-every", "2", "--checkpoint-every", "2"]
TELL_THREADS = """
import atexit
from pathlib import Path

def tell():
    names = [file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")]
    print("threads at the end:", *names)

atexit.register(tell)
"""


# Shares of a batch


def in_double(window):
    return window.map(lambda x: x.double() if x.is_floating_point() else x)


def learnt(net, algorithm, window, prepared=in_double):
    """The losses of a window and the gradients of a net, by name."""
    net.zero_grad()
    window = prepared(window)
    losses = feature_losses(net.specs[algorithm], net.rollout(algorithm, window), window)
    sum(losses.values()).sum().backward()
    gradients = {name: p.grad for name, p in net.named_parameters() if p.grad is not None}
    return {f"loss of {name}": loss.detach() for name, loss in losses.items()} | gradients


@pytest.mark.parametrize("algorithm", algorist.algorithms())
def test_shares_add_up_to_the_losses_and_gradients_of_the_batch(algorithm):
    place = algorist.algorithms().index(algorithm)
    sizes = (16,) if algorist.get(algorithm).family == "strings" else (5,)
    chunk = 5 * (place % 2)
    forcing = {"teacher_forcing": 0.0 if chunk else 0.5}
    config = small.training(
        algorithm, seeds=(0, 1), batch_size=5, sizes=sizes, chunk=chunk, optimizer=forcing
    )
    net = small.lively(small.net(algorithm, seeds=(0, 1))).double()
    window = TaskStream(config, algorithm).window(2)
    shares = [Share(number, 3).take(net.specs[algorithm], window) for number in range(3)]
    parts = [learnt(net, algorithm, share) for share in shares]
    expected = learnt(net, algorithm, window)
    assert [share.follows.shape[-1] for share in shares] == [1, 2, 2]
    for name, value in expected.items():
        got = sum(part[name] for part in parts)
        assert (got - value).abs().max() <= 1e-6 * value.abs().max().clamp(min=1.0), name


def test_fused_kernels_know_of_shares():
    pytest.importorskip("triton")
    config = small.training("bfs", batch_size=2, sizes=(4,), chunk=2)
    window = TaskStream(config, "bfs").window(3)
    net = small.lively(small.net("bfs")).to(DEVICE)
    net.kernels = "fused"
    shares = [Share(number, 2).take(net.specs["bfs"], window) for number in range(2)]
    expected, *parts = (
        learnt(net, "bfs", each, lambda window: window.to(DEVICE)) for each in (window, *shares)
    )
    for name, value in expected.items():
        got = sum(part[name] for part in parts)
        torch.testing.assert_close(got, value, rtol=1e-3, atol=1e-4, msg=name)


def test_every_lane_is_in_one_share_whatever_their_number():
    for count in range(1, 9):
        for of in range(1, count + 1):
            bounds = [Share(number, of).lanes(count) for number in range(of)]
            assert [lane for start, stop in bounds for lane in range(start, stop)] == [
                *range(count)
            ]
            assert all(start < stop for start, stop in bounds)


def test_the_only_share_is_the_window_itself():
    window = TaskStream(small.training("bfs"), "bfs").window(0)
    assert Share().take(small.CONVENTION.spec("bfs"), window) is window


def test_lanes_without_an_end_have_one_that_weighs_nothing():
    config = small.training("dfs", batch_size=4, chunk=2)
    window = TaskStream(config, "dfs").window(0)
    share = window.lanes(1, 3)
    assert share.end_weights.shape == (1, 1)
    assert share.end_weights.sum() == 0
    losses = feature_losses(
        small.CONVENTION.spec("dfs"), small.net("dfs").rollout("dfs", share), share
    )
    assert losses["pi"] == 0
    assert all(loss.isfinite().all() for loss in losses.values())


def test_batches_that_are_too_small_are_refused():
    peers = Peers()
    peers.share = Share(0, 5)
    with pytest.raises(
        ValueError, match=r"batch_size: got 4, expected at least .* the 5 processes"
    ):
        Trainer(small.training("bfs", batch_size=4), peers=peers)


def test_several_runs_are_not_for_several_processes(capsys, tmp_path, monkeypatch):
    torchrun = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    for name, value in torchrun.items():
        monkeypatch.setenv(name, value)
    for words in (["train", "bfs", "--each"], ["reproduce", "specialists"]):
        assert main([*words, "--out", str(tmp_path / "out"), "--device", "cpu"]) == 2
        assert "torchrun: got 2 processes, expected one" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


# Processes


def two_processes(*words):
    """What two processes print that torchrun starts."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    ended = subprocess.run(
        [*torchrun, "--nproc-per-node", "2", "-m", "algorist", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def assert_close(folder, other):
    """Two runs stand at the same step, with the same state but for rounding.

    A few weights may be further apart: where the loss does not depend on them, as on a shift of all
    logits, gradients are nothing but rounding, and Adam takes full steps whatever their size.
    """
    one, two = (checkpoint.newest(each / "checkpoints") for each in (folder, other))
    assert one.step == two.step
    assert one.tensors.keys() == two.tensors.keys()
    apart = {"net": [], "best": [], "adam": [], "carry": []}
    for name, tensor in one.tensors.items():
        apart[name.split("/")[0]].append((tensor - two.tensors[name]).abs().flatten())
    for section, tensors in apart.items():
        differences = torch.cat([*tensors, torch.zeros(1)])
        if section != "carry":
            assert (differences <= 1e-5).float().mean() > 0.95, section
        assert differences.max() < (1e-5 if section == "adam" else 5e-3), section
    for what in ("cursors", "updates", "best_steps", "summed_steps"):
        assert one.state[what] == two.state[what]


def test_two_processes_train_and_resume_chunks_as_one_does(tmp_path, capsys):
    tasks = ["bfs", "bellman_ford", *SMALL, *SHORT, "--chunk", "4"]
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    out = two_processes("train", *tasks, "--out", shared, "--steps", "3")
    assert out.count("2 algorithms: triplet_mpnn") == 1
    assert out.count("step 3/3") == 1
    assert "step 5/5" in two_processes("resume", shared, "--steps", "5", "--device", "cpu")
    assert main(["train", *tasks, "--out", str(alone), "--steps", "3"]) == 0
    assert main(["resume", str(alone), "--steps", "5", "--device", "cpu"]) == 0
    assert_close(shared, alone)
    lines, expected = ((run / "metrics.jsonl").read_text().count("\n") for run in (shared, alone))
    assert lines == expected
    for run in (shared, alone):  # what two have begun, one can end
        assert main(["resume", str(run), "--steps", "6", "--device", "cpu"]) == 0
    assert_close(shared, alone)


@pytest.fixture(scope="module")
def two_tasks(tmp_path_factory):
    """The words and the folder of a run of two processes, and what they printed."""
    folder = tmp_path_factory.mktemp("two_tasks")
    plugin = folder / "tell_threads.py"
    plugin.write_text(TELL_THREADS, encoding="utf-8")
    words = ["bfs", "dijkstra", *SMALL, *SHORT, "--chunk", "0", "--seeds", "0,1", "--steps", "3"]
    words += ["--accumulate", "--teacher-forcing", "0.5"]
    out = two_processes("train", *words, "--out", folder / "shared", "--plugin", plugin)
    return words, folder / "shared", out


def test_two_processes_add_up_the_gradients_of_all_tasks_and_seeds_as_one_does(two_tasks, tmp_path):
    words, shared, _ = two_tasks
    assert main(["train", *words, "--out", str(tmp_path / "alone")]) == 0
    assert_close(shared, tmp_path / "alone")


def test_threads_that_send_end_before_the_process_does(two_tasks):
    """One that runs while Python ends needs what is gone, and aborts its process."""
    _, _, out = two_tasks
    assert out.count("threads at the end:") == 2
    assert "gloo" not in out
