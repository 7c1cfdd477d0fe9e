"""A run that is killed at any moment and resumed ends exactly as one that is not."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import small
import torch

from algorist.training import checkpoint
from algorist.training.run import Run

PROCESS = Path(__file__).with_name("training_process.py")
SCHEDULE = {"validate_every": 6, "checkpoint_every": 4}
RUNS = {
    "one task, whole trajectories": small.training(
        "insertion_sort", steps=48, schedule=SCHEDULE, optimizer={"teacher_forcing": 0.5}
    ),
    "many tasks, chunks": small.training(
        "bfs", "insertion_sort", seeds=(0, 1), steps=48, chunk=4, schedule=SCHEDULE
    ),
}


def killed_after(folder, count, seconds):
    """Train until some steps are done and a little longer; the last step taken."""
    command = [sys.executable, str(PROCESS), str(folder), str(count), str(seconds)]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert process.returncode == -signal.SIGPROF
    return int(process.stdout.split()[-1])


def finish(run):
    """Train to the last step; the steps that were taken."""
    steps = []
    assert run.train(observe=lambda trainer, report: steps.append(trainer.step))
    return steps


@pytest.mark.parametrize("config", RUNS.values(), ids=RUNS)
def test_a_killed_run_ends_with_the_same_weights_and_metrics(tmp_path, config):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    last_step = config.schedule.steps
    assert finish(Run.start(undisturbed / "run", config)) == list(range(1, last_step + 1))
    killed.mkdir()
    (killed / "wanted.json").write_text(config.to_json())
    luck = random.Random(7)
    for _ in range(2):
        last = killed_after(killed, luck.randint(5, 9), luck.uniform(0.001, 0.03))
        assert last < last_step
    first = finish(Run.resume(killed / "run"))[0]
    assert 4 < first <= last + 1

    one, other = (
        checkpoint.newest(folder / "run" / "checkpoints") for folder in (undisturbed, killed)
    )
    assert one.step == other.step == last_step
    assert one.tensors.keys() == other.tensors.keys()
    assert {name.split("/")[0] for name in one.tensors} >= {"net", "best", "adam"}
    for name, tensor in one.tensors.items():
        assert torch.equal(tensor, other.tensors[name]), name
    assert one.state == other.state
    for name in ("metrics.jsonl", "best.safetensors", "config.json"):
        first, second = (folder / "run" / name for folder in (undisturbed, killed))
        assert first.read_bytes() == second.read_bytes(), name
