"""Predictions of many samples and steps: what they need of a GPU's memory."""

import gc
import weakref

import numpy as np
import pytest
import small
import torch

from algorist.data import official
from algorist.model import inference
from algorist.model.decoding import States
from algorist.model.inference import DeviceBatch, predict
from algorist.model.learner import Learner, TaskEncoding
from algorist.model.processors.base import EdgeStates
from algorist.model.scan import EndStates


def learner():
    return Learner.new(["bfs"], small.model(), TaskEncoding(), (0,))


def test_what_finds_no_memory_is_computed_in_halves(monkeypatch):
    made = learner()
    batch = official.generate("bfs", n=6, count=7, seed=0)
    (whole,) = predict(made, "bfs", batch, hints=True)
    sizes = []

    class Narrow(DeviceBatch):
        def predict(self, **options):
            sizes.append(self._pieces[0].follows.shape[2])
            if sizes[-1] > 2:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().predict(**options)

    monkeypatch.setattr(inference, "DeviceBatch", Narrow)
    (got,) = predict(made, "bfs", batch, hints=True)
    assert sizes == [7, 4, 2, 2, 3, 2, 1]
    np.testing.assert_array_equal(got.outputs["pi"], whole.outputs["pi"])
    assert got.hints.keys() == whole.hints.keys()


def test_one_sample_without_memory_is_an_error(monkeypatch):
    def fail(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(DeviceBatch, "predict", fail)
    with pytest.raises(torch.OutOfMemoryError):
        predict(learner(), "bfs", official.generate("bfs", n=4, count=1, seed=0))


@torch.no_grad()
def test_ends_keep_nothing_of_steps_before():
    made = learner()
    batch = official.generate("bfs", n=4, count=2, seed=0)
    ends = EndStates(made.encoding.window([made.encoding.batch("bfs", batch)]))
    references = []
    for step in range(3):
        made_of = torch.full((1, 2, 4, 4, 8), float(step))
        references.append(weakref.ref(made_of))
        nodes = torch.zeros(1, 2, 4, 3)
        edge_states = EdgeStates(lambda made_of=made_of: made_of + 1)
        ends._at_step[:] = step  # so that all of them end here
        ends.add(step, States(nodes, nodes, nodes, nodes, nodes, edge_states, None, {}))
        del made_of, edge_states
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
    assert (ends.states().edge_states.states == 3).all()
