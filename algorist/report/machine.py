"""The machine on which numbers were measured."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from algorist.version import __version__


def describe_machine() -> dict[str, Any]:
    """The processor, the software and the date."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "name": platform.node(),
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "algorist": __version__,
        **{package: _version(package) for package in ("torch", "triton")},
        "date": time.strftime("%Y-%m-%d %H:%M"),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
