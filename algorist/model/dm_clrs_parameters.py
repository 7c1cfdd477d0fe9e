"""Parameters of dm-clrs: read from its checkpoints, and matched to those of a `Net` by name.

dm-clrs keeps a nested dictionary of arrays, {module: {name: array}}, and numbers modules in the
order in which they are created. The tables below say which layer has which number.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from algorist.model.kinds import row
from algorist.model.net import Net
from algorist.model.processors import Attention, Memory, MessagePassing
from algorist.spec import Kind, Location

_CODERS = "net/~_construct_encoders_decoders"


class ParameterEntry(NamedTuple):
    """A parameter of `Net`, and the one or two of dm-clrs that it is made of.

    Two weights are concatenated along the inputs, two biases are added.
    """

    ours: str
    theirs: tuple[str, ...]

    def gather(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The parameter of one replica, from the arrays of dm-clrs by name."""
        parts = [np.asarray(arrays[name]) for name in self.theirs]
        return np.concatenate(parts) if self.theirs[0].endswith("/w") else np.sum(parts, 0)


def entries(net: Net) -> Iterator[ParameterEntry]:
    """The names that all parameters of a net have in dm-clrs, with tasks numbered in its order."""
    for index, (algorithm, spec) in enumerate(net.specs.items()):
        for feature in net.encoded_features(spec):
            theirs = [f"{_CODERS}/algo_{index}_{feature.name}_enc_linear"]
            if (feature.location, feature.kind) == (Location.EDGE, Kind.POINTER):
                theirs.append(f"{theirs[0]}_1")
            yield from _linear(f"encoders.{algorithm}.{feature.name}", *theirs)
        for feature in net.decoded_features(spec):
            linear = f"{_CODERS}/algo_{index}_{feature.name}_dec_linear"
            for number, name in enumerate(row(feature).decoder_type.layer_inputs):
                ours = f"decoders.{algorithm}.{feature.name}.{name}"
                yield from _linear(ours, _numbered(linear, number))
    yield from _processor_entries(net.processor)
    if net.lstm is not None:
        yield from _linear("lstm.gates", "net/processor_lstm/linear")


def _linear(ours: str, *theirs: str, bias: bool = True) -> Iterator[ParameterEntry]:
    yield ParameterEntry(f"{ours}.weight", tuple(f"{name}/w" for name in theirs))
    if bias:
        yield ParameterEntry(f"{ours}.bias", tuple(f"{name}/b" for name in theirs))


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number else name


def _processor_entries(processor: nn.Module) -> Iterator[ParameterEntry]:
    match processor:
        case MessagePassing():
            module = "net/mpnn_aggr_clrs_processor"
            names = ["receiver", "sender", "edge", "graph", "self_projection", "update"]
            if processor.triplet_features:
                names += [f"triplet_nodes.{i}" for i in range(3)]
                names += [f"triplet_edges.{i}" for i in range(3)]
                names += ["triplet_graph", "triplet_projection"]
            if processor.gated:
                names += ["gate_state", "gate_message", "gate"]
            yield from _linear("processor.first", f"{module}/mlp/~/linear_0")
            yield from _linear("processor.second", f"{module}/mlp/~/linear_1")
        case Attention():
            module = f"net/gat{'v2' if processor.dynamic else ''}_aggr_clrs_processor"
            names = ["value", "skip", "first", "second", "edge", "graph"]
            if processor.dynamic:
                names += [f"scores.{i}" for i in range(processor.heads)]
        case Memory():
            yield from _memory_entries("net/memnet_clrs_processor")
            return
        case _:
            raise ValueError(f"dm-clrs has no processor like {type(processor).__name__}")
    for number, name in enumerate(names):
        yield from _linear(f"processor.{name}", _numbered(f"{module}/linear", number))
    if processor.norm is not None:
        for name in ("scale", "offset"):
            yield ParameterEntry(f"processor.norm.{name}", (f"{module}/layer_norm/{name}",))


def _memory_entries(module: str) -> Iterator[ParameterEntry]:
    tables = {
        "query_words": "query_biases",
        "story_words": "stories_biases",
        "answer_words": "output_biases",
        "slots": "memory_contents",
    }
    for ours, theirs in tables.items():
        yield ParameterEntry(f"processor.{ours}", (f"{module}/{theirs}",))
    yield from _linear("processor.inner", f"{module}/~_apply/linear_1", bias=False)
    yield from _linear("processor.outer", f"{module}/~_apply/linear_2", bias=False)


def import_parameters(net: Net, parameters: Mapping[str, Any], replica: int = 0) -> None:
    """Copy parameters of dm-clrs, nested or flat ("module/name"), into one replica of a net.

    Raises a `ValueError` if parameters are missing, left over or of another shape.
    """
    flat = dict(_flattened(parameters))
    own = dict(net.named_parameters())
    used: set[str] = set()
    for entry in entries(net):
        missing = [name for name in entry.theirs if name not in flat]
        if missing:
            raise ValueError(f"the parameters lack {missing[0]}, which {entry.ours} is made of")
        value = torch.as_tensor(entry.gather(flat))
        if value.shape != own[entry.ours].shape[1:]:
            raise ValueError(
                f"{entry.theirs[0]}: got shape {tuple(value.shape)}, "
                f"expected {tuple(own[entry.ours].shape[1:])} for {entry.ours}"
            )
        with torch.no_grad():
            own[entry.ours][replica] = value
        used.update(entry.theirs)
    if left := sorted(set(flat) - used):
        raise ValueError(
            f"the net has no place for {len(left)} parameters, such as {left[0]}; "
            "expected those of a net with the same processor, algorithms and features"
        )


def _flattened(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", np.asarray(value)


class _Refused(ValueError):
    """A pickle holds something other than arrays and containers."""


class _ArraysOnly(pickle.Unpickler):
    """Reads pickles that hold nothing but containers, numbers and NumPy arrays."""

    _ALLOWED = frozenset(
        {("numpy", "ndarray"), ("numpy", "dtype")}
        | {
            (f"numpy.{core}.{module}", name)
            for core in ("core", "_core")
            for module, name in (
                ("multiarray", "_reconstruct"),
                ("multiarray", "scalar"),
                ("numeric", "_frombuffer"),
            )
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise _Refused(
                f"the file holds a {module}.{name}, expected only dictionaries of NumPy arrays; "
                "convert its arrays with numpy.asarray before pickling"
            )
        return super().find_class(module, name)


def read_pickle(path: Path | str) -> dict[str, Any]:
    """The parameters in a checkpoint file of dm-clrs; nothing in it is executed."""
    content = Path(path).read_bytes()
    try:
        content = _ArraysOnly(io.BytesIO(content)).load()
    except _Refused:
        raise
    except Exception as error:  # damaged pickles fail in many ways
        raise ValueError(f"{path}: not a readable pickle ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: got a {type(content).__name__}, expected a dictionary")
    return dict(content.get("params", content))
