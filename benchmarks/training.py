"""How long a training step takes: algorist, and dm-clrs where there is one, on the same samples.

    python benchmarks/training.py                            # bfs, insertion_sort, dfs at n = 16
    python benchmarks/training.py --peer PYTHON              # against the dm-clrs of that Python
    python benchmarks/training.py --algorithms bfs --n 32 --rounds 20 --json times.json

A step is all from a batch in memory to changed weights: the paper's gated triplet net, soft hints,
Adam, clipping. Problems are as varied as in the paper's training; a *moment* is a step of the
algorithm, and a batch has as many as its longest sample. Each library has a process of its own for
each algorithm, both are bound to the same cores, and they take turns, so that whatever else the
machine does hits both. On a busy machine, compare processor time with `--threads 1`: with more,
threads that wait for each other count too. The first step is timed apart, from the making of the
net on: it has to compile whatever there is to compile.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from libraries import pythons, workers, write_json

SEED = 1
_CLOCKS = time.perf_counter, time.process_time
Step = Callable[[], Any]
"""Makes one training step."""
Task = dict[str, Any]


def main() -> None:
    """Measure what the arguments ask for, print a table and write JSON."""
    arguments = _parser().parse_args()
    if arguments.worker:
        _work(arguments.worker)
        return
    headings = ["s a step", "processor s", "ms a moment", "first step s", "peak MB"]
    print(f"{'':40}" + "".join(f"{heading:>14}" for heading in headings))
    rows = []
    for name in arguments.algorithms.split(","):
        row = _measure(name, arguments)
        rows.append({"algorithm": name, **row})
        _show(name, row)
    settings = {key: getattr(arguments, key) for key in ("n", "batch", "hidden", "threads")}
    write_json(arguments.json, {**settings, "training": rows})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithms", default="bfs,insertion_sort,dfs", metavar="A,B")
    parser.add_argument("--n", type=int, default=16, help="size of the problems (default: 16)")
    parser.add_argument("--batch", type=int, default=32, help="samples a batch (default: 32)")
    parser.add_argument("--hidden", type=int, default=128, help="channels (default: 128)")
    parser.add_argument("--threads", type=int, default=2, help="cores for each (default: 2)")
    parser.add_argument("--rounds", type=int, default=10, help="steps of each (default: 10)")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that can import clrs")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    return parser


def _measure(name: str, arguments: argparse.Namespace) -> dict[str, Task]:
    """The median step of each library, its first step and its peak memory."""
    import algorist

    algorithm = algorist.get(name)
    task = {
        "name": name,
        "n": algorithm.size(arguments.n),
        "options": algorithm.train_options,
        "static_hint": algorithm.static_hint is not None,
        **{key: getattr(arguments, key) for key in ("batch", "hidden", "threads")},
    }
    libraries = pythons(arguments.peer)
    with workers(__file__, libraries, arguments.threads) as ask:
        starts = {who: ask(who, task) for who in libraries}
        turns = [{who: ask(who, "step") for who in libraries} for _ in range(arguments.rounds)]
        peaks = {who: ask(who, "peak") for who in libraries}
    row = {}
    for who, (first, moments) in starts.items():
        seconds, processor = (
            statistics.median(turn[who][clock] for turn in turns) for clock in (0, 1)
        )
        row[who] = {
            "seconds": seconds,
            "processor_seconds": processor,
            "fastest": min(turn[who][0] for turn in turns),
            "moments": moments,
            "first_step": first,
            "peak_mb": peaks[who],
        }
    return row


def _show(name: str, row: dict[str, Task]) -> None:
    """A line for each library, and how many times less ours takes."""
    for who, numbers in row.items():
        seconds, processor = numbers["seconds"], numbers["processor_seconds"]
        cells = f"{seconds:14.3f}{processor:14.3f}{1000 * seconds / numbers['moments']:14.2f}"
        cells += f"{numbers['first_step']:14.2f}{numbers['peak_mb']:14.0f}"
        print(f"{name:30}{who:10}{cells}", flush=True)
    if len(row) > 1:
        ours, theirs = row["algorist"], row["dm-clrs"]
        keys = ("seconds", "processor_seconds", "seconds", "first_step", "peak_mb")
        ratios = "".join(f"{f'{theirs[key] / ours[key]:.1f} x':>14}" for key in keys)
        print(f"{'':30}{'less':10}{ratios}")


def _work(who: str) -> None:
    """Answer the task on standard input, then every request for a step or for the peak."""
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    task = json.loads(sys.stdin.readline())
    if hasattr(os, "sched_setaffinity"):  # the libraries count the cores that they may use
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: task["threads"]])
    make, moments = WORKERS[who](task)
    start = time.perf_counter()
    step = make()
    step()
    print(json.dumps([time.perf_counter() - start, moments]), file=answers, flush=True)
    for line in sys.stdin:
        if json.loads(line) == "peak":  # kilobytes, on Linux
            answer: Any = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        else:
            starts = [clock() for clock in _CLOCKS]
            step()
            answer = [clock() - start for clock, start in zip(_CLOCKS, starts, strict=True)]
        print(json.dumps(answer), file=answers, flush=True)


def _algorist(task: Task) -> tuple[Callable[[], Step], int]:
    """How to make a net and its training step, and how many moments a step goes through."""
    from dataclasses import replace

    import numpy as np
    import torch

    import algorist
    from algorist.model.learner import Learner
    from algorist.model.losses import feature_losses
    from algorist.model.make_window import make_window
    from algorist.training.config import OptimizerConfig
    from algorist.training.optimizer import Optimizer
    from algorist.training.packing import pack_lanes
    from algorist.training.recipes import recipe

    torch.set_num_threads(task["threads"])
    name, n, count = task["name"], task["n"], task["batch"]
    config = recipe("ibarz2022", [name])
    batch = config.convention.batch(
        name, algorist.get(name).sample(n, count, SEED, task["options"])
    )

    def make() -> Step:
        model = replace(config.model, hidden=task["hidden"])
        net = Learner.new([name], model, config.convention).net.train()
        optimizer = Optimizer(net, OptimizerConfig())

        def step() -> None:
            noise = (
                np.random.default_rng(0)
                .gumbel(size=(1, count, batch.n, batch.n))
                .astype(np.float32)
            )
            window = pack_lanes(make_window([batch]).with_noise(noise))
            parts = feature_losses(net.specs[name], net.rollout(name, window), window)
            torch.stack(list(parts.values())).sum().backward()
            optimizer.step()

        return step

    return make, batch.steps


def _dm_clrs(task: Task) -> tuple[Callable[[], Step], int]:
    """The same for dm-clrs."""
    import logging
    from itertools import repeat

    logging.disable(logging.WARNING)
    import clrs
    import jax

    sampler, spec = clrs.build_sampler(
        task["name"], num_samples=task["batch"], length=task["n"], seed=SEED, **task["options"]
    )
    samples = repeat(sampler.next())
    if task["static_hint"]:
        spec, samples = clrs.process_pred_as_input(spec, samples)
    spec, samples = clrs.process_permutations(spec, samples, True)
    feedback = next(samples)

    def make() -> Step:
        factory = clrs.get_processor_factory(
            "triplet_gmpnn", use_ln=True, nb_triplet_fts=8, nb_heads=1
        )
        model = clrs.models.BaselineModel(
            spec=[spec],
            dummy_trajectory=[feedback],
            processor_factory=factory,
            hidden_dim=task["hidden"],
            encode_hints=True,
            decode_hints=True,
            encoder_init="xavier_on_scalars",
            learning_rate=1e-3,
            grad_clip_max_norm=1.0,
            hint_teacher_forcing=0.0,
            hint_repred_mode="soft",
        )
        model.init([feedback.features], SEED)
        key = jax.random.PRNGKey(0)

        def step() -> None:
            model.feedback(key, feedback, 0)
            jax.block_until_ready(model.params)

        return step

    return make, len(feedback.features.hints[0].data)


WORKERS = {"algorist": _algorist, "dm-clrs": _dm_clrs}

if __name__ == "__main__":
    main()
