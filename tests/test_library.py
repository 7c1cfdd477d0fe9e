"""The library in a PyTorch loop of one's own: nets, streams, losses, evaluation, short texts."""

import pickle
from itertools import islice

import numpy as np
import pytest
import small
import torch
from torch.utils.data import DataLoader

import algorist
from algorist.data.stream import Online, Stream
from algorist.evaluation.evaluator import evaluate as evaluate_replicas
from algorist.model.learner import Learner
from algorist.training.saved_learners import load


@pytest.fixture
def net():
    return algorist.Net(["bfs", "dijkstra"], hidden=16, processor="triplet_gmpnn", seed=0)


@pytest.fixture
def batch():
    return algorist.get("bfs").sample(n=5, count=4, seed=0)


def test_a_net_is_trained_in_an_ordinary_loop(net):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    stream = algorist.data.Stream("bfs", batch_size=8, sizes=(4, 7), seed=0)
    before = algorist.evaluate(net, "bfs", n=5, count=32, seed=1)
    losses = []
    for _, batch in zip(range(30), stream, strict=False):
        prediction = net(batch)
        loss = algorist.loss(prediction, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    after = algorist.evaluate(net, "bfs", n=5, count=32, seed=1)
    assert np.mean(losses[-5:]) < 0.7 * np.mean(losses[:5])
    assert after.score > before.score
    assert 0 <= after.correct <= 1


def test_predictions_have_no_replica_axis(net, batch):
    prediction = net(batch)
    steps = batch.steps - 1
    assert prediction.outputs["pi"].shape == (4, 5, 5)
    assert prediction.hints["pi_h"].shape == (steps, 4, 5, 5)
    assert prediction.hints["reach_h"].shape == (steps, 4, 5)
    assert prediction.outputs["pi"].requires_grad
    assert repr(prediction).startswith("Prediction(bfs: pi (4, 5, 5), ")


def test_terms_add_up_to_the_loss_that_training_minimises(net, batch):
    prediction = net(batch)
    terms = algorist.loss_terms(prediction, batch)
    assert set(terms) == {"pi", "pi_h", "reach_h"}
    assert all(term.shape == () for term in terms.values())
    assert algorist.loss(prediction, batch).item() == pytest.approx(
        sum(term.item() for term in terms.values()), rel=1e-6
    )
    with pytest.raises(ValueError, match="got another batch than the one that was predicted"):
        algorist.loss(prediction, algorist.get("bfs").sample(n=6, count=4, seed=0))


def test_the_seed_decides_and_settings_are_those_of_the_model(batch):
    one, same, other = (algorist.Net(["bfs"], hidden=16, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(one(batch).outputs["pi"], same(batch).outputs["pi"])
    assert not torch.equal(one(batch).outputs["pi"], other(batch).outputs["pi"])
    assert algorist.Net(["bfs"], hidden=16, pointer_reversal=True).config.pointer_reversal
    learner = Learner.new(["bfs"], one.config, small.CONVENTION, seeds=(3,))
    assert torch.equal(learner(batch).outputs["pi"], one(batch).outputs["pi"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: algorist.Net("bfs"), "algorithms: got 'bfs', expected a list of names"),
        (lambda: algorist.Net([]), "algorithms: got \\[\\], expected a list of names"),
        (lambda: algorist.Net(["bsf"]), "unknown algorithm 'bsf': did you mean 'bfs'"),
        (lambda: algorist.Net(["bfs"], processor="mpn"), "unknown processor 'mpn'"),
    ],
)
def test_a_net_that_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_which_algorithm_is_meant_must_be_known(net, batch):
    unnamed = algorist.Batch(batch.spec, batch.inputs, batch.hints, batch.outputs, batch.lengths)
    with pytest.raises(ValueError, match="does not say its algorithm, and the net serves several"):
        net(unnamed)
    assert net(unnamed, "bfs").algorithm == "bfs"
    assert algorist.Net(["bfs"], hidden=16)(unnamed).algorithm == "bfs"
    with pytest.raises(ValueError, match="unknown algorithm for this net 'dfs'"):
        net(algorist.get("dfs").sample(n=4, count=1, seed=0))


def test_nets_of_several_seeds_are_told_how_to_take_one(batch):
    learner = Learner.new(["bfs"], small.model(), small.CONVENTION, seeds=(0, 1))
    for call in (lambda: learner(batch), lambda: algorist.evaluate(learner, batch)):
        with pytest.raises(ValueError, match=r"got one of 2 seeds, expected one seed.*replica"):
            call()
    alone = learner.replica(1)
    assert algorist.evaluate(alone, batch) == algorist.evaluate(alone.net, "bfs", batch)


def test_evaluation_is_that_of_the_learner(net, batch):
    learner = Learner(net)
    (expected,) = evaluate_replicas(learner, "bfs", batch)
    assert algorist.evaluate(net, "bfs", batch) == expected
    drawn = algorist.evaluate(net, "bfs", n=5, count=4, seed=0)
    assert drawn == expected
    assert algorist.evaluate(net, "bfs", split="val", hints=True).hints.keys() == {
        "pi_h", "reach_h",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected one of: a batch, split=..., or n="),
        ({"n": 4, "count": 2, "split": "val"}, "expected one of: a batch, split="),
        ({"n": 4}, "n, count: expected both"),
        ({"split": "dev"}, "unknown split 'dev'"),
    ],
)
def test_problems_that_could_be_two_things_are_refused(net, options, message):
    with pytest.raises(ValueError, match=message):
        algorist.evaluate(net, "bfs", **options)


def test_shipped_nets_go_through_the_same_calls(batch):
    learner = load("generalist")
    assert algorist.evaluate(learner, "bfs", n=8, count=4, seed=1).score > 0.9
    prediction = learner.net(batch)
    assert algorist.loss(prediction, batch).item() < 1
    assert len(repr(learner)) < 200


def test_predictions_from_anywhere_are_scored(batch):
    truth = batch.outputs["pi"]
    perfect = algorist.score({"pi": torch.as_tensor(truth)}, batch)
    assert (perfect.score, perfect.correct) == (1.0, 1.0)
    wrong = truth.copy()
    wrong[0, 0] = (wrong[0, 0] + 1) % 5
    result = algorist.score({"pi": wrong.tolist()}, batch.to("cpu"))
    assert result.score == pytest.approx(1 - 1 / truth.size)
    assert result.correct == 0.75
    sorts = algorist.get("quicksort").sample(n=5, count=3, seed=0)
    assert algorist.score(sorts.outputs, sorts).correct == 1.0
    found = algorist.get("minimum").sample(n=5, count=3, seed=0)
    assert algorist.score({"min": found.outputs["min"].argmax(-1)}, found).score == 1.0


def test_probabilities_of_masks_and_classes_are_rounded_before_they_are_scored():
    tasks = algorist.get("activity_selector").sample(n=5, count=4, seed=0)
    selected = tasks.outputs["selected"]
    soft = {"selected": 0.8 * selected + 0.1}
    assert algorist.score(soft, tasks).correct == algorist.score(soft, tasks).score == 1.0
    for wrong, message in (
        (2 * selected, "expected 0 and 1"),
        (8.0 * selected - 4, "or probab"),
        (selected * np.nan, "selected: got NaN or infinity, expected finite numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            algorist.score({"selected": wrong}, tasks)
    found = algorist.get("minimum").sample(n=5, count=4, seed=0)
    logits = 3.0 * found.outputs["min"] - 1
    assert algorist.score({"min": logits}, found).correct == 1.0
    bridges = algorist.get("bridges").sample(n=6, count=4, seed=0)  # entries of no account
    assert algorist.score(bridges.outputs, bridges).correct == 1.0


def test_what_is_no_prediction_no_batch_or_no_net_is_named(batch):
    net = algorist.Net(["bfs"], hidden=4)
    with pytest.raises(TypeError, match=r"got Tensor, expected what net\(batch\) returns"):
        algorist.loss(torch.zeros(3), batch)
    with pytest.raises(TypeError, match="batch: got int, expected a Batch"):
        net(5)
    with pytest.raises(TypeError, match="net: got int, expected a Net or a Learner"):
        algorist.evaluate(5, batch)
    with pytest.raises(TypeError, match="unknown setting 'hiden': did you mean 'hidden'"):
        algorist.Net(["bfs"], hiden=4)
    with pytest.raises(ValueError, match="'genralist'; did you mean 'generalist'"):
        load("genralist")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pi: {}, "pi: got no prediction of this output"),
        (lambda pi: {"pi": pi, "d": pi}, "unknown output 'd'"),
        (lambda pi: {"pi": pi[:2]}, r"pi: got shape \(2, 5\), expected \(4, 5\)"),
        (lambda pi: {"pi": pi + 1}, "pi: got other numbers, expected whole ones from 0 to 4"),
        (lambda pi: {"pi": np.zeros((4, 5, 5))}, r"of logits take argmax\(-1\), or algorist"),
        (lambda pi: {"pi": [["a"] * 5] * 4}, "pi: got .*, expected numbers"),
        (lambda pi: [pi], r"expected outputs by name, as in {'pi': ...}; algorist.evaluate"),
        (lambda pi: {"pi": pi + 0.5}, "pi: got other numbers, expected whole ones from 0 to 4"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(batch, change, message):
    with pytest.raises(ValueError, match=message):
        algorist.score(change(batch.outputs["pi"]), batch)


def test_predictions_in_bfloat16_are_scored(batch):
    found = algorist.get("minimum").sample(n=5, count=3, seed=0)
    one_hot = torch.as_tensor(found.outputs["min"]).bfloat16()
    assert algorist.score({"min": one_hot}, found).score == 1.0


def test_a_stream_is_a_pure_function_of_the_step():
    stream = Stream("dijkstra", batch_size=3, sizes=(4, 7), seed=5)
    source = Online("dijkstra", seed=5, sizes=(4, 7), batch_size=3)
    for step, batch in zip(range(3), stream, strict=False):
        assert batch.algorithm == "dijkstra"
        for got in (batch, stream[step], pickle.loads(pickle.dumps(stream))[step]):
            np.testing.assert_array_equal(got.inputs["A"], source.batch(step).inputs["A"])
    with pytest.raises(TypeError, match="a stream has no end: use zip"):
        len(stream)
    with pytest.raises(ValueError, match="step: got -1"):
        stream[-1]
    assert repr(stream) == "Stream(dijkstra: batches of 3, sizes 4, 7, seed 5)"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_hands_batches_on_as_they_are_and_in_order(workers):
    stream = Stream("bfs", batch_size=2, sizes=(4, 5, 6), seed=0)
    loader = DataLoader(stream, batch_size=None, num_workers=workers)
    for got, step in zip(islice(loader, 5), range(5), strict=True):
        assert isinstance(got, algorist.Batch)
        np.testing.assert_array_equal(got.inputs["A"], stream[step].inputs["A"])


def test_a_batch_moves_to_a_device_and_back(net, batch):
    tensors = batch.to("cpu")
    assert tensors.algorithm == "bfs"
    assert tensors.inputs["A"].dtype == torch.float32
    assert (len(tensors), tensors.n) == (4, 5)
    torch.testing.assert_close(net(tensors).outputs["pi"], net(batch).outputs["pi"])
    np.testing.assert_array_equal(tensors.numpy().outputs["pi"], batch.outputs["pi"])


def test_objects_are_told_in_a_line_and_shown_as_tables(net, batch):
    assert repr(batch) == f"Batch(bfs: 4 samples, 5 nodes, {batch.steps} steps)"
    assert repr(net).startswith("Net(bfs, dijkstra: triplet_gmpnn, hidden 16, ")
    shown = batch._repr_html_()
    assert shown.count("<tr>") == 4 + 1 + int(batch.lengths[0]) + 1 + 2
    assert "<th>reach_h</th>" in shown
    assert shown.count("<table>") == shown.count("</table>") == 3
