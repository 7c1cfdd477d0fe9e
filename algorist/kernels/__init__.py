"""The operations that decide the speed of a net, as differentiable functions of PyTorch.

`message_max`, `message_max_mean`, `triplet_max`, `pointer_logits`, `edge_pointer_logits` and
`triplet_logits` choose by themselves how they are computed: by Triton kernels on a GPU, by Numba in
training on a CPU, else by plain PyTorch. `using` overrides that. `fused` holds the kernels, and the
whole scan of the built-in nets as one operation.
"""

from algorist.kernels.affine import FactoredEdges
from algorist.kernels.ops import (
    edge_pointer_logits,
    message_max,
    message_max_mean,
    pointer_logits,
    triplet_logits,
    triplet_max,
    using,
)

__all__ = [
    "FactoredEdges",
    "edge_pointer_logits",
    "message_max",
    "message_max_mean",
    "pointer_logits",
    "triplet_logits",
    "triplet_max",
    "using",
]
