"""The string matchers against Python's own search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import algorist

MATCHERS = ("naive_string_matcher", "kmp_matcher")

few_examples = settings(max_examples=50, deadline=None)
pairs = st.sampled_from(["a", "ab", "abcd"]).flatmap(
    lambda letters: st.tuples(
        st.text(letters, min_size=1, max_size=12), st.text(letters, min_size=1, max_size=5)
    )
)
fitting_pairs = pairs.filter(lambda pair: len(pair[1]) <= len(pair[0]))


@pytest.mark.parametrize("name", MATCHERS)
@few_examples
@given(fitting_pairs)
def test_the_first_match_is_found(name, pair):
    text, pattern = pair
    match = algorist.get(name).trace(text=text, pattern=pattern).outputs["match"][0]
    found = text.find(pattern)
    assert match.sum() == 1
    assert match.argmax() == (found if found >= 0 else len(text))


def longest_border(word):
    """The length of the longest proper prefix of a word that is also its end."""
    return max(k for k in range(len(word)) if word.startswith(word[len(word) - k :]))


@few_examples
@given(fitting_pairs)
def test_kmp_learns_the_borders_of_the_needle(pair):
    text, pattern = pair
    hints = algorist.get("kmp_matcher").trace(text=text, pattern=pattern).hints
    pi, is_reset = hints["pi"][-1, 0, len(text) :], hints["is_reset"][-1, 0, len(text) :]
    borders = np.where(is_reset == 1, 0, pi - len(text) + 1)
    assert borders.tolist() == [longest_border(pattern[: k + 1]) for k in range(len(pattern))]


@pytest.mark.parametrize("name", MATCHERS)
def test_texts_class_numbers_and_features_are_the_same_problem(name):
    matcher = algorist.get(name)
    batches = [
        matcher.trace(text="bacab", pattern="ab"),
        matcher.trace(text=(1, 0, 2, 0, 1), pattern=[0, 1]),
        matcher.trace(string=[0] * 5 + [1] * 2, key=[1, 0, 2, 0, 1, 0, 1]),
    ]
    for batch in batches:
        assert batch.outputs["match"][0].argmax() == 3
        assert batch.inputs["key"][0].argmax(-1).tolist() == [1, 0, 2, 0, 1, 0, 1]
        assert np.allclose(batch.inputs["pos"][0], [0, 0.2, 0.4, 0.6, 0.8, 0, 0.5])


@pytest.mark.parametrize("name", MATCHERS)
@pytest.mark.parametrize(
    ("n", "length_needle", "expected"),
    [(3, None, {1}), (20, None, {4}), (11, 5, {5}), (17, -8, set(range(1, 9))), (9, -1, {1})],
)
def test_needles_have_the_length_asked_for_and_occur(name, n, length_needle, expected):
    batch = algorist.get(name).sample(n, 100, 0, {"length_needle": length_needle, "chars": 3})
    string, letters = batch.inputs["string"], batch.inputs["key"].argmax(-1)
    assert set(string.sum(-1)) == expected
    assert letters.max() == 2
    for second, word, match in zip(string, letters, batch.outputs["match"], strict=True):
        needle = word[second == 1]
        assert np.array_equal(word[match.argmax() :][: len(needle)], needle)
        assert not second[match.argmax()]


@pytest.mark.parametrize("name", MATCHERS)
@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (16, {"length_needle": -8}, "length_needle: got -8, expected 1 to 7, or -7 to -1"),
        (16, {"length_needle": 8}, "length_needle: got 8, expected 1 to 7"),
        (16, {"length_needle": 0}, "length_needle: got 0, expected 1 to 7"),
        (16, {"chars": 5}, "chars: got 5, expected 1 to 4"),
        (2, {}, "n: got 2 letters in all, expected at least 3"),
    ],
)
def test_bad_options_are_refused(name, n, options, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).sample(n, 1, 0, options)


@pytest.mark.parametrize("name", MATCHERS)
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"text": "ab", "pattern": "aba"},
            "text, pattern: got a pattern of 3 letters for a text of 2",
        ),
        ({"text": "ab", "pattern": ""}, "pattern: got"),
        ({"pattern": "a"}, "text: got nothing"),
        (
            {"text": "vowels", "pattern": "owel"},
            "got the letters 'elosvw', .* or at most 3 in pattern",
        ),
        ({"text": [0.5, 1], "pattern": [1]}, "text: got"),
        ({"text": [10**400, 1], "pattern": [1]}, "text: got"),
        ({"string": [1, 1, 1], "key": [0, 1, 2]}, "string: got"),
        ({"string": [0, 0, 1], "key": [0, 1, 4]}, "key: got"),
    ],
)
def test_bad_inputs_are_refused(name, inputs, message):
    with pytest.raises(ValueError, match=message):
        algorist.get(name).trace(**inputs)


@pytest.mark.parametrize("name", MATCHERS)
def test_letters_that_the_pattern_does_not_have_are_one(name):
    for text, pattern in (("hello world", "lo"), ("the cat sat", "cat"), ("abcdefg", "g")):
        batch = algorist.get(name).trace(text=text, pattern=pattern)
        assert batch.outputs["match"][0].argmax() == text.index(pattern)
