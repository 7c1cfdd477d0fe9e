"""One launch for several jobs, each with its own tensors and numbers.

The arguments of the jobs are tuples of a fixed length, one entry per job, so that one compilation
serves any number of jobs. The programs of a job follow those of the job before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import triton
import triton.language as tl
from torch import Tensor

_NEVER = 2**29
"""Larger than the number of any program."""


@triton.jit
def select_tensor(fields, starts, program):
    """The tensor of the job that a program belongs to: the last job that starts before it."""
    program = program * 2 + 5
    field = fields[0]
    for job in tl.static_range(1, len(fields)):
        field = tl.where(program >= starts[job], fields[job], field)
    return field


@triton.jit
def select_number(fields, starts, program):
    """The same for numbers, which come encoded."""
    return (select_tensor(fields, starts, program) - 5) // 2


def encode_numbers(numbers: Sequence[int], length: int, *, filler: int = 0) -> tuple[int, ...]:
    """Numbers from -1 on as odd ones above 1: for others, Triton would compile again."""
    filled = (*numbers, *[filler] * (length - len(numbers)))
    return tuple(2 * number + 5 for number in filled)


def pad_tensors(tensors: Sequence[Tensor], length: int) -> tuple[Tensor, ...]:
    """The tensors of all jobs, repeated up to `length`."""
    return (*tensors, *[tensors[0]] * (length - len(tensors)))


def program_offsets(programs: Sequence[int], length: int) -> tuple[tuple[int, ...], int]:
    """The first program of each job, encoded, and the number of all programs."""
    *starts, total = accumulate(programs, initial=0)
    return encode_numbers(starts, length, filler=_NEVER), total
