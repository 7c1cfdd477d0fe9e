"""Greedy choices."""

from __future__ import annotations

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import Role, TracedRun, at, format_number, marked


def _is_taken(run: TracedRun, hint: str, step: int) -> bool:
    return run.is_set("selected_h", step, run.node(hint, step))


def _activity_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    return (2, 3, 4) if _is_taken(run, "m", step) else (2, 3)


def _tell_activity(run: TracedRun, step: int) -> Sentence:
    new, last = run.node("m", step), run.node("k", step)
    if step == 0:
        return ("nothing is taken yet",)
    if _is_taken(run, "m", step):
        return ("takes {}, from {} to {}", run.name(new), *_times(run, new))
    start, finish = run.number("s", new), run.number("f", last)
    text = "skips {}: it starts at {}, but {} ends at {}"
    return (text, run.name(new), start, run.name(last), finish)


def _times(run: TracedRun, node: int) -> tuple[str, str]:
    return run.number("s", node), run.number("f", node)


def _task_line(run: TracedRun, step: int) -> Lines:
    if step == 0:
        return 1
    return (2, 3, 4) if _is_taken(run, "i", step) else (2, 3)


def _tell_task(run: TracedRun, step: int) -> Sentence:
    new, slots = run.node("i", step), format_number(float(run.hints["t"][step]))
    if step == 0:
        return ("nothing is taken yet",)
    if _is_taken(run, "i", step):
        return (
            "takes {}, weight {}, as task number {}",
            run.name(new),
            run.number("w", new),
            slots,
        )
    deadline = run.number("d", new)
    return ("skips {}: its deadline is {}, but {} slots are taken", run.name(new), deadline, slots)


EXPLANATIONS = {
    "activity_selector": Explanation(
        """
sort the activities by their finish
for each activity m, in that order
    if m starts after k, the last one taken, ends
        take m; k = m
""",
        _activity_line,
        _tell_activity,
        (
            Role("busy", at("m"), "m: the activity in question"),
            Role("done", marked("selected_h"), "taken"),
        ),
        answer=(Role("done", marked("selected"), "taken"),),
    ),
    "task_scheduling": Explanation(
        """
sort the tasks by weight; t = 0 slots are taken
for each task i, the heaviest first
    if t is less than its deadline
        take it; t = t + 1
""",
        _task_line,
        _tell_task,
        (
            Role("busy", at("i"), "i: the task in question"),
            Role("done", marked("selected_h"), "taken"),
        ),
        answer=(Role("done", marked("selected"), "taken"),),
    ),
}
