"""Train small nets on single transitions and print what they learnt.

python benchmarks/laboratory dfs heapsort --steps 2000
python benchmarks/laboratory --all --without comparisons --steps 500
python benchmarks/laboratory dfs --set hidden=64 --set rounds=1 --sizes 4,6,8 --measure 8,16,32
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
import time
import typing
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import algorist
from algorist.spec import Feature, Kind
from laboratory.columns import Switches
from laboratory.executor import ExecutorNet, loss
from laboratory.measuring import measure
from laboratory.transitions import TransitionPool, development_batch, training_batch

_HEADER = (
    f"{'algorithm':30s} {'n':>4s} {'one step':>9s} {'free run':>9s} {'score':>6s} {'whole':>6s}"
)
_CLIP = 1.0


class Laboratory:
    """One net in training for some algorithms."""

    def __init__(self, switches: Switches, arguments: argparse.Namespace):
        self._arguments, self.switches = arguments, switches
        self.pools = {
            (name, place): TransitionPool(self._drawn(name, place), arguments.device)
            for name in arguments.algorithms
            for place in range(len(self._sizes(name)))
        }
        torch.manual_seed(arguments.seed)
        specs = {name: self.pools[name, 0].spec for name in arguments.algorithms}
        self.net = ExecutorNet(specs, switches).to(arguments.device)
        self.average = copy.deepcopy(self.net).requires_grad_(False)
        self._optimizer = torch.optim.Adam(self.net.parameters(), arguments.learning_rate)

    def _sizes(self, name: str) -> tuple[int, ...]:
        """String matchers have one size, as in the benchmark."""
        sizes = self._arguments.sizes
        return sizes if algorist.get(name).stretch == 1 else (max(sizes),)

    def _drawn(self, name: str, place: int) -> Any:
        arguments = self._arguments
        sizes = tuple(arguments.sizes)
        return training_batch(
            name, seed=arguments.seed, sizes=sizes, count=arguments.problems, step=place
        )

    def train(self) -> None:
        """Change the weights, one task after the other; average them over the last steps."""
        arguments = self._arguments
        for step in range(arguments.steps):
            share = step / arguments.steps
            rate = arguments.learning_rate * (1 + math.cos(math.pi * share)) / 2
            self._optimizer.param_groups[0]["lr"] = rate
            for name in arguments.algorithms:
                self._update(name, step % len(self._sizes(name)))
            weight = max(1 / arguments.average, 1 / (step + 1))
            torch._foreach_lerp_(
                list(self.average.parameters()), list(self.net.parameters()), weight
            )

    def _update(self, name: str, place: int) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        self._loss(name, self.pools[name, place]).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), _CLIP)
        self._optimizer.step()

    def _loss(self, name: str, pool: TransitionPool) -> torch.Tensor:
        """The sum of the mean losses of all features."""
        arguments, spec, net = self._arguments, pool.spec, self.net.train()
        drawn = pool.draw(arguments.batch_size, arguments.ends, balanced=arguments.balanced)
        hints = {f.name: self._noisy(f, drawn.hints[f.name]) for f in spec.hints}
        state = net(name, drawn.inputs, hints, drawn.changes)
        moves = arguments.batch_size
        weight = self.switches.scalar_weight
        predictions = net.decode(name, state.rows(0, moves), spec.hints, drawn.following)
        total = torch.zeros((), device=state.graph.device)
        for f in spec.hints:
            before = drawn.hints[f.name][:moves]
            total = total + loss(f, predictions[f.name], drawn.following[f.name], before, weight)
        outputs = net.decode(name, state.rows(moves, None), spec.outputs)
        for f in spec.outputs:
            total = total + loss(f, outputs[f.name], drawn.outputs[f.name], None, weight)
        return total

    def _noisy(self, feature: Feature, hints: torch.Tensor) -> torch.Tensor:
        """Scalar hints with noise of a random size for each row: the net will read its own."""
        if feature.kind != Kind.SCALAR or not self.switches.noise:
            return hints
        size = torch.rand(len(hints), *(1,) * (hints.ndim - 1), device=hints.device)
        return hints + self.switches.noise * size * torch.randn_like(hints)

    def report(self) -> None:
        """Print a row for each algorithm and size, and the means."""
        arguments = self._arguments
        print(_HEADER)
        for size in arguments.measure:
            rows = []
            for name in arguments.algorithms:
                n = algorist.get(name).size(size)
                batch = development_batch(
                    name, n=n, count=arguments.count, seed=arguments.development_seed
                )
                row = measure(self.average, name, TransitionPool(batch, arguments.device))
                rows.append(row)
                print(
                    f"{name:30s} {n:4d} {row.one_step:9.2f} {row.free_hints:9.2f} "
                    f"{row.score:6.1f} {row.whole:6.1f}   {row.worst}",
                    flush=True,
                )
            means = [
                sum(getattr(row, name) for row in rows) / len(rows)
                for name in ("one_step", "free_hints", "score", "whole")
            ]
            print("{:30s} {:4d} {:9.2f} {:9.2f} {:6.1f} {:6.1f}".format("mean", size, *means))


def switches_of(arguments: argparse.Namespace) -> Switches:
    """The switches that are asked for."""
    types = typing.get_type_hints(Switches)
    changes: dict[str, Any] = {}
    for name in arguments.without:
        changes[name] = types[name](0)
    for setting in arguments.set:
        name, _, value = setting.partition("=")
        if name not in types:
            raise SystemExit(f"--set: unknown switch {name!r}, expected one of {', '.join(types)}")
        changes[name] = types[name](float(value))
    return replace(Switches(), **changes)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        "laboratory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithms", nargs="*", choices=[*algorist.algorithms(), []])
    parser.add_argument("--all", action="store_true", help="all thirty algorithms, one net")
    parser.add_argument("--steps", type=int, default=2000, help="updates per algorithm")
    parser.add_argument("--sizes", default=(4, 7, 11, 13, 16), type=_numbers, help="of training")
    parser.add_argument(
        "--measure", default=(16, 32, 64), type=_numbers, help="sizes to measure at"
    )
    parser.add_argument("--count", type=int, default=8, help="problems to measure with")
    parser.add_argument("--batch-size", type=int, default=96, help="transitions of an update")
    parser.add_argument("--ends", type=int, default=16, help="last steps of an update")
    parser.add_argument("--problems", type=int, default=512, help="trajectories per size")
    parser.add_argument("--balanced", type=float, default=0.5, help="share of balanced draws")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--average", type=int, default=200, help="steps that weights average over")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--development-seed", type=int, default=777)
    parser.add_argument("--device", default="cpu")
    switches = [field.name for field in fields(Switches)]
    parser.add_argument(
        "--without", action="append", default=[], choices=switches, help="switch it off"
    )
    parser.add_argument("--set", action="append", default=[], metavar="SWITCH=VALUE")
    arguments = parser.parse_args(argv)
    if arguments.all:
        arguments.algorithms = list(algorist.algorithms())
    if not arguments.algorithms:
        parser.error("expected the name of an algorithm, or --all")
    return arguments


def main(argv: Sequence[str] | None = None) -> None:
    """Train and measure."""
    arguments = parse(argv)
    switches = switches_of(arguments)
    begun, laboratory = time.perf_counter(), Laboratory(switches, arguments)
    weights = sum(parameter.numel() for parameter in laboratory.net.parameters())
    print(f"{switches}\n{weights:,} weights")
    laboratory.train()
    print(f"trained for {time.perf_counter() - begun:.0f} s")
    laboratory.report()


if __name__ == "__main__":
    main()
