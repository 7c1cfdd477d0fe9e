"""The operations that decide the speed, in plain PyTorch and faster.

`plain` says what each computes; `compiled` is for training on CPUs, `fused_*` for GPUs.
`ops` chooses between them.
"""
