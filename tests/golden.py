"""Replay of the recorded networks of dm-clrs: the same parameters, the same batch, our net."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from algorist.batch import Batch
from algorist.model import dm_clrs_parameters
from algorist.model.losses import feature_losses
from algorist.model.make_window import make_window
from algorist.model.net import ModelConfig, Net
from algorist.spec import Feature, Kind, Spec


def read(path: str | Path) -> tuple[dict, dict[str, np.ndarray]]:
    """The description and the arrays of a golden file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(str(arrays.pop("meta"))), arrays


def batch_of(meta: dict, arrays: dict[str, np.ndarray]) -> Batch:
    """The recorded batch, with its spec."""
    features = []
    for name, (stage, location, kind) in meta["spec"].items():
        array = arrays[f"batch/{stage}/{name}"]
        classes = array.shape[-1] if kind == Kind.CATEGORICAL else 0
        features.append(Feature(name, stage, location, kind, classes))
    values = {
        stage: {f.name: arrays[f"batch/{stage}/{f.name}"] for f in features if f.stage == stage}
        for stage in ("input", "hint", "output")
    }
    return Batch(
        Spec(tuple(features)),
        values["input"],
        values["hint"],
        values["output"],
        arrays["batch/lengths"],
    ).single_precision()


def net_of(meta: dict, arrays: dict[str, np.ndarray], spec: Spec) -> Net:
    """Our net with the recorded parameters."""
    config = ModelConfig(
        processor=meta["processor"],
        hidden=meta["hidden"],
        heads=meta["heads"],
        triplet_features=meta["triplet_features"],
        layer_norm=meta["layer_norm"],
        use_lstm=meta.get("use_lstm", False),
        message_passing_steps=meta.get("nb_msg_passing_steps", 1),
    )
    net = Net({meta["algorithm"]: spec}, config)
    parameters = {
        k.removeprefix("params/"): v for k, v in arrays.items() if k.startswith("params/")
    }
    dm_clrs_parameters.import_parameters(net, parameters)
    return net


def replay(path: str | Path, device: str = "cpu") -> dict[str, np.ndarray]:
    """What our net computes where the file records predictions, losses and gradients."""
    meta, arrays = read(path)
    batch = batch_of(meta, arrays)
    net = net_of(meta, arrays, batch.spec).to(device)
    forced = np.full((batch.steps - 1, 1, len(batch)), meta["teacher_forcing"] == 1.0)
    window = make_window([batch]).with_forced(forced).to(device)
    rollout = net.rollout(meta["algorithm"], window)
    parts = feature_losses(batch.spec, rollout, window)
    total = sum(parts.values())
    total.sum().backward()

    result = {f"pred/hint/{k}": v[:, 0].detach().cpu().numpy() for k, v in rollout.hints.items()}
    result |= {f"pred/output/{k}": v[0].detach().cpu().numpy() for k, v in rollout.outputs.items()}
    result |= {
        f"loss/{batch.spec[k].stage}/{k}": v[0].detach().cpu().numpy() for k, v in parts.items()
    }
    result["loss/total"] = total[0].detach().cpu().numpy()
    gradients = {name: p.grad for name, p in net.named_parameters()}
    for entry in dm_clrs_parameters.entries(net):
        gradient = gradients[entry.ours]
        if gradient is None:
            gradient = torch.zeros_like(net.get_parameter(entry.ours))
        theirs = scattered(entry, gradient[0].cpu().numpy())
        result |= {f"grads/{name}": value for name, value in theirs.items()}
    return result


def scattered(entry, array):
    """Values of our parameter, of one replica, as those of each of dm-clrs.

    Weights one below the other are cut. Biases that are added have the gradient of their sum.
    """
    if entry.theirs[0].endswith("/w"):
        return dict(zip(entry.theirs, np.split(array, len(entry.theirs)), strict=True))
    return dict.fromkeys(entry.theirs, array)
