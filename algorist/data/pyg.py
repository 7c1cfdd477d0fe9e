"""Converters from and to the `Data` objects of PyTorch Geometric.

    >>> from algorist.data import official, pyg
    >>> batch = official.generate("bfs", n=8, count=4, seed=0)
    >>> loader = torch_geometric.loader.DataLoader(pyg.to_data(batch))  # doctest: +SKIP

A `Data` has the features of one sample as `input_<name>`, `hint_<name>` and `output_<name>`, the
number of its steps as `length`, and `edge_index`. The first axis of a feature is that of nodes, of
edges, or of length 1 for features of the graph, as PyTorch Geometric joins graphs along it; the
second axis of hints is time. Pointers are numbers of nodes in the sample itself, in joined graphs
too.

The edges are those of the problem's graph, with a self-loop at each node. They are all pairs of
nodes where the algorithm has no graph, or watches or asks for something on all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from algorist.algorithms import Algorithm
from algorist.batch import Batch
from algorist.data.dm_clrs import as_held, spec_of
from algorist.errors import format_count
from algorist.extras import extra
from algorist.spec import Feature, Location, Spec, Stage


def to_data(batch: Batch) -> list[Any]:
    """A `torch_geometric.data.Data` for each sample of a batch; hints are padded to its longest."""
    import torch

    for feature in batch.spec:
        if "index" in feature.name or "batch" in feature.name:
            raise ValueError(
                f"{feature.name}: PyTorch Geometric changes what is called so when it joins "
                "graphs, expected another name"
            )
    data = extra("torch_geometric.data", "PyTorch Geometric", "pip install torch_geometric")
    return [
        data.Data(
            num_nodes=batch.n,
            **{name: torch.from_numpy(array) for name, array in _arrays(batch, sample).items()},
        )
        for sample in range(len(batch))
    ]


def from_data(data: Any, algorithm: str | Algorithm | Spec) -> Batch:
    """The batch of one `Data` that `to_data` made, or of several of the same size."""
    several = data if isinstance(data, Sequence) else [data]
    if not several:
        raise ValueError("data: got none, expected one or more")
    return Batch.joined([_from_one(one, spec_of(algorithm)) for one in several])


def _arrays(batch: Batch, sample: int) -> dict[str, np.ndarray]:
    """The attributes of a `Data`."""
    edges = _edges(batch, sample)
    arrays = {"edge_index": np.stack(edges), "length": batch.lengths[sample : sample + 1]}
    for feature in batch.spec:
        values = batch.at(feature.stage)[feature.name]
        if feature.stage == Stage.HINT:
            axes = len(feature.location.shape(0))
            one = np.moveaxis(values[:, sample], 0, axes)  # behind those of nodes
        else:
            one = values[sample]
        if feature.location == Location.EDGE:
            one = one[edges]
        elif feature.location == Location.GRAPH:
            one = one[None]
        arrays[_name(feature)] = np.array(one)
    return arrays


def _edges(batch: Batch, sample: int) -> tuple[np.ndarray, ...]:
    spec = batch.spec
    on_pairs = any(f.location == Location.EDGE for f in (*spec.hints, *spec.outputs))
    if "adj" not in batch.inputs or on_pairs:
        return np.nonzero(np.ones((batch.n, batch.n)))
    return np.nonzero(batch.inputs["adj"][sample])


def _numpy(values: Any) -> np.ndarray:
    """A tensor, also of a GPU, as an array."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def _name(feature: Feature) -> str:
    return f"{feature.stage}_{feature.name}"


def _from_one(data: Any, spec: Spec) -> Batch:
    n = int(data.num_nodes)
    edges = tuple(_numpy(data.edge_index))
    stages: dict[Stage, dict[str, np.ndarray]] = {stage: {} for stage in Stage}
    for feature in spec:
        if getattr(data, _name(feature), None) is None:
            names = ", ".join(map(_name, spec))
            raise ValueError(f"data: got no {_name(feature)}, expected {names}")
        values = _numpy(getattr(data, _name(feature)))
        if feature.location == Location.EDGE:
            dense = np.zeros((n, n, *values.shape[1:]), values.dtype)
            dense[edges] = values
            values = dense
        elif feature.location == Location.GRAPH:
            values = values[0]
        if feature.stage == Stage.HINT:
            values = np.moveaxis(values, len(feature.location.shape(0)), 0)
            expected = (len(values), *feature.shape(n))
        else:
            expected = feature.shape(n)
        if values.shape != expected:
            got = f"{values.shape} for {format_count(n, 'node')}"
            raise ValueError(f"{_name(feature)}: got the shape {got}, expected {expected}")
        axis = 1 if feature.stage == Stage.HINT else 0
        stages[feature.stage][feature.name] = as_held(feature, np.expand_dims(values, axis))
    lengths = _numpy(data.length).reshape(1).astype(np.int64)
    return Batch(spec, stages[Stage.INPUT], stages[Stage.HINT], stages[Stage.OUTPUT], lengths)
