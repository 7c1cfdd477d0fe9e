"""Runs: folders with all that they promise, which go on wherever they stopped."""

import errno
import hashlib
import json
import shutil
import time
from types import SimpleNamespace

import pytest
import small
from processes import running, wait_until

from algorist.atomic import lock_file
from algorist.spec import Kind
from algorist.training import checkpoint
from algorist.training.loader import TaskStream
from algorist.training.run import Run
from algorist.training.run_files import trained_seconds
from algorist.training.saved_learners import load
from algorist.training.trainer import Trainer

SCHEDULE = {"validate_every": 2, "checkpoint_every": 2}


def test_a_run_is_a_folder_with_all_that_it_promises(tmp_path):
    config = small.training("bfs", steps=5, schedule=SCHEDULE)
    assert Run.start(tmp_path / "run", config).train()
    names = {path.name for path in (tmp_path / "run").iterdir()}
    files = {"config.json", "metrics.jsonl", "times.jsonl", "best.safetensors"}
    assert names == {*files, "checkpoints"}
    assert type(config).from_json((tmp_path / "run" / "config.json").read_text()) == config
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    assert [line["step"] for line in lines] == [2, 4, 5]
    assert lines[-1].keys() == {"step", "loss", "scores", "score", "best_step"}
    best = load(tmp_path / "run")
    assert best.algorithms == ("bfs",)
    (replica,) = best.metadata["replicas"]
    assert replica["validation"] == max(line["score"][0] for line in lines)


@pytest.mark.parametrize(
    "config",
    [
        small.training("insertion_sort", steps=7, schedule=SCHEDULE),
        small.training("bfs", "dfs", seeds=(0, 1), steps=7, chunk=4, schedule=SCHEDULE),
        small.training(
            "bfs",
            "insertion_sort",
            steps=7,
            schedule=SCHEDULE,
            optimizer={"accumulate": True, "teacher_forcing": 0.5},
        ),
    ],
    ids=["whole", "chunked", "accumulated"],
)
def test_a_run_that_is_stopped_and_resumed_ends_as_one_that_is_not(tmp_path, config):
    Run.start(tmp_path / "one", config).train()
    run = Run.start(tmp_path / "other", config)
    assert not run.train(should_stop=lambda: run.trainer.step >= 3)
    assert Run.resume(tmp_path / "other").train()
    one, other = (checkpoint.newest(tmp_path / name / "checkpoints") for name in ("one", "other"))
    small.assert_identical(other.tensors, one.tensors)
    assert other.state == one.state
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("one", "other")]
    assert metrics[0] == metrics[1]


def test_a_run_with_a_damaged_checkpoint_goes_on_from_the_one_before(tmp_path):
    config = small.training("bfs", steps=6, schedule=SCHEDULE)
    Run.start(tmp_path / "one", config).train()
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    small.truncated(tmp_path / "other" / "checkpoints" / "00000006" / "tensors-0.safetensors")
    with pytest.warns(UserWarning, match=r"00000006 has a damaged tensors-0\.safetensors"):
        run = Run.resume(tmp_path / "other")
    assert run.trainer.step == 4
    assert checkpoint.steps(tmp_path / "other" / "checkpoints") == [4]  # and is the older next
    assert run.train()
    one, other = (checkpoint.newest(tmp_path / name / "checkpoints") for name in ("one", "other"))
    small.assert_identical(other.tensors, one.tensors)
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("one", "other")]
    assert metrics[0] == metrics[1]


def test_a_run_killed_between_its_checkpoint_and_its_best_weights_gets_both(tmp_path):
    config = small.training("bfs", steps=2, schedule={"validate_every": 1, "checkpoint_every": 1})
    run = Run.start(tmp_path, config)
    older = (tmp_path / "best.safetensors").read_bytes()
    run.train()
    newer = (tmp_path / "best.safetensors").read_bytes()
    (tmp_path / "best.safetensors").write_bytes(older)
    (tmp_path / ".best.safetensors-1234-5678").write_bytes(newer[:100])
    assert older != newer

    Run.resume(tmp_path)
    assert (tmp_path / "best.safetensors").read_bytes() == newer
    assert not list(tmp_path.glob(".*"))


def test_half_a_line_of_metrics_is_dropped_when_a_run_is_resumed(tmp_path):
    config = small.training("bfs", steps=4, schedule=SCHEDULE)
    run = Run.start(tmp_path, config)
    run.train(should_stop=lambda: run.trainer.step >= 2)
    noted = run.metrics_file.read_text()
    run.metrics_file.write_text(noted + noted.replace('"step": 2', '"step": 4') + '{"step": 5, "lo')
    resumed = Run.resume(tmp_path)
    assert resumed.metrics_file.read_text() == noted
    resumed.train()
    assert [json.loads(line)["step"] for line in resumed.metrics_file.open()] == [2, 4]


def test_half_a_line_of_times_is_dropped_by_the_next_sitting(tmp_path):
    run = Run.start(tmp_path, small.training("bfs", steps=4, schedule=SCHEDULE))
    run.train(should_stop=lambda: run.trainer.step >= 2)
    times, seconds = tmp_path / "times.jsonl", trained_seconds(tmp_path)
    assert seconds > 0
    with times.open("a") as file:
        file.write('{"from": 2, "t')
    assert trained_seconds(tmp_path) == seconds
    Run.resume(tmp_path).train()
    assert [json.loads(line)["to"] for line in times.open()] == [2, 4]
    assert trained_seconds(tmp_path) > seconds


def test_metrics_that_are_none_are_refused_by_line(tmp_path):
    run = Run.start(tmp_path, small.training("bfs"))
    for line in ("[1]", '{"a": 3}', "scribble"):
        run.metrics_file.write_text(f"{line}\n")
        with pytest.raises(ValueError, match=r"metrics\.jsonl, line 1: got .* delete that line"):
            Run.resume(tmp_path)


def test_settings_of_a_run_cannot_be_changed_behind_its_back(tmp_path):
    run = Run.start(tmp_path, small.training("bfs", steps=4))
    file = tmp_path / "config.json"
    written = file.read_text()
    for section, name in (("data", "batch_size"), ("schedule", "validate_every")):
        before = getattr(getattr(run.trainer.config, section), name)
        file.write_text(written.replace(f'"{name}": {before}', f'"{name}": 8'))
        message = rf"got {section}\.{name} = 8, but .* begun with {before}: put it"
        with pytest.raises(ValueError, match=message):
            Run.resume(tmp_path)
    file.write_text(written.replace('"learning_rate": 0.001', '"learning_rate": 0.5'))
    message = "got optimizer.learning_rate = 0.5, but the run goes on with 0.001; to change it: "
    with pytest.warns(UserWarning, match=f"{message}.* --learning-rate 0.5"):
        Run.resume(tmp_path)
    assert file.read_text() == written
    Run.resume(tmp_path)
    file.write_text("")
    with pytest.raises(ValueError, match=r"config\.json: the configuration is not JSON"):
        Run.resume(tmp_path)


def test_copies_of_checkpoints_are_left_alone(tmp_path):
    config = small.training("bfs", steps=4, schedule=SCHEDULE)
    Run.start(tmp_path, config).train(should_stop=lambda: True)
    copy = tmp_path / "checkpoints" / "00000009 (copy)"
    shutil.copytree(tmp_path / "checkpoints" / "00000000", copy)
    Run.resume(tmp_path).train()
    assert copy.exists()
    assert checkpoint.newest(tmp_path / "checkpoints").step == 4


def test_no_checkpoint_is_written_twice(tmp_path, monkeypatch):
    write, steps = checkpoint.write, []

    def noting(folder, saved):
        steps.append(saved.step)
        return write(folder, saved)

    monkeypatch.setattr(checkpoint, "write", noting)
    assert Run.start(tmp_path, small.training("bfs", steps=4, schedule=SCHEDULE)).train()
    run = Run.resume(tmp_path, steps=7)
    assert not run.train(should_stop=lambda: run.trainer.step == 5)
    assert steps == [0, 2, 4, 4, 5]  # once more with another end


def test_one_process_at_a_time_trains_a_run(tmp_path):
    config = small.training("bfs", steps=10_000, schedule=SCHEDULE)
    run = Run.start(tmp_path, config)
    words = ["-m", "algorist", "resume", str(tmp_path), "--device", "cpu"]
    with running(*words) as other:
        wait_until(lambda: (tmp_path / ".training").exists())
        for attempt in (lambda: Run.resume(tmp_path), run.train):
            with pytest.raises(ValueError, match="another process trains this run; wait for it"):
                attempt()
        other.kill()
        other.wait()
    resumed = Run.resume(tmp_path)  # nobody holds what a killed process has left
    resumed.train(should_stop=lambda: True)
    assert not (tmp_path / ".training").exists()


def test_a_run_that_another_has_gone_on_with_is_not_trained(tmp_path):
    config = small.training("bfs", steps=6, schedule=SCHEDULE)
    Run.start(tmp_path, config).train(should_stop=lambda: True)
    one, other = Run.resume(tmp_path), Run.resume(tmp_path)
    assert one.train()
    metrics = one.metrics_file.read_text()
    closed = []
    log = SimpleNamespace(close=lambda: closed.append(True))
    with pytest.raises(ValueError, match="another process has trained it from step 1 to 6; resume"):
        other.train(logs=[log])
    assert closed == [True]
    assert one.metrics_file.read_text() == metrics
    assert one.train()  # there is nothing left to do


def test_of_two_that_start_a_run_at_once_one_does(tmp_path, monkeypatch):
    first, second = (small.training("bfs", seeds=(seed,)) for seed in (0, 1))

    def late(*arguments, **options):
        monkeypatch.undo()
        Run.start(tmp_path, first)
        return Trainer(*arguments, **options)

    monkeypatch.setattr("algorist.training.run.Trainer", late)
    with pytest.raises(ValueError, match="there is a run already; resume it"):
        Run.start(tmp_path, second)
    assert Run.resume(tmp_path).trainer.config == first


def test_each_sitting_counts_its_own_time(tmp_path):
    start = time.perf_counter()
    run = Run.start(tmp_path, small.training("bfs", steps=6, schedule=SCHEDULE))
    run.train(should_stop=lambda: run.trainer.step == 3)
    run.train()
    assert 0 < trained_seconds(tmp_path) <= time.perf_counter() - start + 0.01


def test_nobody_holds_a_file_that_its_last_holder_is_removing(tmp_path, monkeypatch):
    fcntl, file = pytest.importorskip("fcntl"), tmp_path / "claim"
    lock, locked = fcntl.lockf, []

    def late(opened, how):
        if not locked:
            file.unlink()
        locked.append(opened.fileno())
        lock(opened, how)

    monkeypatch.setattr(fcntl, "lockf", late)
    with lock_file(file):
        assert len(locked) == 2
        assert file.exists()
    assert not file.exists()


def test_a_file_that_cannot_be_locked_is_not_said_to_be_held(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(opened, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with pytest.raises(OSError, match="No locks available"), lock_file(tmp_path / "claim"):
        pass


def test_a_folder_holds_one_run(tmp_path):
    config = small.training("bfs")
    Run.start(tmp_path, config)
    with pytest.raises(ValueError, match="there is a run already; resume it"):
        Run.start(tmp_path, config)


def test_a_run_that_was_killed_before_it_began_is_started_anew(tmp_path):
    config = small.training("bfs")
    Run.start(tmp_path, config)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ValueError, match="there is no run here"):
        Run.resume(tmp_path)
    assert Run.start(tmp_path, config).train()


def test_reports_go_to_every_log_and_every_log_is_closed(tmp_path):
    class Log:
        def __init__(self):
            self.steps, self.closed = [], False

        def report(self, report):
            self.steps.append(report.step)

        def close(self):
            self.closed = True

    logs, seen = [Log(), Log()], []
    config = small.training("bfs", schedule={"validate_every": 1})
    run = Run.start(tmp_path, config)
    run.train(logs=logs, observe=lambda trainer, report: seen.append(trainer.step))
    assert seen == [1, 2, 3]
    assert [log.steps for log in logs] == [[1, 2, 3]] * 2
    assert all(log.closed for log in logs)


def test_the_spec_of_a_feed_is_that_of_the_net():
    config = small.training("insertion_sort")
    task_stream, trainer = TaskStream(config, "insertion_sort"), Trainer(config)
    assert task_stream.spec == trainer.net.specs["insertion_sort"]
    assert task_stream.spec["pred"].kind == Kind.PERMUTATION_POINTER


def test_a_checkpoint_of_an_older_version_is_read(tmp_path):
    config = small.training("bfs", seeds=(0, 1), steps=5, schedule=SCHEDULE)
    Run.start(tmp_path / "one", config).train()
    run = Run.start(tmp_path / "other", config)
    run.train(should_stop=lambda: run.trainer.step >= 3)
    folder = tmp_path / "other" / "checkpoints" / "00000003"
    (folder / "tensors-0.safetensors").rename(folder / "tensors.safetensors")
    state = json.loads((folder / "state.json").read_text().split("\n")[1])
    (state["tensors"],) = state.pop("files").values()
    state["loss_sums"] = run.trainer.mean_loss  # of one step: the sums of all features
    text = json.dumps(state)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "state.json").write_text(f"{digest}\n{text}\n")
    assert Run.resume(tmp_path / "other").train()
    one, other = (
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").open()]
        for name in ("one", "other")
    )
    for line, expected in zip(other, one, strict=True):
        assert line.pop("loss")["bfs"] == pytest.approx(expected.pop("loss")["bfs"])
        assert line == expected
