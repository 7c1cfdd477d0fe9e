"""Products of learnt layers may be rounded on a GPU, those that select numbers never."""

import sys
import threading

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import algorist
from algorist.kernels.rounding import exact_products, rounded_products
from algorist.model.make_window import make_window
from algorist.training.recipes import recipe

EXACT = ("comparisons", "orders", "places", "selection", "splits", "task_features")
"""Modules of `algorist.model` that select and compare numbers."""


def is_rounded():
    return torch.backends.cuda.matmul.allow_tf32


class Products(TorchDispatchMode):
    """Remembers which module launched each product, and whether it may be rounded."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
            frame = sys._getframe(1)
            while not frame.f_globals["__name__"].startswith("algorist."):
                frame = frame.f_back
            self.seen.add((frame.f_globals["__name__"].rpartition(".")[2], is_rounded()))
        return function(*args, **(kwargs or {}))


def test_settings_hold_inside_and_are_put_back():
    assert not is_rounded()
    with rounded_products():
        assert is_rounded()
        with exact_products():
            assert not is_rounded()
        assert is_rounded()
    with pytest.raises(KeyError), rounded_products():
        raise KeyError
    assert not is_rounded()


def test_exact_products_of_another_thread_leave_the_setting_alone():
    seen = []

    def work():
        with exact_products():
            seen.append(is_rounded())
        seen.append(is_rounded())

    with rounded_products():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [True, True]


@pytest.mark.parametrize("name", ["dfs", "lcs_length", "quickselect", "floyd_warshall"])
def test_a_net_that_executes_selects_numbers_exactly(name):
    config = recipe("algorist2026", [name])
    net = algorist.Net([name], config.model, encoding=config.convention, hidden=16, seed=0)
    batch = config.convention.batch(name, algorist.get(name).sample(n=6, count=2, seed=0))
    with rounded_products(), Products() as products:
        net.rollout(name, make_window([batch]))
    modules = {module for module, _ in products.seen}
    assert modules.intersection(EXACT)
    assert not {module for module, rounded in products.seen if rounded}.intersection(EXACT)
    assert any(rounded for _, rounded in products.seen)
