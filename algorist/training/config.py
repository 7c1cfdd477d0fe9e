"""The configuration of a run: a frozen dataclass per concern, saved as JSON with every run.

The text under each field is its help on the command line.
"""

from __future__ import annotations

import json
import math
import typing
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

from algorist.algorithms import get
from algorist.data.sparse import families
from algorist.data.stream import BATCH_SIZE, SIZES
from algorist.errors import unknown
from algorist.model.learner import TaskEncoding
from algorist.model.net import ModelConfig
from algorist.training.config_values import UnknownSettingError, given_value, read_value
from algorist.training.loss_terms import loss_weights
from algorist.training.optimizer import DEFAULT_OPTIMIZER, expect_optimizer
from algorist.training.schedules import DEFAULT_SCHEDULE, expect_schedule
from algorist.version import __version__

_VERSION = "version"
"""What the version of this library is saved under."""
_MEASURES = ("outputs", "hints", "loss")
"""The values of `validate_by`."""


@dataclass(frozen=True)
class DataConfig:
    """What the net is trained on."""

    online: bool = True
    """Draw fresh problems for every step, instead of picking from the fixed training split."""
    sizes: tuple[int, ...] = SIZES
    """The sizes of online problems, taken in turns."""
    varied: bool = True
    """Vary the edge probabilities of graphs and the lengths of needles."""
    ood_share: float = 0.0
    """The share of online problems out of the benchmark's distribution: directed graphs, some with
    negative weights, patterns that need not occur in the text, segments that touch."""
    random_positions: bool = True
    """Replace the evenly spaced positions by sorted random ones."""
    batch_size: int = BATCH_SIZE
    """Problems in a batch."""
    chunk: int = 0
    """Steps in a chunk of trajectories; 0 trains on whole trajectories."""
    transitions: int = 0
    """Single steps that are drawn from the trajectories of a batch to train on, rare ones more
    often; 0 trains on all steps in order."""
    graph_family: str = "er"
    """The graphs that a sparse net is trained on: er, ws, delaunay, or several in turns, as in
    er+ws."""

    def __post_init__(self) -> None:
        _at_least("batch_size", self.batch_size, 1)
        _at_least("chunk", self.chunk, 0)
        _at_least("transitions", self.transitions, 0)
        if self.transitions and self.chunk:
            raise ValueError("transitions: got chunks too, expected only one of them")
        if not 0 <= self.ood_share <= 1:
            raise ValueError(f"ood_share: got {self.ood_share}, expected 0 to 1")
        families(self.graph_family)
        for size in self.sizes:
            _at_least("sizes", size, 1)


_BETA2, _EPS = 0.999, 1e-8
"""Adam's, as its authors and PyTorch have them."""


@dataclass(frozen=True)
class OptimizerConfig:
    """How the weights change."""

    learning_rate: float = 1e-3
    """The learning rate, before the schedule."""
    clip: float = 1.0
    """The largest norm of a gradient, over all parameters; 0 does not clip."""
    teacher_forcing: float = 0.0
    """How often the net is given the true hints in training, as a probability."""
    accumulate: bool = False
    """Add up the gradients of all tasks for one update, instead of one update per task."""
    processor_from: str = ""
    """A saved learner whose processor is taken over."""
    freeze_processor: bool = False
    """Train encoders and decoders alone."""
    optimizer: str = DEFAULT_OPTIMIZER
    """The optimizer: adam, adamw, sgd, or one of your own."""
    weight_decay: float = 0.0
    """How fast the weights decay (adamw, sgd)."""
    momentum: float = 0.0
    """How much of the step before is repeated (sgd)."""
    beta2: float = _BETA2
    """How slowly the mean of squared gradients forgets (adam, adamw)."""
    eps: float = _EPS
    """What is added to the root of the mean of squared gradients: larger values make steps smaller
    where gradients are tiny (adam, adamw)."""
    schedule: str = DEFAULT_SCHEDULE
    """How the learning rate changes: constant, warmup, cosine, step, one of your own, or several
    that are multiplied, as in warmup+cosine."""
    loss_terms: tuple[str, ...] = ()
    """Further terms of the loss and their weights, as in NAME=0.1; outputs=X and hints=X weigh
    those of the benchmark."""

    def __post_init__(self) -> None:
        if self.optimizer != DEFAULT_OPTIMIZER:
            expect_optimizer(self.optimizer)
        if self.schedule != DEFAULT_SCHEDULE:
            expect_schedule(self.schedule)
        if self.loss_terms:
            loss_weights(self.loss_terms)
        for name in ("weight_decay", "momentum"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: got {getattr(self, name)}, expected 0 or more")
        if self.optimizer == "adam" and self.weight_decay:
            raise ValueError(
                f"weight_decay: got {self.weight_decay}, but adam has none: choose adamw"
            )
        if self.optimizer in ("adam", "adamw") and self.momentum:
            raise ValueError(
                f"momentum: got {self.momentum}, but {self.optimizer} has its own: choose sgd"
            )
        if not 0 < self.beta2 < 1:
            raise ValueError(f"beta2: got {self.beta2}, expected a number between 0 and 1")
        if not 0 < self.eps < math.inf:
            raise ValueError(f"eps: got {self.eps}, expected a number above 0")
        if self.optimizer == "sgd" and (self.beta2, self.eps) != (_BETA2, _EPS):
            raise ValueError("beta2, eps: got sgd, which has neither: choose adam or adamw")
        if not 0 <= self.teacher_forcing <= 1:
            raise ValueError(
                f"teacher_forcing: got {self.teacher_forcing}, expected a probability from 0 to 1"
            )
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate: got {self.learning_rate}, expected a number above 0")
        if not 0 <= self.clip < math.inf:
            raise ValueError(f"clip: got {self.clip}, expected 0 or more")


@dataclass(frozen=True)
class ScheduleConfig:
    """How long a run takes and what happens on the way."""

    steps: int = 10_000
    """Updates per task."""
    validate_every: int = 50
    """Steps between two validations: the best model is picked by these."""
    checkpoint_every: int = 500
    """Steps between two checkpoints."""
    average: int = 0
    """Validate and keep a mean of the weights over about this many steps; 0: take them as they are.
    What is learnt is the same."""
    validate_by: str = "outputs"
    """What the best weights are chosen by, at n = 16: the score of the outputs, that of the hints,
    or the total loss (outputs, hints or loss)."""

    def __post_init__(self) -> None:
        for name in ("steps", "validate_every", "checkpoint_every"):
            _at_least(name, getattr(self, name), 1)
        _at_least("average", self.average, 0)
        if self.validate_by not in _MEASURES:
            raise ValueError(unknown("validate_by", self.validate_by, _MEASURES))


@dataclass(frozen=True)
class Config:
    """A whole run."""

    algorithms: tuple[str, ...]
    """The tasks."""
    seeds: tuple[int, ...] = (0,)
    """One replica is trained for each seed, all in lockstep."""
    model: ModelConfig = field(default_factory=ModelConfig)
    convention: TaskEncoding = field(default_factory=TaskEncoding)
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    changes: tuple[str, ...] = ()
    """What was changed when the run was resumed: the step, the setting, before and after."""

    def __post_init__(self) -> None:
        for name, values in (("algorithms", self.algorithms), ("seeds", self.seeds)):
            if not values:
                raise ValueError(f"{name}: got none, expected at least one")
            if len(set(values)) < len(values):
                raise ValueError(f"{name}: got {values}, expected each once")
        for algorithm in self.algorithms:
            get(algorithm)
        if self.schedule.validate_by == "hints" and self.model.hints == "none":
            raise ValueError("validate_by: got hints, but this net predicts none (hints = none)")
        if self.convention.gated_scalars:
            self.model.expect_hints_read("gated_scalars", "a scalar", "cannot be kept")
        if self.convention.output_step and self.data.chunk:
            raise ValueError("output_step: got chunks, expected whole trajectories or transitions")
        if self.data.transitions:
            if self.model.carry_state:
                raise ValueError(
                    "transitions: got carry_state, but a step that is drawn has none before it: "
                    "set carry_state to false"
                )
            if self.optimizer.teacher_forcing:
                raise ValueError(
                    "teacher_forcing: got it beside transitions, which always read the true hints"
                )
            if not self.convention.output_step:
                raise ValueError("transitions: expected output_step, where outputs are decoded")
        if self.convention.sparse:
            self._check_sparse()
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise ValueError(f"seeds: got {seed}, expected 0 to 2**32 - 1")

    def _check_sparse(self) -> None:
        refused = {
            self.data: ("chunk", "online", "transitions"),
            self.model: (
                "use_lstm",
                "comparisons",
                "dereference",
                "hint_changes",
                "edge_pointers",
                "conditional_hints",
                "orders",
                "places",
                "splits",
                "outputs_from_hints",
                "keep_unselected",
                "local_decoders",
            ),
            self.convention: ("gated_scalars", "output_step"),
            self.optimizer: ("loss_terms",),
        }
        for section, names in refused.items():
            usual = type(section)()
            for name in names:
                if getattr(section, name) != getattr(usual, name):
                    raise ValueError(
                        f"{name}: got {getattr(section, name)}, but sparse nets know only "
                        f"{getattr(usual, name)}"
                    )
        if self.schedule.validate_by == "hints":
            raise ValueError("validate_by: got hints, but sparse nets know only outputs and loss")

    @property
    def splits(self) -> tuple[str, ...]:
        """The benchmark's fixed sets that a run needs."""
        if self.convention.sparse:
            return ()
        return ("val",) if self.data.online else ("val", "train")

    @property
    def scored_by_error(self) -> bool:
        """Whether the validation of one of the tasks may be an error or a loss, and not a share."""
        if self.schedule.validate_by != "outputs":
            return True
        return any(get(algorithm).spec.scored_by_error for algorithm in self.algorithms)

    def to_json(self) -> str:
        """This configuration as JSON, with the version of this library."""
        return json.dumps({_VERSION: __version__, **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Config:
        """The configuration that `to_json` wrote, in this version or in an earlier one.

        Settings that it does not have yet are at their defaults; unknown ones are an error that
        names the version that wrote it.
        """
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"the configuration is not JSON: {error}") from error
        version = values.pop(_VERSION, None) if isinstance(values, dict) else None
        try:
            config: Config = read_value("the configuration", cls, values)
            return config
        except UnknownSettingError as error:
            writer = f"algorist {version}" if version else "a version that did not say which"
            raise ValueError(
                f"{error}; it was written by {writer}, and this is algorist {__version__}"
            ) from error


def sections() -> dict[str, type]:
    """The dataclasses that a configuration is made of, by name."""
    kinds = typing.get_type_hints(Config)
    return {f.name: kinds[f.name] for f in fields(Config) if is_dataclass(kinds[f.name])}


def change_settings(config: Config, **settings: Any) -> Config:
    """A configuration with some settings changed, by their names, whatever their section.

    Raises a ValueError for a name that no section has, and for a value of another type.

        >>> change_settings(Config(("bfs",)), hidden=64, schedule="cosine").optimizer.schedule
        'cosine'
    """
    left = dict(settings)
    names: list[str] = []
    for section, cls in sections().items():
        own, kinds = {}, typing.get_type_hints(cls)
        for f in fields(cls):
            names.append(f.name)
            if f.name in left:
                own[f.name] = given_value(f.name, kinds[f.name], left.pop(f.name))
        config = replace(config, **{section: replace(getattr(config, section), **own)})
    if left:
        raise ValueError(unknown("setting", next(iter(left)), names))
    return config


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name}: got {value}, expected {least} or more")
