"""The operations that decide the speed, in plain PyTorch and faster.

`plain` says what each computes and `compiled` is for training on CPUs; `ops` chooses between them.
`fused` holds whole scans for GPUs.
"""
