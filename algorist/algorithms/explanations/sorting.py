"""The sorts: bars stand in the order of `pred_h`, and sentences call nodes by their keys."""

from __future__ import annotations

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import (
    Nodes,
    Role,
    TracedRun,
    after,
    at,
    before,
    span,
    up_to,
)

ORDER = "pred_h"
_BUILD, _EXTRACT, _REPAIR = range(3)


def key(run: TracedRun, node: int) -> str:
    """A node by its key."""
    return run.number("key", node)


# insertion_sort


def _inserted_in_place(run: TracedRun, step: int) -> bool:
    return run.node("i", step) == run.node("j", step)


def _insertion_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    return (2, 4) if _inserted_in_place(run, step) else (2, 3, 4)


def _tell_insertion(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("{} alone is sorted", key(run, 0))
    new, behind = run.node("j", step), run.node("i", step)
    if _inserted_in_place(run, step):
        return ("leaves {} where it is", key(run, new))
    return ("inserts {} before {}", key(run, new), key(run, behind))


# bubble_sort


def _neighbours(run: TracedRun, step: int) -> tuple[int, int]:
    """The two that were just compared, as they stand now."""
    order = run.order(ORDER, step)
    place = order.index(run.node("j", step)) if step else 1
    return order[max(place - 1, 0)], order[min(max(place, 1), run.n - 1)]


def _swapped(run: TracedRun, step: int) -> bool:
    return step > 0 and run.order(ORDER, step) != run.order(ORDER, step - 1)


def _bubble_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    return (2, 3, 4) if _swapped(run, step) else (2, 3)


def _tell_bubble(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("the keys as they are given",)
    one, other = (key(run, node) for node in _neighbours(run, step))
    if _swapped(run, step):
        return ("{} is smaller than {}: they swap places", one, other)
    return ("{} and {} stay as they are", one, other)


# heapsort


def _heap_line(run: TracedRun, step: int) -> Lines:
    phase = run.node("phase", step)
    if step == 0:
        return 1
    lines: dict[int, Lines] = {_BUILD: 2, _EXTRACT: (3, 4, 5)}
    return lines.get(phase, 6)


def _tell_heap(run: TracedRun, step: int) -> Sentence:
    j, largest = run.node("j", step), run.node("largest", step)
    if step == 0:
        return ("the keys as they are given",)
    if run.node("phase", step) == _EXTRACT:
        return ("takes out {}, the largest key of the heap", key(run, j))
    if j == largest:
        return ("{} is no smaller than its children: it stays", key(run, j))
    return ("{} sinks below its larger child {}", key(run, largest), key(run, j))


def _sinking(run: TracedRun, step: int) -> set[int]:
    if run.node("phase", step) == _EXTRACT:
        return set()
    return {run.node("j", step), run.node("largest", step)}


# quicksort and quickselect


def is_pivot_placed(run: TracedRun, step: int) -> bool:
    """Whether a partition ends at this step."""
    return run.node("j", step) == run.node("r", step)


def looked_at(run: TracedRun, step: int) -> int:
    """The node that a partition compares with the pivot at this step."""
    place = run.order(ORDER, step).index(max(run.node("j", step), 0))
    earlier = run.order(ORDER, step - 1) if step else list(range(run.n))
    return earlier[place]


def is_small(run: TracedRun, step: int) -> bool:
    """Whether that node's key is no larger than the pivot."""
    keys = run.inputs["key"]
    return bool(keys[looked_at(run, step)] <= keys[run.node("r", step)])


def tell_partition(run: TracedRun, step: int) -> Sentence:
    """A step of a partition."""
    if is_pivot_placed(run, step):
        return ("puts the pivot {} in its place", key(run, run.node("i", step)))
    one, pivot = key(run, looked_at(run, step)), key(run, run.node("r", step))
    if is_small(run, step):
        return ("{} ≤ pivot {}: it goes before the border", one, pivot)
    return ("{} > pivot {}: it stays behind the border", one, pivot)


def _quicksort_line(run: TracedRun, step: int) -> Lines:
    if is_pivot_placed(run, step):
        return (4, 5)
    lines = (2, 3) if is_small(run, step) else (2,)
    begins = step == 0 or is_pivot_placed(run, step - 1)
    return (1, *lines) if begins else lines


PARTITION = (
    Role("known", span("p", "r", ORDER), "the part from p to r that is being split"),
    Role("other", at("r"), "r: the pivot"),
    Role("busy", at("j"), "j: compared with the pivot"),
)
"""What keys are while they are split."""

EXPLANATIONS = {
    "insertion_sort": Explanation(
        """
the first key alone is sorted
for each further key x
    shift larger keys before it to the right
    put x into the gap
""",
        _insertion_line,
        _tell_insertion,
        (
            Role("done", Nodes(lambda run, step: range(step + 1)), "the sorted part"),
            Role("busy", at("j"), "j: the key inserted last"),
        ),
    ),
    "bubble_sort": Explanation(
        """
for each place, from the first
    for each pair of neighbours, from the back
        if the right one is smaller
            swap them
""",
        _bubble_line,
        _tell_bubble,
        (
            Role("done", before("i", ORDER), "in place"),
            Role("busy", Nodes(_neighbours, ("j",)), "the two just compared"),
        ),
    ),
    "heapsort": Explanation(
        """
for each place, from the last to the first
    let its key sink below its larger child
while the heap has more than one key
    swap the root with the heap's last key
    that key is in place: take it off the heap
    let the new root sink below its larger child
""",
        _heap_line,
        _tell_heap,
        (
            Role("known", up_to("heap_size", ORDER), "in the heap"),
            Role("done", after("heap_size", ORDER), "taken out: in place"),
            Role("busy", Nodes(_sinking, ("j", "largest")), "the key that sinks, and its child"),
        ),
        tags=("heap_size",),
        badges=(),
    ),
    "quicksort": Explanation(
        """
take a part p…r that is not sorted; r is the pivot
    for each key x of it, from the left
        if x ≤ pivot, swap x before the border i
    swap the pivot to the border: it is in place
    both sides of it are parts that are not sorted
""",
        _quicksort_line,
        tell_partition,
        PARTITION,
        tags=("p", "r", "i", "j"),
    ),
}
