"""What several files of tests need."""

import pytest
from commanding import train


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run of two seeds, to be looked at only."""
    folder = tmp_path_factory.mktemp("runs") / "bfs"
    words = ["--seeds", "3,5", "--steps", "6", "--validate-every", "2"]
    assert train(folder, "bfs", *words) == 0
    return folder


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """A cache of the test's own, whose folder is not there yet."""
    folder = tmp_path / "new" / "cache"
    monkeypatch.setenv("ALGORIST_CACHE", str(folder))
    return folder
