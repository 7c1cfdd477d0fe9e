"""Whole nets that execute: their switches, replicas and runs."""

import sys
from pathlib import Path

import numpy as np
import pytest
import small
from executing import config

import algorist
from algorist.data import official
from algorist.model.inference import predict
from algorist.model.learner import Learner
from algorist.training.recipes import IMPROVEMENTS, without
from algorist.training.trainer import Trainer


@pytest.mark.parametrize("name", ["floyd_warshall", "heapsort", "lcs_length", "kmp_matcher"])
def test_every_switch_can_be_left_out(name):
    batch = official.generate(name, n=16 if name == "kmp_matcher" else 4, count=2, seed=5)
    whole = config(name)
    for improvement in ("", *IMPROVEMENTS):
        own = without(whole, *([improvement] if improvement else []))
        if improvement and own == whole:
            continue
        net = Learner.new([name], own.model, own.convention, own.seeds)
        assert 0 <= algorist.evaluate(net, name, batch).score <= 1


@pytest.mark.parametrize(
    ("name", "output"), [("matrix_chain_order", "s"), ("bridges", "is_bridge")]
)
def test_replicas_do_not_see_each_other(name, output):
    own, batch = config(name), official.generate(name, n=4, count=2, seed=5)

    def predictions(*seeds):
        return predict(Learner.new([name], own.model, own.convention, seeds), name, batch)

    for together, seed in zip(predictions(3, 4), (3, 4), strict=True):
        (alone,) = predictions(seed)
        np.testing.assert_array_equal(together.outputs[output], alone.outputs[output])


def test_a_run_goes_on_exactly():
    own = config("dijkstra", steps=4, validate_every=2)
    once, first = Trainer(own), Trainer(own)
    steps = first.run()
    next(steps)
    next(steps)
    again = Trainer.resume(first.checkpoint())
    for trainer in (once, again):
        for _ in trainer.run():
            pass
    small.assert_identical(small.weights(again.net), small.weights(once.net))


def test_a_small_net_learns_the_steps_of_bfs():
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    import small_nets

    small_net = ["--set", "hidden=16", "--set", "average=20"]
    sizes = ["--sizes", "4,6", "--measure", "6"]
    means = small_nets.main(["bfs", "--steps", "200", *sizes, *small_net])
    assert means[6].one_step > 94


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"carry_state": True}, "carry_state"),
        ({"chunk": 4}, "chunks"),
        ({"output_step": False}, "output_step"),
        ({"teacher_forcing": 0.5}, "teacher_forcing"),
        ({"hints": "decoded_only", "conditional_hints": False}, "gated_scalars"),
        ({"hints": "decoded_only", "validate_by": "outputs"}, "conditional_hints"),
    ],
)
def test_settings_that_contradict_transitions_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        config("bfs", **settings)
