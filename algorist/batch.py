"""A batch: the inputs, watched steps and outputs of several runs of one algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorist.spec import Spec, Stage

_LENGTHS = "lengths"


@dataclass(frozen=True, repr=False)
class Batch:
    """Named arrays that fit a spec.

    Inputs and outputs have shape (batch, ...), hints (time, batch, ...): time comes first. Hints
    are zero past the length of their run. Masks, one-hot kinds and pointers are small integers,
    scalars are floats.
    """

    spec: Spec
    inputs: Mapping[str, np.ndarray]
    hints: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    lengths: np.ndarray
    """The number of steps of each run, at least 1."""
    algorithm: str | None = None
    """The name of the algorithm; None: it is not known."""

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        name = self.algorithm or f"outputs {', '.join(self.outputs)}"
        return f"Batch({name}: {len(self)} samples, {self.n} nodes, {self.steps} steps)"

    def _repr_html_(self) -> str:
        from algorist.notebooks import batch_table

        return batch_table(self)

    def to(self, device: Any) -> Batch:
        """The same batch with torch tensors, on a device; scalars in single precision."""
        import torch

        return self.single_precision().map(lambda array: torch.as_tensor(array).to(device))

    def numpy(self) -> Batch:
        """The same batch with NumPy arrays."""
        return self.map(lambda x: x if isinstance(x, np.ndarray) else x.detach().cpu().numpy())

    def map(self, function: Callable[[Any], Any]) -> Batch:
        """The same batch with a function applied to each of its arrays."""
        inputs, hints, outputs = (
            {name: function(array) for name, array in arrays.items()}
            for arrays in (self.inputs, self.hints, self.outputs)
        )
        return Batch(self.spec, inputs, hints, outputs, function(self.lengths), self.algorithm)

    @property
    def n(self) -> int:
        """The number of nodes."""
        return int(self.inputs["pos"].shape[1])

    @property
    def steps(self) -> int:
        """The number of steps that the hints hold: the longest run's, unless padded further."""
        return next(iter(self.hints.values())).shape[0] if self.hints else int(self.lengths.max())

    def at(self, stage: Stage) -> Mapping[str, np.ndarray]:
        """The arrays of one stage."""
        return {Stage.INPUT: self.inputs, Stage.HINT: self.hints, Stage.OUTPUT: self.outputs}[stage]

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it by name, as files have it: `input/...`, `hint/...`, `output/...`, `lengths`."""
        named = {f"{stage}/{name}": a for stage in Stage for name, a in self.at(stage).items()}
        return {**named, _LENGTHS: self.lengths}

    @classmethod
    def from_arrays(cls, spec: Spec, named: Mapping[str, np.ndarray]) -> Batch:
        """The batch of the given spec whose `arrays` were these."""
        inputs, hints, outputs = (
            {feature.name: named[f"{stage}/{feature.name}"] for feature in spec.at(stage)}
            for stage in Stage
        )
        return cls(spec, inputs, hints, outputs, named[_LENGTHS])

    def take(self, indices: np.ndarray) -> Batch:
        """The batch of the given samples, cut to the longest of them."""
        lengths = self.lengths[indices]
        steps = int(lengths.max())
        return Batch(
            self.spec,
            {name: array[indices] for name, array in self.inputs.items()},
            {name: array[:steps, indices] for name, array in self.hints.items()},
            {name: array[indices] for name, array in self.outputs.items()},
            lengths,
            self.algorithm,
        )

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """The samples of batches of one spec and size, one batch after the other."""
        first = batches[0]
        return cls(
            first.spec,
            {name: np.concatenate([b.inputs[name] for b in batches]) for name in first.inputs},
            {name: side_by_side([b.hints[name] for b in batches], 1) for name in first.hints},
            {name: np.concatenate([b.outputs[name] for b in batches]) for name in first.outputs},
            np.concatenate([b.lengths for b in batches]),
            first.algorithm,
        )

    def single_precision(self) -> Batch:
        """The same batch with scalars in float32, as models read them."""

        return self.map(lambda x: x.astype(np.float32) if x.dtype == np.float64 else x)


def side_by_side(series: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Arrays (T, ...) of different lengths, padded with zeros and joined along another axis."""
    steps = max(map(len, series))
    padded = [np.pad(x, ((0, steps - len(x)), *((0, 0),) * (x.ndim - 1))) for x in series]
    return np.concatenate(padded, axis)
