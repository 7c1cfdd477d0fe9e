"""The layout of composed weights: how they are computed from parameters in few operations.

Everything linear before a step is a single product of two block matrices. Parameters, the two
matrices, their product and the results lie in one long tensor, the *buffer*, so that all copies
between them are one operation; backward makes the same copies in reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

_ENDLESS = 2**40
_LINE = 64
"""Results begin at multiples of this many numbers: kernels read whole lines of memory."""


class StridedView(NamedTuple):
    """A strided view of a buffer, as in `torch.as_strided`."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    start: int

    @classmethod
    def of(cls, view: Tensor) -> StridedView:
        """The part that a view shows."""
        return cls(tuple(view.shape), view.stride(), view.storage_offset())

    @property
    def end(self) -> int:
        """The offset after the last element, if the view is contiguous."""
        return self.start + torch.Size(self.shape).numel()


class Copy(NamedTuple):
    """A copy from one view of the buffer to another; sources are summed over the first axis."""

    source: StridedView  # (count, S, rows, columns)
    target: StridedView  # (S, rows, columns)


class Copies:
    """Copies that do not depend on each other."""

    def __init__(self) -> None:
        self.all: list[Copy] = []
        self.table: Tensor | None = None  # of them all, as kernels read them


class Copying(Protocol):
    """An implementation of copies in a buffer; `back` copies from target to source."""

    def __call__(self, buffer: Tensor, copies: Copies, *, back: bool) -> None:
        """Make them all."""
        ...


class WeightLayout:
    """The layout of a buffer and the copies within it; parts are views of a tensor on `meta`."""

    def __init__(self, parameters: Sequence[Tensor], rows: int, inner: int, columns: int):
        """The product is that of (S, rows, inner) and (S, inner, columns)."""
        self._room, self.size = torch.empty(_ENDLESS, device="meta"), 0
        self.replicas, device = len(parameters[0]), parameters[0].device
        self.before, self.after = Copies(), Copies()
        self._of = {id(x): self._take(*x.shape) for x in parameters}
        self.parameters = [StridedView.of(view) for view in self._of.values()]
        self.left = self._take(self.replicas, rows, inner)
        self.right = self._take(self.replicas, inner, columns)
        self.constants = torch.zeros(self.size - self.left.storage_offset(), device=device)
        self.zero = torch.zeros(1, device=device)
        self.product = self._take(self.replicas, rows, columns)
        self.factors = [StridedView.of(view) for view in (self.left, self.right, self.product)]
        self.results: list[StridedView] = []

    def _take(self, *shape: int) -> Tensor:
        view = self._room[self.size :][: torch.Size(shape).numel()].view(shape)
        self.size += view.numel()
        return view

    def of(self, parameter: Tensor) -> Tensor:
        """The view of a parameter in the buffer."""
        return self._of[id(parameter)]

    def stack_of(self, parameters: Sequence[Tensor]) -> Tensor:
        """Where parameters of one shape lie that follow each other, along a new first axis."""
        first = self.of(parameters[0])
        return first.as_strided(
            (len(parameters), *first.shape),
            (first.numel(), *first.stride()),
            first.storage_offset(),
        )

    def result(self, *shape: int) -> Tensor:
        """Room for one more result."""
        self.size = -(-self.size // _LINE) * _LINE
        view = self._take(self.replicas, *shape)
        self.results.append(StridedView.of(view))
        return view

    def set(self, view: Tensor, value: float) -> None:
        """Let a part of the two matrices, which are zero elsewhere, be constant."""
        start = view.storage_offset() - self.left.storage_offset()
        self.constants.as_strided(view.shape, view.stride(), start).fill_(value)

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Let a part of a parameter be a part of the two matrices, or one of all these of a result.

        Both are (S, columns) or (S, rows, columns); a source with one more axis is added up over
        the first. No part may be copied twice.
        """
        if not target.numel():
            return
        early = target.storage_offset() < self.product.storage_offset()
        source = source if source.ndim > target.ndim else source.unsqueeze(0)
        if target.ndim == 2:
            source, target = source.unsqueeze(-2), target.unsqueeze(-2)
        copies = self.before if early else self.after
        copies.all.append(Copy(StridedView.of(source), StridedView.of(target)))

    def compose(self, parameters: Sequence[Tensor], copying: Copying) -> tuple[Tensor, ...]:
        """All results, in their order."""
        return _Compose.apply(self, copying, *parameters)


class _Compose(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: WeightLayout, copying: Copying, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        buffer = parameters[0].new_empty(plan.size)
        left, right, product = (buffer.as_strided(*place) for place in plan.factors)
        # Not by a concatenation, which takes several times as long for so many numbers.
        torch._foreach_copy_([buffer.as_strided(*place) for place in plan.parameters], parameters)
        buffer[plan.factors[0].start : plan.factors[-1].start] = plan.constants
        copying(buffer, plan.before, back=False)
        torch.bmm(left, right, out=product)
        copying(buffer, plan.after, back=False)
        ctx.set_materialize_grads(False)
        ctx.plan, ctx.copying, ctx.buffer = plan, copying, buffer
        return tuple(buffer.as_strided(*place) for place in plan.results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        plan, copying, buffer = ctx.plan, ctx.copying, torch.empty_like(ctx.buffer)
        left, right, _ = (ctx.buffer.as_strided(*place) for place in plan.factors)
        d_left, d_right, d_product = (buffer.as_strided(*place) for place in plan.factors)
        torch.cat(_without_gaps(plan, grads), out=buffer[plan.factors[0].start :])
        copying(buffer, plan.after, back=True)
        d_left.baddbmm_(d_product, right.mT)
        d_right.baddbmm_(left.mT, d_product)
        copying(buffer, plan.before, back=True)
        return None, None, *(buffer.as_strided(*place) for place in plan.parameters)


def _without_gaps(plan: WeightLayout, grads: Sequence[Tensor | None]) -> list[Tensor]:
    """The grads of all results, with zeros for all else but parameters."""
    zero, start = plan.zero, plan.factors[0].start
    parts: list[Tensor] = []
    for place, grad in zip(plan.results, grads, strict=True):
        parts.append(zero.expand(place.start - start))
        parts.append(zero.expand(place.end - place.start) if grad is None else grad.flatten())
        start = place.end
    return parts
