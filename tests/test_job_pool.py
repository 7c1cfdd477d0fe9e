"""JobPool: several tasks at the same time in one process, what fails, and what nobody waits for."""

import threading
import time
import weakref
from types import SimpleNamespace

import pytest
import torch
from small import needs_gpu

from algorist.model.compute_config import ComputeConfig
from algorist.training.job_pool import AbandonedError, JobPool, job_count


def test_the_usual_number_at_once_depends_on_the_device():
    assert job_count(None, ComputeConfig()) == 1
    assert job_count(None, ComputeConfig("cuda")) == 3
    assert job_count(20, ComputeConfig()) == 20
    with pytest.raises(ValueError, match="at_once: got 9, expected at most 8 on a GPU"):
        job_count(9, ComputeConfig("cuda"))


def test_tasks_in_contexts_are_done_at_the_same_time():
    meeting = threading.Barrier(2)
    with JobPool(2, ComputeConfig()) as pool:
        tasks = [lambda context: meeting.wait(timeout=60)] * 4
        outcomes = list(pool.outcomes(tasks))
    assert sorted(outcome.number for outcome in outcomes) == [0, 1, 2, 3]
    assert not any(outcome.error for outcome in outcomes)


def test_contexts_can_be_used_again():
    with JobPool(2, ComputeConfig()) as pool:
        for _ in range(2):
            outcomes = list(pool.outcomes([lambda context: context.check()] * 3))
            assert [outcome.error for outcome in outcomes] == [None] * 3


def test_tasks_that_nobody_waits_for_end():
    begun, ended = threading.Barrier(3), []

    def endless(context):
        begun.wait(timeout=60)
        try:
            while True:
                context.check()
                time.sleep(0.001)
        except AbandonedError:
            ended.append(context)

    with JobPool(2, ComputeConfig()) as pool:
        outcomes = pool.outcomes([lambda context: "quick", endless, endless, endless])
        assert next(outcomes).value == "quick"
        begun.wait(timeout=60)
        outcomes.close()
    assert len(ended) == 2


def needing(memory, free, *, until=None):
    """A task that takes memory, waits, and gives it back; more than is free is an error."""

    def task(context):
        if memory > free[0]:
            raise torch.OutOfMemoryError("full")
        free[0] -= memory
        if until:
            until.wait(timeout=60)
        free[0] += memory
        return memory

    return task


def test_a_task_that_does_not_fit_beside_others_is_done_after_them():
    free, failed = [10], threading.Event()

    def large(context):
        try:
            return needing(8, free)(context)
        except torch.OutOfMemoryError:
            failed.set()
            raise

    with JobPool(2, ComputeConfig()) as pool:
        outcomes = list(pool.outcomes([needing(5, free, until=failed), large, needing(1, free)]))
    assert failed.is_set()
    assert sorted(outcome.value for outcome in outcomes) == [1, 5, 8]


def test_a_task_that_does_not_fit_at_all_fails():
    free = [10]
    with JobPool(3, ComputeConfig()) as pool:
        outcomes = list(pool.outcomes([needing(11, free), needing(1, free)]))
    assert {outcome.number: outcome.value for outcome in outcomes} == {0: None, 1: 1}
    (error,) = (outcome.error for outcome in outcomes if outcome.error)
    assert isinstance(error, torch.OutOfMemoryError)


def test_what_has_failed_is_told_even_if_nothing_can_be_tidied_up(monkeypatch):
    def fail(*_):
        raise RuntimeError("the first error")

    def untidy():
        raise RuntimeError("the second")

    monkeypatch.setattr("algorist.training.job_pool.gc", SimpleNamespace(collect=untidy))
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with JobPool(1, ComputeConfig()) as pool:
        (outcome,) = pool.outcomes([fail])
    assert str(outcome.error) == "the first error"


def test_a_failed_task_keeps_nothing_alive():
    class Net:
        pass

    nets = []

    def chained(context):
        net = Net()
        nets.append(weakref.ref(net))
        try:
            raise ValueError
        except ValueError:
            raise RuntimeError from None

    def failing(context):
        try:
            chained(context)
        except RuntimeError as error:
            raise OSError from error

    with JobPool(1, ComputeConfig()) as pool:
        (outcome,) = pool.outcomes([failing])
    assert isinstance(outcome.error, OSError)
    assert nets[0]() is None


@needs_gpu
def test_no_two_contexts_share_a_stream():
    with JobPool(8, ComputeConfig("cuda")) as pool:
        for context in pool._contexts:
            context.graphs()  # for another training
        streams = [stream.cuda_stream for context in pool._contexts for stream in context.streams]
    assert len(set(streams)) == len(streams) == 40
