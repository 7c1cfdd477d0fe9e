"""Tables: a step is a sweep over all their cells."""

from __future__ import annotations

import numpy as np

from algorist.algorithms.explanations.explaining import Explanation, Lines, Sentence
from algorist.algorithms.explanations.runs import TracedRun
from algorist.errors import format_count


def count_new(run: TracedRun, mask: str, step: int) -> int:
    """How many pairs of nodes a mask has since this step."""
    now, earlier = run.hints[mask][step] > 0, run.hints[mask][step - 1] > 0
    return int((now & ~earlier).sum())


def count_improved(run: TracedRun, pointer: str, mask: str, step: int) -> int:
    """How many pairs that were known already point elsewhere since this step."""
    known = (run.hints[mask][step] > 0) & (run.hints[mask][step - 1] > 0)
    return int((known & (run.hints[pointer][step] != run.hints[pointer][step - 1])).sum())


def sweep_line(run: TracedRun, step: int) -> Lines:
    """Of five lines of pseudocode: the first one prepares, the others are a sweep."""
    return 1 if step == 0 else (2, 3, 4, 5)


def _tell_chain(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("each matrix alone costs nothing",)
    new, better = count_new(run, "msk", step), count_improved(run, "s_h", "msk", step)
    return ("{} chains get a first cost, {} a cheaper split", str(new), str(better))


def _lengths(run: TracedRun, step: int) -> np.ndarray:
    start = int((run.inputs["string"] == 0).sum())
    return np.rint(run.hints["c"][step][:start, start:])


def _tell_lcs(run: TracedRun, step: int) -> Sentence:
    longest = format_count(int(_lengths(run, step)[-1, -1]), "letter")
    if step == 0:
        return ("compares each letter with the other string's first",)
    changed = int((_lengths(run, step) != _lengths(run, step - 1)).sum())
    return ("updates {} cells; the whole strings have {} in common so far", str(changed), longest)


def _tell_tree(run: TracedRun, step: int) -> Sentence:
    if step == 0:
        return ("each gap alone is an empty tree",)
    new = format_count(count_new(run, "msk", step), "range")
    return (f"finds the best trees for {{}} of {format_count(step, 'key')}", new)


EXPLANATIONS = {
    "matrix_chain_order": Explanation(
        """
a single matrix costs nothing
repeat until nothing changes
    for each chain i…j, split after each k
        cost = m[i,k] + m[k+1,j] + p[i−1]·p[k]·p[j]
        keep the least cost and its k
""",
        sweep_line,
        _tell_chain,
    ),
    "lcs_length": Explanation(
        """
compare all with the other string's first letter
repeat until nothing changes
    for each pair of letters x[i], y[j]
        equal: c[i,j] = c[i−1,j−1] + 1  ↖
        else the larger of c[i−1,j] ↑, c[i,j−1] ←
""",
        sweep_line,
        _tell_lcs,
    ),
    "optimal_bst": Explanation(
        """
an empty tree costs its gap's probability q
for each number of keys, 1, 2, …
    for each range of that many keys
        try each key r as the root:
        e = e[left of r] + e[right of r] + w
""",
        sweep_line,
        _tell_tree,
    ),
}
