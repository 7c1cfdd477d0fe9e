import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory):
    """Splits are built once for all tests, away from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALGORIST_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
