"""Training: the loop, processors that are taken over, and runs that diverge."""

from dataclasses import replace

import pytest
import small
import torch

from algorist.evaluation.evaluator import Evaluation
from algorist.model.kinds import row
from algorist.model.learner import Learner
from algorist.model.make_window import make_window
from algorist.spec import Kind
from algorist.training import checkpoint
from algorist.training.divergence import DivergedError
from algorist.training.run import Run
from algorist.training.trainer import Trainer


def trained(config):
    """The trainer after its last step, and its reports."""
    trainer = Trainer(config)
    return trainer, [report for report in trainer.run() if report is not None]


def weights(trainer):
    return small.weights(trainer.net)


@pytest.mark.parametrize("chunk", [0, 4])
def test_replicas_train_as_single_nets_with_their_seeds(chunk):
    config = small.training(
        "bfs", "insertion_sort", seeds=(0, 1, 2), chunk=chunk, schedule={"validate_every": 1}
    )
    together, reports = trained(config)
    assert len(reports) == 3
    for seed in config.seeds:
        alone, expected = trained(replace(config, seeds=(seed,)))
        for report, other in zip(reports, expected, strict=True):
            for name in config.algorithms:
                assert report.loss[name][seed] == pytest.approx(other.loss[name][0], rel=1e-5)
        # Adam makes full steps of gradients that are mere rounding, so weights need not agree.
        for name in config.algorithms:
            got = answers(together.learner.replica(seed), name)
            small.assert_same(got, answers(alone.learner, name), 1e-4)


def answers(learner, algorithm):
    """What a learner of one replica believes about some problems: probabilities and numbers.

    Without permutations: they hardly change with what is added to a row or a column of scores, so
    what is learnt of that is rounding too.
    """
    spec, window = learner.net.specs[algorithm], make_window([small.problems(algorithm, seed=99)])
    rollout = learner.net.rollout(algorithm, window)
    return {
        name: row(spec[name]).ops.feedback(value, False)
        for name, value in {**rollout.hints, **rollout.outputs}.items()
        if spec[name].kind != Kind.PERMUTATION_POINTER
    }


def test_chunks_that_hold_whole_trajectories_train_like_whole_trajectories():
    full = small.training("insertion_sort", sizes=(8,), schedule={"validate_every": 1})
    chunked = replace(full, data=replace(full.data, chunk=8))
    for one, other in zip(trained(full)[1], trained(chunked)[1], strict=True):
        assert one.loss["insertion_sort"] == pytest.approx(other.loss["insertion_sort"], rel=1e-5)
        assert one.score == pytest.approx(other.score)


def test_tasks_are_stepped_in_turns_or_accumulated():
    in_turns, _ = trained(small.training("bfs", "insertion_sort"))
    together, _ = trained(small.training("bfs", "insertion_sort", optimizer={"accumulate": True}))
    shared, own = "processor.first.weight", "encoders.bfs.pos.weight"
    assert {shared: 6, own: 3}.items() <= in_turns.engine.optimizer.counts().items()
    assert {shared: 3, own: 3}.items() <= together.engine.optimizer.counts().items()


def test_the_best_model_is_the_last_of_the_best_validation(monkeypatch):
    scores = iter([[0.3, 0.1], [0.2, 0.4], [0.3, 0.2]])

    monkeypatch.setattr(
        "algorist.evaluation.evaluator.Evaluator.score",
        lambda *_: [Evaluation({"pi": s}, correct=0.0, quality=s) for s in next(scores)],
    )
    trainer = Trainer(small.training("bfs", seeds=(0, 1), schedule={"validate_every": 1}))
    kept, reports = [], []
    for report in trainer.run():
        kept.append(weights(trainer))
        reports.append(report)
    assert [report.best_step for report in reports] == [[1, 1], [1, 2], [3, 2]]
    assert trainer.best_scores == [0.3, 0.4]
    best = trainer.best_learner()
    assert [replica["step"] for replica in best.metadata["replicas"]] == [3, 2]
    for name, value in best.net.named_parameters():
        assert torch.equal(value[0], kept[2][name][0])
        assert torch.equal(value[1], kept[1][name][1])


def test_the_loss_of_a_report_is_the_mean_since_the_one_before():
    every = trained(small.training("bfs", steps=4, schedule={"validate_every": 1}))[1]
    both = trained(small.training("bfs", steps=4, schedule={"validate_every": 2}))[1]
    for pair, report in zip((every[:2], every[2:]), both, strict=True):
        mean = sum(one.loss["bfs"][0] for one in pair) / 2
        assert report.loss["bfs"][0] == pytest.approx(mean)


def test_training_lowers_the_loss():
    data = {"batch_size": 16, "sizes": (6,)}
    optimizer, schedule = {"learning_rate": 5e-3}, {"validate_every": 15}
    config = small.training("bfs", steps=60, optimizer=optimizer, schedule=schedule, **data)
    losses = [report.loss["bfs"][0] for report in trained(config)[1]]
    assert losses[-1] < 0.8 * losses[0]


# Transfer


def saved_learner(path, *, seeds=(5,), **changes):
    """A learner of another algorithm in a file."""
    made = Learner.new(("minimum",), small.model(**changes), small.CONVENTION, seeds)
    made.save(path)
    return made


def test_a_frozen_processor_stays_as_it_is_and_all_else_learns(tmp_path):
    source = saved_learner(tmp_path / "a.safetensors")
    optimizer = {"processor_from": str(tmp_path / "a.safetensors"), "freeze_processor": True}
    config = small.training("bfs", seeds=(0, 1), optimizer=optimizer)
    before = weights(Trainer(config))
    after = weights(trained(config)[0])
    for name, value in source.net.processor.state_dict().items():
        assert torch.equal(after[f"processor.{name}"], value.expand(2, *value.shape[1:]))
    for name in before:
        moved = not torch.equal(after[name], before[name])
        assert moved != name.startswith("processor.")


def test_a_processor_that_is_taken_over_learns_unless_it_is_frozen(tmp_path):
    source = saved_learner(tmp_path / "a.safetensors", seeds=(5, 6))
    optimizer = {"processor_from": str(tmp_path / "a.safetensors")}
    config = small.training("bfs", seeds=(0, 1), optimizer=optimizer)
    trainer = Trainer(config)
    small.assert_identical(trainer.net.processor.state_dict(), source.net.processor.state_dict())
    list(trainer.run())
    weight = trainer.net.processor.first.weight
    assert not torch.equal(weight, source.net.processor.first.weight)


def test_a_run_is_resumed_without_the_file_its_processor_came_from(tmp_path):
    saved_learner(tmp_path / "a.safetensors")
    optimizer = {"processor_from": str(tmp_path / "a.safetensors"), "freeze_processor": True}
    run = Run.start(tmp_path / "run", small.training("bfs", optimizer=optimizer))
    before = weights(run.trainer)
    (tmp_path / "a.safetensors").unlink()
    resumed = Run.resume(tmp_path / "run")
    small.assert_identical(weights(resumed.trainer), before)
    assert resumed.train()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"processor": "triplet_mpnn"}, "another kind of processor"),
        ({"hidden": 8}, "another kind of processor: hidden is 8 there and 16 here"),
        ({"layer_norm": False}, "another kind of processor"),
        ({"seeds": (1, 2)}, "has 2 replicas, expected 1 or as many as there are seeds, 3"),
    ],
)
def test_a_processor_that_does_not_fit_is_refused(tmp_path, changes, message):
    saved_learner(tmp_path / "a.safetensors", **changes)
    optimizer = {"processor_from": str(tmp_path / "a.safetensors")}
    with pytest.raises(ValueError, match=f"processor_from: .*{message}"):
        Trainer(small.training("bfs", seeds=(0, 1, 2), optimizer=optimizer))


# Divergence


def test_a_loss_that_is_no_number_stops_the_run_and_says_where(tmp_path):
    optimizer = {"learning_rate": 1e25, "clip": 0.0}
    config = small.training(
        "bfs", seeds=(3, 4), steps=9, optimizer=optimizer, schedule={"checkpoint_every": 1}
    )
    run = Run.start(tmp_path / "run", config)
    message = (
        r"the loss of bfs is (nan|inf) by step 2 \(seed 3, in .*\); the last checkpoint is kept"
    )
    with pytest.raises(DivergedError, match=message):
        run.train()
    kept = checkpoint.newest(tmp_path / "run" / "checkpoints")
    assert kept.step == 1
    assert all(tensor.isfinite().all() for tensor in kept.tensors.values())


def test_weights_that_are_no_numbers_are_never_saved(tmp_path):
    config = small.training("bfs", schedule={"checkpoint_every": 1})
    run = Run.start(tmp_path / "run", config)

    def spoil(trainer, report):
        trainer.net.processor.first.bias.data[0, 3] = torch.inf

    with pytest.raises(DivergedError, match="not finite after step 1; the last checkpoint is kept"):
        run.train(observe=spoil)
    assert checkpoint.newest(tmp_path / "run" / "checkpoints").step == 0
