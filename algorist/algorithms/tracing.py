"""The machine that runs textbook loops over whole batches.

An algorithm is written for one problem: its arguments are arrays that hold the features by name,
and each call of `record` keeps a copy of how all hints stand at that moment. Here it is compiled
together with the loop over the batch, so that no Python runs per sample or per step.

The hints of one step live side by side in two flat buffers, one of floats and one of small
integers; the arrays that an algorithm sees are windows into them (`frames.py` cuts these). So
recording a step is two copies, whatever the features are.

`draw_batch`, `run_batch` and `run_sparse_batch` are templates: `specialise` compiles a copy of one
for each sampler or algorithm, which is its `function`.
"""

from __future__ import annotations

from algorist.algorithms.compiling import clear, compiled, copy
from algorist.algorithms.neighbours import Neighbours


@compiled
def record(trace):
    """Keep the current values of all hints as the next step of the trace.

    Past the end of the tape steps are only counted: the caller then knows how long it must be.
    """
    floats, ints, float_tape, int_tape, steps = trace
    t = steps[0]
    if t < len(float_tape):
        copy(float_tape[t], floats)
        copy(int_tape[t], ints)
    steps[0] = t + 1


def draw_batch(rng, inputs, windows, options):
    """Draw one problem after the other: the order of the draws is part of the benchmark."""
    (floats, ints), (all_floats, all_ints) = inputs
    for b in range(len(all_floats)):
        clear(floats)
        clear(ints)
        function(rng, *(windows + options))  # noqa: F821
        copy(all_floats[b], floats)
        copy(all_ints[b], ints)


def run_batch(inputs, hints, outputs, windows, steps):
    """Run the algorithm on every problem and keep hints and outputs."""
    (in_floats, in_ints), (all_in_floats, all_in_ints) = inputs
    (floats, ints), (float_tape, int_tape) = hints
    (out_floats, out_ints), (all_out_floats, all_out_ints) = outputs
    for b in range(len(steps)):
        copy(in_floats, all_in_floats[b])
        copy(in_ints, all_in_ints[b])
        clear(floats)
        clear(ints)
        clear(out_floats)
        clear(out_ints)
        steps[b] = 0
        trace = (floats, ints, float_tape[:, b], int_tape[:, b], steps[b : b + 1])
        function(*windows, trace)  # noqa: F821
        copy(all_out_floats[b], out_floats)
        copy(all_out_ints[b], out_ints)


def run_sparse_batch(inputs, graphs, hints, outputs, windows, steps):
    """The same for sparse graphs, whose first feature is `A`: starts (B, n + 1), ends, weights."""
    (in_floats, in_ints), (all_in_floats, all_in_ints) = inputs
    starts, ends, weights = graphs
    (floats, ints), (float_tape, int_tape) = hints
    (out_floats, out_ints), (all_out_floats, all_out_ints) = outputs
    for b in range(len(steps)):
        copy(in_floats, all_in_floats[b])
        copy(in_ints, all_in_ints[b])
        clear(floats)
        clear(ints)
        clear(out_floats)
        clear(out_ints)
        steps[b] = 0
        trace = (floats, ints, float_tape[:, b], int_tape[:, b], steps[b : b + 1])
        function(Neighbours(starts[b], ends, weights), *windows, trace)  # noqa: F821
        copy(all_out_floats[b], out_floats)
        copy(all_out_ints[b], out_ints)
