"""How one launch does several jobs, each with its own tensors and numbers.

What the jobs are given comes as tuples, one entry a job, always of the same length: one compilation
serves whatever jobs there are. The programs of each job follow those of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import triton
import triton.language as tl
from torch import Tensor

_NEVER = 2**29
"""The number of a program that there is not."""


@triton.jit
def select_tensor(fields, starts, program):
    """What belongs to the job of a program: the last one that starts before it."""
    program = program * 2 + 5
    field = fields[0]
    for job in tl.static_range(1, len(fields)):
        field = tl.where(program >= starts[job], fields[job], field)
    return field


@triton.jit
def select_number(fields, starts, program):
    """The same for numbers, which come coded."""
    return (select_tensor(fields, starts, program) - 5) // 2


def encode_numbers(numbers: Sequence[int], length: int, *, filler: int = 0) -> tuple[int, ...]:
    """Numbers from -1 on in a form that Triton does not compile anew for: odd, and not one."""
    filled = (*numbers, *[filler] * (length - len(numbers)))
    return tuple(2 * number + 5 for number in filled)


def pad_tensors(tensors: Sequence[Tensor], length: int) -> tuple[Tensor, ...]:
    """Tensors, and something in place of those of jobs that there are not."""
    return (*tensors, *[tensors[0]] * (length - len(tensors)))


def program_offsets(programs: Sequence[int], length: int) -> tuple[tuple[int, ...], int]:
    """With which program each job starts, coded, and how many programs there are."""
    *starts, total = accumulate(programs, initial=0)
    return encode_numbers(starts, length, filler=_NEVER), total
