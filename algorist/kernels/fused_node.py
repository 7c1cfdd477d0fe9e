"""What happens at the nodes, in few kernels: projections, and the renewal of the states."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.affine import Joined
from algorist.kernels.late import Kept, Late, weight_gradient
from algorist.kernels.plain import Update
from algorist.kernels.tiling import as_rows

_TILE = 16
"""Rows of a program: the fewest that the matrix units take."""


class Project:
    """Several maps of the same values, whose weights learn at the end of the scan."""

    def __init__(self, joined: Joined, steps: int):
        self.sizes, self.kept, self.taken = joined.sizes, Kept(steps), 0
        self.weights = Late.apply(self.weight_gradients, *joined.affine)

    def __call__(self, *parts: Tensor) -> tuple[Tensor, ...]:
        """The values of each map, for values that come in parts (S, ..., channels)."""
        step, self.taken = self.taken, self.taken + 1
        return _Project.apply(self, step, *self.weights, *parts)

    def weight_gradients(self) -> tuple[Tensor, ...]:
        """Over all steps: of the weight and the bias."""
        slopes = self.kept.rows("d_y")
        return weight_gradient(self.kept.rows("x"), slopes), slopes.sum((0, 2))


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, project: Project, step: int, weight: Tensor, bias: Tensor, *parts: Tensor
    ) -> tuple[Tensor, ...]:
        widths = [part.shape[-1] for part in parts]
        if any(ctx.needs_input_grad):
            x = project.kept.slot("x", step, parts[0], sum(widths))
            torch.cat(parts, -1, out=x)
        else:
            x = torch.cat(parts, -1)
        y = torch.baddbmm(bias.unsqueeze(1), x.flatten(1, -2), weight)
        ctx.project, ctx.step, ctx.widths = project, step, widths
        ctx.save_for_backward(weight)
        return y.view(*x.shape[:-1], -1).split(project.sizes, -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple:
        (weight,) = ctx.saved_tensors
        slopes = ctx.project.kept.slot("d_y", ctx.step, gradients[0], weight.shape[-1])
        torch.cat(gradients, -1, out=slopes)
        d_x = torch.bmm(slopes.flatten(1, -2), weight.mT).view(*slopes.shape[:-1], -1)
        return (None, None, None, None, *d_x.split(ctx.widths, -1))


@triton.jit
def _renew(
    keep, gate_state, message, hidden, weight, bias, scale, offset, gate, gate_bias,  # inputs
    new, pre, opened, inner,  # results
    rows, state_stride, gate_stride,
    H: tl.constexpr, TILE: tl.constexpr, NORM: tl.constexpr, GATED: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(0).to(tl.int64)
    row, channel = tl.program_id(1) * TILE + tl.arange(0, TILE), tl.arange(0, H)
    there = (row < rows)[:, None]
    at_state = (replica * rows + row)[:, None] * state_stride + channel
    place = (replica * rows + row)[:, None] * H + channel
    wide: tl.constexpr = 2 * H if GATED else H
    weights = weight + replica * H * wide + channel[:, None] * wide + channel
    heard = tl.load(message + place, there, 0.0)
    value = tl.dot(heard, tl.load(weights), input_precision=PRECISION)
    value += tl.load(bias + replica * wide + channel) + tl.load(keep + at_state, there, 0.0)
    value = tl.maximum(value, 0.0)
    tl.store(pre + place, value, there)
    if NORM:
        mean = tl.sum(value, 1)[:, None] / H
        value -= mean
        spread = tl.sum(value * value, 1)[:, None] / H
        value *= tl.rsqrt(spread + 1e-5)
        value = value * tl.load(scale + replica * H + channel)
        value += tl.load(offset + replica * H + channel)
    if GATED:
        door = tl.dot(heard, tl.load(weights + H), input_precision=PRECISION)
        door += tl.load(bias + replica * wide + H + channel)
        at_gate = (replica * rows + row)[:, None] * gate_stride + channel
        door = tl.maximum(door + tl.load(gate_state + at_gate, there, 0.0), 0.0)
        tl.store(inner + place, door, there)
        square = replica * H * H + channel[:, None] * H + channel
        door = tl.dot(door, tl.load(gate + square), input_precision=PRECISION)
        door = tl.sigmoid(door + tl.load(gate_bias + replica * H + channel))
        tl.store(opened + place, door, there)
        before = tl.load(hidden + place, there, 0.0)
        value = before + door * (value - before)
    tl.store(new + place, value, there)


@triton.jit
def _renew_backward(
    slope, message_weight, scale, offset, gate, hidden, pre, opened, inner,  # inputs
    d_heard, d_message, d_hidden, d_door, d_normal, d_value,  # results
    rows,
    H: tl.constexpr, TILE: tl.constexpr, NORM: tl.constexpr, GATED: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(0).to(tl.int64)
    row, channel = tl.program_id(1) * TILE + tl.arange(0, TILE), tl.arange(0, H)
    there = (row < rows)[:, None]
    place = (replica * rows + row)[:, None] * H + channel
    wide: tl.constexpr = 2 * H if GATED else H
    at_heard = (replica * rows + row)[:, None] * wide + channel
    turned = message_weight + replica * H * wide + channel[None, :] * wide + channel[:, None]
    down = tl.load(slope + place, there, 0.0)
    value = tl.load(pre + place, there, 0.0)
    alive = value > 0
    if NORM:
        weight = tl.load(scale + replica * H + channel)
        value -= tl.sum(value, 1)[:, None] / H
        inverse = tl.rsqrt(tl.sum(value * value, 1)[:, None] / H + 1e-5)
        value *= inverse
    d_out = tl.zeros((TILE, H), tl.float32)
    if GATED:
        door = tl.load(opened + place, there, 0.0)
        before = tl.load(hidden + place, there, 0.0)
        normal = value
        if NORM:
            normal = value * weight + tl.load(offset + replica * H + channel)
        tl.store(d_hidden + place, down * (1.0 - door), there)
        d_gate = down * (normal - before) * door * (1.0 - door)
        down *= door
        tl.store(d_door + place, d_gate, there)
        across = replica * H * H + channel[None, :] * H + channel[:, None]
        d_gate = tl.dot(d_gate, tl.load(gate + across), input_precision=PRECISION)
        d_gate = tl.where(tl.load(inner + place, there, 0.0) > 0, d_gate, 0.0)
        tl.store(d_heard + at_heard + H, d_gate, there)
        d_out += tl.dot(d_gate, tl.load(turned + H), input_precision=PRECISION)
    if NORM:
        tl.store(d_value + place, down, there)
        tl.store(d_normal + place, down * value, there)
        down *= weight
        mean = tl.sum(down, 1)[:, None] / H
        tilt = tl.sum(down * value, 1)[:, None] / H
        down = inverse * (down - mean - value * tilt)
    down = tl.where(alive, down, 0.0)
    tl.store(d_heard + at_heard, down, there)
    d_out += tl.dot(down, tl.load(turned), input_precision=PRECISION)
    tl.store(d_message + place, d_out, there)


class Renew:
    """New states of the nodes from their largest messages, normalised and gated."""

    def __init__(self, maps: Update, steps: int, precision: str):
        self.precision, self.kept, self.taken = precision, Kept(steps), 0
        self.normed, self.gated = maps.norm is not None, maps.gate is not None
        weights = [*maps.of_message, *(maps.norm or ()), *(maps.gate or ())]
        self.weights = Late.apply(self.weight_gradients, *weights)

    def __call__(
        self, keep: Tensor, gate: Tensor | None, messages: Tensor, hidden: Tensor
    ) -> Tensor:
        """The new states (S, B, n, h)."""
        step, self.taken = self.taken, self.taken + 1
        return _Renew.apply(self, step, keep, gate, messages, hidden, *self.weights)

    def weight_gradients(self) -> tuple[Tensor, ...]:
        """Over all steps: of the messages' map, of the norm, of the gate."""
        rows = self.kept.rows
        heard = rows("d_heard")
        gradients = [weight_gradient(rows("message"), heard), heard.sum((0, 2))]
        if self.normed:
            gradients += [rows("d_normal").sum((0, 2)), rows("d_value").sum((0, 2))]
        if self.gated:
            door = rows("d_door")
            gradients += [weight_gradient(rows("inner"), door), door.sum((0, 2))]
        return tuple(gradients)

    def named(self, weights: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Weight and bias of the messages, scale and offset, weight and bias of the gate."""
        weight, bias, *rest = weights
        scale, offset = (rest.pop(0), rest.pop(0)) if self.normed else (bias, bias)
        gate, gate_bias = rest if self.gated else (weight, bias)
        return weight, bias, scale, offset, gate, gate_bias


class _Renew(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, renew: Renew, step: int, keep: Tensor, gate_state: Tensor | None,
        messages: Tensor, hidden: Tensor, *weights: Tensor,
    ) -> Tensor:  # fmt: skip
        S, B, n, h = messages.shape
        messages, hidden = messages.contiguous(), hidden.contiguous()
        kept, learns = renew.kept, any(ctx.needs_input_grad)
        new = torch.empty_like(messages)
        names = ("pre", "opened", "inner")
        pre, opened, inner = (
            kept.slot(name, step, messages) if learns else torch.empty_like(messages)
            for name in names
        )
        state = as_rows(keep)
        gate_state = state if gate_state is None else as_rows(gate_state)
        _renew[(S, triton.cdiv(B * n, _TILE))](
            state, gate_state, messages, hidden,
            *(w.contiguous() for w in renew.named(weights)), new, pre, opened, inner,
            B * n, state.stride(2), gate_state.stride(2), H=h, TILE=_TILE,
            NORM=renew.normed, GATED=renew.gated, PRECISION=renew.precision, num_warps=4,
        )  # fmt: skip
        if learns:
            kept.put("message", step, messages)
            ctx.renew, ctx.step = renew, step
            ctx.save_for_backward(hidden, *weights)
        return new

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple:
        hidden, *weights = ctx.saved_tensors
        renew, step = ctx.renew, ctx.step
        kept, slope = renew.kept, slope.contiguous()
        S, B, n, h = slope.shape
        weight, _, scale, offset, gate, _ = renew.named(tuple(weights))
        d_heard = kept.slot("d_heard", step, slope, 2 * h if renew.gated else h)
        d_door, d_normal, d_value = (
            kept.slot(name, step, slope) for name in ("d_door", "d_normal", "d_value")
        )
        d_message, d_hidden = torch.empty_like(slope), torch.empty_like(slope)
        _renew_backward[(S, triton.cdiv(B * n, _TILE))](
            slope, weight.contiguous(), scale.contiguous(), offset.contiguous(),
            gate.contiguous(), hidden, kept.at("pre", step), kept.at("opened", step),
            kept.at("inner", step), d_heard, d_message, d_hidden, d_door, d_normal, d_value,
            B * n, H=h, TILE=_TILE, NORM=renew.normed, GATED=renew.gated,
            PRECISION=renew.precision, num_warps=4,
        )  # fmt: skip
        nothing = (None,) * len(weights)
        if not renew.gated:
            return None, None, d_heard, None, d_message, None, *nothing
        return None, None, d_heard[..., :h], d_heard[..., h:], d_message, d_hidden, *nothing
