"""Train small nets on a CPU and print whether they learn the steps of algorithms.

python benchmarks/small_nets.py dfs heapsort --steps 2000
python benchmarks/small_nets.py --all --each --without comparisons
python benchmarks/small_nets.py dfs --recipe ibarz2022 --set hidden=64 --measure 8,16,32

One net for all algorithms that are given, or with --each one for each. One-step accuracy: discrete
hints that are right one step after the true ones. Free run: those that are right on the net's own
trajectory. Problems to measure with are drawn as the benchmark draws its tests, from a seed of
their own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import algorist
from algorist.data import official
from algorist.data.stream import SIZES
from algorist.evaluation.evaluator import Evaluation, evaluate
from algorist.model.learner import Learner
from algorist.spec import SCALARS
from algorist.training.config import Config, change_settings
from algorist.training.recipes import IMPROVEMENTS, RECIPES, recipe, without
from algorist.training.trainer import Trainer

_SMALL = {
    "hidden": 32,
    "batch_size": 16,
    "learning_rate": 1e-3,  # small nets bear a larger one than the recipes' nets
    "average": 200,
    "checkpoint_every": 10**9,
}
_HEADER = f"{'':30s} {'n':>4s} {'one step':>9s} {'free run':>9s} {'score':>6s} {'correct':>8s}"


class Accuracy(NamedTuple):
    """Shares in per cent, of one algorithm at one size."""

    one_step: float
    """Discrete hints that are right one step after the true ones."""
    free_run: float
    """Discrete hints that are right on the net's own trajectory."""
    score: float
    """The benchmark's score of the answers on its own trajectory."""
    correct: float
    """Answers that are right as a whole."""

    def __str__(self) -> str:
        return f"{self.one_step:9.2f} {self.free_run:9.2f} {self.score:6.1f} {self.correct:8.1f}"


def measure(
    learner: Learner, name: str, *, n: int, count: int, seed: int
) -> list[tuple[Accuracy, str]]:
    """How well the net of each seed executes an algorithm, and the hint that it predicts worst."""
    batch = official.generate(name, n=algorist.get(name).size(n), count=count, seed=seed)
    hints = [f.name for f in learner.net.spec(name).hints if f.kind not in SCALARS]
    evaluated = evaluate(learner, name, batch, hints=True, forced=True)
    return [_accuracy(found, hints) for found in evaluated]


def _accuracy(found: Evaluation, hints: Sequence[str]) -> tuple[Accuracy, str]:
    one_step = {hint: 100 * found.forced_hints[hint] for hint in hints}
    free = [100 * found.hints[hint] for hint in hints]
    worst = min(one_step, key=lambda hint: one_step[hint], default="")
    accuracy = Accuracy(
        statistics.fmean(one_step.values() or [100.0]),
        statistics.fmean(free or [100.0]),
        100 * found.score,
        100 * found.correct,
    )
    return accuracy, f"{worst} {one_step[worst]:.1f}" if worst else ""


def configure(arguments: argparse.Namespace, names: Sequence[str]) -> Config:
    """The recipe at a small size, with the switches that are asked for."""
    config = recipe(arguments.recipe, names)
    settings: dict[str, Any] = {
        **_SMALL,
        "steps": arguments.steps,
        "sizes": arguments.sizes,
        "validate_every": 10**9,  # the last weights are measured
    }
    if config.data.transitions:
        settings["transitions"] = 96
    for text in arguments.set:
        name, _, value = text.partition("=")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    config = without(change_settings(config, **settings), *arguments.without)
    return replace(config, seeds=(arguments.seed,))


def numbers(text: str) -> tuple[int, ...]:
    """Numbers that are separated by commas."""
    return tuple(map(int, text.split(",")))


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        "small_nets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithms", nargs="*", choices=[*algorist.algorithms(), []])
    parser.add_argument("--all", action="store_true", help="all thirty algorithms")
    parser.add_argument(
        "--each", action="store_true", help="a net for each, instead of one for all"
    )
    parser.add_argument("--recipe", default="algorist2026", choices=list(RECIPES))
    parser.add_argument("--steps", type=int, default=1000, help="updates per algorithm")
    parser.add_argument("--sizes", default=SIZES, type=numbers, help="of training")
    parser.add_argument("--measure", default=(16, 32, 64), type=numbers, help="sizes to measure at")
    parser.add_argument("--count", type=int, default=8, help="problems to measure with")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problem-seed", type=int, default=777)
    parser.add_argument(
        "--without", action="append", default=[], choices=list(IMPROVEMENTS), help="switch it off"
    )
    parser.add_argument("--set", action="append", default=[], metavar="SETTING=VALUE")
    parser.add_argument("--save", metavar="FILE", help="keep the trained net")
    arguments = parser.parse_args(argv)
    if arguments.all:
        arguments.algorithms = list(algorist.algorithms())
    if not arguments.algorithms:
        parser.error("expected the name of an algorithm, or --all")
    if arguments.save and arguments.each and len(arguments.algorithms) > 1:
        parser.error("--save: got --each and several algorithms, expected one net to save")
    return arguments


def train(arguments: argparse.Namespace, names: Sequence[str]) -> Learner:
    """One net for some algorithms."""
    trainer, start = Trainer(configure(arguments, names)), time.perf_counter()
    for _ in trainer.run():
        pass
    learner = trainer.evaluated_model
    print(f"{learner.net}, trained for {time.perf_counter() - start:.0f} s", flush=True)
    if arguments.save:
        trainer.best_learner().save(arguments.save)
    return learner


def main(argv: Sequence[str] | None = None) -> dict[int, Accuracy]:
    """Train, print a row for each algorithm and size, and return the means by size."""
    arguments = parse(argv)
    names, rows = arguments.algorithms, dict[int, list[Accuracy]]()
    for group in [[name] for name in names] if arguments.each else [names]:
        learner = train(arguments, group)
        print(_HEADER)
        for n, name in itertools.product(arguments.measure, group):
            row, worst = measure(
                learner, name, n=n, count=arguments.count, seed=arguments.problem_seed
            )[0]
            rows.setdefault(n, []).append(row)
            print(f"{name:30s} {n:4d} {row}   {worst}", flush=True)
    means = {}
    for n, own in rows.items():
        means[n] = Accuracy(*(statistics.fmean(column) for column in zip(*own, strict=True)))
        print(f"{'mean':30s} {n:4d} {means[n]}", flush=True)
    return means


if __name__ == "__main__":
    main()
