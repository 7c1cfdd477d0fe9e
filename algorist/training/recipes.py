"""Recipes by name, and every improvement of the paper as one switch.

An improvement is what turns a configuration with it into one without. Ablations are lists of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from algorist.errors import unknown
from algorist.model.learner import TaskEncoding
from algorist.model.net import ModelConfig
from algorist.plugin_errors import user_error
from algorist.registry import registry
from algorist.training.config import (
    Config,
    DataConfig,
    OptimizerConfig,
    ScheduleConfig,
    change_settings,
)
from algorist.training.schedules import DEFAULT_SCHEDULE


def ibarz2022(algorithms: Sequence[str]) -> Config:
    """The paper's (Ibarz et al., 2022): a gate for one task, chunks and no gate for many."""
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
        convention=TaskEncoding(static_hint_as_input=False, permutations=False),
        data=DataConfig(online=False, varied=False, random_positions=False),
        optimizer=OptimizerConfig(teacher_forcing=0.5, clip=0.0),
    )


def algorist2026(algorithms: Sequence[str]) -> Config:
    """A net that executes: it carries no state, reads the true hints in training and its own
    decided ones afterwards, and learns from single steps (docs/executing.md).

    The net for one algorithm is small: a CPU core trains it in minutes.
    """
    many = len(algorithms) > 1
    return Config(
        algorithms=tuple(algorithms),
        model=ModelConfig(
            processor="triplet_mpnn",
            hidden=128 if many else 64,
            feedback="hard",
            pointer_reversal=True,
            message_passing_steps=2,
            carry_state=False,
            comparisons=True,
            dereference=True,
            hint_changes=True,
            edge_pointers=True,
            conditional_hints=True,
            orders=True,
            places=True,
            splits=True,
            outputs_from_hints=True,
        ),
        convention=TaskEncoding(gated_scalars=True, output_step=True),
        data=DataConfig(
            batch_size=32 if many else 16,
            transitions=256 if many else 96,
            ood_share=0.25,
        ),
        optimizer=OptimizerConfig(
            schedule="cosine", learning_rate=7e-4 if many else 1e-3, beta2=0.98, eps=3e-6
        ),
        schedule=ScheduleConfig(
            steps=10_000 if many else 5_000,
            average=400,
            validate_by="hints",
            validate_every=1_000,
        ),
    )


def salsa2023(algorithms: Sequence[str]) -> Config:
    """Sparse graphs of SALSA-CLRS (Minder et al., 2023): a PGN that reads true, rounded hints."""
    return Config(
        algorithms=tuple(algorithms),
        model=ModelConfig(
            processor="pgn_mask",
            hidden=64,
            layer_norm=False,
            feedback="hard",
            pointer_reversal=True,
            carry_state=False,
        ),
        convention=TaskEncoding(sparse=True),
        data=DataConfig(batch_size=8),
        optimizer=OptimizerConfig(teacher_forcing=1.0, schedule="cosine"),
        schedule=ScheduleConfig(steps=2_000, validate_every=200, average=100),
    )


RECIPES: dict[str, Callable[[Sequence[str]], Config]] = registry(
    "recipe",
    {
        "ibarz2022": ibarz2022,
        "clrs2022": clrs2022,
        "algorist2026": algorist2026,
        "salsa2023": salsa2023,
    },
)
DEFAULT_RECIPE = "ibarz2022"
"""The default recipe."""
_ALIASES = {"generalist": "ibarz2022"}
"""Former names of recipes."""


def recipe(name: str, algorithms: Sequence[str]) -> Config:
    """The configuration of a recipe for some algorithms; a former name gives a warning."""
    if name in _ALIASES:
        now = _ALIASES[name]
        warnings.warn(f"the recipe {name!r} is called {now!r} now", stacklevel=2)
        name = now
    if name not in RECIPES:
        raise ValueError(unknown("recipe", name, RECIPES))
    function = RECIPES[name]
    if function.__module__ == __name__:
        return function(algorithms)
    with user_error(f"recipe {name!r}", function):
        return function(algorithms)


def _change(**settings: Any) -> Callable[[Config], Config]:
    return lambda config: change_settings(config, **settings)


def _without_gate(config: Config) -> Config:
    processor = config.model.processor
    return change_settings(config, processor=_PLAIN_OF_GATED.get(processor, processor))


def _without_triplets(config: Config) -> Config:
    return change_settings(config, processor=config.model.processor.removeprefix("triplet_"))


_PLAIN_OF_GATED = {
    f"{triplet}g{base}": f"{triplet}{base}"
    for triplet in ("", "triplet_")
    for base in ("mpnn", "pgn", "pgn_mask")
}


def _with_true_hints(config: Config) -> Config:
    """Teacher forcing half of the time, unless transitions always have it."""
    return config if config.data.transitions else change_settings(config, teacher_forcing=0.5)


def _without_transitions(config: Config) -> Config:
    """Trajectories from beginning to end, with the true hints, as transitions have them."""
    if not config.data.transitions:
        return config
    return change_settings(config, transitions=0, teacher_forcing=1.0)


class Improvement(NamedTuple):
    """An improvement of the paper, or of ours, that can be taken away."""

    description: str
    """Its name in reports."""
    remove: Callable[[Config], Config]
    """A function from a configuration to the one without it."""


IMPROVEMENTS: dict[str, Improvement] = {
    "gating": Improvement("gating", _without_gate),
    "triplets": Improvement("triplet reasoning", _without_triplets),
    "permutations": Improvement("Sinkhorn permutations", _change(permutations=False)),
    "random_positions": Improvement("random positions", _change(random_positions=False)),
    "static_hints": Improvement("static hints as inputs", _change(static_hint_as_input=False)),
    "soft_hints": Improvement("soft hints", _change(feedback="hard")),
    "augmentation": Improvement("augmented data", _change(online=False, varied=False)),
    "initialisation": Improvement(
        "initialisation of scalar hints", _change(scalar_hint_init="default")
    ),
    "clipping": Improvement("gradient clipping", _change(clip=0.0)),
    "no_teacher_forcing": Improvement("no teacher forcing", _with_true_hints),
    "chunking": Improvement("chunks of trajectories", _change(chunk=0)),
    "pointer_reversal": Improvement("pointer reversal", _change(pointer_reversal=False)),
    "two_rounds": Improvement("two rounds of messages", _change(message_passing_steps=1)),
    "comparisons": Improvement("comparisons of scalars", _change(comparisons=False)),
    "dereference": Improvement("dereferenced values", _change(dereference=False)),
    "gated_scalars": Improvement("exact scalars behind gates", _change(gated_scalars=False)),
    "edge_pointers": Improvement("whole pointers of edges", _change(edge_pointers=False)),
    "conditional_hints": Improvement(
        "hints given the masks of the next step", _change(conditional_hints=False)
    ),
    "orders": Improvement("order of scalar hints, not their size", _change(orders=False)),
    "places": Improvement("places along chains of pointers", _change(places=False)),
    "splits": Improvement("best splits and paths", _change(splits=False)),
    "outputs_from_hints": Improvement(
        "outputs given the last hints", _change(outputs_from_hints=False)
    ),
    "ood_problems": Improvement(
        "problems out of the benchmark's distribution", _change(ood_share=0.0)
    ),
    "hint_changes": Improvement("history of hints", _change(hint_changes=False)),
    "transitions": Improvement("single steps instead of trajectories", _without_transitions),
    "cosine": Improvement("cosine decay", _change(schedule=DEFAULT_SCHEDULE)),
    "averaging": Improvement("averaged weights", _change(average=0)),
}

WHOLE = "all"
"""The name of what has all improvements, in ablations: nothing is taken away."""
ABLATION_ORDER = (
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
"""The order in which improvements are taken away, one more each time."""


def without(config: Config, *improvements: str) -> Config:
    """A configuration with some improvements taken away."""
    for name in improvements:
        if name not in IMPROVEMENTS:
            raise ValueError(unknown("improvement", name, IMPROVEMENTS))
        config = IMPROVEMENTS[name].remove(config)
    return config


def ablations(config: Config, *, cumulative: bool) -> Iterator[tuple[str, Config]]:
    """The configuration itself, then without each of the improvements that it has.

    A `cumulative` ablation takes away one more each time.
    """
    yield WHOLE, config
    for name in ABLATION_ORDER if cumulative else IMPROVEMENTS:
        ablated = without(config, name)
        if ablated != config:
            yield name, ablated
        if cumulative:
            config = ablated
