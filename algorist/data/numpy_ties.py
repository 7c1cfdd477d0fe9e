"""Equal values in the order in which `numpy.argsort` leaves them.

Truncated inputs are often equal. Where our algorithms sort, the node with the smaller number then
comes first; dm-clrs calls `numpy.argsort`, whose order of equal values depends on NumPy's version
and on the processor. Runs in which this matters are repeated here by the Python interpreter: the
same code of the algorithm, but with that function in place of our own sorting.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm
from algorist.algorithms.frames import Buffers, FrameLayout
from algorist.batch import Batch


def break_ties_as_numpy(algorithm: Algorithm, batch: Batch) -> Batch:
    """The batch as it is if equal values are sorted by `numpy.argsort`."""
    tied = np.flatnonzero(TIED[algorithm.name](batch)) if algorithm.name in TIED else ()
    if not len(tied):
        return batch
    run = _interpreted(algorithm.run, _REPLACED)
    picks = np.arange(len(batch))
    picks[tied] = len(batch) + np.arange(len(tied))
    again = [_trace_again(algorithm, run, batch, int(sample)) for sample in tied]
    return Batch.joined([batch, *again]).take(picks)


def _has_equal(values: np.ndarray) -> np.ndarray:
    """Whether two values of a row (..., n) are the same; NaN is not."""
    ordered = np.sort(values, -1)
    equal: np.ndarray = (ordered[..., 1:] == ordered[..., :-1]).any(-1)
    return equal


def _has_equal_edges(batch: Batch) -> np.ndarray:
    rows, columns = np.triu_indices(batch.n, 1)
    weights = batch.inputs["A"][:, rows, columns]
    return _has_equal(np.where(weights == 0, np.nan, weights))


def _has_equal_nearest(batch: Batch, distance: str) -> np.ndarray:
    """Whether at some step two nodes in the queue are the nearest."""
    queued = np.where(batch.hints["in_queue"] == 1, batch.hints[distance], np.inf)
    least = queued.min(-1, keepdims=True)
    tied: np.ndarray = (((queued == least) & (queued < np.inf)).sum(-1) > 1).any(0)
    return tied


def _has_equal_angles(batch: Batch) -> np.ndarray:
    others = batch.hints["best"][1] == 0
    return _has_equal(np.where(others, batch.hints["atans"][2], np.nan))


TIED: dict[str, Callable[[Batch], np.ndarray]] = {
    "activity_selector": lambda batch: _has_equal(batch.inputs["f"]),
    "dijkstra": lambda batch: _has_equal_nearest(batch, "d"),
    "graham_scan": _has_equal_angles,
    "mst_kruskal": _has_equal_edges,
    "mst_prim": lambda batch: _has_equal_nearest(batch, "key"),
    "task_scheduling": lambda batch: _has_equal(batch.inputs["w"]),
}
"""By algorithm, the samples of a batch that depend on the order of equal values."""


def _sort_nodes(order: np.ndarray, values: np.ndarray) -> None:
    order[:] = np.argsort(values)


def _edges_by_weight(A: np.ndarray) -> np.ndarray:
    u, v = np.nonzero(np.triu(A, 1))
    return (u * len(A) + v)[np.argsort(A[u, v])]


def _nearest_queued(key: np.ndarray, in_queue: np.ndarray) -> int:
    nearest = np.argsort(key + (1 - in_queue) * 1e9)[0]
    return int(nearest) if in_queue[nearest] else -1


def _by_angle(x: np.ndarray, y: np.ndarray, centre: int, angle: np.ndarray) -> np.ndarray:
    angle[:] = np.arctan2(y - y[centre], x - x[centre])
    angle[centre] = -np.inf
    order = np.argsort(angle)[1:]
    angle[centre] = 0
    return order


def _record(trace: tuple[Buffers, list[Buffers]]) -> None:
    now, steps = trace
    steps.append(Buffers(*(bank.copy() for bank in now)))


_REPLACED: dict[str, Callable[..., Any]] = {
    "sort_nodes": _sort_nodes,
    "_edges_by_weight": _edges_by_weight,
    "nearest_queued": _nearest_queued,
    "_by_angle": _by_angle,
    "record": _record,
}
"""The replacements of functions, by name."""


def _interpreted(function: Callable[..., Any], replaced: dict[str, Callable[..., Any]]) -> Any:
    """A function and all that it calls, not compiled, and with some functions replaced."""
    names = dict(function.__globals__)
    for name in set(function.__code__.co_names) & names.keys():
        called = getattr(names[name], "py_func", names[name])
        if name in replaced:
            names[name] = replaced[name]
        elif isinstance(called, FunctionType):
            names[name] = _interpreted(called, replaced)
    return FunctionType(function.__code__, names)


def _trace_again(algorithm: Algorithm, run: Callable[..., Any], batch: Batch, sample: int) -> Batch:
    """One sample of a batch, run again."""
    spec, one = algorithm.spec, batch.take(np.array([sample]))
    layouts = [
        FrameLayout(features, batch.n) for features in (spec.inputs, spec.hints, spec.outputs)
    ]
    inputs, hints, outputs = (layout.empty() for layout in layouts)
    layouts[0].pack({name: array[0] for name, array in one.inputs.items()}, inputs)
    windows = {
        feature.name: layout.window(buffers, feature.name)
        for layout, buffers in zip(layouts, (inputs, hints, outputs), strict=True)
        for feature in layout.features
    }
    steps: list[Buffers] = []
    run(*(windows[name] for name in algorithm.run_features), (hints, steps))
    tape = Buffers(*(np.stack(bank)[:, None] for bank in zip(*steps, strict=True)))
    ended = Buffers(*(bank[None] for bank in outputs))
    return Batch(
        spec,
        one.inputs,
        layouts[1].unpack(tape),
        layouts[2].unpack(ended),
        np.array([len(steps)]),
    )
