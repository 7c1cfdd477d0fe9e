"""The vocabulary: what a feature is, and what an algorithm shows of itself.

A *spec* lists the features of one algorithm. Each feature has a stage (is it given, watched or
asked for), a location (does it sit in the nodes, in the edges or in the whole graph) and a kind
(what its numbers mean). Specs are plain frozen data: everything else in the library, from the
samplers to the losses, is looked up from them.

    >>> Spec.of(inputs={"key": node.scalar}, hints={"i": node.mask_one}, outputs={"m": node.mask})
    Spec(key: input node scalar, i: hint node mask_one, m: output node mask)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Stage(StrEnum):
    """When a feature is known: before the run, at each step of it, or after it."""

    INPUT = "input"
    HINT = "hint"
    OUTPUT = "output"


class Location(StrEnum):
    """What a feature describes: each node, each ordered pair of nodes, or the whole graph."""

    NODE = "node"
    EDGE = "edge"
    GRAPH = "graph"

    def shape(self, n: int) -> tuple[int, ...]:
        """The axes of what is described, on `n` nodes."""
        return (n,) * _AXES[self]


class Kind(StrEnum):
    """What the numbers of a feature mean."""

    SCALAR = "scalar"
    """A real number."""
    CATEGORICAL = "categorical"
    """One of `classes` classes, one-hot."""
    MASK = "mask"
    """0 or 1; -1 marks an entry that does not count."""
    MASK_ONE = "mask_one"
    """Exactly one of all nodes, one-hot."""
    POINTER = "pointer"
    """The index of a node."""
    SHOULD_BE_PERMUTATION = "should_be_permutation"
    """Pointers that chain the nodes in order, the first to itself."""
    PERMUTATION_POINTER = "permutation_pointer"
    """Such a chain closed to a cycle, as a matrix with a single 1 in every row and column."""
    GATED_SCALAR = "gated_scalar"
    """A real number that a net keeps unless a gate opens: how nets may see scalar hints."""


SCALARS = (Kind.SCALAR, Kind.GATED_SCALAR)
"""Real numbers: their score is an error, not a share."""


@dataclass(frozen=True)
class Type:
    """Location and kind of a feature, and the number of classes if it is categorical."""

    location: Location
    kind: Kind
    classes: int = 0


@dataclass(frozen=True)
class _TypesAt:
    """The types that features at one location can have: `node.scalar`, `edge.mask`, ..."""

    location: Location

    @property
    def scalar(self) -> Type:
        return Type(self.location, Kind.SCALAR)

    @property
    def mask(self) -> Type:
        return Type(self.location, Kind.MASK)

    @property
    def mask_one(self) -> Type:
        return Type(self.location, Kind.MASK_ONE)

    @property
    def pointer(self) -> Type:
        return Type(self.location, Kind.POINTER)

    @property
    def should_be_permutation(self) -> Type:
        return Type(self.location, Kind.SHOULD_BE_PERMUTATION)

    def categorical(self, classes: int) -> Type:
        return Type(self.location, Kind.CATEGORICAL, classes)


node = _TypesAt(Location.NODE)
"""The types of features of nodes: `node.scalar`, `node.categorical(3)`, ..."""
edge = _TypesAt(Location.EDGE)
"""The types of features of pairs of nodes."""
graph = _TypesAt(Location.GRAPH)
"""The types of features of the whole graph."""

MASKED = -1
"""What marks an entry that does not count: in a mask, or in the last class of a categorical."""

_OF_NODES = (Kind.MASK_ONE, Kind.SHOULD_BE_PERMUTATION)
"""Kinds that are about all nodes at once."""
_AXES = {Location.NODE: 1, Location.EDGE: 2, Location.GRAPH: 0}


@dataclass(frozen=True)
class Feature:
    """One named quantity of an algorithm."""

    name: str
    stage: Stage
    location: Location
    kind: Kind
    classes: int = 0

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name.endswith("_"):
            raise ValueError(
                f"feature: got the name {self.name!r}, expected letters, digits and underscores, "
                "no digit first and no underscore last"
            )
        if self.kind in _OF_NODES and self.location != Location.NODE:
            raise ValueError(
                f"feature {self.name!r}: got {self.kind} at {self.location}, expected it at nodes"
            )
        if (self.kind == Kind.CATEGORICAL) != (self.classes > 1):
            raise ValueError(
                f"feature {self.name!r}: categorical features need 2 classes or more, others "
                f"have none, got kind {self.kind} with classes={self.classes}"
            )

    def shape(self, n: int) -> tuple[int, ...]:
        """The shape of one value of this feature on `n` nodes, as batches hold it."""
        dims = self.location.shape(n)
        if self.kind == Kind.CATEGORICAL:
            return (*dims, self.classes)
        if self.kind == Kind.PERMUTATION_POINTER:
            return (*dims, n)
        return dims

    def __str__(self) -> str:
        classes = f"({self.classes})" if self.classes else ""
        return f"{self.name}: {self.stage} {self.location} {self.kind}{classes}"


@dataclass(frozen=True, repr=False)
class Spec:
    """The features of an algorithm, in the order in which the benchmark lists them."""

    features: tuple[Feature, ...]

    def __post_init__(self) -> None:
        names = [feature.name for feature in self.features]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"a spec names each feature once, got {', '.join(repeated)} more than once"
            )

    @classmethod
    def of(
        cls,
        *,
        inputs: Mapping[str, Type],
        hints: Mapping[str, Type],
        outputs: Mapping[str, Type],
    ) -> Spec:
        """Build a spec from three mappings of names to types."""
        stages = ((Stage.INPUT, inputs), (Stage.HINT, hints), (Stage.OUTPUT, outputs))
        for name, type_ in {**inputs, **hints, **outputs}.items():
            if not isinstance(type_, Type):
                raise ValueError(
                    f"feature {name!r}: got {type_!r}, expected a type: node.scalar, ..."
                )
        return cls(
            tuple(
                Feature(name, stage, type_.location, type_.kind, type_.classes)
                for stage, types in stages
                for name, type_ in types.items()
            )
        )

    def at(self, stage: Stage) -> tuple[Feature, ...]:
        """The features of one stage."""
        return tuple(feature for feature in self.features if feature.stage == stage)

    @property
    def inputs(self) -> tuple[Feature, ...]:
        """The features that are given."""
        return self.at(Stage.INPUT)

    @property
    def hints(self) -> tuple[Feature, ...]:
        """The features that are watched."""
        return self.at(Stage.HINT)

    @property
    def outputs(self) -> tuple[Feature, ...]:
        """The features that are asked for."""
        return self.at(Stage.OUTPUT)

    @property
    def scored_by_error(self) -> bool:
        """Whether scores are errors, of whatever size, instead of shares: scalars have such."""
        return any(feature.kind == Kind.SCALAR for feature in self.outputs)

    def replaced(self, name: str, *features: Feature) -> Spec:
        """This spec with the feature called `name` replaced by `features`, in its place."""
        return Spec(
            tuple(
                new for old in self.features for new in (features if old.name == name else (old,))
            )
        )

    def moved(self, name: str, stage: Stage, *, to: str) -> Spec:
        """This spec with the feature `name` at another stage, under the name `to`."""
        return self.replaced(name, replace(self[name], name=to, stage=stage))

    def __getitem__(self, name: str) -> Feature:
        for feature in self.features:
            if feature.name == name:
                return feature
        raise KeyError(name)

    def __contains__(self, name: str) -> bool:
        return any(feature.name == name for feature in self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        return f"Spec({', '.join(map(str, self.features))})"
