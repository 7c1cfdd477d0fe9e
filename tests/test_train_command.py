"""Training and resuming from the command line: what is printed and kept, and how it stops."""

import json
import signal
import sys

import pytest
import torch
from commanding import SMALL, parsed, train
from processes import PATIENCE, running

import algorist
from algorist.cli import main
from algorist.experiments.run_control import Interrupt
from algorist.plugins import shell
from algorist.training.config import Config

pytestmark = pytest.mark.usefixtures("piped")


def steps_in(folder):
    return [
        json.loads(line)["step"] for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]


def test_a_run_prints_a_line_for_each_validation_and_keeps_its_folder(capsys, tmp_path):
    folder = tmp_path / "a run"
    assert train(folder, "bfs", "--steps", "5", "--validate-every", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("bfs: triplet_gmpnn, ")
    steps = [line.split()[1] for line in lines if line.startswith("step")]
    assert steps == ["2/5", "4/5", "5/5"]
    for word in ("loss", "validation", "best", "steps/s", "left"):
        assert word in lines[2]
    assert lines[-1] == f"to test it: algorist eval '{folder}'"
    assert steps_in(folder) == [2, 4, 5]
    config = Config.from_json((folder / "config.json").read_text())
    assert (config.model.hidden, config.schedule.steps) == (8, 5)
    assert {"best.safetensors", "checkpoints", "events"} < {p.name for p in folder.iterdir()}


def test_a_second_run_in_the_same_folder_is_refused(capsys, trained):
    assert train(trained, "bfs") == 2
    assert f"resume it ({shell('resume', trained)})" in capsys.readouterr().err


def test_a_terminal_shows_the_run_live(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    words = ["--steps", "4", "--validate-every", "2", "--chunk", "8"]
    assert train(tmp_path / "run", "bfs", "dijkstra", *words) == 0
    shown = capsys.readouterr().out
    assert "\x1b[" in shown  # a display that is drawn anew
    last = shown[shown.rindex("task") :]
    assert "step 4/4" in last
    assert "dijkstra" in last


def test_a_finished_run_says_so_and_goes_on_if_told_how_far(capsys, tmp_path):
    folder = tmp_path / "a run"
    train(folder, "bfs", "--steps", "3")
    capsys.readouterr()
    assert main(["resume", str(folder)]) == 0
    said = f"all is done, 3 steps: algorist resume '{folder}' --steps N goes on to N"
    assert said in capsys.readouterr().out
    assert train(folder, "bfs") == 2
    assert f"resume it (algorist resume '{folder}')" in capsys.readouterr().err
    assert main(["pack", str(folder), str(tmp_path / "in few bytes")]) == 0
    go_on = f"to go on: algorist resume '{tmp_path / 'in few bytes'}'"
    assert go_on in capsys.readouterr().out
    assert main(["resume", str(folder), "--steps", "2"]) == 2
    assert "steps: got 2, expected more than the 3 that are done" in capsys.readouterr().err
    for option, value in (("learning_rate", "0.01"), ("schedule", "cosine"), ("average", "2")):
        assert main(["resume", str(folder), f"--{option.replace('_', '-')}", value]) == 2
        expected = f"{option}: got {value}, but all 3 steps are done, expected more steps too"
        assert expected in capsys.readouterr().err
    assert main(["resume", str(folder), "--steps", "5", "--device", "cpu"]) == 0
    assert "going on after step 3" in capsys.readouterr().out
    assert steps_in(folder) == [3, 5]
    assert Config.from_json((folder / "config.json").read_text()).schedule.steps == 5


def test_an_extended_run_ends_as_one_that_was_long_from_the_start(tmp_path):
    words = ["--validate-every", "2", "--batch-size", "2"]
    train(tmp_path / "short", "bfs", "--steps", "4", *words)
    assert main(["resume", str(tmp_path / "short"), "--steps", "6", "--device", "cpu"]) == 0
    train(tmp_path / "long", "bfs", "--steps", "6", *words)
    short, long = (algorist.load(tmp_path / name).net.state_dict() for name in ("short", "long"))
    assert all(torch.equal(short[name], long[name]) for name in long)


def test_a_run_that_diverges_ends_with_one_line_and_exit_code_1(capsys, tmp_path):
    folder = tmp_path / "run"
    words = ["--learning-rate", "1e30", "--clip", "0", "--steps", "9", "--no-layer-norm"]
    assert train(folder, "bfs", *words) == 1
    error = capsys.readouterr().err
    assert error.startswith("algorist: error: ")
    assert "the last checkpoint is kept" in error
    assert error.count("\n") == 1
    assert (folder / "checkpoints" / "00000000").exists()


def test_a_run_stops_when_its_time_is_over_and_goes_on_later(capsys, tmp_path):
    folder = tmp_path / "run"
    words = ["--steps", "4", "--validate-every", "2"]
    assert train(folder, "bfs", *words, "--stop-after", "0.001s") == 0
    assert "stopped and saved at step 1\n" in capsys.readouterr().out
    words = ["resume", str(folder), "--device", "cpu", "--kernels", "plain", "--workers", "2"]
    assert main([*words, "--stop-after", "1h"]) == 0
    assert "going on after step 1" in capsys.readouterr().out
    assert steps_in(folder) == [2, 4]


@pytest.mark.parametrize(("text", "value"), [("90s", 90), ("9m", 540), ("1.5h", 5400)])
def test_times_are_given_in_seconds_minutes_or_hours(text, value):
    assert parsed("train", "bfs", "--out", "x", "--stop-after", text).stop_after == value


def test_ctrl_c_finishes_the_step_saves_and_says_how_to_go_on(tmp_path):
    folder = tmp_path / "run"
    words = ["train", "bfs", "--out", str(folder), *SMALL]
    words += ["--steps", "100000", "--validate-every", "3"]
    with running("-m", "algorist", *words) as process:
        while not process.stdout.readline().startswith("step"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "finishing this step" in err
    assert "Traceback" not in err
    assert f"to go on: {shell('resume', folder)}" in out
    saved = max(int(path.name) for path in (folder / "checkpoints").iterdir())
    assert f"stopped and saved at step {saved}" in out
    assert main(["resume", str(folder), "--steps", str(saved + 2), "--device", "cpu"]) == 0
    assert steps_in(folder)[-1] == saved + 2


def test_sigterm_is_waited_for_too_and_a_second_signal_is_not():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert not interrupt.came()
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.came()
        assert interrupt.exit_code == 143
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_wandb_option_is_checked_before_a_run_begins(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert train(tmp_path / "run", "bfs", "--wandb", "project") == 2
    assert "pip install -c constraints.txt -e '.[wandb]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_interrupts_outside_the_main_thread_are_left_alone():
    from threading import Thread

    before, seen = signal.getsignal(signal.SIGINT), []

    def watch():
        with Interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = Thread(target=watch)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_saved_processor_can_be_taken_over_and_frozen(trained, tmp_path):
    words = ["--steps", "2", "--processor-from", str(trained), "--freeze-processor"]
    assert train(tmp_path / "run", "dijkstra", "--seeds", "0,1", *words) == 0
    given = algorist.load(trained).net.processor.state_dict()
    kept = algorist.load(tmp_path / "run").net.processor.state_dict()
    assert all(torch.equal(kept[name], given[name]) for name in given)
