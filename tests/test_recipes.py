"""Configurations, and recipes made of switches."""

from dataclasses import asdict, replace
from itertools import pairwise

import pytest

from algorist.model.learner import TaskEncoding
from algorist.model.net import ModelConfig
from algorist.training.config import Config, DataConfig, OptimizerConfig, ScheduleConfig
from algorist.training.config_values import build
from algorist.training.recipes import ABLATION_ORDER, IMPROVEMENTS, ablations, recipe, without


def settings(config):
    """All settings of a configuration by their full names."""
    return {
        f"{group}.{name}": value
        for group, values in asdict(config).items()
        if isinstance(values, dict)
        for name, value in values.items()
    }


def changes(before, after):
    """The settings that differ, as they are after."""
    before, after = settings(before), settings(after)
    return {name: after[name] for name in before if before[name] != after[name]}


def test_the_papers_recipe_for_one_task_is_gated_and_sees_whole_trajectories():
    config = recipe("ibarz2022", ["bfs"])
    assert config.model == ModelConfig(
        processor="triplet_gmpnn",
        hidden=128,
        hints="encoded_decoded",
        feedback="soft",
        scalar_hint_init="xavier",
    )
    assert config.convention == TaskEncoding(static_hint_as_input=True, permutations=True)
    assert config.data == DataConfig(
        online=True,
        sizes=(4, 7, 11, 13, 16),
        varied=True,
        random_positions=True,
        batch_size=32,
        chunk=0,
    )
    assert config.optimizer == OptimizerConfig(learning_rate=1e-3, clip=1.0, teacher_forcing=0.0)
    assert config.schedule == ScheduleConfig(steps=10_000, validate_every=50)


def test_the_papers_recipe_for_many_tasks_has_no_gate_and_sees_chunks_of_16():
    one, many = recipe("ibarz2022", ["bfs"]), recipe("ibarz2022", ["bfs", "dfs"])
    assert many.algorithms == ("bfs", "dfs")
    assert changes(one, many) == {"model.processor": "triplet_mpnn", "data.chunk": 16}


def test_clrs2022_is_the_earlier_papers():
    assert changes(recipe("ibarz2022", ["bfs"]), recipe("clrs2022", ["bfs"])) == {
        "model.processor": "mpnn",
        "model.feedback": "hard",
        "model.scalar_hint_init": "default",
        "convention.static_hint_as_input": False,
        "convention.permutations": False,
        "data.online": False,
        "data.varied": False,
        "data.random_positions": False,
        "optimizer.clip": 0.0,
        "optimizer.teacher_forcing": 0.5,
    }


@pytest.mark.parametrize(
    ("improvement", "expected"),
    [
        ("gating", {"model.processor": "triplet_mpnn"}),
        ("triplets", {"model.processor": "gmpnn"}),
        ("permutations", {"convention.permutations": False}),
        ("random_positions", {"data.random_positions": False}),
        ("static_hints", {"convention.static_hint_as_input": False}),
        ("soft_hints", {"model.feedback": "hard"}),
        ("augmentation", {"data.online": False, "data.varied": False}),
        ("initialisation", {"model.scalar_hint_init": "default"}),
        ("clipping", {"optimizer.clip": 0.0}),
        ("no_teacher_forcing", {"optimizer.teacher_forcing": 0.5}),
        ("chunking", {"data.chunk": 0}),
    ],
)
def test_each_improvement_is_one_switch(improvement, expected):
    config = recipe("ibarz2022", ["bfs"])
    config = replace(config, data=replace(config.data, chunk=16))
    assert changes(config, without(config, improvement)) == expected


@pytest.mark.parametrize(
    ("improvement", "expected"),
    [
        ("pointer_reversal", {"model.pointer_reversal": False}),
        ("two_rounds", {"model.message_passing_steps": 1}),
        ("comparisons", {"model.comparisons": False}),
        ("dereference", {"model.dereference": False}),
        ("gated_scalars", {"convention.gated_scalars": False}),
        ("edge_pointers", {"model.edge_pointers": False}),
        ("conditional_hints", {"model.conditional_hints": False}),
        ("orders", {"model.orders": False}),
        ("places", {"model.places": False}),
        ("splits", {"model.splits": False}),
        ("outputs_from_hints", {"model.outputs_from_hints": False}),
        ("ood_problems", {"data.ood_share": 0.0}),
        ("hint_changes", {"model.hint_changes": False}),
        ("transitions", {"data.transitions": 0, "optimizer.teacher_forcing": 1.0}),
        ("cosine", {"optimizer.schedule": "constant"}),
        ("averaging", {"schedule.average": 0}),
    ],
)
def test_each_improvement_over_the_paper_is_one_switch_that_the_paper_has_not(
    improvement, expected
):
    config, papers = recipe("algorist2026", ["bfs"]), recipe("ibarz2022", ["bfs"])
    assert changes(config, without(config, improvement)) == expected
    assert without(papers, improvement) == papers


def test_nets_that_read_true_hints_anyway_are_not_ablated_by_teacher_forcing():
    assert "no_teacher_forcing" not in dict(
        ablations(recipe("algorist2026", ["bfs"]), cumulative=False)
    )


def test_every_improvement_of_the_table_is_tested_and_ablated_once():
    assert len(IMPROVEMENTS) == 27
    assert len(set(ABLATION_ORDER)) == len(ABLATION_ORDER)
    assert set(ABLATION_ORDER) <= set(IMPROVEMENTS)


def test_the_cumulative_ablation_takes_one_more_away_each_time():
    steps = list(ablations(recipe("ibarz2022", ["bfs"]), cumulative=True))
    assert [name for name, _ in steps] == ["all", *ABLATION_ORDER]
    for (_, before), (name, after) in pairwise(steps):
        assert after == without(before, name) != before
    clipped = replace(steps[-1][1], optimizer=OptimizerConfig(clip=0.0, teacher_forcing=0.5))
    assert clipped == recipe("clrs2022", ["bfs"])


def test_the_cumulative_ablation_passes_over_what_is_not_there():
    names = [name for name, _ in ablations(recipe("ibarz2022", ["bfs", "dfs"]), cumulative=True)]
    assert "gating" not in names
    assert names[:2] == ["all", "triplets"]


def test_unknown_recipes_and_improvements_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="unknown recipe 'ibarz2023': did you mean 'ibarz2022'"):
        recipe("ibarz2023", ["bfs"])
    with pytest.raises(ValueError, match="unknown improvement 'gate': did you mean 'gating'"):
        without(recipe("ibarz2022", ["bfs"]), "gate")


@pytest.mark.parametrize("name", ["ibarz2022", "clrs2022", "algorist2026"])
def test_a_configuration_survives_json(name):
    config = replace(recipe(name, ["bfs", "dfs"]), seeds=(3, 1))
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"algorithms": ["bfs"], "seds": [1]}', "unknown setting 'seds': did you mean 'seeds'"),
        ('{"algorithms": ["bfs"], "model": {"hiden": 8}}', "unknown setting 'hiden'"),
        (
            '{"algorithms": ["bfs"], "model": {"hidden": "8"}}',
            "hidden: got '8', expected a value of type int",
        ),
        ('{"algorithms": ["bfs"], "model": {"hidden": true}}', "hidden: got True"),
        ('{"algorithms": ["bfs"], "model": 8}', "model: got 8, expected settings by name"),
        ('{"algorithms": ["bfs"], "seeds": ["a"]}', "seeds: got 'a', expected a value of type int"),
        ('{"algorithms": "bfs"}', "algorithms: got 'bfs', expected a list"),
        ('{"seeds": [1]}', "algorithms: got nothing, expected a value"),
        ("[]", r"the configuration: got \[\], expected settings by name"),
        ('{"algorithms"', "the configuration is not JSON"),
        ('{"algorithms": []}', "algorithms: got none, expected at least one"),
        ('{"algorithms": ["bfs", "bfs"]}', r"algorithms: got \('bfs', 'bfs'\), expected each once"),
        ('{"algorithms": ["bsf"]}', "unknown algorithm 'bsf': did you mean 'bfs'"),
        ('{"algorithms": ["bfs"], "seeds": []}', "seeds: got"),
        ('{"algorithms": ["bfs"], "seeds": [-1]}', "seeds: got -1, expected 0 to"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Config.from_json(text)


@pytest.mark.parametrize(
    ("cls", "values", "message"),
    [
        (DataConfig, {"batch_size": 0}, "batch_size: got 0, expected 1 or more"),
        (DataConfig, {"chunk": -1}, "chunk: got -1, expected 0 or more"),
        (DataConfig, {"sizes": [0]}, "sizes: got 0, expected 1 or more"),
        (OptimizerConfig, {"teacher_forcing": 2}, "teacher_forcing: got 2.0, expected a prob"),
        (OptimizerConfig, {"learning_rate": 0}, "learning_rate: got 0.0, expected a number above"),
        (OptimizerConfig, {"beta2": 0}, "beta2: got 0.0, expected a number between 0 and 1"),
        (OptimizerConfig, {"beta2": 1}, "beta2: got 1.0, expected a number between 0 and 1"),
        (OptimizerConfig, {"eps": 0}, "eps: got 0.0, expected a number above 0"),
        (OptimizerConfig, {"eps": float("nan")}, "eps: got nan, expected a number above 0"),
        (OptimizerConfig, {"optimizer": "sgd", "eps": 1e-6}, "beta2, eps: got sgd, which has ne"),
        (OptimizerConfig, {"optimizer": "sgd", "beta2": 0.9}, "beta2, eps: got sgd, which has ne"),
        (OptimizerConfig, {"clip": -1}, "clip: got -1.0, expected 0 or more"),
        (ScheduleConfig, {"steps": 0}, "steps: got 0, expected 1 or more"),
        (ScheduleConfig, {"validate_every": 0}, "validate_every: got 0"),
        (ScheduleConfig, {"checkpoint_every": 0}, "checkpoint_every: got 0"),
    ],
)
def test_settings_out_of_range_are_refused(cls, values, message):
    with pytest.raises(ValueError, match=message):
        build(cls, values)


def test_whole_numbers_are_taken_for_real_ones():
    assert build(OptimizerConfig, {"clip": 2}) == OptimizerConfig(clip=2.0)


def test_the_former_name_of_the_papers_recipe_still_works_and_says_so():
    with pytest.warns(UserWarning, match="the recipe 'generalist' is called 'ibarz2022' now"):
        assert recipe("generalist", ["bfs"]) == recipe("ibarz2022", ["bfs"])
