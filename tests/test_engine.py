"""The engine: packed and padded windows, learning steps direct and captured, on CPU and GPU."""

import os
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest
import small
import torch
from processes import is_running, running, wait_until
from small import needs_gpu

from algorist.data import official
from algorist.evaluation.evaluator import Evaluator, evaluate
from algorist.kernels.cuda_graphs import CudaGraphs
from algorist.model.compute_config import ComputeConfig
from algorist.model.learner import Learner
from algorist.model.losses import feature_losses
from algorist.training import checkpoint
from algorist.training.captured_engine import CapturedEngine
from algorist.training.divergence import DivergedError
from algorist.training.engine import Engine
from algorist.training.loader import TaskStream
from algorist.training.optimizer import Optimizer
from algorist.training.packing import WindowLayout, bucket_window, rounded_up
from algorist.training.run import Run
from algorist.training.trainer import Trainer

GPU = ComputeConfig("cuda", kernels="plain", precision="fp32", workers=2)

CONFIGS = {
    "whole": small.training("insertion_sort", "bfs", optimizer={"teacher_forcing": 0.5}),
    "seeds": small.training("dfs", seeds=(0, 1), optimizer={"clip": 0.1}),
    "chunked": small.training("bfs", "insertion_sort", seeds=(0, 1), chunk=4),
    "accumulated": small.training("bfs", "dfs", optimizer={"accumulate": True}),
    "chunked, accumulated": small.training("bfs", "dfs", chunk=4, optimizer={"accumulate": True}),
}
by_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def windows(config):
    """Some windows of each task."""
    for algorithm in config.algorithms:
        task_stream = TaskStream(config, algorithm)
        for step in range(4):
            yield algorithm, task_stream.window(step)


# Packing


@by_config
def test_a_packed_window_holds_the_same_in_one_run_of_bytes(config):
    for _, window in windows(config):
        layout = WindowLayout(window)
        content = layout.pack(window)
        start, size, got = content.data_ptr(), content.nbytes, layout.window(content)
        assert len(small.tensors(got)) == len(small.tensors(window)) > 5
        for copy, tensor in zip(small.tensors(got), small.tensors(window), strict=True):
            assert copy.dtype == tensor.dtype
            assert torch.equal(copy, tensor)
            assert (copy.data_ptr() - start) % 256 == 0
            assert start <= copy.data_ptr() <= start + size - copy.nbytes
        assert got.hints.keys() == window.hints.keys()


# Padding


def losses_and_gradients(net, algorithm, window):
    net.zero_grad()
    rollout = net.rollout(algorithm, window)
    parts = feature_losses(net.specs[algorithm], rollout, window)
    sum(parts.values()).sum().backward()
    gradients = {n: p.grad for n, p in net.named_parameters() if p.grad is not None}
    return {name: part.detach() for name, part in parts.items()}, gradients


@by_config
def test_padding_changes_neither_losses_nor_gradients(config):
    net = small.lively(Trainer(config).net)
    for algorithm, window in windows(config):
        ends = window.end_weights.shape[1]
        steps = window.steps + (3 if window.is_first is None else 0)
        longer = window.padded(steps, ends + 5)
        assert (longer.steps, longer.end_weights.shape[1]) == (steps, ends + 5)
        expected = losses_and_gradients(net, algorithm, window)
        for got, other in zip(losses_and_gradients(net, algorithm, longer), expected, strict=True):
            small.assert_same(got, other, 1e-4)


def test_a_window_is_not_padded_to_less_nor_a_chunk_to_more_steps():
    _, window = next(windows(CONFIGS["whole"]))
    ends = window.end_weights.shape[1]
    with pytest.raises(ValueError, match="steps, ends: got 1 and 4, expected at least those"):
        window.padded(1, 4)
    _, chunk = next(windows(CONFIGS["chunked"]))
    with pytest.raises(ValueError, match="steps: got 5, expected those of the chunk, 4"):
        chunk.padded(5, 99)
    assert window.padded(window.steps, ends).follows is window.follows


def test_numbers_are_rounded_up_to_few_by_little():
    buckets = {number: rounded_up(number, 4) for number in range(1, 1025)}
    assert all(number <= bucket <= 1.125 * number for number, bucket in buckets.items())
    assert len(set(buckets.values())) == 64
    assert [rounded_up(n, 4) for n in (15, 16, 17, 47, 171)] == [15, 16, 18, 48, 176]


@by_config
def test_fitted_windows_have_few_shapes(config):
    for _, window in windows(config):
        got, lanes = bucket_window(window), window.follows.shape[-1]
        assert got.end_weights.shape[1] in [lanes * times for times in (1, 2, 3, 4)]
        assert got.steps == rounded_up(window.steps, 4)


# Learning: captured steps do what direct ones do


class Recorded:
    """Stands for a graph: its work is done when it is replayed, not when it is captured."""

    def __init__(self, work):
        self.replay = work


class RecordedGraphs:
    """Stands for graphs; each of so many steps outgrows the memory of those before."""

    on_stream = staticmethod(nullcontext)

    def __init__(self, *, outgrowing=()):
        self._outgrowing, self.count, self.begun_anew = outgrowing, 0, 0

    def capture(self, work):
        self.count += 1
        self.is_outgrown = self.count in self._outgrowing
        return Recorded(work)

    def reset(self):
        self.begun_anew += 1


@pytest.fixture
def without_gpu(monkeypatch):
    """Captured engines work on the CPU."""
    small.without_streams(monkeypatch)


def taught(made, config, *, cycles=6):
    """An engine after some cycles over all tasks."""
    task_streams = [TaskStream(config, algorithm) for algorithm in config.algorithms]
    for step in range(cycles):
        for task_stream in task_streams:
            made.learn(task_stream.packed_batch(step, made.fit))
        if config.optimizer.accumulate:
            made.update()
    return made


def fresh(config, computing=GPU):
    specs = Learner.new(config.algorithms, config.model, config.convention, config.seeds)
    return computing.apply(specs.net)


class PaddedEngine(Engine):
    """Computes directly what a captured engine computes."""

    fit = staticmethod(bucket_window)


@by_config
def test_captured_steps_do_what_direct_ones_do(config, without_gpu):
    on_cpu = ComputeConfig()
    direct = taught(PaddedEngine(fresh(config, on_cpu), config), config)
    captured = taught(CapturedEngine(fresh(config, on_cpu), config, RecordedGraphs()), config)
    assert_same_state(captured, direct)
    for name, tensor in direct.optimizer.tensors().items():
        assert torch.equal(captured.optimizer.tensors()[name], tensor), name


def test_updates_are_prepared_on_the_stream_that_captures_them(without_gpu, monkeypatch):
    """Their kernels must be loaded there, and on a GPU that is not the current one."""
    config, streams = CONFIGS["accumulated"], []

    class OneStream(RecordedGraphs):
        @contextmanager
        def on_stream(self):
            streams.append(self)
            yield
            streams.pop()

    prepared = []
    monkeypatch.setattr(Optimizer, "prepare", lambda own: prepared.append(bool(streams)))
    taught(CapturedEngine(fresh(config, ComputeConfig()), config, OneStream()), config)
    assert len(prepared) > len(config.algorithms)
    assert all(prepared)


@by_config
def test_steps_that_outgrow_the_memory_of_others_are_the_first_of_new_ones(config, without_gpu):
    graphs, usual = RecordedGraphs(outgrowing=(2, 4)), RecordedGraphs()
    captured = taught(CapturedEngine(fresh(config, ComputeConfig()), config, graphs), config)
    expected = taught(CapturedEngine(fresh(config, ComputeConfig()), config, usual), config)
    assert graphs.begun_anew
    assert graphs.count > usual.count
    assert_same_state(captured, expected)


def assert_same_state(one, other):
    """Losses, counts and carries agree; not to the last digit, since Adam magnifies rounding."""
    for task, features in other.losses().items():
        for name, sums in features.items():
            assert one.losses()[task][name] == pytest.approx(sums, rel=1e-3), name
            assert any(sums)
    assert one.optimizer.counts() == other.optimizer.counts()
    assert one.carries.keys() == other.carries.keys()
    for place, carry in other.carries.items():
        torch.testing.assert_close(one.carries[place].hidden, carry.hidden, rtol=1e-3, atol=1e-3)


@by_config
def test_a_capture_does_not_touch_the_state(config, without_gpu):
    class NoReplay(RecordedGraphs):
        def capture(self, work):
            super().capture(work)
            return Recorded(lambda: None)

    net = fresh(config, ComputeConfig())
    before = small.weights(net)
    graphs = NoReplay()
    made = taught(CapturedEngine(net, config, graphs), config)
    assert graphs.count
    for name, parameter in net.named_parameters():
        assert torch.equal(parameter, before[name])
        assert parameter.grad is None or not parameter.grad.any()
    assert not made.optimizer.counts()
    assert not any(value for task in made.losses().values() for s in task.values() for value in s)
    assert all(not carry.hidden.any() for carry in made.carries.values())


def test_losses_are_summed_and_can_be_set_and_cleared():
    config = CONFIGS["seeds"]
    made = taught(Engine(fresh(config, ComputeConfig()), config), config, cycles=2)
    sums = made.losses()
    assert len(sums["dfs"]) == len(made.net.decoded_features(made.net.specs["dfs"]))
    assert all(len(of_seeds) == 2 for of_seeds in sums["dfs"].values())
    made.clear_losses()
    assert not any(any(of_seeds) for of_seeds in made.losses()["dfs"].values())
    made.set_losses(sums)
    assert made.losses() == sums


def test_bad_losses_are_found_at_a_report_and_nothing_bad_is_saved(tmp_path):
    config = small.training(
        "bfs", "dfs", seeds=(3, 4), steps=9, schedule={"validate_every": 2, "checkpoint_every": 1}
    )
    run = Run.start(tmp_path, config)

    def spoil(trainer, report):
        sums = trainer.engine.losses()
        sums["dfs"]["d"][1] = sums["dfs"]["color"][1] = float("nan")
        trainer.engine.set_losses(sums)

    message = r"the loss of dfs is nan by step 1 \(seed 4, in color, d\); the last checkpoint is"
    with pytest.raises(DivergedError, match=message):
        run.train(observe=spoil)
    assert checkpoint.newest(tmp_path / "checkpoints").step == 0
    with pytest.raises(DivergedError, match="by step 2"):
        next(report for report in run.trainer.run() if report is not None)
    assert run.trainer.best_steps == [0, 0]


class SlowLessons:
    """A packed batch that arrives at some second; the clock moves only while it is awaited."""

    def __init__(self, comes):
        self.comes, self.now = comes, 0.0

    def is_ready(self, patience=0.0):
        self.now = min(self.now + patience, max(self.now, self.comes))
        return self.now >= self.comes

    def __next__(self):
        self.now = max(self.now, self.comes)
        return "packed_batch"

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize(
    ("comes", "busy_until", "starved"), [(0, 0, 0), (3, 0, 3), (3, 2, 1), (3, 9, 0)]
)
def test_waiting_for_data_is_counted_while_the_device_is_idle(
    monkeypatch, comes, busy_until, starved
):
    packed_batches = SlowLessons(comes)
    monkeypatch.setattr("algorist.training.trainer.time", packed_batches)
    monkeypatch.setattr("algorist.training.time_accounting.time", packed_batches)
    monkeypatch.setattr("algorist.training.trainer._POLL_SECONDS", 0.25)
    trainer = Trainer(small.training("bfs"))
    packed_batches.now = 1e-9  # no time counts before the first packed batch, so there was one
    trainer.time_account.begin()
    monkeypatch.setattr(trainer.engine, "idle", lambda: packed_batches.now >= busy_until)
    assert trainer._next_batch(packed_batches) == "packed_batch"
    assert trainer.time_account["waiting"] == pytest.approx(starved, abs=1e-6)


# ComputeConfig


def test_what_is_computed_how_is_checked():
    for field, value in (("kernels", "fusd"), ("precision", "tf16")):
        with pytest.raises(ValueError, match=f"unknown {field} '{value}'"):
            ComputeConfig(**{field: value})
    with pytest.raises(ValueError, match="workers: got -1, expected 0 or more"):
        ComputeConfig(workers=-1)
    assert ComputeConfig().worker_count == 1
    assert (
        ComputeConfig(workers=3).worker_count == ComputeConfig("cuda", workers=3).worker_count == 3
    )
    assert 1 <= ComputeConfig("cuda").worker_count <= 14


@pytest.mark.parametrize("chunk", [0, 4])
def test_the_number_of_workers_does_not_change_what_is_learnt(chunk):
    config = small.training("bfs", "insertion_sort", seeds=(0, 1), steps=9, chunk=chunk)
    states = []
    for workers in (1, 3):
        trainer = Trainer(config, ComputeConfig(workers=workers))
        steps = trainer.run()
        for _ in range(4):
            next(steps)
        steps.close()
        list(trainer.run())  # goes on
        states.append(trainer.checkpoint())
    assert states[0].state == states[1].state
    for name, tensor in states[0].tensors.items():
        assert torch.equal(tensor, states[1].tensors[name]), name


def test_what_goes_wrong_in_a_worker_comes_out_here(monkeypatch):
    def spoilt(self, step):
        if step == 3:
            raise ValueError(f"no data at step {step}")
        return window(self, step)

    window = TaskStream.window
    monkeypatch.setattr(TaskStream, "window", spoilt)
    trainer = Trainer(small.training("bfs", steps=9), ComputeConfig(workers=2))
    with pytest.raises(ValueError, match="no data at step 3"):
        list(trainer.run())
    assert trainer.step == 3


def test_a_worker_that_ends_too_early_is_noticed(monkeypatch):
    monkeypatch.setattr(TaskStream, "window", lambda *_: os._exit(3))
    trainer = Trainer(small.training("bfs"), ComputeConfig(workers=2))
    with pytest.raises(RuntimeError, match="a process that prepares data has died"):
        list(trainer.run())


def test_workers_end_with_the_process_that_is_killed(tmp_path):
    program = (
        "import small, sys\n"
        "from algorist.model.compute_config import ComputeConfig\n"
        "from algorist.training.trainer import Trainer\n"
        "trainer = Trainer(small.training('bfs', steps=10**6), ComputeConfig(workers=2))\n"
        "steps = trainer.run()\n"
        "next(steps)\n"
        "import multiprocessing\n"
        "print(*(p.pid for p in multiprocessing.active_children()), flush=True)\n"
        "[None for _ in steps]\n"
    )
    with running("-c", program) as process:
        workers = [int(word) for word in process.stdout.readline().split()]
        assert len(workers) == 2
    wait_until(lambda: not any(is_running(worker) for worker in workers))


# Examinations


def scores(evaluations):
    return [(evaluation.outputs, evaluation.quality) for evaluation in evaluations]


def examined(learner, algorithm, batch, **options):
    """What an examination finds, whenever it is called."""
    examination = Evaluator(learner, algorithm, batch, **options)
    return lambda: scores(examination.score(examination.predict()))


@pytest.mark.parametrize("graphs", [None, RecordedGraphs()], ids=["direct", "captured"])
def test_an_examination_goes_with_the_learner(graphs):
    learner = Learner.new(("insertion_sort",), small.model(), small.CONVENTION, (0, 1))
    batch = official.generate("insertion_sort", n=5, count=40, seed=1)
    again = examined(learner, "insertion_sort", batch, graphs=graphs)
    for _ in range(2):
        assert again() == scores(evaluate(learner, "insertion_sort", batch))
        before = again()
        small.lively(learner.net)
        assert again() != before


# On a GPU


@needs_gpu
@pytest.mark.parametrize("kernels", ["plain", "auto"])
@by_config
def test_graphs_train_as_direct_steps_do(config, kernels):
    computing = replace(GPU, kernels=kernels)
    direct = taught(PaddedEngine(fresh(config, computing), config), config)
    made = CapturedEngine(fresh(config, computing), config, CudaGraphs(torch.device("cuda")))
    assert_same_state(taught(made, config), direct)


@needs_gpu
def test_captured_examinations_go_with_the_learner():
    learner = Learner.new(("insertion_sort",), small.model(), small.CONVENTION, (0, 1))
    GPU.apply(learner.net)
    batch = official.generate("insertion_sort", n=16, count=40, seed=1)
    again = examined(learner, "insertion_sort", batch, graphs=CudaGraphs(torch.device("cuda")))
    for _ in range(3):
        assert again() == scores(evaluate(learner, "insertion_sort", batch))
        with torch.no_grad():
            for parameter in learner.net.parameters():
                parameter += 0.2 * torch.randn_like(parameter)


@needs_gpu
@pytest.mark.parametrize("graphs", [True, False])
@by_config
def test_a_run_on_a_gpu_that_is_stopped_and_resumed_ends_as_one_that_is_not(
    tmp_path, config, graphs
):
    computing = replace(GPU, graphs=graphs)
    schedule = replace(config.schedule, steps=7, validate_every=2, checkpoint_every=2)
    config = replace(config, schedule=schedule)
    Run.start(tmp_path / "one", config, computing).train()
    run = Run.start(tmp_path / "other", config, computing)
    assert not run.train(should_stop=lambda: run.trainer.step >= 3)
    assert Run.resume(tmp_path / "other", computing).train()
    one, other = (checkpoint.newest(tmp_path / name / "checkpoints") for name in ("one", "other"))
    assert one.state == other.state
    small.assert_identical(one.tensors, other.tensors)
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("one", "other")]
    assert metrics[0] == metrics[1]


@needs_gpu
def test_no_step_waits_for_the_gpu():
    config = CONFIGS["chunked"]
    made = CapturedEngine(fresh(config), config, CudaGraphs(torch.device("cuda")))
    taught(made, config, cycles=4)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        taught(made, config, cycles=4)
    finally:
        torch.cuda.set_sync_debug_mode("default")
