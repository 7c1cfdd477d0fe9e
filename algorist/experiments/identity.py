"""What makes two trainings the same: a short hash of all that changes what is learnt."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace

from algorist.spec import Kind
from algorist.training.config import Config, DataConfig

_DIGITS = 10


def recipe_of(config: Config) -> str:
    """The hash of a configuration.

    Seeds are not part of it, since each result names its own, nor is how often a run is saved.
    Means of weights count where there are some.
    """
    values = asdict(_settled(config))
    del values["seeds"], values["schedule"]["checkpoint_every"]
    if not config.schedule.average:
        del values["schedule"]["average"]
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _settled(config: Config) -> Config:
    """The configuration with all improvements and settings that make no difference to it."""
    return _with_idle_conventions(_with_idle_initialisation(_with_idle_sizes(config)))


def _with_idle_sizes(config: Config) -> Config:
    """The fixed training set has its own."""
    if config.data.online:
        return config
    return replace(config, data=replace(config.data, sizes=DataConfig.sizes))


def _with_idle_initialisation(config: Config) -> Config:
    hints = [hint for task in config.algorithms for hint in config.convention.spec(task).hints]
    if any(hint.kind == Kind.SCALAR for hint in hints):
        return config
    return replace(config, model=replace(config.model, scalar_hint_init="xavier"))


def _with_idle_conventions(config: Config) -> Config:
    convention = config.convention
    for name in asdict(convention):
        on = replace(convention, **{name: True})
        if all(on.spec(task) == convention.spec(task) for task in config.algorithms):
            convention = on
    return replace(config, convention=convention)
