"""What several tests of fused kernels need: shapes, numbers, room for results."""

from importlib.util import find_spec

import pytest
import torch
from small import DEVICE, ON_GPU
from torch import Tensor

SHAPES = [(1, 2, 1, 2), (3, 2, 5, 3), (1, 1, 17, 0)]  # S, B, n, F
if ON_GPU:
    SHAPES += [(3, 2, 4, 3), (1, 2, 7, 0), (3, 1, 16, 1), (1, 1, 20, 2)]
    SHAPES += [(3, 5, n, 3) for n in (4, 7, 11, 13, 16, 20, 64, 80)]
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda x: "S{}-B{}-n{}-F{}".format(*x))


def interpret_quickly() -> None:
    """Let Triton's interpreter replace the functions of its language once for each launch.

    It would do so again at every call inside a kernel, which takes a third of the time and changes
    nothing: they are replaced already.
    """
    import triton.language as tl
    from triton.runtime import interpreter

    replace = interpreter._patch_lang

    def replace_once(kernel):
        seen = [module for module in kernel.__globals__.values() if module in (tl, tl.core)]
        if any(tl.core.is_builtin(module.load) for module in seen):
            return replace(kernel)
        return interpreter._LangPatchScope()

    interpreter._patch_lang = replace_once


if not ON_GPU and find_spec("triton"):
    interpret_quickly()


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, device=DEVICE)


def unwritten(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Where results go: an entry that is not written shows."""
    return torch.full(shape, -99 if dtype == torch.int16 else torch.nan, dtype=dtype, device=DEVICE)


def assert_close(got: Tensor, expected: Tensor, precision: float = 1e-5) -> None:
    got, expected = got.detach(), expected.detach()
    scale = expected.abs().max() if expected.numel() else 1.0
    torch.testing.assert_close(got, expected, rtol=0, atol=float(precision * scale))
