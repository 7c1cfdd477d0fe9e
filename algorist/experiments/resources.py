"""The resources of a sweep: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from algorist.experiments.cluster import Cluster
from algorist.experiments.gpu_sharing import memory_limits
from algorist.experiments.jobs import Job
from algorist.experiments.processes import Backend, Processes
from algorist.experiments.run_requests import RunRequest
from algorist.machine import cores as cores_here
from algorist.machine import find_device
from algorist.model.compute_config import ComputeConfig
from algorist.plugins import loaded_plugins
from algorist.version import __version__

_CORES, _CORES_WITH_GPU = 1, 4
_DEVICES_OF_CLUSTERS = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Resources:
    """The backend that trains runs, and the device and cores of each run."""

    backend: Backend
    computing: Mapping[str, Any]
    cores: int
    """The cores of each run."""

    @property
    def on_gpu(self) -> bool:
        """Whether runs are computed by GPUs."""
        return str(self.computing["device"]).startswith("cuda")

    def request(self, job: Job, runs: Path, samples: int | None) -> RunRequest:
        """The request to train the run of a job."""
        return RunRequest.of(
            job,
            runs,
            samples=samples,
            computing=self.computing,
            cores=self.cores,
            plugins=tuple(loaded_plugins()),
            version=__version__,
        )


def find_resources(
    computing: ComputeConfig,
    device: str,
    count: int,
    *,
    ray: str | None = None,
    cores: int | None = None,
    per_gpu: int = 1,
    at_once: int | None = None,
) -> Resources:
    """The resources for `count` runs on a device, here or on the cluster at the address `ray`.

    Raises a ValueError for a cluster that cannot be reached or has no room, and for a certain GPU
    on a cluster, since that is for it to choose.
    """
    cluster = _cluster(ray, device)
    how = asdict(replace(computing, device=_device(device, cluster)))
    on_gpu = how["device"].startswith("cuda")
    each = cores or (_CORES_WITH_GPU if on_gpu else _CORES)
    if on_gpu and not how["workers"]:
        how["workers"] = each
    if cluster is not None:
        cluster.reserve(each, 1 / per_gpu if on_gpu else 0, at_once)
        return Resources(cluster, how, each)
    devices = _devices(how["device"])
    room = len(devices) * per_gpu if on_gpu else max(1, cores_here() // each)
    shares = memory_limits(per_gpu) if on_gpu and per_gpu > 1 else {}
    return Resources(Processes(min(at_once or room, count), devices, shares), how, each)


def _cluster(ray: str | None, device: str) -> Cluster | None:
    """The machines that are to do the runs, if it is not this one."""
    if ray is None:
        return None
    if device not in _DEVICES_OF_CLUSTERS:
        raise ValueError(
            f"--device: got {device!r}, expected one of "
            f"{', '.join(_DEVICES_OF_CLUSTERS)}: the cluster chooses the GPU"
        )
    return Cluster(ray)


def _device(device: str, cluster: Cluster | None) -> str:
    """The device of the runs: on a cluster, `auto` is what its machines have, not this one."""
    if cluster is None:
        return find_device(device)
    own = "cuda" if cluster.has_gpus else "cpu"
    return own if device == "auto" else device


def _devices(device: str) -> list[str]:
    """The devices that `cuda` stands for, or a certain one."""
    if device != "cuda":
        return [device]
    return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
