"""A run that is killed at any moment and resumed ends exactly as one that is not."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import small
import torch

from algorist.training import checkpoint

PROCESS = Path(__file__).with_name("training_process.py")
SCHEDULE = {"validate_every": 6, "checkpoint_every": 4}
RUNS = {
    "one task, whole trajectories": small.training(
        "insertion_sort", steps=40, schedule=SCHEDULE, optimiser={"teacher_forcing": 0.5}
    ),
    "many tasks, chunks": small.training(
        "bfs", "insertion_sort", seeds=(0, 1), steps=30, chunk=4, schedule=SCHEDULE
    ),
}


def started(folder):
    command = [sys.executable, str(PROCESS), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(folder):
    """Train to the last step; the steps that were taken."""
    process = started(folder)
    steps = [int(line) for line in process.communicate()[0].split()]
    assert process.returncode == 0
    return steps


def kill_after(folder, count, delay):
    """Train until some steps are done and a little longer, and kill; the last step printed."""
    process = started(folder)
    steps = [int(process.stdout.readline()) for _ in range(count)]
    time.sleep(delay)
    process.kill()
    steps += [int(line) for line in process.communicate()[0].split()]
    assert process.returncode == -9
    return steps[-1]


def prepared(folder, config):
    folder.mkdir()
    (folder / "wanted.json").write_text(config.to_json())
    return folder


@pytest.mark.parametrize("config", RUNS.values(), ids=RUNS)
def test_a_killed_run_ends_with_the_same_weights_and_metrics(tmp_path, config):
    undisturbed, killed = (prepared(tmp_path / name, config) for name in ("undisturbed", "killed"))
    assert finish(undisturbed) == list(range(1, config.schedule.steps + 1))
    luck = random.Random(7)
    for _ in range(3):
        last = kill_after(killed, luck.randint(3, 9), luck.uniform(0, 0.03))
        assert last < config.schedule.steps
    first = finish(killed)[0]
    assert 4 < first <= last + 1

    one, other = (
        checkpoint.newest(folder / "run" / "checkpoints") for folder in (undisturbed, killed)
    )
    assert one.step == other.step == config.schedule.steps
    assert one.tensors.keys() == other.tensors.keys()
    assert {name.split("/")[0] for name in one.tensors} >= {"net", "best", "adam"}
    for name, tensor in one.tensors.items():
        assert torch.equal(tensor, other.tensors[name]), name
    assert one.state == other.state
    for name in ("metrics.jsonl", "best.safetensors", "config.json"):
        first, second = (folder / "run" / name for folder in (undisturbed, killed))
        assert first.read_bytes() == second.read_bytes(), name
