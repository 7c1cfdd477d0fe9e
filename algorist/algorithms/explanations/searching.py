"""Searching, and the best subarray: sentences call nodes by their keys."""

from __future__ import annotations

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import Role, TracedRun, at, format_number, span
from algorist.algorithms.explanations.sorting import (
    PARTITION,
    is_pivot_placed,
    is_small,
    key,
    tell_partition,
)


def _minimum_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    return (2, 3, 4) if run.node("min_h", step) == run.node("i", step) else (2, 3)


def _tell_minimum(run: TracedRun, step: int) -> Sentence:
    new, smallest = key(run, run.node("i", step)), key(run, run.node("min_h", step))
    if step == 0:
        return ("{} is the smallest so far", smallest)
    if run.node("i", step) == run.node("min_h", step):
        return ("{} is the smallest so far", new)
    return ("{} is not smaller than {}", new, smallest)


def _moved(run: TracedRun, hint: str, step: int) -> bool:
    return step > 0 and run.node(hint, step) != run.node(hint, step - 1)


def _binary_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return (1, 3)
    return (2, 3, 4, 5) if _moved(run, "high", step) else (2, 3, 4, 6)


def _tell_binary(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("all keys are possible; halfway is {}", key(run, run.node("mid", 0)))
    middle, target = key(run, run.node("mid", step - 1)), format_number(float(run.inputs["target"]))
    if _moved(run, "high", step):
        return ("{} ≤ {}: keeps the left half", target, middle)
    if _moved(run, "low", step):
        return ("{} > {}: keeps the right half", target, middle)
    return ("changes nothing",)


def _quickselect_line(run: TracedRun, step: int) -> Lines:
    if is_pivot_placed(run, step):
        return (4, 5) if step == run.steps - 1 else (4, 6)
    lines = (2, 3) if is_small(run, step) else (2,)
    return (1, *lines) if step == 0 or is_pivot_placed(run, step - 1) else lines


def _kadane_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    sum_line = 3 if run.node("i", step) == run.node("j", step) else 4
    return (2, sum_line, 5) if _moved(run, "best_high", step) else (2, sum_line)


def _tell_kadane(run: TracedRun, step: int) -> Sentence:
    total = format_number(float(run.hints["sum"][step]))
    new = key(run, run.node("j", step))
    if step == 0:
        return ("begins with {}", new)
    best = ", the best so far" if _moved(run, "best_high", step) else ""
    if run.node("i", step) == run.node("j", step):
        return (f"starts over at {{}}{best}", new)
    return (f"adds {{}}: the sum is {{}}{best}", new, total)


EXPLANATIONS = {
    "minimum": Explanation(
        """
the first key is the smallest so far
for each further key x
    if x is smaller than the smallest so far
        keep x
""",
        _minimum_line,
        _tell_minimum,
        (
            Role("busy", at("i"), "i: compared now"),
            Role("done", at("min_h"), "the smallest so far"),
        ),
        answer=(Role("done", at("min"), "the minimum"),),
    ),
    "binary_search": Explanation(
        """
low, high = the first and the last place
while low < high
    mid = halfway between low and high
    if target ≤ key[mid]
        high = mid
    else low = mid + 1
""",
        _binary_line,
        _tell_binary,
        (
            Role("known", span("low", "high"), "from low to high: still possible"),
            Role("busy", at("mid"), "mid: compared next with the target"),
        ),
        answer=(Role("done", at("return"), "the first key that is not below the target"),),
    ),
    "quickselect": Explanation(
        """
the part p…r is everything; r is the pivot
for each key x of it, from the left
    if x ≤ pivot, swap x before the border i
swap the pivot to the border
if that is the middle, it is the median
else go on with the side that has the middle
""",
        _quickselect_line,
        tell_partition,
        PARTITION,
        answer=(Role("done", at("median"), "the median"),),
        tags=("p", "r", "i", "j"),
        badges=(),
    ),
    "find_maximum_subarray_kadane": Explanation(
        """
best = sum = the first key
for each further key x
    if the sum is negative, start over at x
    else add x to the sum
    if sum > best, keep it as the best
""",
        _kadane_line,
        _tell_kadane,
        (
            Role("known", span("i", "j"), "from i to j: the best sum that ends at j"),
            Role("done", span("best_low", "best_high"), "the best subarray so far"),
            Role("busy", at("j"), "j: the key just reached"),
        ),
        answer=(Role("done", span("start", "end"), "the best subarray"),),
        tags=("i", "j"),
    ),
}
