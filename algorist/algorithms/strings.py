"""String matching (CLRS chapter 32): `match` is the node at which the needle's first match starts.

Where the needle does not occur, `match` is the first node of the needle itself. A later match is a
wrong answer: it is the first one that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from algorist.algorithms.compiling import compiled
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.format_answers import format_match
from algorist.algorithms.random import below, uniform
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
from algorist.algorithms.sampling import Options, checked_shares, sampler
from algorist.algorithms.textbook import point_to_self
from algorist.algorithms.tracing import record
from algorist.errors import format_count
from algorist.spec import graph, node


def _fitting(n: int, options: Options) -> Options:
    """Settle the needle's length: a fifth of all letters, and always shorter than the haystack."""
    check_chars(options)
    longest = (n - 1) // 2
    if longest < 1:
        raise ValueError(
            f"n: got {format_count(n, 'letter')} in all, expected at least 3 for "
            "haystack and needle"
        )
    length = options["length_needle"]
    if length is None:
        length = max(n // 5, 1)
    if not 1 <= abs(length) <= longest:
        raise ValueError(
            f"option length_needle: got {length}, expected 1 to {longest}, or -{longest} to -1 for "
            f"random lengths up to that: the needle and a longer haystack share n = {n} letters"
        )
    return checked_shares({**options, "length_needle": length})


@sampler(settle=_fitting)
def haystack_with_needle(rng, string, key, length_needle=None, chars=4, ood_share=0.0):
    """A random string and a random needle that is pasted into it; n letters in all.

    A negative `length_needle` -m stands for a length from 1 to m, drawn for each problem. With the
    probability `ood_share` the needle is not pasted, so it need not occur.
    """
    n = len(key)
    length = length_needle if length_needle > 0 else 1 + below(rng, -length_needle)
    needle = n - length
    mark_second(string, needle)
    fill_letters(rng, key, needle, n, chars)
    fill_letters(rng, key, 0, needle, chars)
    if ood_share > 0 and uniform(rng, 0.0, 1.0) < ood_share:
        return
    place = below(rng, needle - length)
    for i in range(length):
        key[place + i] = key[needle + i]


def needle_fits(arrays: Mapping[str, np.ndarray]) -> None:
    """A needle no longer than the haystack."""
    needle = int(arrays["string"].sum())
    haystack = len(arrays["string"]) - needle
    if needle > haystack:
        raise ValueError(
            f"text, pattern: got a pattern of {needle} letters for a text of {haystack}, "
            "expected a pattern no longer than the text"
        )


_MATCHER: dict[str, Any] = {
    "inputs": {"string": node.mask, "pos": node.scalar, "key": node.categorical(LETTERS)},
    "outputs": {"match": node.mask_one},
    "sampler": haystack_with_needle,
    "answer": format_match,
    "requires": (two_strings, needle_fits),
    "adapt": Words("text", "pattern", searched=True),
    "min_nodes": 2,
    "stretch": 1.25,
    "eval_multiplier": 64,
    "train_options": {"length_needle": -8},
    "static_hint": "pred_h",
}


@algorithm(
    "strings",
    hints={
        "pred_h": node.pointer,
        "s": node.mask_one,
        "i": node.mask_one,
        "j": node.mask_one,
    },
    **_MATCHER,
)
def naive_string_matcher(string, key, pred_h, s, i, j, match, trace):
    """Try the pattern at every position of the text, letter by letter (CLRS 32.1)."""
    needle, end = second_start(string), len(string)
    chain_strings(pred_h, needle)
    match[0] = needle
    last_shift = needle - (end - needle)
    for shift in range(last_shift + 1):
        s[0], i[0], j[0] = shift, shift, needle
        record(trace)
        while key[i[0]] == key[j[0]]:
            if j[0] == end - 1:
                match[0] = shift
                return
            i[0] += 1
            j[0] += 1
            record(trace)


@compiled
def _show(place, reset, needle, matched):
    """Point to the last needle letter that is matched; `reset` says that there is none."""
    place[0] = needle + max(matched - 1, 0)
    reset[0] = matched == 0


@algorithm(
    "strings",
    hints={
        "pred_h": node.pointer,
        "pi": node.pointer,
        "is_reset": node.mask,
        "k": node.mask_one,
        "k_reset": graph.mask,
        "q": node.mask_one,
        "q_reset": graph.mask,
        "s": node.mask_one,
        "i": node.mask_one,
        "phase": graph.mask,
    },
    **_MATCHER,
)
def kmp_matcher(
    string, key, pred_h, pi, is_reset, k, k_reset, q, q_reset, s, i, phase, match, trace
):
    """Never go back in the text: use how the pattern repeats its own start (CLRS 32.4)."""
    needle = second_start(string)
    length = len(string) - needle
    chain_strings(pred_h, needle)
    point_to_self(pi)
    match[0] = needle

    border = np.zeros(length, np.int64)  # the longest proper border of each prefix of the needle
    is_reset[needle] = 1
    _show(k, k_reset, needle, 0)
    q[0] = needle + min(1, length - 1)
    q_reset[0] = 1
    record(trace)
    matched = 0
    for new in range(1, length):
        q[0] = needle + new
        while matched > 0 and key[needle + matched] != key[needle + new]:
            matched = border[matched - 1]
            _show(k, k_reset, needle, matched)
            record(trace)
        if key[needle + matched] == key[needle + new]:
            matched += 1
        border[new] = matched
        _show(k, k_reset, needle, matched)
        pi[needle + new] = k[0]
        is_reset[needle + new] = k_reset[0]
        record(trace)

    phase[0] = 1
    matched = 0
    for new in range(needle):
        i[0] = new
        s[0] = max(new - length + 1, 0)
        _show(q, q_reset, needle, matched)
        record(trace)
        while matched > 0 and key[needle + matched] != key[new]:
            matched = border[matched - 1]
            _show(q, q_reset, needle, matched)
            record(trace)
        if key[needle + matched] == key[new]:
            matched += 1
        if matched == length:
            match[0] = s[0]
            return
