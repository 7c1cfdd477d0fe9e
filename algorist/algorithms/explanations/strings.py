"""String matching: the pattern stands below the text where it is tried."""

from __future__ import annotations

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import Nodes, Role, TracedRun
from algorist.errors import format_count


def _start(run: TracedRun) -> int:
    """The first letter of the pattern."""
    return int((run.inputs["string"] == 0).sum())


def _agree(run: TracedRun, one: int, other: int) -> bool:
    keys = run.inputs["key"]
    return bool(keys[one] == keys[other])


def _letter(run: TracedRun, node: int) -> str:
    """A letter, and its place in its string."""
    start = _start(run)
    return f"{run.name(node)}@{node if node < start else node - start}"


# naive_string_matcher


def _naive_line(run: TracedRun, step: int) -> Lines:
    i, j = run.node("i", step), run.node("j", step)
    new_shift = (1,) if j == _start(run) else ()
    if not _agree(run, i, j):
        return (*new_shift, 2, 3)
    return (*new_shift, 2, 4) if j == run.n - 1 else (*new_shift, 2)


def _tell_naive(run: TracedRun, step: int) -> Sentence:
    i, j = run.node("i", step), run.node("j", step)
    outcome = "they agree" if _agree(run, i, j) else "they differ"
    text = f"compares {{}} of the text with {{}} of the pattern: {outcome}"
    return (text, _letter(run, i), _letter(run, j))


def _compared(run: TracedRun, step: int) -> list[int]:
    """The letters that agree before i and j."""
    i, j, shift = (run.node(hint, step) for hint in ("i", "j", "s"))
    return [*range(shift, i), *range(max(j - (i - shift), 0), j)] if i > shift else []


def _shift(run: TracedRun, step: int) -> int:
    return run.node("s", step)


# kmp_matcher


def count_matched(run: TracedRun, step: int) -> int:
    """How many letters of the pattern are matched."""
    hint, reset = ("q", "q_reset") if run.is_set("phase", step) else ("k", "k_reset")
    return 0 if run.is_set(reset, step) else max(run.node(hint, step) - _start(run) + 1, 0)


def matched_shift(run: TracedRun, step: int) -> int:
    """Where the pattern stands so that its matched letters are below those of the text."""
    in_text = run.is_set("phase", step)
    return max(run.node("i", step) - count_matched(run, step), 0) if in_text else 0


def matched_letters(run: TracedRun, step: int) -> list[int]:
    """The letters of the pattern that are matched and, in the search, those of the text."""
    start, count, shift = _start(run), count_matched(run, step), matched_shift(run, step)
    in_text = range(shift, shift + count) if run.is_set("phase", step) else ()
    return [*range(start, min(start + count, run.n)), *in_text]


def _at_hand(run: TracedRun, step: int) -> set[int]:
    if not run.is_set("phase", step):
        return {run.node("q", step)}
    following = _start(run) + count_matched(run, step)
    return {run.node("i", step), min(following, run.n - 1)}


def _falls_back(run: TracedRun, step: int) -> bool:
    """Whether a step only shortens what is matched."""
    if run.is_set("phase", step):
        in_search = step > 0 and run.is_set("phase", step - 1)
        return in_search and run.node("i", step) == run.node("i", step - 1)
    prepares_on = step + 1 < run.steps and not run.is_set("phase", step + 1)
    return step > 0 and prepares_on and run.node("q", step) == run.node("q", step + 1)


def _kmp_line(run: TracedRun, step: int) -> Lines:
    if not run.is_set("phase", step):
        return 1 if step == 0 else 2 if _falls_back(run, step) else 3
    if _falls_back(run, step):
        return (4, 5)
    return (4, 6) if step == run.steps - 1 else 4


def _tell_kmp(run: TracedRun, step: int) -> Sentence:
    count = format_count(count_matched(run, step), "letter")
    if not run.is_set("phase", step):
        q = _letter(run, run.node("q", step))
        if step == 0:
            return ("prepares the pattern, from its second letter on",)
        if _falls_back(run, step):
            return ("{} does not fit: falls back to {}", q, count)
        return ("up to {}, the pattern ends with {} of its own start", q, count)
    i = _letter(run, run.node("i", step))
    if _falls_back(run, step):
        return ("{} does not fit: falls back to {} matched", i, count)
    return ("reaches {} of the text with {} matched", i, count)


def _match(run: TracedRun, step: int) -> list[int]:
    """The letters of a match: none if `match` is the pattern itself."""
    match, start = run.node("match", step), _start(run)
    return [*range(match, match + run.n - start)] if match < start else []


_ANSWER = (Role("done", Nodes(_match, ("match",)), "the first match"),)

EXPLANATIONS = {
    "naive_string_matcher": Explanation(
        """
for each shift s of the pattern
    compare its letters j with the text's letters i
        if two differ, go on to the next shift
    if all agree, there is a match at s
""",
        _naive_line,
        _tell_naive,
        (
            Role("done", Nodes(_compared, ("i", "j", "s")), "agree"),
            Role(
                "busy",
                Nodes(lambda run, step: {run.node("i", step), run.node("j", step)}, ("i", "j")),
                "i and j: compared now",
            ),
        ),
        _ANSWER,
        shift=_shift,
    ),
    "kmp_matcher": Explanation(
        """
for each letter q of the pattern, from the second
    while it does not extend the start: fall back
    pi[q] = the longest start that also ends at q
for each letter i of the text
    while it does not extend the match: fall back
    if all letters are matched: found
""",
        _kmp_line,
        _tell_kmp,
        (
            Role("done", Nodes(matched_letters, ("k", "q", "i")), "matched"),
            Role("busy", Nodes(_at_hand, ("q", "i")), "compared next"),
        ),
        _ANSWER,
        tags=("i", "k", "q"),
        badges=(),
        shift=matched_shift,
    ),
}
