"""What several tests need."""

import sys

import pytest

import algorist  # noqa: F401 (its registry is what is replaced below)


@pytest.fixture
def own_registry(monkeypatch):
    """Algorithms that the test registers are forgotten after it."""
    home = sys.modules["algorist.algorithms"]
    monkeypatch.setattr(home, "_registry", dict(home._registry))
    yield
    for name in [name for name in sys.modules if name.startswith("algorist_plugin_")]:
        del sys.modules[name]


@pytest.fixture
def piped(monkeypatch):
    """Commands print as into a pipe, whatever the terminal of the tests is like."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "ALGORIST_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
