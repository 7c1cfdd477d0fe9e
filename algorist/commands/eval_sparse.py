"""`algorist eval --graphs`: how good learners are on sparse graphs."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from algorist.algorithms.graph_families import FAMILIES
from algorist.errors import expect_unique, unknown
from algorist.report.terminal import Terminal

if TYPE_CHECKING:
    from algorist.model.learner import Learner
    from algorist.report.sparse_score_table import SparseScoreRow

_COUNT = 32


def check(arguments: Namespace) -> None:
    """Complain at once about what sparse graphs do not have."""
    if arguments.n is None:
        raise ValueError("--graphs: got no sizes, expected --n too, as in --n 16,80,160,800,1600")
    expect_unique("--graphs", arguments.graphs)
    for family in arguments.graphs:
        if family not in FAMILIES:
            raise ValueError(f"--graphs: {unknown('family of graphs', family, FAMILIES)}")
    for name in ("official", "split", "samples", "development", "option", "hints", "over_time"):
        if getattr(arguments, name) not in (None, False, []):
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option}: sparse graphs have none, expected no --graphs")
    if arguments.html is not None:
        raise ValueError("--html: there is no page of sparse graphs, expected no --graphs")


def run(
    arguments: Namespace, learners: Mapping[str, Mapping[str, Learner]], terminal: Terminal
) -> None:
    """Print a table of node and graph accuracies, or JSON."""
    from algorist.report.sparse_score_table import keep_sparse, plot_sparse, sparse_table

    rows: list[SparseScoreRow] = []
    messages = Terminal(stderr=True)
    try:
        for row in _scored(arguments, learners, messages):
            rows.append(row)
            if arguments.results:
                keep_sparse(rows, Path(arguments.results))
    finally:  # also if it is interrupted: what was tested is shown
        if rows and arguments.json:
            print(json.dumps([row.plain() for row in rows], indent=2))
        elif rows:
            terminal.print(sparse_table(rows, terminal.plus_minus))
    if arguments.results:
        messages.print(f"written to {arguments.results}")
    if arguments.plot:
        plot_sparse(rows, Path(arguments.plot))
        messages.print(f"written to {arguments.plot}")


def _scored(
    arguments: Namespace, learners: Mapping[str, Mapping[str, Learner]], messages: Terminal
) -> Iterator[SparseScoreRow]:
    from algorist.data.sparse import sparse_set
    from algorist.evaluation.sparse import evaluate_sparse
    from algorist.report.sparse_score_table import SparseScoreRow

    count = _COUNT if arguments.count is None else arguments.count
    with messages.status("") as status:
        for model, own in learners.items():
            for algorithm, learner in own.items():
                for family in arguments.graphs:
                    for n in arguments.n:
                        name = f"{family}_{n}"
                        status.update(f"testing {algorithm} on {name}")
                        batch = sparse_set(algorithm, name, count, seed=arguments.seed or 0)
                        evaluations = evaluate_sparse(learner, algorithm, batch)
                        yield SparseScoreRow(
                            model, algorithm, family, n, count, _seeds(learner), evaluations
                        )


def _seeds(learner: Learner) -> Sequence[int]:
    replicas = learner.metadata.get("replicas", [])
    return [one["seed"] for one in replicas] or list(range(learner.net.replicas))
