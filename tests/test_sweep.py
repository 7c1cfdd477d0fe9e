"""Sweeps: the grid, processes that fail, die and go on, and a Ray cluster."""

import json
import os
import signal
import threading
import time
from argparse import ArgumentParser
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from processes import is_running, running, wait_until

from algorist import __version__
from algorist.cli import main
from algorist.commands import sweep as command
from algorist.commands.sweep_grid import sweep_parts
from algorist.experiments import processes
from algorist.experiments.jobs import Job
from algorist.experiments.processes import Process, Processes
from algorist.experiments.results import read
from algorist.experiments.run_requests import FAILED, RunRequest
from algorist.report.sweep_progress import SweepProgress
from algorist.report.terminal import Terminal
from algorist.training.recipes import recipe
from algorist.training.validation_report import ValidationReport

pytestmark = pytest.mark.usefixtures("piped", "own_registry")
ROOT = Path(__file__).parent.parent
NAMES = ["activity_selector", "bfs"]
SMALL = ["--hidden", "8", "--batch-size", "2", "--sizes", "4", "--device", "cpu", "--samples", "2"]
SHORT = ["--steps", "24", "--validate-every", "12", "--checkpoint-every", "3"]


def words_of(folder, *words, names=NAMES, seeds="0,1"):
    return ["sweep", *names, "--out", str(folder), "--seeds", seeds, *SMALL, *SHORT, *words]


def sweep(folder, *words, **others):
    return main(words_of(folder, *words, **others))


def rows_of(folder):
    """What does not depend on the machine and the hour."""
    return [replace(row, seconds=0, date="") for row in read(folder / "sweep.csv")]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A sweep that was done at one go, by local processes."""
    folder = tmp_path_factory.mktemp("done")
    assert sweep(folder, "--at-once", "2") == 0
    return folder


# The grid


def parts(*words):
    parser = ArgumentParser()
    command.add_arguments(parser)
    given = parser.parse_args([*words, "--out", "somewhere"])
    return {part.name.part: part for part in sweep_parts(given)}


def test_a_net_is_trained_for_each_algorithm_recipe_and_value():
    found = parts("bfs", "dfs", "--recipes", "ibarz2022,clrs2022", "--set", "hidden=64,128")
    assert list(found) == [
        f"{name}/hidden={hidden}/{algorithm}"
        for name in ("ibarz2022", "clrs2022")
        for hidden in (64, 128)
        for algorithm in ("bfs", "dfs")
    ]
    config = found["clrs2022/hidden=64/dfs"].config
    expected = recipe("clrs2022", ["dfs"])
    assert config == replace(expected, model=replace(expected.model, hidden=64))


def test_settings_of_every_kind_can_vary_and_others_are_the_same_for_all():
    found = parts(
        "bfs",
        *("--set", "model.hidden=8", "--set", "learning-rate=1e-3,0.1", "--set", "sizes=4,7/16"),
        *("--set", "layer_norm=yes,no", "--set", "processor=mpnn", "--steps", "9"),
    )
    assert len(found) == 8
    config = found["ibarz2022/hidden=8 learning_rate=0.1 sizes=16 layer_norm=no processor=mpnn/bfs"]
    assert config.config.optimizer.learning_rate == 0.1
    assert config.config.data.sizes == (16,)
    assert (config.config.model.layer_norm, config.config.model.processor) == (False, "mpnn")
    assert {part.config.schedule.steps for part in found.values()} == {9}
    assert {part.config.data.sizes for part in found.values()} == {(4, 7), (16,)}


def test_one_net_can_be_trained_for_all_algorithms_together():
    (part,) = parts("bfs", "dfs", "--together").values()
    assert part.config == recipe("ibarz2022", ["bfs", "dfs"])


def test_what_makes_no_difference_is_trained_once():
    for words in (
        ["--set", "permutations=yes,no"],
        ["--recipe", "clrs2022", "--set", "sizes=4,7/11,16"],  # the fixed set has its own
    ):
        found = list(parts("bfs", *words).values())
        assert found[1].source == found[0].name


def test_what_was_trained_once_has_a_row_in_each_part_of_the_grid(tmp_path, capsys):
    words = ["--set", "permutations=yes,no", "--at-once", "1"]
    assert sweep(tmp_path, *words, names=["bfs", "insertion_sort"], seeds="0") == 0
    assert "3 of 3 runs done" in capsys.readouterr().out
    rows = {row.part: row for row in rows_of(tmp_path)}
    assert len(rows) == 4
    repeated = rows["ibarz2022/permutations=no/bfs"]
    assert repeated == replace(rows["ibarz2022/permutations=yes/bfs"], part=repeated.part)
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "report")]) == 0
    table = (tmp_path / "report" / "tables" / "settings.csv").read_text()
    assert "permutations yes" in table
    assert "permutations no" in table


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "algorithms: got none"),
        (["bogosort"], "bogosort"),
        (["bfs", "--recipes", "best"], "unknown recipe 'best'"),
        (["bfs", "--recipes", "ibarz2022,ibarz2022"], "expected each once"),
        (["bfs", "--recipes", ","], "got ',', expected names"),
        (["bfs", "--seeds", "0,0"], "--seeds: got 0,0, expected each once"),
        (["bfs", "--seeds", "-1"], "seeds: got -1, expected 0 to"),
        (["bfs", "--set", "hidden"], "--set: got 'hidden'"),
        (["bfs", "--set", "width=3"], "unknown setting 'width'"),
        (["bfs", "--set", "data.hidden=3"], "unknown setting 'data.hidden'"),
        (["bfs", "--set", "hidden=8,wide"], "hidden: got 'wide'"),
        (["bfs", "--set", "hidden=8,8"], "expected each once"),
        (["bfs", "--set", "hidden=8", "--set", "hidden=16"], "expected each once"),
        (["bfs", "--set", "hidden=8", "--hidden", "8"], "--set: hidden is also given"),
        (["bfs", "--set", "layer_norm=maybe"], "expected a value yes or no"),
        (["bfs", "--recipe", "clrs2022", "--sizes", "4"], "--sizes: the fixed training set has"),
        (["bfs", "--family", ""], "unknown family ''"),
        (["bfs", "--at-once", "0"], "--at-once: got 0"),
        (["bfs", "--retries", "-1"], "--retries: got -1"),
        (["bfs", "--ray", "127.0.0.1:1", "--cores", "0"], "--cores: got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, tmp_path, words, message):
    assert main(["sweep", *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# Local processes


def step_of(folder):
    """The newest checkpoint of the one run below a folder."""
    steps = [int(path.name) for path in folder.glob("*/checkpoints/[0-9]*")]
    return max(steps, default=-1)


HOLD = """
import os, sys, time
from pathlib import Path
from algorist.training.engine import Engine

folder, learnt = Path(__file__).parent, []

def learn(engine, packed_batch):
    usual(engine, packed_batch)
    learnt.append(packed_batch)
    if len(learnt) > 5 and (folder / "hold").exists():
        (folder / "told").write_text(str(os.getpid()))
        (folder / "told").rename(folder / "held")
        while (folder / "hold").exists():
            time.sleep(0.01)

if "algorist.experiments.worker" in sys.orig_argv:
    usual, Engine.learn = Engine.learn, learn
"""


@contextmanager
def at_work(folder, act):
    """Do something to the process of a run that has trained a little, and waits for it.

    Yields the words that a sweep is to have besides.
    """
    plugin, hold, held = (folder / name for name in ("hold.py", "hold", "held"))
    plugin.write_text(HOLD)
    hold.touch()

    def watch():
        try:
            wait_until(held.exists)
            act(int(held.read_text()))
        finally:
            hold.unlink()

    thread = threading.Thread(target=watch)
    thread.start()
    yield ["--plugin", str(plugin)]
    thread.join()
    held.unlink()


def kill(worker):
    os.kill(worker, signal.SIGKILL)


def test_what_is_done_is_not_done_again(capsys, done):
    before = (done / "sweep.csv").read_bytes()
    assert sweep(done) == 0
    out = capsys.readouterr().out
    assert "all is done" in out
    assert "0 runs" not in out
    assert (done / "sweep.csv").read_bytes() == before


def test_every_net_has_its_row(done):
    rows = rows_of(done)
    assert [row.key for row in rows] == [
        (f"ibarz2022/{name}", name, seed) for name in NAMES for seed in (0, 1)
    ]
    assert {(row.experiment, row.steps, row.samples, row.device) for row in rows} == {
        ("sweep", 24, 2, "cpu")
    }
    assert len({row.validation for row in rows}) > 1
    assert not (done / "failures.json").exists()


def test_a_failure_is_kept_and_told_and_tried_again_and_a_killed_process_too(capfd, done, tmp_path):
    place = tmp_path / "runs" / "sweep" / "ibarz2022" / "bfs"
    place.parent.mkdir(parents=True)
    place.touch()  # no run can be written there
    assert sweep(tmp_path, seeds="0") == 1
    told = capfd.readouterr()
    assert "1 of 2 runs done" in told.out
    assert "ibarz2022/bfs (seed 0): " in told.err
    kept = json.loads((tmp_path / "failures.json").read_text())
    assert list(kept) == ["ibarz2022/bfs (seed 0)"]
    assert "Traceback" in kept["ibarz2022/bfs (seed 0)"]["trace"]
    assert kept["ibarz2022/bfs (seed 0)"]["version"] == __version__
    assert rows_of(tmp_path) == rows_of(done)[:1]

    place.unlink()
    with at_work(tmp_path, kill) as words:
        assert sweep(tmp_path, *words, "--retries", "0", seeds="0") == 1
    assert "killed by signal 9 (tried 1 time)" in capfd.readouterr().err
    assert step_of(place) == 3
    with at_work(tmp_path, kill) as words:
        assert sweep(tmp_path, *words, seeds="0") == 0
    assert rows_of(tmp_path) == rows_of(done)[::2]
    assert json.loads((tmp_path / "failures.json").read_text()) == {}


@pytest.mark.parametrize("notes", ["{", "[]"])
def test_damaged_notes_of_failures_are_told_with_the_way_out(capsys, tmp_path, notes):
    (tmp_path / "failures.json").write_text(notes)
    assert sweep(tmp_path) == 2
    assert f"{tmp_path / 'failures.json'}: got no JSON object; remove it" in capsys.readouterr().err


def test_a_sweep_that_is_interrupted_in_any_way_goes_on(capfd, done, tmp_path):
    words, left = words_of(tmp_path, "--at-once", "1", names=["bfs"]), []

    def kill_starter(worker):
        left.append(worker)
        starter.kill()
        starter.wait()
        wait_until(lambda: not is_running(worker))

    def interrupt(worker):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)  # the worker hears of it

    with (
        at_work(tmp_path, kill_starter) as besides,
        running("-m", "algorist", *words, *besides) as starter,
    ):
        starter.wait()
    assert left
    capfd.readouterr()
    with at_work(tmp_path, interrupt) as besides:
        assert main([*words, *besides]) == 128 + signal.SIGINT
    out = capfd.readouterr().out
    assert "(seed 0)  saved at step" in out
    assert "(seed 1)  not begun" in out
    assert "to go on: the same command again" in out
    assert main(words) == 0
    assert rows_of(tmp_path) == rows_of(done)[2:]


def assigned(folder):
    """A job below a folder, and what its process is told."""
    job = Job(parts("bfs")["ibarz2022/bfs"], (0,), folder / "runs" / "bfs")
    others = {"samples": 2, "cores": 1, "plugins": (), "version": __version__}
    return job, RunRequest.of(job, folder / "runs", computing={"device": "cuda"}, **others)


def test_runs_take_turns_on_the_gpus(monkeypatch, tmp_path):
    class Told:
        def __init__(self, request, environment):
            self.told = request.computing["device"], environment

        def reply(self):
            return self.told

    monkeypatch.setattr(processes, "Process", Told)
    _, request = assigned(tmp_path)
    share = {"LIMIT": "1"}
    backend = Processes(3, ["cuda:0", "cuda:1"], share)
    expected = [(device, share) for device in ("cuda:0", "cuda:1", "cuda:0")]
    assert [backend.execute(place, request) for place in range(3)] == expected


def test_a_terminal_shows_what_runs_have_written_down(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    job, _ = assigned(tmp_path)
    job.folder.mkdir(parents=True)
    with SweepProgress(Terminal(), 3, lambda: True) as progress:
        progress.watch([job])
        report = ValidationReport(500, {}, {}, [0.25], [500])
        (job.folder / "metrics.jsonl").write_text(f"{json.dumps(asdict(report))}\n")
        progress.watch([])
        progress.watch([job])
    last = capsys.readouterr().out.splitlines()[-4:]
    assert "ibarz2022/bfs (seed 0)" in last[0]
    assert "step 500/10000  validation 25.0 %" in last[0]
    assert "2 to come" in last[1]
    assert "saving" in last[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": "0.0.1"}, "expected 0.0.1"),
        ({"runs": "/nowhere"}, "expected storage that all machines share"),
    ],
)
def test_a_machine_that_is_not_like_the_others_is_told(done, change, message):
    _, request = assigned(done)
    reply = Process(replace(request, **change)).reply()
    assert reply.state == FAILED
    assert message in reply.message


def test_results_of_other_settings_are_refused(capsys, done):
    assert sweep(done, "--triplet-features", "2") == 2
    assert "sweep.csv: got 4 rows of other settings" in capsys.readouterr().err


def test_seeds_in_lockstep_are_one_run_that_can_be_stopped_packed_and_taken_elsewhere(
    capsys, tmp_path
):
    here, there, packed = (tmp_path / name for name in ("here", "there", "packed"))
    assert sweep(here, "--lockstep", "--stop-after", "0.001s", names=["bfs"]) == 0
    out = capsys.readouterr().out
    assert "1 run to go, 1 at once" in out
    assert "ibarz2022/bfs (seeds 0-1)  saved at step 1" in out
    assert sweep(here, "--pack", str(packed), names=["bfs"]) == 0
    assert f"--runs {packed}" in capsys.readouterr().out
    assert sweep(there, "--runs", str(packed), names=["bfs"]) == 0
    assert [row.seed for row in rows_of(there)] == [0, 1]
    assert not (there / "runs").exists()


# A cluster


def test_a_cluster_that_is_not_there_is_told(capsys, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
    assert sweep(tmp_path, "--ray", "127.0.0.1:1") == 2
    assert "--ray: cannot reach 127.0.0.1:1" in capsys.readouterr().err


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of a real Ray, with room for one run each."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_DISABLE_IMPORT_WARNING", "1")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20}
        nodes = Cluster(initialize_head=True, head_node_args=node)
        nodes.add_node(num_cpus=1, object_store_memory=80 * 2**20)
        nodes.wait_for_nodes()
        yield nodes
        nodes.shutdown()


def parent_of(worker):
    return int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_cluster_without_a_machine_for_a_run_is_told(capsys, tmp_path, cluster):
    assert sweep(tmp_path, "--ray", cluster.address, "--cores", "2") == 2
    assert "machines of 1 cores, 0 GPUs and 1 cores, 0 GPUs, expected 2" in capsys.readouterr().err
    assert sweep(tmp_path, "--ray", cluster.address, "--device", "gpu") == 2
    assert "--device: got 'gpu', expected one of auto, cpu, cuda" in capsys.readouterr().err


def test_two_nodes_of_ray_of_which_one_loses_a_worker_do_as_local_processes(
    capsys, done, tmp_path, cluster
):
    with at_work(tmp_path, lambda worker: kill(parent_of(worker))) as words:
        assert sweep(tmp_path, *words, "--ray", cluster.address, seeds="0") == 0
    assert "2 runs to go, 2 at once" in capsys.readouterr().out
    assert rows_of(tmp_path) == rows_of(done)[::2]
    assert sweep(tmp_path, seeds="0") == 0
    assert "all is done" in capsys.readouterr().out
