"""What several tests need, those in docstrings too."""

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import algorist
from algorist.registry import additions_alone

if not torch.cuda.is_available():
    # Triton's own interpreter runs the fused kernels; it is asked for once, at the first import.
    os.environ.setdefault("TRITON_INTERPRET", "1")

collect_ignore_glob = ["tests/golden/*.py"]  # they import dm-clrs
if not find_spec("triton"):
    collect_ignore_glob.append("algorist/kernels/fused/*.py")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """No test reads or writes what the user keeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALGORIST_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


class _ForgottenError(Exception):
    """Raised to undo what a test has registered."""


@pytest.fixture
def own_registry():
    """Algorithms, processors and recipes that the test registers are forgotten after it."""
    with suppress(_ForgottenError), additions_alone():
        yield
        raise _ForgottenError  # a block that fails has added nothing
    for name in [name for name in sys.modules if name.startswith("algorist_plugin_")]:
        del sys.modules[name]


@pytest.fixture
def euclid(own_registry):
    """The algorithm of the example, beside the thirty."""
    algorist.load_plugin(Path(__file__).parent / "examples" / "euclid.py")
    return algorist.get("euclid")


_LOOKS = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables that tell Rich what a terminal is like."""


@pytest.fixture
def piped(monkeypatch):
    """Commands print as into a pipe, whatever the terminal of the tests is like."""
    for name in (*_LOOKS, "ALGORIST_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
