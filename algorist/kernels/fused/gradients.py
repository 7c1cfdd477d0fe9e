"""Gradients of weights: products of stacks, summed over the rows of all steps.

Many products are wanted, over pairs of nodes, nodes and graphs. They are collected first; then a
few launches make them all. A program takes some rows of one product and leaves its part of the
sum; the last launch adds up the parts of all products in a fixed order. Gradients are read
once: they are multiplied with a wide input, a narrow one and a column of ones together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from math import prod
from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import Affine
from algorist.kernels.fused.grouped_launch import (
    encode_numbers,
    pad_tensors,
    program_offsets,
    select_number,
    select_tensor,
)
from algorist.kernels.fused.streams import SideStream
from algorist.kernels.fused.tiling import dot, padded

_JOBS, _RESULTS = 16, 32
"""The jobs and results of a launch, padded: one compilation serves all."""
_PROGRAMS, _FEWEST = 2112, 32
"""As many programs as keep a device busy, but with at least this many tiles each."""
_ROWS, _TALL, _WIDE = 16, 32, 128
"""The rows of a tile; the columns of grads that matrix units take at a time; those of inputs."""
_WARPS, _STAGES = 4, 4
"""Of programs that make products: how many threads there are, and tiles on their way."""
_PARTS, _BLOCK = 16, 256
"""How many parts are added up at a time, and how many numbers of each."""


class _Place(NamedTuple):
    """What a job reads and writes, in numbers, in the order in which the kernel takes them."""

    rows: int  # of one step of one replica
    steps: int
    each: int  # products side by side, P
    stride: int  # of the grads, from row to row
    first: int  # of their columns
    columns: int
    features: int  # of the narrow input; -1 where neither these nor sums are wanted
    narrow_stride: int  # from row to row
    narrow_each: int  # P where the narrow input has that axis, else 1
    height: int  # rows of the result
    top: int  # the first of them that belongs to the wide input
    width: int = 0  # columns of the wide input, 0 for none
    part: int = 0  # the first of its parts of the sum


class _Job(NamedTuple):
    """The product of one wide input, or none, and some columns of grads."""

    grads: Tensor
    narrow: Tensor
    wide: Tensor
    place: _Place

    def cut(self, wide: Sequence[Tensor]) -> Iterator[_Job]:
        """A job for each wide input; the narrow one goes with the first."""
        place = self.place
        if not wide:
            yield self
        for x in wide:
            place = place._replace(width=x.shape[-1])
            yield self._replace(wide=x, place=place)
            place = place._replace(features=-1, top=place.top + place.width)

    @property
    def aligned(self) -> bool:
        """Whether grads can be read four at a time."""
        return self.place.stride % 4 == 0 and self.place.first % 4 == 0

    @property
    def chunks(self) -> int:
        """How many times _TALL columns of grads a program takes."""
        return _WIDE // _TALL if self.aligned else 1

    @property
    def tiles(self) -> int:
        """How many tiles its rows are cut into."""
        return self.place.steps * triton.cdiv(self.place.rows, _ROWS)

    def units(self, S: int) -> int:
        """How many programs share the same rows."""
        columns = triton.cdiv(self.place.columns, _TALL * self.chunks)
        return S * self.place.each * max(1, triton.cdiv(self.place.width, _WIDE)) * columns


@triton.jit
def _zeros(count, tall, wide):
    """Some sums side by side, before anything is added."""
    sums = ()
    for _ in tl.static_range(count):
        sums += (tl.zeros((tall, wide), tl.float32),)
    return sums


@triton.jit
def _added(sums, chosen, more):
    """The sums, with more added to one of them."""
    result = ()
    for i in tl.static_range(len(sums)):
        if i == chosen:
            result += (sums[i] + more,)
        else:
            result += (sums[i],)
    return result


@triton.jit(do_not_specialize=["S", "PER"])
def _products(
    starts, grads, narrow, wide, parts, places, S, PER,
    ROWS: tl.constexpr, TALL: tl.constexpr, CHUNKS: tl.constexpr, WIDE: tl.constexpr,
    NARROW: tl.constexpr, UNIT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    job = tl.program_id(0)
    grads, out = select_tensor(grads, starts, job), select_tensor(parts, starts, job)
    narrow, wide = select_tensor(narrow, starts, job), select_tensor(wide, starts, job)
    rows, steps = select_number(places[0], starts, job), select_number(places[1], starts, job)
    P, stride = select_number(places[2], starts, job), select_number(places[3], starts, job)
    first, columns = select_number(places[4], starts, job), select_number(places[5], starts, job)
    F, step = select_number(places[6], starts, job), select_number(places[7], starts, job)
    narrow_P, height = select_number(places[8], starts, job), select_number(places[9], starts, job)
    top, width = select_number(places[10], starts, job), select_number(places[11], starts, job)
    part = select_number(places[12], starts, job)
    unit = job - select_number(starts, starts, job)

    # Programs of the same rows follow each other.
    tiles = tl.cdiv(columns, TALL * CHUNKS)
    column, unit = unit % tiles * (TALL * CHUNKS) + tl.arange(0, TALL), unit // tiles
    row, feature = tl.arange(0, ROWS), tl.arange(0, NARROW)
    if WIDE > 0:
        tiles = tl.maximum(tl.cdiv(width, WIDE), 1)
        tile, unit = unit % tiles, unit // tiles
        channel = tile * WIDE + tl.arange(0, WIDE)
        F = tl.where(tile == 0, F, -1)
    p, unit = unit % P, unit // P
    replica, unit = unit % S, unit // S

    # Rows that are known to start at multiples of four are read four numbers at a time.
    stride, width = stride // UNIT * UNIT, width // 4 * 4
    grads += first // UNIT * UNIT
    readable = tl.cdiv(columns, UNIT) * UNIT
    # With few columns at a time, the matrix units read gradients without transposing them.
    of_grads = row[None, :] * stride + column[:, None]
    small = _zeros(CHUNKS, TALL, NARROW)
    if WIDE > 0:
        large = _zeros(CHUNKS, TALL, WIDE)
    in_step = tl.cdiv(rows, ROWS)
    for tile in range(unit * PER, tl.minimum((unit + 1) * PER, steps * in_step)):
        k = tile // in_step
        start = (tile - k * in_step) * ROWS
        there = row < rows - start
        base = ((k * narrow_P + p % narrow_P) * S + replica).to(tl.int64) * rows * step
        place = base + (start + row)[:, None] * step + feature
        numbers = tl.load(narrow + place, there[:, None] & (feature < F), 0.0)
        numbers = tl.where(feature == F, 1.0, numbers)
        if WIDE > 0:
            base = ((k * S + replica).to(tl.int64) * rows + start) * width
            place = base + row[:, None] * width + channel
            values = tl.load(wide + place, there[:, None] & (channel < width), 0.0)
        base = (((k * P + p) * S + replica).to(tl.int64) * rows + start) * stride
        for chunk in tl.static_range(CHUNKS):
            read = (column + chunk * TALL < readable)[:, None]
            place = base + chunk * TALL + of_grads
            down = tl.load(grads + place, there[None, :] & read, 0.0)
            small = _added(small, chunk, dot(down, numbers, PRECISION))
            if WIDE > 0:
                large = _added(large, chunk, dot(down, values, PRECISION))

    matrix = ((part + unit) * S + replica) * P + p
    out += matrix.to(tl.int64) * height * columns
    line = tl.where(feature < F, feature, height - 1)
    for chunk in tl.static_range(CHUNKS):
        at = (column + chunk * TALL)[:, None]
        exists = at < columns
        tl.store(out + line * columns + at, small[chunk], exists & (feature <= F))
        if WIDE > 0:
            place = (top + channel) * columns + at
            tl.store(out + place, large[chunk], exists & (channel < width))


@triton.jit
def _sums(
    starts, parts, results, sizes, counts,
    PARTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    job = tl.program_id(0)
    parts, result = select_tensor(parts, starts, job), select_tensor(results, starts, job)
    size, count = select_number(sizes, starts, job), select_number(counts, starts, job)
    block = job - select_number(starts, starts, job)
    place = block * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, count, PARTS):
        part = first + tl.arange(0, PARTS)[:, None]
        there = (part < count) & (place < size)
        total += tl.sum(tl.load(parts + part.to(tl.int64) * size + place, there, 0.0), 0)
    tl.store(result + place, total, place < size)


class Gradients:
    """Collects the products that are wanted, then makes them all at once."""

    def __init__(self, precision: str):
        self.precision = precision
        self._results: list[Tensor] = []
        self._stacks: list[tuple[int, list[_Job]]] = []  # which result each stack's jobs are for

    def want(
        self,
        grads: Tensor | Sequence[Tensor],
        narrow: Tensor | None = None,
        wide: Sequence[Tensor] = (),
        *,
        column: int = 0,
        each: bool = False,
    ) -> Tensor:
        """[narrow, wide, 1] x grads, summed over all rows: (S, height, b), filled by `make`.

        grads: (K, S, rows..., b), and so are the inputs, which lie side by side in the rows of
        the result; its last row holds the sums of the grads. The products of several stacks of
        grads are added up; without inputs, these may have different rows.

        column: the first that is wanted of the grads.
        each: grads are (K, P, S, rows..., b), and perhaps the narrow input; (S, P, height, b).
        """
        for x in wide:
            if x.shape[-1] % 4:
                raise ValueError(f"wide: got {x.shape[-1]} columns, expected a multiple of 4")
        stacks = [grads] if isinstance(grads, Tensor) else grads
        first = stacks[0]
        P, (S, *_, end) = (first.shape[1], first.shape[2:]) if each else (1, first.shape[1:])
        features, stride = (0, 0) if narrow is None else (narrow.shape[-1], narrow.stride(-2))
        height = features + sum(x.shape[-1] for x in wide) + 1
        empty = narrow is None or not narrow.numel()
        for stack in stacks:
            place = _Place(
                rows=prod(stack.shape[2 + each : -1]), steps=len(stack), each=P,
                stride=stack.stride(-2), first=column, columns=end - column, features=features,
                narrow_stride=stride,
                narrow_each=1 if narrow is None or narrow.ndim < stack.ndim else P,
                height=height, top=features,
            )  # fmt: skip
            job = _Job(stack, stack if empty else narrow, stack, place)
            self._stacks.append((len(self._results), list(job.cut(wide))))
        self._results.append(first.new_empty(S, P, height, end - column))
        return self._results[-1] if each else self._results[-1][:, 0]

    def make(self) -> None:
        """Fill all results."""
        S = len(self._results[0])
        work = sum(job.tiles * job.units(S) for _, jobs in self._stacks for job in jobs)
        per = max(_FEWEST, triton.cdiv(work, _PROGRAMS))
        counts = [0] * len(self._results)
        alike = defaultdict(list)
        for result, jobs in self._stacks:
            for job in jobs:
                placed = job._replace(place=job.place._replace(part=counts[result]))
                alike[job.aligned, job.aligned and job.place.width > 0].append((result, placed))
            counts[result] += triton.cdiv(jobs[0].tiles, per)
        parts = [x.new_empty(n, *x.shape) for n, x in zip(counts, self._results, strict=True)]
        launches = [some for group in alike.values() for some in _batched(group, _JOBS)]
        launches.sort(key=lambda some: sum(job.place.width for _, job in some))
        side_stream = SideStream(self._results[0].device)
        for some in launches:  # all others run beside the widest, which comes last
            with nullcontext() if some is launches[-1] else side_stream.work():
                _launch([(job, parts[result]) for result, job in some], S, per, self.precision)
        side_stream.join()
        for some in _batched(list(zip(parts, self._results, strict=True)), _RESULTS):
            _add_up(some)


def affine(product: Tensor) -> Affine:
    """The gradient of a map and its bias: a product, and in its last row the sums."""
    return Affine(product[:, :-1], product[:, -1])


def _launch(jobs: Sequence[tuple[_Job, Tensor]], S: int, per: int, precision: str) -> None:
    """Make the parts of some products, whose grads are all aligned or all ragged."""
    one, places = jobs[0][0], [job.place for job, _ in jobs]
    programs = [job.units(S) * triton.cdiv(job.tiles, per) for job, _ in jobs]
    starts, total = program_offsets(programs, _JOBS)
    stacks = [(job.grads, job.narrow, job.wide, parts) for job, parts in jobs]
    _products[(total,)](
        starts,
        *(pad_tensors(some, _JOBS) for some in zip(*stacks, strict=True)),
        tuple(encode_numbers(numbers, _JOBS) for numbers in zip(*places, strict=True)),
        S, per,
        ROWS=_ROWS, TALL=_TALL, CHUNKS=one.chunks, UNIT=4 if one.aligned else 1,
        WIDE=_WIDE if any(place.width for place in places) else 0,
        NARROW=padded(max(place.features for place in places) + 1),
        PRECISION=precision, num_warps=_WARPS, num_stages=_STAGES,
    )  # fmt: skip


def _add_up(sums: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Add up the parts of some results."""
    parts, results = zip(*sums, strict=True)
    sizes = [result.numel() for result in results]
    starts, total = program_offsets([triton.cdiv(size, _BLOCK) for size in sizes], _RESULTS)
    _sums[(total,)](
        starts, pad_tensors(parts, _RESULTS), pad_tensors(results, _RESULTS),
        encode_numbers(sizes, _RESULTS), encode_numbers([len(some) for some in parts], _RESULTS),
        PARTS=_PARTS, BLOCK=_BLOCK, num_warps=4,
    )  # fmt: skip


def _batched(things: Sequence, length: int) -> Iterator[Sequence]:
    """Some of them at a time."""
    return (things[start : start + length] for start in range(0, len(things), length))
