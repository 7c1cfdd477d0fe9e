"""Answers in the terms of the problem: distances and paths, where a pattern is, what is missing.

An answer of a net need not make sense. What is wrong with it in itself is said: keys that are
missing from an order, pointers that go round in a circle, a path along an edge that does not exist.
Inputs and outputs have one number a value, as those of a `Solution` do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from algorist.algorithms.answer_explanations import (
    Answered,
    AnswerExplanation,
    missing_text,
    single,
)
from algorist.algorithms.array_answers import walk
from algorist.algorithms.explain_graphs import GRAPHS
from algorist.algorithms.format_answers import format_search_tree, list_edges
from algorist.errors import format_count
from algorist.spec import Feature, Kind, Location

if TYPE_CHECKING:
    from algorist.algorithms.declaring import Algorithm

Arrays = Mapping[str, np.ndarray]


def explain_outputs(
    algorithm: Algorithm, inputs: Arrays, outputs: Arrays, names: Sequence[Hashable] | None
) -> AnswerExplanation:
    """What outputs mean as an answer to inputs; for plug-ins, what follows from their kinds."""
    explain = EXPLAINERS.get(algorithm.name) if algorithm.is_part_of_the_package else None
    answered = Answered(inputs, outputs, names)
    return explain(answered) if explain else _explain_kinds(algorithm, answered)


def _explain_kinds(algorithm: Algorithm, answered: Answered) -> AnswerExplanation:
    features = algorithm.spec.outputs
    texts = {f.name: _value_text(f, answered.outputs[f.name], answered) for f in features}
    facts = {f.name: answered.outputs[f.name] for f in features}
    if len(texts) == 1:
        return single(next(iter(texts.values())), **facts)
    return AnswerExplanation("output", texts, facts)


def _value_text(feature: Feature, value: np.ndarray, answered: Answered) -> str:
    """The value of an output, with nodes by name."""
    if feature.kind == Kind.MASK and feature.location == Location.NODE:
        return ", ".join(answered.item(int(i)) for i in np.flatnonzero(value > 0)) or "none"
    if feature.kind == Kind.MASK and feature.location == Location.EDGE:
        marked = value > 0
        return " ".join(_edge_text(u, v, marked, answered) for u, v in list_edges(marked)) or "none"
    if feature.kind == Kind.MASK:
        return "yes" if value > 0 else "no"
    if feature.kind == Kind.MASK_ONE:
        return answered.item(int(value)) if value >= 0 else "none"
    is_node = feature.kind in (Kind.POINTER, Kind.SHOULD_BE_PERMUTATION)
    texts = [answered.name(int(x)) if is_node else f"{x:g}" for x in np.ravel(value).tolist()]
    rows = np.array(texts, object).reshape(np.shape(value) or (1,))
    if rows.ndim == 1:
        return " ".join(rows)
    return "; ".join(f"{answered.name(i)}: {' '.join(row)}" for i, row in enumerate(rows))


def _edge_text(u: int, v: int, marked: np.ndarray, answered: Answered) -> str:
    """An edge as A-B where it is marked both ways, as A>B one way."""
    return f"{answered.name(u)}{'-' if marked[v, u] else '>'}{answered.name(v)}"


def _sorted_keys(answered: Answered) -> AnswerExplanation:
    pred, key = answered.outputs["pred"].astype(int), answered.inputs["key"]
    order = max((walk(pred, start) for start in range(len(pred))), key=len)[::-1]
    missing = sorted(set(range(len(pred))) - set(order))
    text = " ".join(f"{x:g}" for x in key[order])
    text += missing_text("key", [f"{key[i]:g}" for i in missing], len(key))
    return single(text, keys=key[order], missing=key[missing])


def _index_of(output: str) -> Callable[[Answered], AnswerExplanation]:
    def explain(answered: Answered) -> AnswerExplanation:
        index = int(answered.outputs[output])
        key = float(answered.inputs["key"][index])
        return single(f"index {index} (key {key:g})", index=index, key=key)

    return explain


def _search_result(answered: Answered) -> AnswerExplanation:
    """What the index means if the target is not there."""
    key, target = answered.inputs["key"], float(answered.inputs["target"])
    index = int(answered.outputs["return"])
    found, place = bool(key[index] == target), int(np.searchsorted(key, target))
    here = f"index {index} (key {key[index]:g})"
    if found:
        text = f"{target:g} is at index {index}"
    elif target in key:
        text = f"{here}, but {target:g} is at index {place}"
    elif place == len(key) and index == len(key) - 1:
        text = f"{target:g} is not there: all keys are smaller, {here} is the last"
    elif index == place:
        text = f"{target:g} is not there: {here} is the first that is greater"
    else:
        text = f"{here}, which is neither {target:g} nor the first key that is greater"
    return single(text, index=index, key=float(key[index]), found=found)


def _subarray(answered: Answered) -> AnswerExplanation:
    start, end = int(answered.outputs["start"]), int(answered.outputs["end"])
    keys = answered.inputs["key"][start : end + 1]
    if start > end:
        return single(f"from index {start} to {end}, which is no run", start=start, end=end)
    total = float(keys.sum())
    text = f"from index {start} to {end}: {' '.join(f'{x:g}' for x in keys)}, sum {total:g}"
    return single(text, start=start, end=end, sum=total)


def _activities(answered: Answered) -> AnswerExplanation:
    chosen = np.flatnonzero(answered.outputs["selected"] > 0)
    start, finish = answered.inputs["s"], answered.inputs["f"]
    texts = [f"{i} ({start[i]:g} to {finish[i]:g})" for i in chosen]
    text = f"{', '.join(texts) or 'none'}: {len(chosen)} of {len(start)}"
    return single(text, activities=chosen)


def _tasks(answered: Answered) -> AnswerExplanation:
    chosen = np.flatnonzero(answered.outputs["selected"] > 0)
    deadline, weight = answered.inputs["d"], answered.inputs["w"]
    texts = [f"{i} (by {deadline[i]:g}, weight {weight[i]:g})" for i in chosen]
    total = float(weight[chosen].sum())
    return single(f"{', '.join(texts) or 'none'}: weight {total:g}", tasks=chosen, weight=total)


def _chain_order(answered: Answered) -> AnswerExplanation:
    p = answered.inputs["p"]
    splits = answered.outputs["s"][1:, 1:].astype(int) - 1
    is_whole = True

    def product(i: int, j: int) -> tuple[str, float]:
        nonlocal is_whole
        if i == j:
            return str(i), 0.0
        k = int(splits[i, j])
        if not i <= k < j:
            is_whole = False
            return f"({' '.join(map(str, range(i, j + 1)))})", 0.0
        (left, cost), (right, more) = product(i, k), product(k + 1, j)
        return f"({left} {right})", cost + more + float(p[i] * p[k + 1] * p[j + 1])

    text, cost = product(0, len(p) - 2)
    end = f"{cost:g} multiplications" if is_whole else "which leaves open how some are multiplied"
    return single(f"{text}, {end}", product=text, cost=cost if is_whole else None)


def _common_subsequence(answered: Answered) -> AnswerExplanation:
    inputs, ways = answered.inputs, answered.outputs["b"]
    start = int((inputs["string"] > 0).argmax())
    i, j, matched = start - 1, len(ways) - 1, []
    while i >= 0 and j >= start and 0 <= ways[i, j] < 3:
        if ways[i, j] == 0:
            matched.append(i)
        i, j = i - (ways[i, j] in (0, 1)), j - (ways[i, j] in (0, 2))
    letters = [answered.letter(k) for k in reversed(matched)]
    text = f"'{''.join(letters)}', {format_count(len(letters), 'letter')}"
    return single(text, letters="".join(letters), length=len(letters))


def _search_tree(answered: Answered) -> AnswerExplanation:
    parents = format_search_tree(answered.inputs, answered.outputs, None)
    pieces, facts = {}, []
    for key, parent in enumerate(parents.tolist()):
        text = "root" if parent == key else f"child of {parent}"
        pieces[str(key)] = text if parent >= 0 else "missing from the tree"
        facts.append({"key": key, "parent": None if parent in (-1, key) else parent})
    return AnswerExplanation("key", pieces, facts)


def _match(answered: Answered) -> AnswerExplanation:
    """Where in the text the pattern is, with the text around it."""
    start = int((answered.inputs["string"] > 0).argmax())
    match, length = int(answered.outputs["match"]), len(answered.inputs["pos"]) - start
    if match == start:
        return single("the pattern does not occur in the text", index=None)
    letters = [answered.letter(i) for i in range(start + length)]
    if match > start:
        return single("an index outside of the text", index=match)
    here, pattern = "".join(letters[match : match + length]), "".join(letters[start:])
    before, after = "".join(letters[:match]), "".join(letters[match + length : start])
    if match + length > start or here != pattern:
        have = "".join(letters[match : min(match + length, start)])
        return single(f"at index {match}, where the text has '{have}'", index=match)
    return single(f"at index {match} of the text: {before}[{here}]{after}", index=match)


def _intersection(answered: Answered) -> AnswerExplanation:
    crosses = bool(answered.outputs["intersect"] > 0)
    text = "a point in common" if crosses else "no point in common"
    return single(f"the segments have {text}", intersect=crosses)


def _hull(answered: Answered) -> AnswerExplanation:
    corners = np.flatnonzero(answered.outputs["in_hull"] > 0)
    x, y = answered.inputs["x"], answered.inputs["y"]
    texts = [f"{i} ({x[i]:g}, {y[i]:g})" for i in corners]
    text = f"{format_count(len(corners), 'corner')}: {', '.join(texts) or 'none'}"
    return single(text, corners=corners)


Explainer = Callable[[Answered], AnswerExplanation]
EXPLAINERS: dict[str, Explainer] = {
    **GRAPHS,
    **dict.fromkeys(("insertion_sort", "bubble_sort", "heapsort", "quicksort"), _sorted_keys),
    "minimum": _index_of("min"),
    "quickselect": _index_of("median"),
    "binary_search": _search_result,
    "find_maximum_subarray_kadane": _subarray,
    "activity_selector": _activities,
    "task_scheduling": _tasks,
    "matrix_chain_order": _chain_order,
    "lcs_length": _common_subsequence,
    "optimal_bst": _search_tree,
    "naive_string_matcher": _match,
    "kmp_matcher": _match,
    "segments_intersect": _intersection,
    "graham_scan": _hull,
    "jarvis_march": _hull,
}
