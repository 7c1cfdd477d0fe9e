"""What features mean: said of every one of them, briefly, and of nothing else."""

import pytest

import algorist
from algorist.algorithms.feature_descriptions import DESCRIPTIONS, describe_feature

NAMES = algorist.algorithms()


def test_meanings_are_for_all_algorithms_of_the_library():
    assert sorted(DESCRIPTIONS) == sorted({*NAMES, *algorist.algorithms("salsa")})


@pytest.mark.parametrize("name", NAMES)
def test_every_feature_has_a_meaning_and_every_meaning_a_feature(name):
    assert sorted(DESCRIPTIONS[name]) == sorted(feature.name for feature in algorist.get(name).spec)


@pytest.mark.parametrize("name", NAMES)
def test_meanings_are_short_and_plain(name):
    algorithm = algorist.get(name)
    for feature in algorithm.spec:
        text = describe_feature(algorithm, feature)
        assert 5 < len(text) <= 60, text
        assert not set(text) & set("|`*<>\n"), text  # it is shown in tables and in a page


def test_features_of_plugins_are_described_by_their_types(euclid):
    assert describe_feature(euclid, euclid.spec["rest"]) == "a number for each node"
    assert describe_feature(euclid, euclid.spec["larger"]) == "one of the nodes"
