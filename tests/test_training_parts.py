"""The parts of a training: loss terms, schedules and optimizers, built in and of one's own."""

import json
import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import small
import torch
from commanding import main
from test_engine import RecordedGraphs

import algorist
from algorist.experiments.config_hash import config_hash
from algorist.model.losses import feature_losses
from algorist.training import loss_terms, optimizer, schedules
from algorist.training.captured_engine import CapturedEngine
from algorist.training.engine import Engine
from algorist.training.loader import TaskStream
from algorist.training.optimizer import Optimizer
from algorist.training.run import Run
from algorist.training.run_files import read_metrics
from algorist.training.trainer import Trainer

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def own(monkeypatch):
    """Registers functions for one test."""
    for module, name in (
        (loss_terms, "LOSS_TERMS"),
        (schedules, "SCHEDULES"),
        (optimizer, "OPTIMIZERS"),
    ):
        table = getattr(module, name)
        monkeypatch.setattr(module, name, dict(table))
    return algorist.register


def trained(config, steps=None):
    trainer = Trainer(config)
    for _ in trainer.run():
        if trainer.step == steps:
            break
    return trainer


# Loss terms


@pytest.fixture
def weight_penalty(own):
    @own
    def weight_penalty(prediction, batch):
        return sum((logits**2).mean() for logits in prediction.outputs.values())

    return weight_penalty


def config(**optimizer):
    return small.training("bfs", "dfs", optimizer=optimizer, seeds=(0, 1))


@pytest.mark.usefixtures("weight_penalty")
def test_a_loss_term_changes_the_weights_and_is_reported():
    plain, other = trained(config()), trained(config(loss_terms=("weight_penalty=1e6",)))
    before, after = small.weights(plain.net), small.weights(other.net)
    assert all(not torch.equal(before[name], after[name]) for name in before if "decoders" in name)
    assert not plain.engine.has_further_losses
    assert other.engine.has_further_losses


@pytest.mark.usefixtures("weight_penalty")
def test_a_term_of_weight_zero_changes_nothing():
    none = config(optimizer="sgd")  # Adam would make much of other rounding
    zero = config(optimizer="sgd", loss_terms=("weight_penalty=0",))
    small.assert_same(small.weights(trained(zero).net), small.weights(trained(none).net))


def test_what_the_net_adds_to_its_losses_is_never_dropped(monkeypatch):
    """Penalties of processors come this way: the engine knows their names only afterwards."""
    usual = feature_losses

    def with_penalty(spec, rollout, window):
        penalty = 1e6 * rollout.carry.hidden.square().mean((1, 2, 3))
        return {**usual(spec, rollout, window), "penalty": penalty}

    plain = small.weights(trained(config()).net)
    monkeypatch.setattr("algorist.training.engine.feature_losses", with_penalty)
    trainer = trained(config())
    changed = small.weights(trainer.net)
    assert not torch.equal(
        changed["processor.self_projection.weight"], plain["processor.self_projection.weight"]
    )


def test_penalties_are_part_of_captured_steps_too(monkeypatch):
    usual = feature_losses

    def with_penalty(spec, rollout, window):
        penalty = 1e3 * rollout.carry.hidden.square().mean((1, 2, 3))
        return {**usual(spec, rollout, window), "penalty": penalty}

    monkeypatch.setattr("algorist.training.engine.feature_losses", with_penalty)
    monkeypatch.setattr("algorist.training.captured_engine.CAPTURE_LOCK", nullcontext())
    small.without_streams(monkeypatch)
    direct, captured = Trainer(config()), Trainer(config())
    engines = [
        Engine(direct.net, config()),
        CapturedEngine(captured.net, config(), RecordedGraphs()),
    ]
    for engine in engines:
        for step in range(3):
            for name in ("bfs", "dfs"):
                stream = TaskStream(config(), name)
                engine.learn(stream.packed_batch(step, engine.fit))
    small.assert_same(small.weights(captured.net), small.weights(direct.net), 1e-4)
    first, second = (engine.losses()["dfs"]["penalty"] for engine in engines)
    assert first == pytest.approx(second, rel=1e-3)
    assert first[0] > 0


@pytest.mark.usefixtures("weight_penalty")
def test_losses_of_all_terms_are_in_the_metrics_and_come_back_on_resume(tmp_path):
    terms = replace(config(loss_terms=("weight_penalty=0.5", "hints=2")), seeds=(0,))
    terms = replace(terms, schedule=replace(terms.schedule, steps=4, validate_every=3))
    whole, halves = Run.start(tmp_path / "whole", terms), Run.start(tmp_path / "halves", terms)
    whole.train()
    stops = iter([False, True])
    halves.train(should_stop=lambda: next(stops))
    Run.resume(tmp_path / "halves").train()
    assert (tmp_path / "whole/metrics.jsonl").read_bytes() == (
        tmp_path / "halves/metrics.jsonl"
    ).read_bytes()
    first = json.loads((tmp_path / "whole/metrics.jsonl").read_text().splitlines()[0])
    parts = first["terms"]["bfs"]
    assert list(parts) == ["pi", "reach_h", "pi_h", "weight_penalty"]
    assert first["loss"]["bfs"][0] == pytest.approx(sum(value[0] for value in parts.values()))
    assert read_metrics(tmp_path / "whole/metrics.jsonl")[0].terms["bfs"] == parts


def test_metrics_of_runs_without_further_terms_are_as_ever(tmp_path):
    run = Run.start(tmp_path, config())
    run.train()
    line = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0])
    assert list(line) == ["step", "loss", "scores", "score", "best_step"]


def test_weights_of_hints_and_outputs_scale_their_losses():
    once = trained(config(), 1).engine.losses()["bfs"]
    heavy = trained(config(loss_terms=("hints=3", "outputs=0.5")), 1).engine.losses()["bfs"]
    assert heavy["pi_h"] == pytest.approx([3 * x for x in once["pi_h"]])
    assert heavy["pi"] == pytest.approx([0.5 * x for x in once["pi"]])


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (("nobody=1",), "unknown loss term 'nobody'"),
        (("hints=much",), "expected NAME=WEIGHT, such as hints=0.1"),
        (("hints=1", "hints=2"), "expected each once"),
    ],
)
def test_wrong_terms_are_refused(terms, message):
    with pytest.raises(ValueError, match=message):
        config(loss_terms=terms)


def test_a_term_that_returns_no_scalar_is_told_with_its_line(own):
    @own
    def vector(prediction, batch):
        return prediction.outputs["pi"]

    with pytest.raises(ValueError, match=r"loss term 'vector': got a tensor of shape .*\.py:\d+"):
        trained(config(loss_terms=("vector",)), 1)


# Schedules


def test_schedules_are_what_they_say():
    shares = [step / 100 for step in range(100)]
    assert {schedules.factor("constant", share) for share in shares} == {1.0}
    rises = [schedules.factor("warmup", share) for share in shares]
    assert rises == sorted(rises)
    assert rises[0] == 0.01
    assert rises[5:] == pytest.approx([1.0] * 95)
    waves = [schedules.factor("cosine", share) for share in shares]
    assert waves == sorted(waves, reverse=True)
    assert (waves[0], waves[50]) == (1.0, pytest.approx(0.5))
    assert [schedules.factor("step", share) for share in (0.2, 0.5, 0.75)] == pytest.approx(
        [1, 0.1, 0.01]
    )
    assert schedules.factor("warmup+cosine", 0.02) == pytest.approx(rises[2] * waves[2])


def test_a_schedule_sets_the_rate_of_every_step_and_resumes_exactly(tmp_path):
    cosine = small.training("bfs", steps=6, optimizer={"schedule": "cosine"}, schedule={})
    rates = []
    trainer = Trainer(cosine)
    for _ in trainer.run():
        rates.append(trainer.engine.optimizer.learning_rate.item())
    expected = [1e-3 * (1 + math.cos(math.pi * step / 6)) / 2 for step in range(6)]
    assert rates == pytest.approx(expected)
    run = Run.start(tmp_path, cosine)
    stops = iter([False, False, True])
    assert not run.train(should_stop=lambda: next(stops))
    again = Run.resume(tmp_path)
    again.train()
    small.assert_identical(small.weights(again.trainer.net), small.weights(trainer.net))
    plain = trained(small.training("bfs", steps=6))
    assert not torch.equal(
        small.weights(plain.net)["processor.self_projection.weight"],
        small.weights(trainer.net)["processor.self_projection.weight"],
    )
    assert read_metrics(tmp_path / "metrics.jsonl")[-1].learning_rate == pytest.approx(expected[-1])


def test_captured_steps_follow_a_schedule(monkeypatch):
    """The rate is a tensor that does not move: a replay reads what it holds by then."""
    monkeypatch.setattr("algorist.training.captured_engine.CAPTURE_LOCK", nullcontext())
    small.without_streams(monkeypatch)
    nets = []
    for kind in (Engine, CapturedEngine):
        net = Trainer(config()).net
        engine = kind(net, config(), *([RecordedGraphs()] if kind is CapturedEngine else []))
        place = engine.optimizer.learning_rate.data_ptr()
        for step, rate in enumerate((1e-3, 1e-4, 0.0, 1e-2)):
            engine.optimizer.set_learning_rate(rate)
            stream = TaskStream(config(), "bfs")
            engine.learn(stream.packed_batch(step, engine.fit))
        assert engine.optimizer.learning_rate.data_ptr() == place
        nets.append(small.weights(net))
    small.assert_same(nets[1], nets[0], 1e-4)


def test_a_schedule_of_ones_own_and_its_mistakes(own):
    @own
    def halves(share):
        return 0.5

    @own
    def wrong(share):
        return -1

    trainer = trained(config(schedule="halves"), 1)
    assert trainer.learning_rate == 0.5e-3
    with pytest.raises(ValueError, match=r"schedule 'wrong': got -1 for share 0.*\.py:\d+"):
        trained(config(schedule="wrong"), 1)
    with pytest.raises(ValueError, match="unknown schedule 'cosin'"):
        config(schedule="warmup+cosin")


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "much"])
def test_a_schedule_that_returns_no_factor_is_refused(own, value):
    @own
    def odd(share):
        return value

    with pytest.raises(ValueError, match=f"schedule 'odd': got {value!r} for share 0, expected"):
        schedules.factor("odd", 0.0)


# Optimizers


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_optimizers_step_as_those_of_pytorch(name):
    settings = {"adamw": {"weight_decay": 0.1}, "sgd": {"momentum": 0.9}}.get(name, {})
    own = small.training("bfs", optimizer={"optimizer": name, "clip": 0.0, **settings}).optimizer
    kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    nets = [torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)]
    nets[1].load_state_dict(nets[0].state_dict())
    ours = Optimizer(nets[0], own)
    theirs = kinds[name](nets[1].parameters(), lr=1e-3, **settings)
    for step in range(4):
        for net in nets:
            for p in net.parameters():
                p.grad = torch.full_like(p, 0.1 * (step + 1))
        ours.step()
        theirs.step()
    small.assert_identical(small.weights(nets[0]), small.weights(nets[1]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "adma"}, "unknown optimizer 'adma': did you mean 'adam'"),
        ({"weight_decay": 0.1}, "adam has none: choose adamw"),
        ({"momentum": 0.1}, "adam has its own: choose sgd"),
        ({"optimizer": "sgd", "momentum": -1.0}, "momentum: got -1.0, expected 0 or more"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        config(**settings)


@pytest.fixture
def radam(own):
    @own
    def radam(parameters, settings):
        return torch.optim.RAdam(parameters, lr=settings.learning_rate)


@pytest.mark.usefixtures("radam")
@pytest.mark.parametrize("name", ["adamw", "sgd", "radam"])
def test_every_optimizer_resumes_exactly(name, tmp_path):
    extra = {"momentum": 0.9} if name == "sgd" else {}
    chosen = config(optimizer=name, schedule="warmup", **extra)
    whole = Run.start(tmp_path / "whole", chosen)
    whole.train()
    run = Run.start(tmp_path / "halves", chosen)
    stops = iter([False, True])
    run.train(should_stop=lambda: next(stops))
    again = Run.resume(tmp_path / "halves")
    again.train()
    small.assert_identical(small.weights(again.trainer.net), small.weights(whole.trainer.net))


@pytest.mark.usefixtures("radam")
@pytest.mark.parametrize("accumulate", [False, True])
def test_an_optimizer_of_ones_own_steps_outside_of_captured_graphs(accumulate, monkeypatch):
    monkeypatch.setattr("algorist.training.captured_engine.CAPTURE_LOCK", nullcontext())
    small.without_streams(monkeypatch)
    chosen = config(optimizer="radam", accumulate=accumulate)
    nets = []
    for kind in (Engine, CapturedEngine):
        net = Trainer(chosen).net
        engine = kind(net, chosen, *([RecordedGraphs()] if kind is CapturedEngine else []))
        for step in range(3):
            for name in ("bfs", "dfs"):
                stream = TaskStream(chosen, name)
                engine.learn(stream.packed_batch(step, engine.fit))
            if accumulate:
                engine.update()
        nets.append(small.weights(net))
    small.assert_same(nets[1], nets[0], 1e-4)


def test_an_optimizer_that_is_none_is_told(own):
    @own
    def nothing(parameters, settings):
        return "optimizer"

    with pytest.raises(ValueError, match="optimizer 'nothing': got str without param_groups"):
        Trainer(config(optimizer="nothing"))


def test_a_step_that_fails_is_told_with_its_line(own):
    @own
    def lbfgs(parameters, settings):
        return torch.optim.LBFGS(parameters)

    with pytest.raises(ValueError, match=r"optimizer 'lbfgs': TypeError: .*closure.*\.py:\d+"):
        trained(config(optimizer="lbfgs"), 1)


def test_state_that_checkpoints_cannot_keep_is_refused(own, tmp_path):
    class Listing(torch.optim.SGD):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["seen"] = [p.detach().clone()]

    @own
    def listing(parameters, settings):
        return Listing(parameters, lr=0.1)

    with pytest.raises(ValueError, match=r"'listing': got a list as state\['seen'\], expected a"):
        Run.start(tmp_path, config(optimizer="listing")).train()


def test_an_optimizer_without_state_resumes_exactly(own, tmp_path):
    @own
    def plain_sgd(parameters, settings):
        return torch.optim.SGD(parameters)

    chosen = config(optimizer="plain_sgd")
    whole, halves = Run.start(tmp_path / "whole", chosen), Run.start(tmp_path / "halves", chosen)
    whole.train()
    stops = iter([False, True])
    halves.train(should_stop=lambda: next(stops))
    again = Run.resume(tmp_path / "halves")
    again.train()
    small.assert_identical(small.weights(again.trainer.net), small.weights(whole.trainer.net))


# Changes on resume


def test_a_resumed_run_may_change_rate_and_schedule_and_says_so(capsys, tmp_path):
    folder = tmp_path / "run"
    run = Run.start(folder, small.training("bfs", steps=4))
    stops = iter([False, True])
    run.train(should_stop=lambda: next(stops))
    before = config_hash(run.trainer.config)
    words = ["--learning-rate", "0.0001", "--schedule", "cosine"]
    assert main(["resume", str(folder), *words]) == 0
    assert "changed at step 2: learning_rate 0.001 -> 0.0001" in capsys.readouterr().out
    saved = Run.resume(folder).trainer.config
    assert saved.changes == (
        "step 2: learning_rate 0.001 -> 0.0001",
        "step 2: schedule constant -> cosine",
    )
    assert saved.optimizer.schedule == "cosine"
    assert config_hash(saved) not in (before, config_hash(replace(saved, changes=())))
    assert json.loads((folder / "config.json").read_text())["changes"] == list(saved.changes)


def test_more_steps_of_a_schedule_are_a_change(tmp_path):
    Run.start(tmp_path, small.training("bfs", optimizer={"schedule": "cosine"}))
    assert Run.resume(tmp_path, steps=9).trainer.config.changes == ("step 0: steps 3 -> 9",)


# Registering and examples


def test_what_is_registered_is_known_by_its_parameters():
    with pytest.raises(ValueError, match=r"got f\(x\), expected .* loss_term\(prediction, batch\)"):
        algorist.register(_f())
    with pytest.raises(ValueError, match="register: got 3, expected what"):
        algorist.register(3)
    with pytest.raises(ValueError, match="there is a schedule 'cosine' already"):
        algorist.register(_cosine())


def _f():
    def f(x):
        return x

    return f


def _cosine():
    def cosine(share):
        return share

    return cosine


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("schedule_and_optimizer.py", ["--optimizer", "lion", "--schedule", "warmup+late_decay"]),
        ("loss_term.py", ["--loss-term", "certainty=0.01"]),
    ],
)
@pytest.mark.parametrize("chunk", ["0", "4"])
def test_examples_train_and_resume(file, words, chunk, capsys, tmp_path):
    example = EXAMPLES / file
    assert len(example.read_text().splitlines()) < 60
    few = ["--steps", "2", "--hidden", "4", "--batch-size", "2", "--seeds", "0,1", "--chunk", chunk]
    plugin = ["--plugin", str(example)]
    out = str(tmp_path / "run")
    assert main([*plugin, "train", "bfs", "--out", out, *few, *words]) == 0
    assert main([*plugin, "resume", out, "--steps", "3"]) == 0


@pytest.mark.parametrize(
    ("page", "example"),
    [
        ("schedule_and_optimizer", "schedule_and_optimizer"),
        ("loss_term", "loss_term"),
        ("recipe", "laptop"),
    ],
)
def test_pages_show_their_examples_as_they_are(page, example):
    text = (EXAMPLES.parent / "docs" / "extending" / f"{page}.md").read_text()
    assert (EXAMPLES / f"{example}.py").read_text() in text
