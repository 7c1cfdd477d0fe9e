"""The paper's experiments as data: their parts, and the hash of what is learnt."""

from dataclasses import replace

import pytest
import small

import algorist
from algorist.experiments.config_hash import config_hash
from algorist.experiments.plan import ALGORITHMS, BASELINES, EXPERIMENTS, FAMILIES, Name, Plan
from algorist.training.recipes import recipe, without

PLAN = Plan()


def test_the_thirty_are_those_of_the_registry():
    assert list(ALGORITHMS) == algorist.algorithms()
    assert set(FAMILIES) == {algorist.get(name).family for name in ALGORITHMS}


def test_there_is_a_specialist_for_each_algorithm_by_the_papers_recipe():
    parts = {part.name.part: part.config for part in PLAN.of("specialists")}
    assert parts == {name: recipe("ibarz2022", [name]) for name in ALGORITHMS}


def test_baselines_are_the_earlier_papers():
    parts = PLAN.of("baselines")
    assert len(parts) == 90
    for part in parts:
        net, name = part.name.part.split("/")
        expected = recipe("clrs2022", [name])
        assert part.config == replace(
            expected, model=replace(expected.model, processor=BASELINES[net])
        )


def test_pgn_has_all_improvements():
    for part in PLAN.of("pgn"):
        specialist = recipe("ibarz2022", [part.name.part])
        model = replace(specialist.model, processor="triplet_gpgn")
        assert part.config == replace(specialist, model=model)


def test_generalists_differ_in_chunks_alone():
    (chunked,), (full,) = PLAN.of("generalist"), PLAN.of("generalist-full")
    assert chunked.config == recipe("ibarz2022", ALGORITHMS)
    assert full.config == without(chunked.config, "chunking")


@pytest.mark.parametrize("experiment", ["specialists", "generalist"])
def test_averaged_nets_differ_in_what_is_kept_alone(experiment):
    plain, averaged = PLAN.of(experiment), PLAN.of(f"{experiment}-averaged")
    assert [part.name.part for part in averaged] == [part.name.part for part in plain]
    for part, without_mean in zip(averaged, plain, strict=True):
        schedule = replace(without_mean.config.schedule, average=400)
        assert part.config == replace(without_mean.config, schedule=schedule)


def test_the_generalists_ablation_starts_with_the_generalist_which_is_not_trained_again():
    first, *others = PLAN.of("generalist-ablation")
    assert first.source == Name("generalist", "all")
    assert [part.name.part for part in others] == [
        "triplets",
        "permutations",
        "random_positions",
        "static_hints",
        "soft_hints",
        "augmentation",
        "initialisation",
        "no_teacher_forcing",
    ]
    assert others == PLAN.trained_for("generalist-ablation")


def test_specialists_lose_improvements_one_at_a_time_and_one_after_the_other():
    parts = [p.name.part for p in PLAN.of("specialist-ablation") if p.config.algorithms == ("bfs",)]
    single = [part.split("/")[1] for part in parts if part.startswith("single/")]
    cumulative = [part.split("/")[1] for part in parts if part.startswith("cumulative/")]
    assert single[:3] == cumulative[:3] == ["all", "gating", "triplets"]
    assert single[-2:] == ["clipping", "no_teacher_forcing"]
    assert (len(single), len(cumulative)) == (11, 10)


def test_what_makes_no_difference_to_an_algorithm_is_not_trained():
    def source(part):
        return str(PLAN.parts[Name("specialist-ablation", part)].source)

    assert source("single/permutations/bfs") == "specialists/bfs"
    assert source("single/static_hints/bfs") == "specialists/bfs"
    assert source("single/initialisation/bfs") == "specialists/bfs"
    assert source("cumulative/permutations/bfs").endswith("cumulative/triplets/bfs")
    assert source("cumulative/gating/bfs").endswith("single/gating/bfs")
    for name in ("permutations/quicksort", "static_hints/minimum", "initialisation/dijkstra"):
        assert source(f"single/{name}") == f"specialist-ablation/single/{name}"


def test_families_are_trained_together_and_a_family_of_one_is_a_specialist():
    parts = {part.name.part: part for part in PLAN.of("families")}
    assert list(parts) == list(FAMILIES)
    assert parts["strings"].config == recipe("ibarz2022", ["kmp_matcher", "naive_string_matcher"])
    assert str(parts["divide_and_conquer"].source) == "specialists/find_maximum_subarray_kadane"


def test_no_part_is_trained_twice():
    trained = [part.config_hash for name in EXPERIMENTS for part in PLAN.trained_for(name)]
    assert len(set(trained)) == len(trained)
    assert set(trained) == {part.config_hash for part in PLAN.parts.values()}


@pytest.mark.usefixtures("euclid")
def test_algorithms_of_users_take_no_part():
    assert config_hash(Plan().of("generalist")[0].config) == PLAN.of("generalist")[0].config_hash
    with pytest.raises(ValueError, match="algorithm of the paper"):
        Plan(["euclid"])


# The hash of a configuration


def test_the_hash_is_of_what_is_learnt_and_of_nothing_else():
    config = small.training("insertion_sort")
    same = replace(config, seeds=(4, 5), schedule=replace(config.schedule, checkpoint_every=9))
    assert config_hash(same) == config_hash(config)
    fixed = recipe("clrs2022", ["bfs"])
    of_no_use = replace(fixed, data=replace(fixed.data, sizes=(4, 7)))
    assert config_hash(of_no_use) == config_hash(fixed)
    changed = [
        replace(config, algorithms=("quicksort",)),
        replace(config, schedule=replace(config.schedule, steps=4)),
        replace(config, schedule=replace(config.schedule, validate_every=1)),
        replace(config, model=replace(config.model, hidden=8)),
        *(without(config, name) for name in ("permutations", "soft_hints", "clipping")),
    ]
    assert len({config_hash(other) for other in [config, *changed]}) == 8


def test_the_hash_is_the_same_in_every_version():
    """Results on disk are known by it: a new setting must not change it while it is as before."""
    assert config_hash(recipe("ibarz2022", ["bfs"])) == "5034ff9c46"
