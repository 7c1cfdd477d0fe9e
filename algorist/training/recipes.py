"""Recipes by name, and every improvement of the paper as one switch.

An improvement is what turns a configuration with it into one without. The cumulative ablation
is a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from algorist.errors import unknown
from algorist.model.learner import Convention
from algorist.model.net import ModelConfig
from algorist.training.config import Config, DataConfig, OptimiserConfig


def generalist(algorithms: Sequence[str]) -> Config:
    """This paper's: a gated processor for one task, chunks and no gate for many."""
    many = len(algorithms) > 1
    return Config(
        algorithms=tuple(algorithms),
        model=ModelConfig(processor="triplet_mpnn" if many else "triplet_gmpnn"),
        data=DataConfig(chunk=16 if many else 0),
    )


def clrs2022(algorithms: Sequence[str]) -> Config:
    """The earlier paper's baselines: a fixed set of one size, teacher forcing, hard hints."""
    return Config(
        algorithms=tuple(algorithms),
        model=ModelConfig(processor="mpnn", feedback="hard", scalar_hint_init="default"),
        convention=Convention(static_hint_as_input=False, permutations=False),
        data=DataConfig(online=False, varied=False, random_positions=False),
        optimiser=OptimiserConfig(teacher_forcing=0.5, clip=0.0),
    )


RECIPES: dict[str, Callable[[Sequence[str]], Config]] = {
    "generalist": generalist,
    "clrs2022": clrs2022,
}
USUAL_RECIPE = "generalist"
"""Where settings start if nothing else is said."""


def recipe(name: str, algorithms: Sequence[str]) -> Config:
    """The configuration of a recipe for some algorithms."""
    if name not in RECIPES:
        raise ValueError(unknown("recipe", name, RECIPES))
    return RECIPES[name](algorithms)


def _model(**changes: object) -> Callable[[Config], Config]:
    return lambda config: replace(config, model=replace(config.model, **changes))


def _convention(**changes: object) -> Callable[[Config], Config]:
    return lambda config: replace(config, convention=replace(config.convention, **changes))


def _data(**changes: object) -> Callable[[Config], Config]:
    return lambda config: replace(config, data=replace(config.data, **changes))


def _optimiser(**changes: object) -> Callable[[Config], Config]:
    return lambda config: replace(config, optimiser=replace(config.optimiser, **changes))


def _without_gate(config: Config) -> Config:
    return _model(processor=_PLAIN_OF_GATED.get(config.model.processor, config.model.processor))(
        config
    )


def _without_triplets(config: Config) -> Config:
    return _model(processor=config.model.processor.removeprefix("triplet_"))(config)


_PLAIN_OF_GATED = {
    f"{triplet}g{base}": f"{triplet}{base}"
    for triplet in ("", "triplet_")
    for base in ("mpnn", "pgn", "pgn_mask")
}

IMPROVEMENTS: dict[str, Callable[[Config], Config]] = {
    "gating": _without_gate,
    "triplets": _without_triplets,
    "permutations": _convention(permutations=False),
    "random_positions": _data(random_positions=False),
    "static_hints": _convention(static_hint_as_input=False),
    "soft_hints": _model(feedback="hard"),
    "augmentation": _data(online=False, varied=False),
    "initialisation": _model(scalar_hint_init="default"),
    "clipping": _optimiser(clip=0.0),
    "no_teacher_forcing": _optimiser(teacher_forcing=0.5),
    "chunking": _data(chunk=0),
}
"""How to take each improvement away."""

CUMULATIVE = (
    "gating",
    "triplets",
    "permutations",
    "random_positions",
    "static_hints",
    "soft_hints",
    "augmentation",
    "initialisation",
    "no_teacher_forcing",
)
"""The order in which the cumulative ablation takes improvements away."""


def without(config: Config, *improvements: str) -> Config:
    """A configuration with some improvements taken away."""
    for name in improvements:
        if name not in IMPROVEMENTS:
            raise ValueError(unknown("improvement", name, IMPROVEMENTS))
        config = IMPROVEMENTS[name](config)
    return config


def cumulative_ablation(config: Config) -> Iterator[tuple[str, Config]]:
    """The configuration itself, then with one more improvement taken away each time."""
    yield "all", config
    for name in CUMULATIVE:
        changed = without(config, name)
        if changed != config:
            yield name, changed
        config = changed
