"""Dynamic programming against memoised recursion over all the ways to choose."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import algorist
from algorist.algorithms.dynamic_programming import pairwise_sum

few_examples = settings(max_examples=40, deadline=None)


def chain_cost(p, split):
    """The cost of the whole chain if each chain from i to j is split behind split(i, j)."""

    def cost(i, j):
        if i == j:
            return 0
        k = split(i, j)
        return cost(i, k) + cost(k + 1, j) + p[i - 1] * p[k] * p[j]

    return cost(1, len(p) - 1)


def least_chain_cost(p):
    @cache
    def least(i, j):
        ways = (least(i, k) + least(k + 1, j) + p[i - 1] * p[k] * p[j] for k in range(i, j))
        return min(ways, default=0)

    return least(1, len(p) - 1)


@few_examples
@given(st.lists(st.integers(1, 9), min_size=2, max_size=9))
def test_matrix_chains_are_split_at_the_least_cost(p):
    batch = algorist.get("matrix_chain_order").trace(p=p)
    split = batch.outputs["s"][0]
    assert chain_cost(p, lambda i, j: split[i, j]) == least_chain_cost(tuple(p))
    assert batch.hints["m"][-1, 0, 1, -1] == least_chain_cost(tuple(p))


def longest_common_length(x, y):
    @cache
    def longest(i, j):
        if i == len(x) or j == len(y):
            return 0
        matched = 1 + longest(i + 1, j + 1) if x[i] == y[j] else 0
        return max(matched, longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


def is_subsequence(short, long):
    letters = iter(long)
    return all(letter in letters for letter in short)


def read_back(x, y, b):
    """The common subsequence to which the table leads from its last cell."""
    i, j, letters = len(x) - 1, len(y) - 1, []
    while i >= 0 and j >= 0:
        way = b[i, len(x) + j].argmax()
        if way == 0:
            letters.append(x[i])
        i, j = i - (way in (0, 1)), j - (way in (0, 2))
    return "".join(reversed(letters))


@few_examples
@given(st.text("ac", min_size=1, max_size=7), st.text("acgt", min_size=1, max_size=7))
def test_common_subsequences_are_longest(x, y):
    b = algorist.get("lcs_length").trace(x=x, y=y).outputs["b"][0]
    common = read_back(x, y, b)
    assert len(common) == longest_common_length(x, y)
    assert is_subsequence(common, x)
    assert is_subsequence(common, y)
    cells = np.zeros(b.shape[:2], bool)
    cells[: len(x), len(x) :] = True
    assert (b[cells].sum(-1) == 1).all()
    assert (b[~cells] == [0, 0, 0, -1]).all()


def test_words_may_be_texts_class_numbers_or_the_features_themselves():
    lcs = algorist.get("lcs_length")
    batches = [
        lcs.trace(x="gac", y="ca"),
        lcs.trace(x=[2, 0, 1], y=np.array([1, 0])),
        lcs.trace(string=[0, 0, 0, 1, 1], key=[2, 0, 1, 1, 0]),
    ]
    for batch in batches[1:]:
        assert np.array_equal(batch.inputs["key"], batches[0].inputs["key"])
        assert np.array_equal(batch.outputs["b"], batches[0].outputs["b"])


def least_search_cost(p, q):
    @cache
    def least(i, j):
        weight = sum(p[i:j]) + sum(q[i : j + 1])
        ways = (least(i, r) + least(r + 1, j) + weight for r in range(i, j))
        return min(ways, default=q[i])

    return least(0, len(p))


def search_cost(p, q, root):
    """The expected number of nodes visited in the tree that the table of roots describes."""

    def cost(i, j, depth):
        if i == j:
            return q[i] * depth
        r = root[i, j]
        return p[r] * depth + cost(i, r, depth + 1) + cost(r + 1, j, depth + 1)

    return cost(0, len(p), 1)


weights = st.one_of(st.integers(0, 3), st.integers(0, 10**12))


@few_examples
@given(st.lists(weights, min_size=3, max_size=15).filter(lambda drawn: len(drawn) % 2))
def test_search_trees_have_the_least_cost(drawn):
    p, q = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    root = algorist.get("optimal_bst").trace(p=p, q=q).outputs["root"][0]
    assert search_cost(p, q, root) == least_search_cost(p, q)


def test_sums_are_rounded_as_numpy_rounds_them():
    draws = np.random.RandomState(0).uniform(size=5000)
    for length in (*range(20), 127, 128, 129, 136, 143, 255, 256, 257, 271, 513, 2001, 5000):
        assert pairwise_sum(draws[:length]) == draws[:length].sum()


def test_sampled_probabilities_equal_the_benchmark_to_the_last_bit():
    for n in (1, 3, 16, 64, 100):
        draws = np.random.RandomState(7).uniform(size=2 * n + 1)
        draws /= draws.sum()
        inputs = algorist.get("optimal_bst").sample(n, 1, 7).inputs
        assert np.array_equal(inputs["p"][0], [*draws[:n], 0.0])
        assert np.array_equal(inputs["q"][0], draws[n:])


def test_a_second_length_is_added_to_the_first():
    batch = algorist.get("lcs_length").sample(5, 3, 0, {"length_2": 2, "chars": 1})
    assert batch.inputs["string"].tolist() == [[0, 0, 0, 0, 0, 1, 1]] * 3
    assert (batch.inputs["key"].argmax(-1) == 0).all()


BAD_INPUTS = [
    ("matrix_chain_order", {"p": [2, 0, 3]}, "p: got 0, expected positive"),
    ("matrix_chain_order", {"p": [2, -1]}, "p: got -1, expected positive"),
    ("matrix_chain_order", {"p": [1e-150, 1.0]}, "p: got 1e-150 to 1, expected .* 1e-100"),
    ("matrix_chain_order", {"p": [2.0]}, "got 1 node, expected at least 2"),
    ("lcs_length", {"x": "abc", "y": "def"}, "x, y: got the letters 'abcdef'"),
    ("lcs_length", {"x": "abc"}, "y: got nothing"),
    ("lcs_length", {"x": "", "y": "a"}, "x: got"),
    ("lcs_length", {"x": "a", "y": [1]}, "x: got 'a', expected .* both"),
    ("lcs_length", {"x": [1, 4], "y": [1]}, r"x: got \[1, 4\], expected .* 0 to 3"),
    ("lcs_length", {"x": "a", "y": "b", "key": [0, 1]}, "key: got it besides x and y"),
    ("lcs_length", {"string": [0, 1, 0], "key": [0, 1, 2]}, r"string: got \[0, 1, 0\]"),
    ("lcs_length", {"string": [0, 0], "key": [0, 1]}, r"string: got \[0, 0\]"),
    ("lcs_length", {"x": [[1], [1, 2]], "y": [1]}, "x: got"),
    ("optimal_bst", {"p": 0.5, "q": [0.1, 0.1]}, "p: got 0.5, expected an array"),
    ("optimal_bst", {"p": np.array(0.5), "q": [0.1, 0.1]}, "p: got"),
    ("optimal_bst", {"p": [[0.5], []], "q": [0.1, 0.1]}, "p: got"),
    ("optimal_bst", {"p": [0.5], "q": [0.1, -0.1]}, "q: got -0.1"),
    ("optimal_bst", {"p": [-0.5], "q": [0.1, 0.1]}, "p: got -0.5"),
    (
        "optimal_bst",
        {"p": [0.5, 0.2], "q": [0.1, 0.2]},
        "q: got 2 probabilities for 2 keys, expected 3, one for each .*; or p with 0 as its last",
    ),
    ("optimal_bst", {"p": [0.5], "q": [0.1, 0.2, 0.3]}, "q: got 3 values, expected 2"),
]


@pytest.mark.parametrize(("name", "inputs", "message"), BAD_INPUTS)
def test_bad_inputs_are_refused(name, inputs, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).trace(**inputs)


BAD_OPTIONS = [
    ("matrix_chain_order", 5, {"low": 2.0}, "low, high: got 2.0 and 1.0"),
    ("lcs_length", 5, {"chars": 5}, "chars: got 5, expected 1 to 4"),
    ("lcs_length", 5, {"chars": 0}, "chars: got 0, expected 1 to 4"),
    ("lcs_length", 5, {"length_2": 0}, "length_2: got 0"),
    ("lcs_length", 0, {"length_2": 3}, "n: got 0"),
    ("lcs_length", 1, {}, "got a problem of 1 node,"),
    ("optimal_bst", 0, {}, "n: got 0"),
]


@pytest.mark.parametrize(("name", "n", "options", "message"), BAD_OPTIONS)
def test_bad_options_are_refused(name, n, options, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).sample(n, 1, 0, options)
