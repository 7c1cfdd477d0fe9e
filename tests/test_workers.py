"""Packed batches from worker processes equal those made in this process."""

import pytest
import small
import torch

from algorist.training.engine import Engine
from algorist.training.loader import LoaderSpec, TaskStream
from algorist.training.packing import StreamKey, WindowLayout, bucket_window
from algorist.training.trainer import Trainer
from algorist.training.validation import Validation
from algorist.training.workers import _AHEAD, Loader, WorkerPool

CONFIG = small.training("bfs", "insertion_sort", steps=9, chunk=4, seeds=(0, 1))


def loader_spec(config=CONFIG, step=0):
    cursors = {name: TaskStream(config, name).cursors(step) for name in config.algorithms}
    return LoaderSpec(config, step, cursors, bucket_window)


def batches_made_here(plan):
    return [plan.packed_batch(item) for item in plan.work_items()]


def test_batches_of_workers_are_those_that_are_made_here():
    expected = batches_made_here(loader_spec())
    assert len(expected) == 18 > 2 * _AHEAD
    with Loader(WorkerPool(2), loader_spec()) as packed_batches:
        for wanted, got in zip(expected, packed_batches, strict=True):
            assert got.key == wanted.key
            assert got.cursors == wanted.cursors
            assert torch.equal(got.window().follows, wanted.window().follows)
            for name, hint in wanted.window().hints.items():
                assert torch.equal(got.window().hints[name], hint), name


def test_a_batch_stays_until_the_next_is_taken():
    expected = batches_made_here(loader_spec())
    with Loader(WorkerPool(1), loader_spec()) as packed_batches:
        first = next(packed_batches)
        before = first.content.clone()
        worker = packed_batches._workers[0]
        for _ in range(_AHEAD - 1):  # all that it may prepare meanwhile
            assert worker._poll.poll(20_000)
            worker.received()
        assert torch.equal(first.content, before)
        assert torch.equal(first.window().follows, expected[0].window().follows)
        assert not worker.is_ready()  # nobody has asked for more


def test_a_layout_is_sent_once_for_all_batches_of_its_shape():
    with Loader(WorkerPool(1), loader_spec()) as packed_batches:
        layouts = {}
        for packed_batch in packed_batches:
            own = packed_batch.layout
            shape = (packed_batch.key, own.shape)
            assert layouts.setdefault(shape, own) is own
        assert len(layouts) < 18


def test_a_pool_can_leave_a_loader_and_begin_another():
    worker_pool, expected = WorkerPool(2), batches_made_here(loader_spec())
    try:
        for taken in (0, 1, 5, 18):
            packed_batches = Loader(worker_pool, loader_spec(), alone=False)
            for place in range(taken):
                got = next(packed_batches)
                assert torch.equal(got.window().end_weights, expected[place].window().end_weights)
            packed_batches.close()
        assert worker_pool.is_whole
    finally:
        worker_pool.close()


class OddError(Exception):
    """One that another process cannot read."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def test_an_error_of_a_worker_is_told_even_if_it_cannot_be_sent(monkeypatch):
    def fail(task_stream, step):
        raise OddError("this", "that")

    monkeypatch.setattr(TaskStream, "window", fail)
    worker_pool = WorkerPool(2)
    try:
        with pytest.raises(RuntimeError, match="OddError: this and that"):
            next(Loader(worker_pool, loader_spec(), alone=False))
        assert worker_pool.is_whole
    finally:
        worker_pool.close()


def test_a_window_can_be_put_into_bytes_and_cut_out_again():
    window = TaskStream(CONFIG, "insertion_sort").window(0)
    layout, found = WindowLayout(window), []
    content = torch.full((layout.size,), 7, dtype=torch.uint8)
    layout.write(window, content)
    layout.window(content).map(lambda tensor: found.append(tensor) or tensor)
    window.map(lambda tensor: torch.testing.assert_close(found.pop(0), tensor) or tensor)
    assert not found
    assert layout.shape == (*window.follows.shape[::2], window.end_weights.shape[1])


def test_what_is_learnt_does_not_depend_on_bytes_that_are_overwritten_later():
    trainers = [Trainer(CONFIG) for _ in range(2)]
    for trainer, spoil in zip(trainers, (False, True), strict=True):
        engine, task_stream = trainer.engine, TaskStream(CONFIG, "bfs")
        assert isinstance(engine, Engine)
        for step in range(4):
            packed_batch = task_stream.packed_batch(step, engine.fit)
            engine.learn(packed_batch)
            if spoil:
                packed_batch.content.fill_(85)
    for one, other in zip(*(t.net.parameters() for t in trainers), strict=True):
        assert torch.equal(one, other)
    hidden = [trainer.engine.carries[StreamKey("bfs", 4)].hidden for trainer in trainers]
    assert torch.equal(*hidden)


def test_the_best_weights_of_a_seed_are_kept_by_themselves(monkeypatch):
    scores = iter([[0.5, 0.25], [0.25, 0.5]])
    monkeypatch.setattr(Validation, "qualities", lambda _: {"bfs": next(scores)})
    trainer = Trainer(small.training("bfs", steps=2, seeds=(0, 1), schedule={"validate_every": 1}))
    first, second = (small.weights(trainer.net) for _ in trainer.run())
    assert any(not torch.equal(first[name], weights) for name, weights in second.items())
    for name, best in trainer.best.items():
        assert torch.equal(best[0], first[name][0]), name
        assert torch.equal(best[1], second[name][1]), name
    assert trainer.best_scores == [0.5, 0.5]
    assert trainer.best_steps == [1, 2]


def test_packed_windows_go_to_other_devices_by_one_copy():
    got = TaskStream(CONFIG, "bfs").packed_batch(0, bucket_window)
    moved = got.window("meta")
    assert moved.follows.device.type == moved.hints["pi_h"].device.type == "meta"
    assert moved.follows.shape == got.window().follows.shape
