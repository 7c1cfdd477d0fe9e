"""Transfer: a net that starts from the processor of another one (`processor_from`)."""

from __future__ import annotations

from dataclasses import asdict

import torch

from algorist.model.net import Net
from algorist.plugins import shell
from algorist.training.saved_learners import load


def load_processor(net: Net, source: str) -> None:
    """Start from a saved processor: the same for all seeds, or each from its own."""
    given = load(source, net.device).net
    if given.replicas not in (1, net.replicas):
        raise ValueError(
            f"processor_from: {source} has {given.replicas} replicas, "
            f"expected 1 or as many as there are seeds, {net.replicas}; one alone: "
            f"{shell('export', source, 'FILE', '--seed', 'N')}"
        )
    if _kind_of_processor(given) != _kind_of_processor(net):
        here = asdict(net.config)
        differences = [
            f"{name} is {there} there and {here[name]} here"
            for name, there in asdict(given.config).items()
            if there != here[name]
        ]
        raise ValueError(
            f"processor_from: {source} has another kind of processor: {', '.join(differences)}"
        )
    wanted = net.processor.state_dict()
    values = given.processor.state_dict().items()
    net.processor.load_state_dict({name: x.expand_as(wanted[name]) for name, x in values})


def _kind_of_processor(net: Net) -> tuple[str, dict[str, torch.Size]]:
    """Its name and the shapes of one replica's weights."""
    weights = net.processor.state_dict().items()
    return net.config.processor, {name: value.shape[1:] for name, value in weights}
