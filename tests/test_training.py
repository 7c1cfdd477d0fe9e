"""Training: the feed, the optimiser, the loop, checkpoints and runs."""

import hashlib
import json
import shutil
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import small
import torch

from algorist.evaluation.evaluate import Evaluation
from algorist.model.kinds import row
from algorist.model.learner import Learner
from algorist.model.window import whole
from algorist.spec import Kind
from algorist.training import checkpoint
from algorist.training.checkpoint import Checkpoint
from algorist.training.feed import Feed
from algorist.training.loading import load
from algorist.training.optimiser import Optimiser, clipped
from algorist.training.run import Run, pack
from algorist.training.trainer import DivergedError, Trainer
from algorist.training.transport import restored


def trained(config):
    """The trainer after its last step, and its reports."""
    trainer = Trainer(config)
    return trainer, [report for report in trainer.run() if report is not None]


def weights(trainer):
    return small.weights(trainer.net)


def assert_equal(got, expected):
    """Named tensors are the same, bit for bit."""
    assert got.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(got[name], value), name


def assert_same_windows(one, other):
    for stage in ("inputs", "hints", "outputs"):
        assert_equal(getattr(one, stage), getattr(other, stage))
    for name in ("follows", "end_weights", "is_first", "forced", "noise"):
        value = getattr(one, name)
        assert value is None or torch.equal(value, getattr(other, name)), name


# The feed


@pytest.mark.parametrize("chunk", [0, 4])
def test_the_window_of_a_step_is_the_same_in_any_order(chunk):
    optimiser = {"teacher_forcing": 0.5}
    config = small.training("insertion_sort", seeds=(0, 1), chunk=chunk, optimiser=optimiser)
    in_order = Feed(config, "insertion_sort")
    expected = [in_order.portion(step) for step in range(24)]
    assert [portion.size for portion in expected] == [4, 5] * 12
    backwards = Feed(config, "insertion_sort")
    for step in (20, 0, 23, 3, *range(3, 24), 0):
        assert_same_windows(backwards.portion(step).window, expected[step].window)
    resumed = Feed(config, "insertion_sort")
    resumed.seek(json.loads(json.dumps(in_order.cursors(14))))
    for step in (14, 15, 16, 17):
        assert_same_windows(resumed.portion(step).window, expected[step].window)


def test_chunks_of_a_size_that_is_listed_twice_go_on_each_time():
    often = Feed(small.training("dfs", chunk=4, sizes=(4, 4, 5)), "dfs")
    hints = [often.portion(step).window.hints["d"] for step in (0, 1, 3, 4)]
    for before, after in pairwise(hints):
        assert torch.equal(before[-1], after[0])
        assert not torch.equal(before, after)
    assert often.cursors(4)["4"][0]["step"] == 2


def test_teacher_forcing_is_drawn_as_often_as_it_says():
    config = small.training("bfs", optimiser={"teacher_forcing": 0.3}, batch_size=500)
    assert Feed(config, "bfs").portion(0).window.forced.float().mean() == pytest.approx(
        0.3, abs=0.05
    )
    assert Feed(small.training("bfs"), "bfs").portion(0).window.forced is None


def test_only_permutations_are_given_noise():
    assert Feed(small.training("bfs"), "bfs").portion(0).window.noise is None
    config = small.training("insertion_sort", batch_size=500)
    noise = Feed(config, "insertion_sort").portion(0).window.noise
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.05)  # the mean of a Gumbel


def test_the_fixed_training_split_is_read_where_nothing_is_drawn_online():
    config = small.training("bfs", online=False, varied=False, random_positions=False)
    feed = Feed(config, "bfs")
    assert feed.sizes == (16,)
    pos = feed.portion(0).window.inputs["pos"]
    torch.testing.assert_close(pos[0, 0], torch.arange(16) / 16)


# The optimiser


def test_each_replica_is_clipped_by_its_own_norm():
    gradients = [torch.tensor([[3.0, 0.0], [0.3, 0.0]]), torch.tensor([[[4.0]], [[0.4]]])]
    got = clipped(gradients, 1.0)
    torch.testing.assert_close(got[0], torch.tensor([[0.6, 0.0], [0.3, 0.0]]))
    torch.testing.assert_close(got[1], torch.tensor([[[0.8]], [[0.4]]]))


def test_gradients_that_are_one_tensor_are_scaled_once():
    shared = torch.tensor([[3.0, 4.0]])
    for got in clipped([shared, shared.view(1, 2)], 1.0):
        torch.testing.assert_close(got, shared / 50**0.5)
    net = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(1, 2)) for _ in range(2)])
    optimiser = Optimiser(net, small.training("bfs").optimiser)
    for parameter in net:
        parameter.grad = shared.view(1, 2)
    optimiser.step()
    for name in ("0", "1"):
        moment = optimiser.tensors()[f"{name}.exp_avg"]
        torch.testing.assert_close(moment, 0.1 * shared / 50**0.5)


def test_a_gradient_of_zero_stays_zero():
    assert torch.equal(clipped([torch.zeros(1, 3)], 1.0)[0], torch.zeros(1, 3))


@pytest.mark.parametrize(("limit", "change"), [(0.0, 2.0), (0.5, 0.5)])
def test_clipping_can_be_switched_off(limit, change):
    config = small.training("bfs", optimiser={"clip": limit, "learning_rate": 1.0}).optimiser
    net = torch.nn.Linear(1, 1, bias=False)
    optimiser = Optimiser(net, config)
    net.weight.grad = torch.full((1, 1), 2.0)
    optimiser.step()
    assert optimiser.tensors()["weight.exp_avg"].item() == pytest.approx(0.1 * change)
    assert net.weight.grad is None


# The loop


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
    spec, window = learner.net.specs[algorithm], whole([small.problems(algorithm, seed=99)])
    rollout = learner.net.rollout(algorithm, window)
    return {
        name: row(spec[name]).meaning.feedback(value, False)
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
    together, _ = trained(small.training("bfs", "insertion_sort", optimiser={"accumulate": True}))
    shared, own = "processor.first.weight", "encoders.bfs.pos.weight"
    assert {shared: 6, own: 3}.items() <= in_turns.engine.optimiser.counts().items()
    assert {shared: 3, own: 3}.items() <= together.engine.optimiser.counts().items()


def test_the_best_model_is_the_last_of_the_best_validation(monkeypatch):
    scores = iter([[0.3, 0.1], [0.2, 0.4], [0.3, 0.2]])

    monkeypatch.setattr(
        "algorist.training.trainer.Examination.scored",
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
    assert [replica["step"] for replica in best.about["replicas"]] == [3, 2]
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
    optimiser, schedule = {"learning_rate": 5e-3}, {"validate_every": 15}
    config = small.training("bfs", steps=60, optimiser=optimiser, schedule=schedule, **data)
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
    optimiser = {"processor_from": str(tmp_path / "a.safetensors"), "freeze_processor": True}
    config = small.training("bfs", seeds=(0, 1), optimiser=optimiser)
    before = weights(Trainer(config))
    after = weights(trained(config)[0])
    for name, value in source.net.processor.state_dict().items():
        assert torch.equal(after[f"processor.{name}"], value.expand(2, *value.shape[1:]))
    for name in before:
        moved = not torch.equal(after[name], before[name])
        assert moved != name.startswith("processor.")


def test_a_processor_that_is_taken_over_learns_unless_it_is_frozen(tmp_path):
    source = saved_learner(tmp_path / "a.safetensors", seeds=(5, 6))
    optimiser = {"processor_from": str(tmp_path / "a.safetensors")}
    config = small.training("bfs", seeds=(0, 1), optimiser=optimiser)
    trainer = Trainer(config)
    assert_equal(trainer.net.processor.state_dict(), source.net.processor.state_dict())
    list(trainer.run())
    weight = trainer.net.processor.first.weight
    assert not torch.equal(weight, source.net.processor.first.weight)


def test_a_run_is_resumed_without_the_file_its_processor_came_from(tmp_path):
    saved_learner(tmp_path / "a.safetensors")
    optimiser = {"processor_from": str(tmp_path / "a.safetensors"), "freeze_processor": True}
    run = Run.start(tmp_path / "run", small.training("bfs", optimiser=optimiser))
    before = weights(run.trainer)
    (tmp_path / "a.safetensors").unlink()
    resumed = Run.resume(tmp_path / "run")
    assert_equal(weights(resumed.trainer), before)
    assert resumed.train()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"processor": "triplet_mpnn"}, "another kind of processor"),
        ({"hidden": 8}, "another kind of processor"),
        ({"layer_norm": False}, "another kind of processor"),
        ({"seeds": (1, 2)}, "has 2 replicas, expected 1 or as many as there are seeds, 3"),
    ],
)
def test_a_processor_that_does_not_fit_is_refused(tmp_path, changes, message):
    saved_learner(tmp_path / "a.safetensors", **changes)
    optimiser = {"processor_from": str(tmp_path / "a.safetensors")}
    with pytest.raises(ValueError, match=f"processor_from: .*{message}"):
        Trainer(small.training("bfs", seeds=(0, 1, 2), optimiser=optimiser))


# Divergence


def test_a_loss_that_is_no_number_stops_the_run_and_says_where(tmp_path):
    optimiser = {"learning_rate": 1e25, "clip": 0.0}
    config = small.training(
        "bfs", seeds=(3, 4), steps=9, optimiser=optimiser, schedule={"checkpoint_every": 1}
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


# Checkpoints


def written(folder, step):
    return checkpoint.write(
        folder, Checkpoint(step, {"w": torch.full((3,), float(step))}, {"note": [step]})
    )


def test_a_checkpoint_holds_what_was_written_and_two_are_kept(tmp_path):
    for step in (1, 2, 30):
        written(tmp_path, step)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000002", "00000030"]
    got = checkpoint.newest(tmp_path)
    assert got.step == 30
    assert got.state == {"note": [30]}
    assert torch.equal(got.tensors["w"], torch.full((3,), 30.0))


def test_no_file_of_a_checkpoint_is_too_large_to_be_sent(tmp_path):
    generator = torch.Generator().manual_seed(0)
    tensors = {f"w{i}": torch.randn(1_500_000, generator=generator) for i in range(6)}
    path = checkpoint.write(tmp_path, Checkpoint(1, tensors, {}))
    sizes = [file.stat().st_size for file in path.glob("*.safetensors")]
    assert len(sizes) == 3
    assert max(sizes) < 16_000_000
    assert_equal(checkpoint.newest(tmp_path).tensors, tensors)
    truncated(path / "tensors-2.safetensors")
    with pytest.raises(checkpoint.DamagedError, match="a damaged tensors-2"):
        checkpoint.read(path)


def test_a_checkpoint_is_written_over_one_of_the_same_step(tmp_path):
    written(tmp_path, 1)
    again = Checkpoint(1, {"w": torch.zeros(2)}, {})
    checkpoint.write(tmp_path, again)
    assert torch.equal(checkpoint.newest(tmp_path).tensors["w"], torch.zeros(2))


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path):
    path.write_bytes(b"")


def garbled(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def unreadable(path):
    path.write_bytes(b"\xff\xfe\x00" * 10)


def removed(path):
    path.unlink()


@pytest.mark.parametrize("file", ["tensors-0.safetensors", "state.json"])
@pytest.mark.parametrize("damage", [truncated, emptied, garbled, unreadable, removed])
def test_a_damaged_checkpoint_is_passed_over_with_a_warning(tmp_path, file, damage):
    written(tmp_path, 1)
    damage(written(tmp_path, 2) / file)
    with pytest.warns(UserWarning, match="the checkpoint .*00000002 .*: trying the one before"):
        assert checkpoint.newest(tmp_path).step == 1


def test_checkpoints_that_are_all_damaged_are_refused(tmp_path):
    for step in (1, 2):
        truncated(written(tmp_path, step) / "tensors-0.safetensors")
    with (
        pytest.warns(UserWarning, match="trying the one before"),
        pytest.raises(ValueError, match=r"no checkpoint is whole \(.*00000002.*00000001"),
    ):
        checkpoint.newest(tmp_path)


def test_a_folder_without_checkpoints_is_refused(tmp_path):
    with pytest.raises(ValueError, match="there is no checkpoint"):
        checkpoint.newest(tmp_path)


def test_what_a_crash_left_is_not_taken_for_a_checkpoint(tmp_path, monkeypatch):
    written(tmp_path, 1)

    def crash(*_):
        raise OSError("no power")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.rename", crash)
        with pytest.raises(OSError, match="no power"):
            written(tmp_path, 2)
    assert len(list(tmp_path.iterdir())) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.newest(tmp_path).step == 1
    written(tmp_path, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000001", "00000003"]


# Runs


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
    (replica,) = best.about["replicas"]
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
            optimiser={"accumulate": True, "teacher_forcing": 0.5},
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
    assert_equal(other.tensors, one.tensors)
    assert other.state == one.state
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("one", "other")]
    assert metrics[0] == metrics[1]


def test_a_run_with_a_damaged_checkpoint_goes_on_from_the_one_before(tmp_path):
    config = small.training("bfs", steps=6, schedule=SCHEDULE)
    Run.start(tmp_path / "one", config).train()
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    truncated(tmp_path / "other" / "checkpoints" / "00000006" / "tensors-0.safetensors")
    with pytest.warns(UserWarning, match=r"00000006 has a damaged tensors-0\.safetensors"):
        run = Run.resume(tmp_path / "other")
    assert run.trainer.step == 4
    assert run.train()
    one, other = (checkpoint.newest(tmp_path / name / "checkpoints") for name in ("one", "other"))
    assert_equal(other.tensors, one.tensors)
    metrics = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("one", "other")]
    assert metrics[0] == metrics[1]


def test_half_a_line_of_metrics_is_dropped_when_a_run_is_resumed(tmp_path):
    config = small.training("bfs", steps=4, schedule=SCHEDULE)
    run = Run.start(tmp_path, config)
    run.train(should_stop=lambda: run.trainer.step >= 2)
    noted = run.metrics.read_text()
    run.metrics.write_text(noted + noted.replace('"step": 2', '"step": 4') + '{"step": 5, "lo')
    resumed = Run.resume(tmp_path)
    assert resumed.metrics.read_text() == noted
    resumed.train()
    assert [json.loads(line)["step"] for line in resumed.metrics.open()] == [2, 4]


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
    feed, trainer = Feed(config, "insertion_sort"), Trainer(config)
    assert feed.spec == trainer.net.specs["insertion_sort"]
    assert feed.spec["pred"].kind == Kind.PERMUTATION_POINTER


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


# Transport


def test_a_packed_run_holds_the_weights_exactly_and_all_else_nearly(tmp_path, monkeypatch):
    monkeypatch.setattr("algorist.training.transport._RUN", 1000)
    config = small.training("bfs", "dfs", seeds=(0, 1), steps=7, chunk=4, schedule=SCHEDULE)
    run = Run.start(tmp_path / "run", config)
    run.train(should_stop=lambda: run.trainer.step >= 5)
    files = pack(tmp_path / "run", tmp_path / "packed")
    names = {file.name for file in files}
    runs_own = {"config.json", "metrics.jsonl", "times.jsonl"}
    assert names == {*runs_own, "state.json", "tensors-0.safetensors"}
    full, light = (
        checkpoint.newest(tmp_path / "run/checkpoints"),
        checkpoint.read(tmp_path / "packed"),
    )
    bytes_of = [sum(t.nbytes for t in kept.tensors.values()) for kept in (full, light)]
    assert bytes_of[1] < 0.6 * bytes_of[0]
    got = restored(light)
    assert (got.step, got.state) == (full.step, full.state)
    assert got.tensors.keys() == full.tensors.keys()
    for name, tensor in full.tensors.items():
        exact = name.startswith("net/")
        kept = got.tensors[name]
        assert torch.equal(kept, tensor) if exact else torch.allclose(kept, tensor, 1.6e-2, 1e-3)
    assert Run.resume(tmp_path / "packed").train()
    lines = [json.loads(line) for line in (tmp_path / "packed" / "metrics.jsonl").open()]
    assert [line["step"] for line in lines] == [2, 4, 6, 7]


def test_a_run_that_was_packed_once_can_be_packed_again(tmp_path):
    Run.start(tmp_path / "run", small.training("bfs"))
    pack(tmp_path / "run", tmp_path / "one")
    pack(tmp_path / "one", tmp_path / "two")
    one, two = (checkpoint.read(tmp_path / name) for name in ("one", "two"))
    assert_equal(two.tensors, one.tensors)
    with pytest.raises(ValueError, match="there is a run already"):
        pack(tmp_path / "run", tmp_path / "two")
    with pytest.raises(ValueError, match="there is no run here"):
        pack(tmp_path / "nowhere", tmp_path / "three")
