"""Dynamic programming (CLRS chapter 15).

Tables over pairs of nodes are filled in sweeps: a step is one sweep over all the cells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeGuard

import numpy as np

from algorist.algorithms.array_answers import (
    is_cheapest_chain_order,
    is_cheapest_search_tree,
    is_longest_common_subsequence,
)
from algorist.algorithms.compiling import compiled
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.format_answers import (
    format_common_subsequence,
    format_product_order,
    format_search_tree,
)
from algorist.algorithms.random import fill_uniform
from algorist.algorithms.samplers.arrays import checked_range
from algorist.algorithms.samplers.strings import (
    LETTERS,
    Words,
    chain_strings,
    check_chars,
    fill_letters,
    mark_second,
    second_start,
    two_strings,
)
from algorist.algorithms.sampling import Options, sampler
from algorist.algorithms.textbook import point_to_previous
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.algorithms.user_inputs.separating import separate_probabilities
from algorist.errors import format_count
from algorist.spec import MASKED, edge, node


@sampler(settle=checked_range)
def dimensions(rng, p, low=0.0, high=1.0):
    """Dimensions of matrices from U[low, high)."""
    fill_uniform(rng, p, low, high)


def positive_dimensions(arrays: Mapping[str, np.ndarray]) -> None:
    """Positive, and neither so small nor so large that a cost leaves the range of floats."""
    p = arrays["p"]
    if p.min() <= 0:
        raise ValueError(f"p: got {p.min():g}, expected positive dimensions")
    if p.min() < 1e-100 or p.max() > 1e100:
        raise ValueError(
            f"p: got {p.min():g} to {p.max():g}, expected dimensions from 1e-100 to 1e100"
        )


@algorithm(
    "dynamic_programming",
    inputs={"pos": node.scalar, "p": node.scalar},
    hints={
        "pred_h": node.pointer,
        "m": edge.scalar,
        "s_h": edge.pointer,
        "msk": edge.mask,
    },
    outputs={"s": edge.pointer},
    sampler=dimensions,
    accepts=is_cheapest_chain_order,
    answer=format_product_order,
    scale=Scale((("p",),), degrees={"m": 3}, reach={"m": 1.0}),
    requires=(positive_dimensions,),
    min_nodes=2,
    static_hint="pred_h",
)
def matrix_chain_order(p, pred_h, m, s_h, msk, s, trace):
    """Find where to split each chain of matrices, at the least cost (CLRS 15.2).

    Matrix i has p[i - 1] rows and p[i] columns; m[i, j] is the cost of the chain from i to j, and
    s[i, j] the last matrix of its left part. A sweep improves all chains at once by the costs that
    the sweep before it left: chains become final in order of length.
    """
    n = len(p)
    point_to_previous(pred_h)
    for i in range(1, n):
        msk[i, i] = 1
    for sweep in range(n):
        record(trace)
        changed = False
        for i in range(1, n):
            # Long chains first, so that they see the old short ones. The shortest are final.
            for j in range(n - 1, i + sweep, -1):
                known, cost = msk[i, j], m[i, j]
                for k in range(i, j):
                    if msk[i, k] and msk[k + 1, j]:
                        split_here = m[i, k] + m[k + 1, j] + p[i - 1] * p[k] * p[j]
                        if not known or split_here < cost:
                            known, cost = 1, split_here
                            s[i, j] = s_h[i, j] = k
                changed = changed or cost != m[i, j]
                msk[i, j], m[i, j] = known, cost
        if not changed:
            break


def _two_lengths(n: int, options: Options) -> Options:
    """Settle the second string's length; 0 stands for half of the nodes."""
    check_chars(options)
    length = options["length_2"]
    if length is None:
        return {**options, "length_2": 0}
    if length < 1:
        raise ValueError(f"option length_2: got {length}, expected at least 1")
    if n < 1:
        raise ValueError(f"n: got {n}, expected at least 1: with length_2, n is the first length")
    return options


@sampler(settle=_two_lengths, nodes=lambda n, options: n + options["length_2"])
def string_pair(rng, string, key, length_2=None, chars=4):
    """Two random strings with n letters in all or, where `length_2` is given, n in the first."""
    n = len(key)
    start = n - (length_2 if length_2 > 0 else n // 2)
    mark_second(string, start)
    fill_letters(rng, key, 0, n, chars)


_MATCH, _UP, _LEFT = 0, 1, 2


@algorithm(
    "dynamic_programming",
    inputs={"string": node.mask, "pos": node.scalar, "key": node.categorical(LETTERS)},
    hints={"pred_h": node.pointer, "b_h": edge.categorical(4), "c": edge.scalar},
    outputs={"b": edge.categorical(4)},
    sampler=string_pair,
    accepts=is_longest_common_subsequence,
    answer=format_common_subsequence,
    requires=(two_strings,),
    adapt=Words("x", "y"),
    min_nodes=2,
    static_hint="pred_h",
)
def lcs_length(string, key, pred_h, b_h, c, b, trace):
    """Find a longest common subsequence of two strings (CLRS 15.4).

    c[i, j] is its length for the letters up to i of the first string and up to j of the second; b
    says how it came about: 0 for a match, 1 from the cell above, 2 from the cell to the left.
    """
    n, start = len(string), second_start(string)
    chain_strings(pred_h, start)
    for i in range(n):
        for j in range(n):
            b[i, j] = b_h[i, j] = 0 if i < start <= j else MASKED
    _fill_margins(key, start, b_h, c)
    changed = True
    while changed:
        record(trace)
        changed = False
        for i in range(start - 1, 0, -1):  # backwards: cells must see the old ones before them
            for j in range(n - 1, start, -1):
                if key[i] == key[j]:
                    length, b_h[i, j] = c[i - 1, j - 1] + 1.0, _MATCH
                elif c[i - 1, j] >= c[i, j - 1]:
                    length, b_h[i, j] = c[i - 1, j], _UP
                else:
                    length, b_h[i, j] = c[i, j - 1], _LEFT
                changed = changed or length != c[i, j]
                c[i, j] = length
    for i in range(start):
        for j in range(start, n):
            b[i, j] = b_h[i, j]


@compiled
def _fill_margins(key, start, b_h, c):
    """Compare all letters with the first one of the other string: the first column and row."""
    for i in range(start):
        met = i > 0 and c[i - 1, start] == 1
        c[i, start] = met or key[i] == key[start]
        b_h[i, start] = _MATCH if key[i] == key[start] else _UP
    for j in range(start + 1, len(key)):
        met = c[0, j - 1] == 1
        c[0, j] = met or key[0] == key[j]
        b_h[0, j] = _MATCH if key[0] == key[j] else _LEFT if met else _UP


@compiled
def pairwise_sum(values):
    """The sum of a vector, rounded as NumPy's `sum` rounds it.

    NumPy halves what is longer than 128. The parts are numbered as in a heap: those of part k are
    2k and 2k + 1. (Compiled code that calls itself cannot be kept on disk.)
    """
    slots = len(values) + 2
    first, last, total = np.zeros(slots, np.int64), np.zeros(slots, np.int64), np.zeros(slots)
    last[1] = len(values)
    for part in range(1, slots):
        count = last[part] - first[part]
        if count > 128:
            middle = first[part] + count // 2 // 8 * 8
            first[2 * part], last[2 * part] = first[part], middle
            first[2 * part + 1], last[2 * part + 1] = middle, last[part]
    for part in range(slots - 1, 0, -1):
        if last[part] - first[part] > 128:
            total[part] = total[2 * part] + total[2 * part + 1]
        else:
            total[part] = _sum_of_block(values, first[part], last[part])
    return total[1]


@compiled
def _sum_of_block(values, first, last):
    """Eight running sums, each of every eighth value, joined in pairs; then what is left over."""
    total, rest = 0.0, first + (last - first) // 8 * 8
    if rest > first:
        s = np.zeros(8)
        for i in range(first, rest):
            s[(i - first) % 8] += values[i]
        total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
    for i in range(rest, last):
        total += values[i]
    return total


@sampler(nodes=lambda n, options: n + 1)
def search_probabilities(rng, p, q):
    """Probabilities of n keys and of the n + 1 gaps around them, uniform draws over their sum."""
    n = len(p) - 1
    draws = np.empty(2 * n + 1)
    fill_uniform(rng, draws, 0.0, 1.0)
    total = pairwise_sum(draws)
    for i in range(n):
        p[i] = draws[i] / total
    for i in range(n + 1):
        q[i] = draws[n + i] / total


def probabilities(arrays: Mapping[str, np.ndarray]) -> None:
    """No negative probability, and one key fewer than there are gaps."""
    for name in ("p", "q"):
        if arrays[name].min() < 0:
            raise ValueError(f"{name}: got {arrays[name].min():g}, expected no probability below 0")
    if arrays["p"][-1] != 0:
        keys = len(arrays["p"])
        raise ValueError(
            f"q: got {keys} probabilities for {keys} keys, expected {keys + 1}, one for each gap "
            "around the keys; or p with 0 as its last"
        )


def _is_list(given: Any) -> TypeGuard[Collection]:
    return isinstance(given, Collection) and getattr(given, "ndim", 1) == 1


def _pad_keys(given: dict[str, Any]) -> dict[str, Any]:
    """Let users give `p` without the 0 that makes it as long as `q`."""
    p, q = given.get("p"), given.get("q")
    if not _is_list(p) or not _is_list(q) or len(p) == len(q):
        return given
    if len(p) != len(q) - 1:
        raise ValueError(
            f"q: got {format_count(len(q), 'value')}, expected {len(p) + 1}, one more than p has: "
            "one for each gap around the keys"
        )
    return {**given, "p": [*p, 0.0]}


@algorithm(
    "dynamic_programming",
    inputs={"pos": node.scalar, "p": node.scalar, "q": node.scalar},
    hints={
        "pred_h": node.pointer,
        "root_h": edge.pointer,
        "e": edge.scalar,
        "w": edge.scalar,
        "msk": edge.mask,
    },
    outputs={"root": edge.pointer},
    sampler=search_probabilities,
    accepts=is_cheapest_search_tree,
    answer=format_search_tree,
    scale=Scale((("p", "q"),), total=True, degrees={"e": 1, "w": 1}),
    separate=separate_probabilities,
    requires=(probabilities,),
    adapt=_pad_keys,
    min_nodes=2,
    static_hint="pred_h",
)
def optimal_bst(p, q, pred_h, root_h, e, w, msk, root, trace):
    """Find the search tree of least expected cost for every range of keys (CLRS 15.5).

    Key i has probability p[i] and lies between the gaps i and i + 1, of probability q[i] and
    q[i + 1]. For the keys between the gaps i and j, e[i, j] is the cost, w[i, j] the probability in
    all and root[i, j] the key at the root.
    """
    n = len(q)
    point_to_previous(pred_h)
    for i in range(n):
        e[i, i] = w[i, i] = q[i]
        msk[i, i] = 1
    record(trace)
    for size in range(1, n):
        for i in range(n - size):
            j = i + size
            w[i, j] = w[i, j - 1] + p[j - 1] + q[j]
            for r in range(i, j):
                cost = e[i, r] + e[r + 1, j] + w[i, j]
                if r == i or cost < e[i, j]:
                    e[i, j] = cost
                    root[i, j] = root_h[i, j] = r
            msk[i, j] = 1
        record(trace)
