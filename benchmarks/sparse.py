"""A training step at n = 16, on sparse graphs and with all pairs laid out, measured in turns.

    python benchmarks/sparse.py [--hidden 64] [--batch-size 32] [--rounds 20]

Both nets are PGNs for bfs of one seed, with the same settings. `recipe` is salsa2023: true hints,
no state. `carried` feeds hints back and carries the state.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

import torch

from algorist.training.config import Config, change_settings
from algorist.training.recipes import recipe
from algorist.training.trainer import Trainer

_KINDS = {
    "recipe": {},
    "carried": {"teacher_forcing": 0.0, "carry_state": True, "feedback": "soft"},
}


def config(*, sparse: bool, **settings: object) -> Config:
    """The configuration of one of the nets; the dense one has the graphs of CLRS-30."""
    made = change_settings(recipe("salsa2023", ["bfs"]), sizes=(16,), **settings)
    if sparse:
        return made
    dense = change_settings(made, processor="pgn", varied=False)
    return replace(dense, convention=replace(dense.convention, sparse=False))


class Timed:
    """A trainer whose learning steps are timed, data apart."""

    def __init__(self, made: Config):
        self._trainer = Trainer(made)
        stream = self._trainer.task_streams["bfs"]
        self._batches = [stream.packed_batch(step, self._trainer.engine.fit) for step in range(4)]

    def step(self, number: int) -> float:
        """The processor's seconds for a step."""
        start = time.process_time()
        self._trainer.engine.learn(self._batches[number % len(self._batches)])
        return time.process_time() - start


def main() -> None:
    """Print the median of both, for both kinds of training."""
    parser = argparse.ArgumentParser()
    for name, default in (("hidden", 64), ("batch-size", 32), ("rounds", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for kind, settings in _KINDS.items():
        sizes = {"hidden": given.hidden, "batch_size": given.batch_size}
        nets = {
            name: Timed(config(sparse=name == "sparse", **sizes, **settings))
            for name in ("sparse", "dense")
        }
        for number in range(4):
            for net in nets.values():
                net.step(number)
        times = [[net.step(number) for net in nets.values()] for number in range(given.rounds)]
        sparse, dense = (1000 * statistics.median(column) for column in zip(*times, strict=True))
        print(f"{kind}: sparse {sparse:.1f} ms, dense {dense:.1f} ms, processor time of a step")


if __name__ == "__main__":
    main()
