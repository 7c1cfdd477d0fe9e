"""Greedy choices (CLRS chapter 16)."""

from collections.abc import Mapping

import numpy as np

from algorist.algorithms.array_answers import is_heavy_schedule, is_largest_selection
from algorist.algorithms.compiling import copy
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.samplers.arrays import activities, tasks
from algorist.algorithms.textbook import point_to_previous, sort_nodes
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.ranking import rank_activities, rank_task_weights
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.spec import graph, node


def _start_before_finish(arrays: Mapping[str, np.ndarray]) -> None:
    """No activity that finishes before it starts."""
    wrong = np.flatnonzero(arrays["s"] > arrays["f"])
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"s, f: got an activity from {arrays['s'][i]:g} to {arrays['f'][i]:g} at {i}, "
            "expected none that finishes before it starts"
        )


def _whole_deadlines(arrays: Mapping[str, np.ndarray]) -> None:
    """Deadlines are numbers of time slots, the first of which is 1."""
    wrong = (arrays["d"] < 1) | (arrays["d"] % 1 != 0)
    if wrong.any():
        raise ValueError(
            f"d: got the deadline {arrays['d'][wrong][0]:g}, expected whole numbers from 1"
        )


def _non_negative_weights(arrays: Mapping[str, np.ndarray]) -> None:
    """No task that is better left undone."""
    if (arrays["w"] < 0).any():
        raise ValueError(f"w: got the weight {arrays['w'].min():g}, expected no weight below 0")


@algorithm(
    "greedy",
    inputs={"pos": node.scalar, "s": node.scalar, "f": node.scalar},
    hints={
        "pred_h": node.pointer,
        "selected_h": node.mask,
        "m": node.mask_one,
        "k": node.mask_one,
    },
    outputs={"selected": node.mask},
    sampler=activities,
    accepts=is_largest_selection,
    scale=Scale((("s", "f"),), shifts=True),
    rank=rank_activities,
    requires=(_start_before_finish,),
    static_hint="pred_h",
)
def activity_selector(s, f, pred_h, selected_h, m, k, selected, trace):
    """Take the activity that finishes first among those that can still be taken (CLRS 16.1)."""
    point_to_previous(pred_h)
    record(trace)
    order = np.arange(len(f))
    sort_nodes(order, s == f)  # one that takes no time fits after any that finishes with it
    sort_nodes(order, f)
    last = -1
    for new in order:
        if last < 0 or s[new] >= f[last]:
            selected_h[new] = 1
            last = new
        m[0], k[0] = new, last
        record(trace)
    copy(selected, selected_h)


@algorithm(
    "greedy",
    inputs={"pos": node.scalar, "d": node.scalar, "w": node.scalar},
    hints={
        "pred_h": node.pointer,
        "selected_h": node.mask,
        "i": node.mask_one,
        "t": graph.scalar,
    },
    outputs={"selected": node.mask},
    sampler=tasks,
    accepts=is_heavy_schedule,
    scale=Scale((("w",),)),
    rank=rank_task_weights,
    requires=(_whole_deadlines, _non_negative_weights),
    static_hint="pred_h",
)
def task_scheduling(d, w, pred_h, selected_h, i, t, selected, trace):
    """Take the heaviest task that meets its deadline in the next free slot (CLRS 16.5).

    As in the benchmark, a task once taken keeps its slot: a lighter one that would fit only before
    it is left out, so the weight taken is not always the greatest possible.
    """
    point_to_previous(pred_h)
    record(trace)
    order = np.arange(len(w))
    sort_nodes(order, -w)
    for new in order:
        if t[0] < d[new]:
            selected_h[new] = 1
            t[0] += 1
        i[0] = new
        record(trace)
    copy(selected, selected_h)
