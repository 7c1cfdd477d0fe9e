"""The identity of a configuration: results on disk are known by it."""

import csv
import json
from dataclasses import make_dataclass, replace
from pathlib import Path

import pytest
import small

from algorist.experiments.config_hash import config_hash
from algorist.experiments.plan import Name, Plan
from algorist.model.learner import TaskEncoding
from algorist.training.config import Config, DataConfig
from algorist.training.saved_learners import load
from algorist.version import __version__

RESULTS = sorted((Path(__file__).parent.parent / "results").glob("*.csv"))


def rows():
    return [row for file in RESULTS for row in csv.DictReader(file.open())]


def test_all_saved_results_are_known():
    parts = Plan().parts
    planned = [row for row in rows() if row["experiment"] != "shipped"]
    assert len(planned) > 100
    for row in planned:
        assert parts[Name(row["experiment"], row["part"])].config_hash == row["recipe"], row


def test_all_shipped_weights_are_known():
    known = {row["part"]: row["recipe"] for row in rows() if row["experiment"] == "shipped"}
    assert len(known) > 1
    for name, recipe in known.items():
        assert config_hash(Config.from_json(load(name).metadata["config"])) == recipe, name


@pytest.mark.parametrize(("section", "first"), [("data", DataConfig), ("convention", TaskEncoding)])
def test_a_new_setting_counts_only_where_it_differs_from_its_default(section, first):
    later = make_dataclass("Later", [("novel", bool, False)], bases=(first,), frozen=True)
    config = small.training("bfs")
    before = vars(getattr(config, section))
    unchanged = replace(config, **{section: later(**before)})
    changed = replace(config, **{section: later(**before, novel=True)})
    assert config_hash(unchanged) == config_hash(config)
    assert config_hash(changed) != config_hash(config)


def test_a_new_section_counts_only_where_it_differs_from_its_default():
    section = make_dataclass("Section", [("novel", int, 3)], frozen=True)
    later = make_dataclass("Later", [("section", section, section())], bases=(Config,), frozen=True)
    config = small.training("bfs")
    assert config_hash(later(**vars(config))) == config_hash(config)
    assert config_hash(later(**vars(config), section=section(4))) != config_hash(config)


def test_a_configuration_without_the_newest_settings_is_read():
    config = small.training("bfs")
    values = json.loads(config.to_json())
    assert values["version"] == __version__
    for name in ("version", "convention"):
        del values[name]
    values["optimiser"] = values.pop("optimizer")  # as it was spelled
    del values["schedule"]["average"]
    assert Config.from_json(json.dumps(values)) == config


@pytest.mark.parametrize(("version", "writer"), [("9.9.9", "algorist 9.9.9"), (None, "a version")])
def test_an_unknown_setting_is_an_error_that_names_the_version(version, writer):
    values = json.loads(small.training("bfs").to_json())
    values["model"]["wings"] = 2
    values["version"] = version
    with pytest.raises(ValueError, match=f"'wings'.*written by {writer}.*algorist {__version__}"):
        Config.from_json(json.dumps(values))
