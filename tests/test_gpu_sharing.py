"""Several processes on one GPU."""

import os
from types import SimpleNamespace

import pytest
import torch

from algorist.experiments.gpu_sharing import memory_limits, multi_process_service


@pytest.fixture
def control(tmp_path, monkeypatch):
    """Puts a program in the place of NVIDIA's, which ends with a given code; returns its calls."""

    def install(code):
        file = tmp_path / "nvidia-cuda-mps-control"
        file.write_text(
            f'#!/bin/sh\n(echo "$1"; [ "$1" ] || cat) >> {tmp_path}/calls\nexit {code}\n'
        )
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return lambda: (tmp_path / "calls").read_text().split()

    return install


def test_the_service_runs_in_the_block_and_ends_with_it(control):
    calls = control(0)
    with multi_process_service():
        assert calls() == ["-d"]
    assert calls() == ["-d", "quit"]


def test_a_service_of_others_goes_on(control):
    calls = control(1)  # one runs already
    with multi_process_service():
        pass
    assert calls() == ["-d"]


def test_a_machine_without_the_service_does_without(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with multi_process_service():
        pass


def test_every_process_may_use_its_share_of_each_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda number: SimpleNamespace(total_memory=(number + 1) * 2**34),
    )
    limits = memory_limits(4)
    assert limits == {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4096M,1=8192M"}
