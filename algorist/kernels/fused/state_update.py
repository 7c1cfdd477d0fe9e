"""The update of the hidden states: messages, ReLU, layer norm and gate.

Values are (S, B, n, channels), weights (S, in, out). Results go where the caller says.
"""

from __future__ import annotations

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from algorist.kernels.fused.tiling import dot, pdl_options, wait_for_previous
from algorist.kernels.scan_weights import UpdateWeights

_ROWS = 16
"""The rows of a tile that holds all channels: the fewest that the matrix units take."""
_DEEP = 32
"""How many products are summed at a time."""


@triton.jit
def _update_states(
    state, messages, before, weight, scale, offset, gate_weight, gate_bias,
    after, pre, gate, gate_hidden,
    rows, C, self_column, gate_column,
    H: tl.constexpr, ROWS: tl.constexpr, DEEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(0).to(tl.int64)
    row, channel = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, H)
    there = (row < rows)[:, None]
    line = (replica * rows + row)[:, None]
    place = line * H + channel
    wide: tl.constexpr = H if gate_weight is None else 2 * H
    if gate_weight is not None:
        gate_layer = tl.load(gate_weight + (replica * H + channel)[:, None] * H + channel)
    wait_for_previous()
    value = tl.load(state + line * C + self_column + channel, there, 0.0)
    if gate_weight is not None:
        gate_value = tl.load(state + line * C + gate_column + channel, there, 0.0)
        old = tl.load(before + place, there, 0.0)
    for k in tl.range(0, H, DEEP, num_stages=3):
        inner = k + tl.arange(0, DEEP)
        received = tl.load(messages + line * H + inner, there, 0.0)
        weights = weight + (replica * H + inner)[:, None] * wide + channel
        value += dot(received, tl.load(weights), PRECISION)
        if gate_weight is not None:
            gate_value += dot(received, tl.load(weights + H), PRECISION)
    value = tl.maximum(value, 0.0)
    if pre is not None:
        tl.store(pre + place, value, there)
    if scale is not None:
        value -= tl.sum(value, 1)[:, None] / H
        value *= tl.rsqrt(tl.sum(value * value, 1)[:, None] / H + 1e-5)
        value *= tl.load(scale + replica * H + channel)
        value += tl.load(offset + replica * H + channel)
    if gate_weight is not None:
        gate_value = tl.maximum(gate_value, 0.0)
        if pre is not None:
            tl.store(gate_hidden + place, gate_value, there)
        gate_value = dot(gate_value, gate_layer, PRECISION)
        gate_value += tl.load(gate_bias + replica * H + channel)
        gate_value = tl.sigmoid(gate_value)
        if pre is not None:
            tl.store(gate + place, gate_value, there)
        value = old + gate_value * (value - old)
    tl.store(after + place, value, there)


def update_states(
    state: Tensor,
    columns: tuple[int, int | None],
    messages: Tensor,
    before: Tensor,
    weights: UpdateWeights,
    after: Tensor,
    kept: Sequence[Tensor | None] | None,
    precision: str,
) -> None:
    """The new states of the nodes; `columns` are where self projection and gate begin in `state`.

    kept are pre, gate and gate_hidden (the last two None without a gate); None keeps nothing.
    """
    S, B, n, h = messages.shape
    self_column, gate_column = columns
    pre, gate, gate_hidden = kept or (None, None, None)
    _update_states[S, triton.cdiv(B * n, _ROWS)](
        state, messages, before, weights.of_message, *(weights.norm or (None, None)),
        *(weights.gate or (None, None)), after, pre, gate, gate_hidden,
        B * n, state.shape[-1], self_column, gate_column,
        H=h, ROWS=_ROWS, DEEP=min(_DEEP, h), PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip


@triton.jit
def _update_states_backward(
    d_after, before, weight, scale, offset, gate_weight, pre, gate, gate_hidden,
    grads, d_message, d_before, d_gate, d_normal, d_value,
    rows, C, self_column, gate_column,
    H: tl.constexpr, SLOTS: tl.constexpr, ROWS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(0).to(tl.int64)
    row, channel = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, H)
    there = (row < rows)[:, None]
    line = (replica * rows + row)[:, None]
    place = line * H + channel
    wide: tl.constexpr = H if gate_weight is None else 2 * H
    # All weights are transposed, and asked for before they are needed.
    transposed = weight + (replica * H + channel)[None, :] * wide + channel[:, None]
    of_value = tl.load(transposed)
    wait_for_previous()
    value = tl.load(pre + place, there, 0.0)
    down = tl.zeros((ROWS, H), tl.float32)
    for slot in tl.static_range(SLOTS):
        one = tl.num_programs(0).to(tl.int64) * rows * H
        down += tl.load(d_after + slot * one + place, there, 0.0)
    alive = value > 0
    if scale is not None:
        value -= tl.sum(value, 1)[:, None] / H
        inverse = tl.rsqrt(tl.sum(value * value, 1)[:, None] / H + 1e-5)
        value *= inverse
        scales = tl.load(scale + replica * H + channel)
    if gate_weight is not None:
        new = value
        if scale is not None:
            new = value * scales + tl.load(offset + replica * H + channel)
        gate_value = tl.load(gate + place, there, 0.0)
        old = tl.load(before + place, there, 0.0)
        tl.store(d_before + place, down * (1.0 - gate_value), there)
        d_logit = down * (new - old) * gate_value * (1.0 - gate_value)
        tl.store(d_gate + place, d_logit, there)
        down *= gate_value
    if scale is not None:
        tl.store(d_value + place, down, there)
        tl.store(d_normal + place, down * value, there)
        down *= scales
        mean = tl.sum(down, 1)[:, None] / H
        tilt = tl.sum(down * value, 1)[:, None] / H
        down = inverse * (down - mean - value * tilt)
    if gate_weight is not None:
        gate_layer = tl.load(gate_weight + (replica * H + channel)[None, :] * H + channel[:, None])
    down = tl.where(alive, down, 0.0)
    tl.store(grads + line * C + self_column + channel, down, there)
    down = dot(down, of_value, PRECISION)
    if gate_weight is not None:
        of_gate = tl.load(transposed + H)
        d_logit = dot(d_logit, gate_layer, PRECISION)
        d_logit = tl.where(tl.load(gate_hidden + place, there, 0.0) > 0, d_logit, 0.0)
        tl.store(grads + line * C + gate_column + channel, d_logit, there)
        down += dot(d_logit, of_gate, PRECISION)
    tl.store(d_message + place, down, there)


def update_states_backward(
    d_after: Tensor,
    before: Tensor,
    weights: UpdateWeights,
    kept: Sequence[Tensor | None],
    grads: Tensor,
    columns: tuple[int, int | None],
    d_message: Tensor,
    d_before: Tensor | None,
    d_gate: Tensor | None,
    d_norm: Sequence[Tensor] | None,
    precision: str,
) -> None:
    """The gradients of the inputs of `update_states`.

    d_after is (grad buffers, S, B, n, h), to be summed over the first axis. The gradients go into
    `columns` of `grads`, d_message and, with a gate, d_before. For the weights there are d_gate,
    before the gate's sigmoid, and d_norm, whose sums are the gradients of scale and offset.
    """
    grad_buffers, S, B, n, h = d_after.shape
    self_column, gate_column = columns
    gate_weight = weights.gate.weight if weights.gate else None
    _update_states_backward[S, triton.cdiv(B * n, _ROWS)](
        d_after, before, weights.of_message, *(weights.norm or (None, None)), gate_weight, *kept,
        grads, d_message, d_before, d_gate, *(d_norm or (None, None)),
        B * n, grads.shape[-1], self_column, gate_column,
        H=h, SLOTS=grad_buffers, ROWS=_ROWS, PRECISION=precision, num_warps=8,
        **pdl_options(S * B * n),
    )  # fmt: skip
