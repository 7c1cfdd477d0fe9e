"""Algorithms on sparse graphs: the traced run, with memory that grows with the edges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from algorist.algorithms.compiling import specialise
from algorist.algorithms.declaring import Algorithm
from algorist.algorithms.frames import MAX_NODES, FrameLayout
from algorist.algorithms.tracing import run_sparse_batch
from algorist.errors import format_count
from algorist.sparse_batch import SparseBatch, SparseGraphs
from algorist.spec import Feature, Kind, Location

_compiled = cache(partial(specialise, run_sparse_batch))


def expect_sparse(algorithm: Algorithm) -> None:
    """Complain about an algorithm that cannot be traced on sparse graphs."""
    if not algorithm.sparse:
        raise ValueError(
            f"{algorithm.name}: it does not run on sparse graphs, expected an algorithm that is "
            "declared with sparse=True, as bfs is"
        )
    dense = [f for f in (*algorithm.spec.hints, *algorithm.spec.outputs) if _is_of_pairs(f)]
    if algorithm.run_features[:1] != ("A",) or "adj" in algorithm.run_features or dense:
        raise ValueError(
            f"{algorithm.name}: got sparse=True, expected 'A' as its first parameter, no 'adj', "
            "and no hints or outputs of pairs"
        )


def _is_of_pairs(feature: Feature) -> bool:
    return feature.location == Location.EDGE


def trace_graphs(
    algorithm: Algorithm,
    graphs: SparseGraphs,
    inputs: Mapping[str, np.ndarray],
    *,
    only_first: bool = False,
) -> SparseBatch:
    """Run an algorithm on each graph. The inputs are those of nodes but for `pos`: (count, n).

    A `mask_one` is the number of its node, (count,). With `only_first` the hints are those of the
    first step, and steps are only counted.
    """
    expect_sparse(algorithm)
    if graphs.n > MAX_NODES:
        raise ValueError(f"{algorithm.name}: got {graphs.n} nodes, expected at most {MAX_NODES}")
    spec, n, count = algorithm.spec, graphs.n, graphs.count
    in_layout = FrameLayout([f for f in spec.inputs if not _is_of_pairs(f)], n)
    hint_layout, out_layout = FrameLayout(spec.hints, n), FrameLayout(spec.outputs, n)
    given, now, hint, out = (
        layout.empty(*lead)
        for layout, lead in (
            (in_layout, (count,)), (in_layout, ()), (hint_layout, ()), (out_layout, ()),
        )
    )  # fmt: skip
    outputs, lengths = out_layout.empty(count), np.zeros(count, np.int64)
    values = {"pos": np.broadcast_to(np.arange(n) / n, (count, n)), **inputs}
    for name, value in values.items():
        window = in_layout.window(given, name)
        window[...] = np.reshape(value, window.shape)
    frames = {f.name: (in_layout, now) for f in in_layout.features}
    frames |= {f.name: (hint_layout, hint) for f in spec.hints}
    frames |= {f.name: (out_layout, out) for f in spec.outputs}
    windows = tuple(
        layout.window(own, x) for x in algorithm.run_features[1:] for layout, own in (frames[x],)
    )
    needed = 1 if only_first else 2 * n
    while True:  # a tape that turns out too short is made as long as the runs were
        if not hint_layout.fits(needed * count):
            raise ValueError(
                f"{algorithm.name}: got {format_count(count, 'graph')} of {n} nodes, whose "
                f"{needed} steps do not fit into memory, expected smaller or fewer graphs"
            )
        steps = needed
        tape = hint_layout.empty(steps, count)
        _compiled(algorithm.run)(
            (tuple(now), tuple(given)), _lists(graphs), (tuple(hint), tuple(tape)),
            (tuple(out), tuple(outputs)), windows, lengths,
        )  # fmt: skip
        needed = int(lengths.max())
        if needed <= steps or only_first:
            break
    kept = min(needed, steps)
    tape = type(tape)(*(bank[:kept] for bank in tape))
    valid = np.arange(kept)[:, None] < lengths
    return SparseBatch(
        spec,
        algorithm.name,
        graphs,
        {**_joined(spec.inputs, in_layout.unpack(given), graphs, 0), **_edge_inputs(graphs)},
        _joined(spec.hints, hint_layout.unpack(tape, valid), graphs, 1),
        _joined(spec.outputs, out_layout.unpack(outputs), graphs, 0),
        lengths,
    )


def _lists(graphs: SparseGraphs) -> tuple[np.ndarray, ...]:
    """The lists of neighbours of all graphs, whose nodes are numbered from 0 each."""
    firsts = np.arange(graphs.count) * graphs.n
    starts = graphs.starts[firsts[:, None] + np.arange(graphs.n + 1)]
    return starts, graphs.columns % graphs.n, graphs.weights


def _edge_inputs(graphs: SparseGraphs) -> dict[str, np.ndarray]:
    connected = (graphs.weights != 0) | (graphs.rows == graphs.columns)
    return {"A": graphs.weights, "adj": connected.astype(np.int8)}


def _joined(
    features: tuple[Feature, ...], values: Mapping[str, Any], graphs: SparseGraphs, time: int
) -> dict[str, np.ndarray]:
    """Values (count, n, ...) of all graphs along one axis of nodes, after those of time."""
    joined = {}
    for feature in features:
        if feature.name not in values:
            continue
        value = values[feature.name]
        if feature.location == Location.NODE:
            if feature.kind == Kind.POINTER:
                firsts = np.arange(graphs.count)[:, None] * graphs.n
                value = value.astype(np.int64) + firsts
            value = value.reshape(*value.shape[:time], graphs.nodes, *value.shape[time + 2 :])
        joined[feature.name] = value
    return joined
