"""Transforms: changes of how the data is put to a learner, for spec and batch together.

`standard_transforms` names those that an algorithm has in the paper.

    >>> import algorist
    >>> chosen = standard_transforms(algorist.get("minimum"))
    >>> "pred" in transform_spec(chosen, algorist.get("minimum").spec)
    True
    >>> batch = apply_transforms(chosen, algorist.data.official.split("minimum", "val"))
    >>> list(batch.inputs)
    ['pos', 'key', 'pred']
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from algorist.algorithms import Algorithm
from algorist.batch import Batch
from algorist.data.stream import Purpose, Source, key
from algorist.spec import Feature, Kind, Location, Spec, Stage


class Transform(Protocol):
    """A change of spec and batch: `batch` fits `spec` of the spec that it fitted before."""

    def spec(self, spec: Spec) -> Spec:
        """The changed spec."""
        ...

    def batch(self, batch: Batch, step: int) -> Batch:
        """The changed batch; what is random depends on the step alone."""
        ...


@dataclass(frozen=True)
class RandomPositions:
    """Random `pos` for every sample, ascending within each string: for training alone."""

    seed: int
    algorithm: str

    def spec(self, spec: Spec) -> Spec:
        """The spec as it is."""
        return spec

    def batch(self, batch: Batch, step: int) -> Batch:
        """The batch with other positions."""
        pos = batch.inputs["pos"]  # (B, N)
        rng = np.random.RandomState(key(self.seed, self.algorithm, step, Purpose.POSITIONS))
        drawn = rng.uniform(size=pos.shape)
        string = batch.inputs.get("string", np.zeros_like(pos))
        order = np.lexsort((drawn, string), axis=-1)  # by string, then by number
        ascending = np.take_along_axis(drawn, order, -1).astype(pos.dtype)
        return replace(batch, inputs={**batch.inputs, "pos": ascending})


@dataclass(frozen=True)
class StaticHint:
    """A hint that never changes becomes an input, named without its `_h`."""

    hint: str
    algorithm: str = ""
    """The name of the algorithm, for messages."""

    @property
    def input(self) -> str:
        """The name of the input."""
        return self.hint.removesuffix("_h")

    def spec(self, spec: Spec) -> Spec:
        """The spec with the hint among the inputs."""
        return spec.moved(self.hint, Stage.INPUT, to=self.input)

    def batch(self, batch: Batch, step: int) -> Batch:
        """The batch with the hint's first step among the inputs."""
        hints = dict(batch.hints)
        watched = hints.pop(self.hint)  # (T, B, ...)
        differs = (watched != watched[0]).reshape(*watched.shape[:2], -1).any(-1)
        if (differs & (np.arange(len(watched))[:, None] < batch.lengths)).any():
            whose = f"{self.algorithm}: " if self.algorithm else ""
            raise ValueError(f"{whose}{self.hint}: got a hint that changes, expected a static one")
        inputs = {**batch.inputs, self.input: watched[0]}
        return replace(batch, spec=self.spec(batch.spec), inputs=inputs, hints=hints)


@dataclass(frozen=True)
class Permutations:
    """Outputs that chain the nodes in order become permutation matrices.

    The chain's first node, which points to itself, is rewired to the last; `<name>_mask` says which
    it was. Such features at other stages become plain pointers.
    """

    def spec(self, spec: Spec) -> Spec:
        """The spec with two features for every output chain."""
        for feature in _chains(spec.outputs):
            matrix = replace(feature, kind=Kind.PERMUTATION_POINTER)
            mask = Feature(mask_of(feature), Stage.OUTPUT, Location.NODE, Kind.MASK_ONE)
            spec = spec.replaced(feature.name, matrix, mask)
        return PlainPointers().spec(spec)

    def batch(self, batch: Batch, step: int) -> Batch:
        """The batch with a matrix and a mask for every output chain."""
        outputs = dict(batch.outputs)
        for feature in _chains(batch.spec.outputs):
            outputs[feature.name], outputs[mask_of(feature)] = _closed(outputs[feature.name])
        return replace(batch, spec=self.spec(batch.spec), outputs=outputs)


@dataclass(frozen=True)
class PlainPointers:
    """Chains of nodes are pointers like all others."""

    def spec(self, spec: Spec) -> Spec:
        """The spec with another kind for every chain."""
        for feature in _chains(spec.features):
            spec = spec.replaced(feature.name, replace(feature, kind=Kind.POINTER))
        return spec

    def batch(self, batch: Batch, step: int) -> Batch:
        """The same arrays under the other spec."""
        return replace(batch, spec=self.spec(batch.spec))


@dataclass(frozen=True)
class GatedScalars:
    """Scalar hints become gated ones: the numbers stay, nets predict them in another way."""

    def spec(self, spec: Spec) -> Spec:
        """The spec with another kind for every scalar hint."""
        for feature in spec.hints:
            if feature.kind == Kind.SCALAR:
                spec = spec.replaced(feature.name, replace(feature, kind=Kind.GATED_SCALAR))
        return spec

    def batch(self, batch: Batch, step: int) -> Batch:
        """The same arrays under the other spec."""
        return replace(batch, spec=self.spec(batch.spec))


def standard_transforms(
    algorithm: Algorithm,
    *,
    static_hint: bool = True,
    permutations: bool = True,
    gated_scalars: bool = False,
) -> tuple[Transform, ...]:
    """The transforms of an algorithm, for training and evaluation alike; those of the paper, unless
    told otherwise."""
    static = algorithm.static_hint if static_hint else None
    moved = (StaticHint(static, algorithm.name),) if static else ()
    gated = (GatedScalars(),) if gated_scalars else ()
    return (*moved, Permutations() if permutations else PlainPointers(), *gated)


def transform_spec(transforms: Iterable[Transform], spec: Spec) -> Spec:
    """A spec after all transforms, in their order."""
    for transform in transforms:
        spec = transform.spec(spec)
    return spec


def apply_transforms(transforms: Iterable[Transform], batch: Batch, step: int = 0) -> Batch:
    """A batch after all transforms, in their order."""
    for transform in transforms:
        batch = transform.batch(batch, step)
    return batch


class Transformed:
    """A source whose batches are transformed."""

    def __init__(self, source: Source, transforms: Iterable[Transform]):
        self._source, self._transforms = source, tuple(transforms)
        self.sizes = source.sizes
        self.spec = transform_spec(self._transforms, source.spec)

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        return apply_transforms(self._transforms, self._source.batch(step), step)


def _chains(features: Iterable[Feature]) -> list[Feature]:
    return [feature for feature in features if feature.kind == Kind.SHOULD_BE_PERMUTATION]


def mask_of(feature: Feature) -> str:
    """The name of the mask of the first nodes of a sorted order."""
    return f"{feature.name}_mask"


def _closed(pointers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Chains (B, N) as permutation matrices (B, N, N), and a mask (B, N) of the first nodes."""
    nodes = np.arange(pointers.shape[-1], dtype=pointers.dtype)
    first = pointers == nodes
    matrix = pointers[..., None] == nodes
    last = matrix.sum(-2) == first  # nobody points to it, but perhaps itself
    matrix = np.where(first[..., None], last[..., None, :], matrix)
    return matrix.astype(np.int8), first.astype(np.int8)
