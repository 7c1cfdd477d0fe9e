"""The hash of a configuration, over all settings that change what is learnt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any

from algorist.spec import Kind
from algorist.training.config import Config, DataConfig

_DIGITS = 10
_FIRST_SETTINGS: Mapping[str, frozenset[str]] = {
    "model": frozenset(
        [
            "processor",
            "hidden",
            "triplet_features",
            "heads",
            "layer_norm",
            "hints",
            "feedback",
            "scalar_hint_init",
        ]
    ),
    "convention": frozenset({"static_hint_as_input", "permutations"}),
    "data": frozenset(["online", "sizes", "varied", "random_positions", "batch_size", "chunk"]),
    "optimizer": frozenset(
        [
            "learning_rate",
            "clip",
            "teacher_forcing",
            "accumulate",
            "processor_from",
            "freeze_processor",
        ]
    ),
    "schedule": frozenset({"steps", "validate_every"}),
}
"""The settings of the first version, by section. They are part of every hash, whatever they are,
since results were saved with such hashes. All others count only where they differ from their
defaults, so a new setting never changes the hash of what was trained without it."""
_HASHED_NAMES = {"optimizer": "optimiser"}
"""The names of sections in the hash where they differ: those of the first version."""
_NOT_LEARNT = {("schedule", "checkpoint_every")}
"""The settings that do not change what is learnt."""


def config_hash(config: Config) -> str:
    """The hash of a configuration, which results have in the column `recipe`.

    Seeds are not part of it, since each result names its own, nor is how often a run is saved.
    """
    text = json.dumps(_counted(_settled(config)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _counted(config: Config) -> dict[str, Any]:
    """The hashed settings: those of the first version, and others that differ from defaults."""
    values: dict[str, Any] = {"algorithms": config.algorithms}
    for field in fields(config):
        name, value = field.name, getattr(config, field.name)
        if is_dataclass(value):
            settings = _counted_settings(name, value)
            if settings or name in _FIRST_SETTINGS:
                values[_HASHED_NAMES.get(name, name)] = settings
        elif name not in ("algorithms", "seeds") and value != _default(field):
            values[name] = value
    return values


def _counted_settings(section: str, settings: Any) -> dict[str, Any]:
    always = _FIRST_SETTINGS.get(section, frozenset())
    values = {field: getattr(settings, field.name) for field in fields(settings)}
    return {
        field.name: value
        for field, value in values.items()
        if field.name in always
        or (value != _default(field) and (section, field.name) not in _NOT_LEARNT)
    }


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _settled(config: Config) -> Config:
    """The configuration with all improvements and settings that make no difference to it."""
    return _with_idle_encodings(_with_idle_initialisation(_with_idle_sizes(config)))


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


def _with_idle_encodings(config: Config) -> Config:
    convention = config.convention
    for name in sorted(_FIRST_SETTINGS["convention"]):
        on = replace(convention, **{name: True})
        if all(on.spec(task) == convention.spec(task) for task in config.algorithms):
            convention = on
    return replace(config, convention=convention)
