"""Converters from and to the objects of dm-clrs.

    >>> from algorist.data import dm_clrs, official
    >>> batch = official.generate("bfs", n=8, count=4, seed=0)
    >>> feedback = dm_clrs.to_feedback(batch)  # doctest: +SKIP
    >>> dm_clrs.from_feedback(feedback)  # doctest: +SKIP

To read its objects nothing of dm-clrs is imported: anything with the same attributes will do. To
make them it must be installed. Values are the same on both sides; ours are kept as small integers
where theirs are floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm, declared
from algorist.algorithms.frames import INT
from algorist.batch import Batch
from algorist.errors import shorten
from algorist.extras import extra
from algorist.spec import Feature, Kind, Location, Spec, Stage

_POINTERS = (Kind.POINTER, Kind.SHOULD_BE_PERMUTATION)


def from_feedback(feedback: Any) -> Batch:
    """The batch of a `Feedback`: what a sampler's `next` returns, also after its transforms.

    The spec is read from the data points. Chunks (`chunkify`) are refused: convert what they are
    made of.
    """
    if not hasattr(feedback, "features") or not hasattr(feedback, "outputs"):
        raise ValueError(
            f"feedback: got {shorten(feedback)}, expected a Feedback: (features, outputs)"
        )
    return _batch(feedback.features, feedback.outputs)


def to_feedback(batch: Batch) -> Any:
    """The `clrs.Feedback` of a batch."""
    return _package().Feedback(to_features(batch), _points(batch, Stage.OUTPUT))


def from_features(features: Any) -> Batch:
    """The batch of `Features`, without outputs."""
    return _batch(features, ())


def to_features(batch: Batch) -> Any:
    """The `clrs.Features` of a batch: all but its outputs."""
    inputs, hints = _points(batch, Stage.INPUT), _points(batch, Stage.HINT)
    return _package().Features(inputs, hints, batch.lengths.astype(np.float64))


def from_data_point(point: Any, stage: Stage | str) -> tuple[Feature, np.ndarray]:
    """The feature of a `DataPoint` and its values, (batch, ...) or, at the stage hint, (time, ...).

    dm-clrs keeps the stage of a point beside it, so it must be given: input, hint or output.
    """
    try:
        name, location, kind, data = point.name, point.location, point.type_, point.data
    except AttributeError:
        message = f"got {shorten(point)}, expected a DataPoint: name, location, type_, data"
        raise ValueError(f"data point: {message}") from None
    data = np.asarray(data)
    classes = data.shape[-1] if kind == Kind.CATEGORICAL else 0
    feature = Feature(name, Stage(stage), Location(location), Kind(kind), classes)
    return feature, as_held(feature, data)


def to_data_point(feature: Feature, values: np.ndarray) -> Any:
    """The `clrs.DataPoint` of a feature."""
    is_index = feature.kind in _POINTERS and feature.stage != Stage.HINT
    data = values.astype(np.int64 if is_index else np.float64)
    return _package().DataPoint(feature.name, str(feature.location), str(feature.kind), data)


def from_samples(samples: Mapping[str, Any], algorithm: str | Algorithm | Spec) -> Batch:
    """The batch of samples as the dataset of dm-clrs has them, before they become a `Feedback`.

    Their keys are `input_<name>`, `hint_<name>`, `output_<name>` and `lengths`. The batch is the
    first axis, of hints too; a single sample has no such axis.
    """
    spec = spec_of(algorithm)
    expected = [f"{feature.stage}_{feature.name}" for feature in spec]
    for key in (*expected, "lengths"):
        if key not in samples:
            raise ValueError(f"samples: got no {key!r}, expected {', '.join(expected)}, lengths")
    arrays = {key: np.asarray(value) for key, value in samples.items()}
    if arrays["lengths"].ndim == 0:
        arrays = {key: value[None] for key, value in arrays.items()}
    stages: dict[Stage, dict[str, np.ndarray]] = {stage: {} for stage in Stage}
    for feature, key in zip(spec, expected, strict=True):
        values = arrays[key].swapaxes(0, 1) if feature.stage == Stage.HINT else arrays[key]
        stages[feature.stage][feature.name] = as_held(feature, values)
    return _checked(spec, stages, arrays["lengths"])


def to_samples(batch: Batch) -> dict[str, np.ndarray]:
    """The samples of a batch as the dataset of dm-clrs has them; see `from_samples`."""
    samples = {
        f"{stage}_{name}": np.array(values.swapaxes(0, 1) if stage == Stage.HINT else values)
        for stage in Stage
        for name, values in batch.at(stage).items()
    }
    return {**samples, "lengths": batch.lengths.astype(np.float64)}


def spec_of(algorithm: str | Algorithm | Spec) -> Spec:
    """A spec that is given by itself, by its algorithm or by that one's name."""
    return algorithm if isinstance(algorithm, Spec) else declared(algorithm).spec


def as_held(feature: Feature, values: np.ndarray) -> np.ndarray:
    """Values of a feature in the type in which batches hold them; others than whole are refused."""
    if feature.kind == Kind.SCALAR:
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    held = values.astype(INT if feature.kind in _POINTERS else np.int8)
    if not np.array_equal(held, values):
        raise ValueError(
            f"{feature.name}: got {shorten(values.ravel()[:5])}, ..., expected whole numbers: "
            f"it is a {feature.kind}"
        )
    return held


def _batch(features: Any, outputs: Iterable[Any]) -> Batch:
    if hasattr(features, "is_first"):
        raise ValueError("features: got chunks, expected whole trajectories: convert these")
    points = {Stage.HINT: features.hints, Stage.INPUT: features.inputs, Stage.OUTPUT: outputs}
    found = [from_data_point(point, stage) for stage in Stage for point in points[stage]]
    stages: dict[Stage, dict[str, np.ndarray]] = {stage: {} for stage in Stage}
    for feature, values in found:
        stages[feature.stage][feature.name] = values
    return _checked(Spec(tuple(feature for feature, _ in found)), stages, features.lengths)


def _checked(spec: Spec, stages: dict[Stage, dict[str, np.ndarray]], lengths: Any) -> Batch:
    """The batch of arrays whose shapes agree."""
    lengths = np.asarray(lengths).astype(np.int64)
    inputs, hints, outputs = (stages[stage] for stage in Stage)
    if "pos" not in inputs:
        raise ValueError("inputs: got no 'pos', expected it among them")
    n, steps = inputs["pos"].shape[-1], int(lengths.max())
    steps = max([steps, *(len(values) for values in hints.values())])
    for feature in spec:
        leading = (steps, len(lengths)) if feature.stage == Stage.HINT else (len(lengths),)
        expected = (*leading, *feature.shape(n))
        got = stages[feature.stage][feature.name].shape
        if got != expected:
            raise ValueError(f"{feature.name}: got shape {got}, expected {expected}")
    return Batch(spec, inputs, hints, outputs, lengths)


def _points(batch: Batch, stage: Stage) -> list[Any]:
    return [to_data_point(f, batch.at(stage)[f.name]) for f in batch.spec.at(stage)]


def _package() -> Any:
    return extra("clrs", "dm-clrs", "pip install dm-clrs")
