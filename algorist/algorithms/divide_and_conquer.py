"""Divide and conquer (CLRS chapter 4)."""

from algorist.algorithms.array_answers import is_maximum_subarray
from algorist.algorithms.declaring import algorithm
from algorist.algorithms.format_answers import format_subarray
from algorist.algorithms.samplers.arrays import signed_keys
from algorist.algorithms.textbook import point_to_previous
from algorist.algorithms.tracing import record
from algorist.algorithms.user_inputs.scaling import Scale
from algorist.spec import graph, node


@algorithm(
    "divide_and_conquer",
    inputs={"pos": node.scalar, "key": node.scalar},
    hints={
        "pred_h": node.pointer,
        "best_low": node.mask_one,
        "best_high": node.mask_one,
        "best_sum": graph.scalar,
        "i": node.mask_one,
        "j": node.mask_one,
        "sum": graph.scalar,
    },
    outputs={"start": node.mask_one, "end": node.mask_one},
    sampler=signed_keys,
    accepts=is_maximum_subarray,
    answer=format_subarray,
    scale=Scale((("key",),), degrees={"best_sum": 1, "sum": 1}),
    eval_multiplier=32,
    static_hint="pred_h",
)
def find_maximum_subarray_kadane(
    key, pred_h, best_low, best_high, best_sum, i, j, sum_, start, end, trace
):
    """Extend the best subarray that ends at each key, or start afresh (CLRS exercise 4.1-5)."""
    point_to_previous(pred_h)
    sum_[0] = best_sum[0] = key[0]
    record(trace)
    for new in range(1, len(key)):
        j[0] = new
        if sum_[0] + key[new] >= key[new]:
            sum_[0] += key[new]
        else:
            i[0] = new
            sum_[0] = key[new]
        if sum_[0] > best_sum[0]:
            best_low[0], best_high[0], best_sum[0] = i[0], new, sum_[0]
        record(trace)
    start[0], end[0] = best_low[0], best_high[0]
