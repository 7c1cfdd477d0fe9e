"""The interpreter accepts more than the compiler does: all kernels are compiled for a GPU too."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="fused kernels need Triton, which is not installed")
import algorist.kernels.fused

LAUNCH = re.compile(r"^\s+(_\w+)\[", re.MULTILINE)


def launched():
    """The kernels that are launched somewhere, by their names."""
    folder = Path(algorist.kernels.fused.__file__).parent
    return {name for file in folder.glob("*.py") for name in LAUNCH.findall(file.read_text())}


def test_all_kernels_are_compiled(tmp_path):
    script = Path(__file__).with_name("compiling_process.py")
    environment = {name: v for name, v in os.environ.items() if name != "TRITON_INTERPRET"}
    environment.setdefault("TRITON_CACHE_DIR", str(tmp_path))
    process = subprocess.run(
        [sys.executable, str(script), "floyd_warshall:triplet_gmpnn", "heapsort:triplet_gpgn"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert set(process.stdout.split()) == launched()
